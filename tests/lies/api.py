# SPDX-License-Identifier: Apache-2.0
"""Lies about which entries a PodGroup may have."""

from tests.lies.lie import Answer, Memory, Object, Shown, false_answer, lie
from tests.lies.refusals import (
    NAMED,
    TEMPLATE,
    accepted_if,
    at_another_field,
    entries_of,
    has_value,
    is_refused,
    stored_all_the_same,
    with_another_reason,
)

UNIQUE = "test_entry_names_are_unique_and_four_at_most"


@lie("WRC-API-001", shows="PodGroup", says="must come back unchanged, but the answer shows")
def list_of_entries_is_dropped(group: Object, _memory: Memory) -> Shown:
    group["spec"].pop("resourceClaims", None)
    yield group


@false_answer("WRC-API-001", to="podgroups", says="must come back unchanged, but get shows")
def list_of_entries_is_answered_but_not_stored(answer: Answer, _memory: Memory) -> Answer:
    if answer.method == "GET":
        answer.body.get("spec", {}).pop("resourceClaims", None)
    return answer


@false_answer("WRC-API-001", to="podgroups", says="must come back unchanged, but list shows")
def lists_lack_the_sources(answer: Answer, _memory: Memory) -> Answer:
    for group in answer.body.get("items", ()):
        group["spec"]["resourceClaims"] = [{"name": entry["name"]} for entry in entries_of(group)]
    return answer


@lie("WRC-API-001", shows="PodGroup", only="[mixed]", says="must come back unchanged")
def entries_are_sorted(group: Object, _memory: Memory) -> Shown:
    group["spec"]["resourceClaims"].sort(key=lambda entry: entry["name"])
    yield group


@lie("WRC-API-001", shows="PodGroup", only="[mixed]", says="must come back unchanged")
def fourth_entry_is_dropped(group: Object, _memory: Memory) -> Shown:
    del group["spec"]["resourceClaims"][3:]
    yield group


@lie("WRC-API-001", shows="PodGroup", only="[mixed]", says="must come back unchanged")
def second_entry_of_one_source_is_merged(group: Object, _memory: Memory) -> Shown:
    sources: dict[str, Object] = {}
    for entry in entries_of(group):
        sources.setdefault(str(entry.get(NAMED, entry["name"])), entry)
    group["spec"]["resourceClaims"] = [*sources.values()]
    yield group


@lie("WRC-API-001", shows="PodGroup", only="[longest]", says="must come back unchanged")
def names_are_cut_at_the_length_of_a_label(group: Object, _memory: Memory) -> Shown:
    for entry in entries_of(group):
        entry |= {field: value[:63] for field, value in entry.items()}
    yield group


@false_answer("WRC-API-001", to="podgroups", only="[template]", says="must be accepted, but the answer is")
def template_entries_are_refused(answer: Answer, _memory: Memory) -> Answer:
    if answer.method == "POST":
        return answer.rejected(422, "Invalid", "spec.resourceClaims[0].resourceClaimName: Required value")
    return answer


@false_answer(
    "WRC-API-002", to="podgroups", says="neither a ResourceClaim nor a template must be refused with 422, but"
)
def entries_need_no_source(answer: Answer, _memory: Memory) -> Answer:
    return accepted_if(answer, len(entries_of(answer.sent)) == 1)


@false_answer("WRC-API-002", to="podgroups", says="a fourth entry with neither must be refused with 422, but was")
def fourth_entry_needs_no_source(answer: Answer, _memory: Memory) -> Answer:
    return accepted_if(answer, len(entries_of(answer.sent)) == 4)


@false_answer("WRC-API-002", to="podgroups", says="both, of the same name must be refused with 422, but was accepted")
def two_sources_of_one_name_are_accepted(answer: Answer, _memory: Memory) -> Answer:
    return accepted_if(answer, has_value(answer, NAMED, "same") and has_value(answer, TEMPLATE, "same"))


@false_answer("WRC-API-002", to="podgroups", says="both, the first of them empty must be refused with")
def an_empty_source_counts_as_none(answer: Answer, _memory: Memory) -> Answer:
    return accepted_if(answer, has_value(answer, NAMED, ""))


@false_answer("WRC-API-002", to="podgroups", says="must be refused with 422, but the answer is")
def refusal_is_a_bad_request(answer: Answer, _memory: Memory) -> Answer:
    return answer.rejected(400, "BadRequest", answer.body["message"]) if is_refused(answer) else answer


@false_answer("WRC-API-002", to="podgroups", says="with FieldValueInvalid at spec.resourceClaims[3], but the causes")
def refusal_names_another_entry(answer: Answer, _memory: Memory) -> Answer:
    return at_another_field(answer, "[3]", "[2]")


