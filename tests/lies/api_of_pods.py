# SPDX-License-Identifier: Apache-2.0
"""Lies about how a Pod names its PodGroup, and about its own claims."""

from dataclasses import replace

from tests.lies.lie import Answer, Memory, Object, Shown, false_answer, lie, name_of
from tests.lies.refusals import accepted_if, at_another_field, entries_of, is_refused, stored_all_the_same
from tests.lies.reservation import POD

VALID = "test_the_name_of_a_pod_group_is_valid"
IMMUTABLE = "test_the_pod_group_of_a_pod_cannot_be_changed"
LATER = "test_a_pod_may_name_a_pod_group_of_its_own_namespace_that_comes_later"


def group_of(sent: Object | None) -> Object | None:
    """Return ``spec.schedulingGroup`` of a Pod as it was sent."""
    group: Object | None = (sent or {}).get("spec", {}).get("schedulingGroup")
    return group


@false_answer(
    "WRC-API-012", to="pods", check=VALID, says="A Pod of the PodGroup None must be refused with 422, but was"
)
def scheduling_group_may_be_empty(answer: Answer, _memory: Memory) -> Answer:
    return accepted_if(answer, group_of(answer.sent) == {})


@false_answer(
    "WRC-API-012", to="pods", check=VALID, says="PodGroup 'other/group' must be refused with 422, but was accepted"
)
def pod_group_may_be_in_another_namespace(answer: Answer, _memory: Memory) -> Answer:
    return accepted_if(answer, "/" in str(group_of(answer.sent)))


@false_answer("WRC-API-012", to="pods", check=VALID, says="PodGroup '' must be refused with 422, but was accepted")
def empty_name_means_no_pod_group(answer: Answer, _memory: Memory) -> Answer:
    return accepted_if(answer, group_of(answer.sent) == {"podGroupName": ""})


@false_answer(
    "WRC-API-012", to="pods", check=VALID, says="with FieldValueInvalid at spec.schedulingGroup.podGroupName, but"
)
def refusal_names_the_scheduling_group_alone(answer: Answer, _memory: Memory) -> Answer:
    return at_another_field(answer, ".podGroupName", "")


@false_answer("WRC-API-012", to="pods", check=VALID, says="must be refused with 422, but the answer is")
def wrong_pod_group_is_a_bad_request(answer: Answer, _memory: Memory) -> Answer:
    return answer.rejected(400, "BadRequest", "no") if is_refused(answer) else answer


@false_answer("WRC-API-012", to="pods", check=VALID, says="was refused, but the Pod is stored all the same")
def refused_pod_is_stored(answer: Answer, memory: Memory) -> Answer:
    return stored_all_the_same(answer, memory)


@false_answer("WRC-API-012", to="pods", check=VALID, says="the PodGroup's name must be kept")
def scheduling_group_is_dropped(answer: Answer, _memory: Memory) -> Answer:
    if answer.status == 201:
        answer.body["spec"].pop("schedulingGroup")
    return answer


@false_answer("WRC-API-012", to="pods", check=VALID, says="with the longest name must be accepted, but the answer is")
def missing_pod_group_is_refused(answer: Answer, _memory: Memory) -> Answer:
    return answer.rejected(403, "Forbidden", "PodGroup not found") if answer.status == 201 else answer


@false_answer("WRC-API-012", to="pods", check=IMMUTABLE, says="must be refused with 422, but was accepted")
def pod_may_change_to_another_pod_group(answer: Answer, _memory: Memory) -> Answer:
    return accepted_if(answer, True)


@false_answer("WRC-API-012", to="pods", check=IMMUTABLE, says="to None must be refused with 422, but was accepted")
def pod_may_leave_its_pod_group(answer: Answer, _memory: Memory) -> Answer:
    return accepted_if(answer, group_of(answer.sent) is None)


@false_answer(
    "WRC-API-012", to="pods", check=IMMUTABLE, says="of a Pod from None to {'podGroupName': 'other'} must be refused"
)
def pod_of_no_pod_group_may_enter_one(answer: Answer, memory: Memory) -> Answer:
    return accepted_if(answer, is_of(answer, memory, None))


