# SPDX-License-Identifier: Apache-2.0
"""Lies about what becomes of a PodGroup's entries, and of its finalizer, after it was accepted."""

from tests.lies.lie import Answer, Memory, Object, Shown, false_answer, lie, name_of
from tests.lies.refusals import (
    NAMED,
    TEMPLATE,
    accepted_if,
    entries_of,
    has_value,
    stored_all_the_same,
)

IMMUTABLE = "test_entries_cannot_be_changed"
FINALIZER = "scheduling.k8s.io/podgroup-protection"
WITHOUT_CLAIMS = "[without-claims]"


@false_answer("WRC-API-005", to="podgroups", says="must be refused with 422, but was accepted")
def changes_of_entries_are_accepted(answer: Answer, _memory: Memory) -> Answer:
    return accepted_if(answer, True)


@false_answer(
    "WRC-API-005", to="podgroups", check=IMMUTABLE, says="changing the template of the second must be refused"
)
def source_of_a_template_entry_may_be_changed(answer: Answer, _memory: Memory) -> Answer:
    return accepted_if(answer, has_value(answer, TEMPLATE, "other"))


@false_answer("WRC-API-005", to="podgroups", check=IMMUTABLE, says="changing the kind of the second must be refused")
def kind_of_an_entry_may_be_changed(answer: Answer, _memory: Memory) -> Answer:
    names = [entry["name"] for entry in entries_of(answer.sent) if NAMED in entry]
    return accepted_if(answer, names == ["first", "second"])


@false_answer("WRC-API-005", to="podgroups", check=IMMUTABLE, says="removing all must be refused with 422, but was")
def all_entries_may_be_removed_together(answer: Answer, _memory: Memory) -> Answer:
    return accepted_if(answer, not entries_of(answer.sent))


@false_answer(
    "WRC-API-005", to="podgroups", check=IMMUTABLE, says="adding an entry by server-side apply must be refused"
)
def server_side_apply_may_add_an_entry(answer: Answer, _memory: Memory) -> Answer:
    return accepted_if(answer, bool(answer.sent) and "kind" in answer.sent and answer.method == "PATCH")


@false_answer("WRC-API-005", to="podgroups", says="was refused, but the spec is changed")
def refused_changes_are_stored(answer: Answer, memory: Memory) -> Answer:
    return stored_all_the_same(answer, memory)


@false_answer("WRC-API-005", to="podgroups", check=IMMUTABLE, says="a label must be accepted, but the answer is")
def nothing_of_a_pod_group_can_be_changed(answer: Answer, _memory: Memory) -> Answer:
    if answer.method == "PATCH" and answer.status == 200:
        return answer.rejected(422, "Invalid", "the object is immutable")
    return answer


@false_answer("WRC-API-006", to="podgroups", says="whose references do not exist must be accepted, but the answer is")
def references_are_resolved_at_admission(answer: Answer, _memory: Memory) -> Answer:
    if answer.method == "POST" and answer.name == "" and name_of(answer.sent) == "group":
        return answer.rejected(403, "Forbidden", 'ResourceClaim "some-claim" not found')
    return answer


@false_answer("WRC-API-006", to="podgroups", says="entries whose references do not exist must be kept")
def second_entry_of_one_template_is_dropped(answer: Answer, _memory: Memory) -> Answer:
    if answer.method == "POST":
        del answer.body["spec"]["resourceClaims"][3:]
    return answer


@lie("WRC-API-006", shows="ResourceClaim", says="must have a ResourceClaim of its own, but there are ['third']")
def entries_of_one_template_share_a_claim(claim: Object, _memory: Memory) -> Shown:
    if "fourth" not in name_of(claim):
        yield claim


@lie("WRC-API-006", shows="Pod", says="has 2 bound Pods: not so after")
def references_are_resolved_once_alone(pod: Object, _memory: Memory) -> Shown:
    """What did not exist when the PodGroup was created is never looked for again: only a time-out can tell."""
    pod["spec"].pop("nodeName", None)
    yield pod


@lie("WRC-API-014", shows="PodGroup", says="each once, but the answer shows []")
def pod_group_has_no_finalizer(group: Object, _memory: Memory) -> Shown:
    group["metadata"].pop("finalizers", None)
    yield group


@lie("WRC-API-014", shows="PodGroup", only=WITHOUT_CLAIMS, says="each once, but the answer shows []")
def only_a_pod_group_with_claims_is_protected(group: Object, _memory: Memory) -> Shown:
    if not entries_of(group):
        group["metadata"].pop("finalizers", None)
    yield group


@lie("WRC-API-014", shows="PodGroup", says=f"that was sent with the finalizers ['{FINALIZER}'] must")
def finalizer_of_the_client_is_doubled(group: Object, _memory: Memory) -> Shown:
    if name_of(group) == "group-1":
        group["metadata"]["finalizers"].append(FINALIZER)
    yield group


@lie("WRC-API-014", shows="PodGroup", says="that was sent with the finalizers ['orphan'] must have these")
def finalizer_is_added_to_an_empty_list_alone(group: Object, _memory: Memory) -> Shown:
    if name_of(group) == "group-2":
        group["metadata"]["finalizers"].remove(FINALIZER)
    yield group


@lie("WRC-API-014", shows="PodGroup", says=f"that was sent with the finalizers ['{FINALIZER}', 'orphan'] must")
def second_finalizer_of_the_client_is_dropped(group: Object, _memory: Memory) -> Shown:
    if name_of(group) == "group-3":
        group["metadata"]["finalizers"].remove("orphan")
    yield group


@false_answer("WRC-API-014", to="podgroups", says="each once, but get shows []")
def finalizer_is_answered_but_not_stored(answer: Answer, _memory: Memory) -> Answer:
    if answer.method == "GET":
        answer.body["metadata"].pop("finalizers", None)
    return answer