@false_answer("WRC-API-002", to="podgroups", says="but the causes are [('FieldValueRequired', 'spec.resourceClaims")
def refusal_has_another_reason(answer: Answer, _memory: Memory) -> Answer:
    return with_another_reason(answer, "Invalid", "Required")


@false_answer("WRC-API-002", to="podgroups", says="was refused, but the PodGroup is stored all the same")
def pod_group_with_a_fourth_entry_of_both_kinds_is_stored(answer: Answer, memory: Memory) -> Answer:
    return stored_all_the_same(answer, memory, lambda sent: len(entries_of(sent)) == 4)


@false_answer("WRC-API-003", to="podgroups", says="the entry name ../x must be refused with 422, but was accepted")
def names_only_have_to_be_there(answer: Answer, _memory: Memory) -> Answer:
    return accepted_if(answer, "FieldValueRequired" not in str(answer.body))


@false_answer("WRC-API-003", to="podgroups", says="an entry name with a dot must be refused with 422, but was accepted")
def entry_name_may_be_a_subdomain(answer: Answer, _memory: Memory) -> Answer:
    return accepted_if(answer, has_value(answer, "name", "a.b"))


@false_answer("WRC-API-003", to="podgroups", says="name of 64 characters must be refused with 422, but was accepted")
def entry_name_may_be_longer_than_a_label(answer: Answer, _memory: Memory) -> Answer:
    return accepted_if(answer, has_value(answer, "name", "l" * 64))


@false_answer("WRC-API-003", to="podgroups", says="the template other/name must be refused with 422, but was accepted")
def template_of_the_fourth_entry_may_be_in_another_namespace(answer: Answer, _memory: Memory) -> Answer:
    return accepted_if(answer, has_value(answer, TEMPLATE, "a/b"))


@false_answer("WRC-API-003", to="podgroups", says="an empty template name must be refused with 422, but was accepted")
def template_may_be_empty(answer: Answer, _memory: Memory) -> Answer:
    return accepted_if(answer, has_value(answer, TEMPLATE, ""))


@false_answer("WRC-API-003", to="podgroups", says="with FieldValueRequired at spec.resourceClaims[1].name, but")
def refusal_of_an_empty_name_names_the_list(answer: Answer, _memory: Memory) -> Answer:
    return at_another_field(answer, "[1].name", "")


@false_answer("WRC-API-003", to="podgroups", says="the longest names must be returned as they were sent")
def longest_names_are_cut(answer: Answer, _memory: Memory) -> Answer:
    for entry in entries_of(answer.body):
        entry |= {field: value[:57] for field, value in entry.items()}
    return answer


@false_answer("WRC-API-003", to="podgroups", says="with the longest names must be accepted, but the answer is")
def longest_names_are_refused(answer: Answer, _memory: Memory) -> Answer:
    return answer.rejected(422, "Invalid", "too long") if answer.status == 201 else answer


@false_answer("WRC-API-004", to="podgroups", check=UNIQUE, says="two entries of one name must be refused with 422, but")
def last_of_two_entries_of_one_name_wins(answer: Answer, _memory: Memory) -> Answer:
    return accepted_if(answer, has_value(answer, "name", "same"))


@false_answer("WRC-API-004", to="podgroups", says="two equal entries must be refused with 422, but was accepted")
def equal_entries_are_merged(answer: Answer, _memory: Memory) -> Answer:
    entries = entries_of(answer.sent)
    return accepted_if(answer, len(entries) == 2 and entries[0] == entries[1])


@false_answer("WRC-API-004", to="podgroups", says="a fourth entry named as the second must be refused with 422, but")
def only_neighbours_are_compared(answer: Answer, _memory: Memory) -> Answer:
    return accepted_if(answer, len(entries_of(answer.sent)) == 4)


@false_answer("WRC-API-004", to="podgroups", says="five entries must be refused with 422, but was accepted")
def up_to_32_entries_are_accepted(answer: Answer, _memory: Memory) -> Answer:
    return accepted_if(answer, 4 < len(entries_of(answer.sent)) <= 32)


@false_answer("WRC-API-004", to="podgroups", says="five entries, two of one name must be refused with 422, but was")
def entries_are_counted_by_their_names(answer: Answer, _memory: Memory) -> Answer:
    names = [entry["name"] for entry in entries_of(answer.sent)]
    return accepted_if(answer, len(names) == 5 and len(set(names)) == 4)


@false_answer("WRC-API-004", to="podgroups", says="FieldValueTooMany at spec.resourceClaims, but the causes are")
def too_many_entries_are_merely_invalid(answer: Answer, _memory: Memory) -> Answer:
    return with_another_reason(answer, "TooMany", "Invalid")


@false_answer("WRC-API-004", to="podgroups", says="all four entries must be kept")
def only_two_entries_are_kept(answer: Answer, _memory: Memory) -> Answer:
    if answer.status == 201:
        del answer.body["spec"]["resourceClaims"][2:]
    return answer