@false_answer("WRC-API-012", to="pods", check=IMMUTABLE, says="from {'podGroupName': 'missing'} to")
def pending_pod_may_change_its_pod_group(answer: Answer, memory: Memory) -> Answer:
    return accepted_if(answer, is_of(answer, memory, {"podGroupName": "missing"}))


@false_answer("WRC-API-012", to="pods", check=IMMUTABLE, says="was refused, but it is now {'podGroupName': 'other'}")
def refused_change_of_the_pod_group_is_stored(answer: Answer, memory: Memory) -> Answer:
    if is_refused(answer):
        memory.facts[answer.name] = group_of(answer.sent)
    if answer.method == "GET" and answer.name in memory.facts:
        answer.body["spec"]["schedulingGroup"] = memory.facts[answer.name]
    return answer


def is_of(answer: Answer, memory: Memory, group: Object | None) -> bool:
    """Tell whether the request is about a Pod that is of this PodGroup, or of none."""
    return bool(answer.name) and group_of(memory.truth(answer.path)) == group


@lie("WRC-API-012", shows="Pod", check=LATER, says="although only another namespace has a PodGroup of the name")
def pod_group_of_another_namespace_will_do(pod: Object, _memory: Memory) -> Shown:
    if pod["spec"].get("schedulingGroup"):
        pod["spec"]["nodeName"] = "somewhere"
    yield pod


@lie("WRC-API-012", shows="Pod", check=LATER, says="has 3 bound Pods: not so after")
def third_pod_never_finds_its_later_pod_group(pod: Object, _memory: Memory) -> Shown:
    """Only a time-out can tell that something is missing."""
    if name_of(pod).endswith("-2"):
        pod["spec"].pop("nodeName", None)
    yield pod


@lie(
    "WRC-API-012", shows="ResourceClaim", check=LATER, says="the claim must be reserved for the Pods' own PodGroup, not"
)
def early_pods_are_reserved_one_by_one(claim: Object, _memory: Memory) -> Shown:
    if claim["status"].get("reservedFor"):
        claim["status"]["reservedFor"].append(POD)
    yield claim


@lie("WRC-API-012", shows="ResourceClaim", check=LATER, says="has no Pods, but its claim is reserved for")
def claim_of_the_other_namespace_is_reserved_too(claim: Object, _memory: Memory) -> Shown:
    if "allocation" not in claim["status"]:
        claim["status"]["reservedFor"] = [POD]
    yield claim


@false_answer(
    "WRC-API-013", to="pods", says="the Pod of the KEP, PodGroup '', must be refused with 422, but was accepted"
)
def fourth_entry_of_a_pod_may_be_named_as_the_second(answer: Answer, _memory: Memory) -> Answer:
    return accepted_if(answer, len(entries_of(answer.sent)) == 4)


@false_answer(
    "WRC-API-013", to="pods", says="two equal entries, PodGroup '', must be refused with 422, but was accepted"
)
def equal_entries_of_a_pod_are_merged(answer: Answer, _memory: Memory) -> Answer:
    entries = entries_of(answer.sent)
    return accepted_if(answer, len(entries) == 2 and entries[0] == entries[1])


@false_answer("WRC-API-013", to="pods", says="PodGroup 'group', must be refused with 422, but was accepted")
def members_may_have_two_entries_of_one_name(answer: Answer, _memory: Memory) -> Answer:
    return accepted_if(answer, bool(group_of(answer.sent)))


@false_answer(
    "WRC-API-013", to="pods", says="with FieldValueDuplicate at spec.resourceClaims[3].name, but the causes are"
)
def refusal_of_a_pod_names_another_entry(answer: Answer, _memory: Memory) -> Answer:
    return at_another_field(answer, "[3].name", "[1].name")


@false_answer("WRC-API-013", to="pods", says="was refused, but the Pod is stored all the same")
def pod_with_two_entries_of_one_name_is_stored(answer: Answer, memory: Memory) -> Answer:
    return stored_all_the_same(answer, memory)


@false_answer("WRC-API-013", to="pods", says="of the documented Pod must be kept, but there are")
def fourth_claim_of_the_documented_pod_is_dropped(answer: Answer, _memory: Memory) -> Answer:
    if answer.status != 201:
        return answer
    spec = {**answer.body["spec"], "resourceClaims": entries_of(answer.body)[:3]}
    return replace(answer, body={**answer.body, "spec": spec})
