# SPDX-License-Identifier: Apache-2.0
"""Lies about what can be seen of ResourceClaims that Pods share: events, conditions, and the API alone."""

from copy import deepcopy

from tests.lies.generation import entry_of
from tests.lies.generation_over_time import all_beside
from tests.lies.lie import Memory, Object, Shown, lie, name_of, twin, uid_of
from tests.lies.reservation import POD, entries_of

POD_GROUPS = "scheduling.k8s.io/v1beta1/podgroups"


def is_of_the_entry(claim: Object, entry: str) -> bool:
    """Tell whether a claim, named or generated, is that of an entry."""
    return entry_of(claim) == entry or name_of(claim) == f"{entry}-claim"


@lie("WRC-OBS-001", shows="Event", only="[PodGroup]", says="the event must be about the PodGroup, not about a Pod")
def event_about_a_pod_group_is_about_a_pod(event: Object, _memory: Memory) -> Shown:
    event["involvedObject"]["kind"] = "Pod"
    yield event


@lie("WRC-OBS-001", shows="Event", says="the event must name no-such-template")
def event_does_not_name_the_cause(event: Object, _memory: Memory) -> Shown:
    event["message"] = event["message"].replace("no-such-template", "template")
    yield event


@lie("WRC-OBS-001", shows="Event", says="the event must name faulty")
def event_does_not_name_the_entry(event: Object, _memory: Memory) -> Shown:
    event["message"] = event["message"].replace("faulty", "healthy")
    yield event


@lie("WRC-OBS-001", shows="Event", only="[PodGroup]", says="PodGroup sound has nothing to complain of")
def sound_pod_group_is_complained_of_as_well(event: Object, memory: Memory) -> Shown:
    yield event
    other = twin(event, "other")
    [sound] = [one for one in all_beside(event, POD_GROUPS, memory) if name_of(one) == "sound"] or [event]
    other["involvedObject"]["uid"] = uid_of(sound)
    yield other


@lie("WRC-OBS-001", shows="Event", only="[Pod]", says="is not empty: not so after")
def event_about_a_pod_has_another_reason(event: Object, _memory: Memory) -> Shown:
    """Only a time-out can tell that something is missing."""
    event["reason"] = "FailedScheduling"
    yield event


@lie("WRC-OBS-004", shows="ResourceClaim", says="reservedFor must tell whose claim an entry uses")
def second_claim_of_the_group_is_reserved_for_a_pod_as_well(claim: Object, _memory: Memory) -> Shown:
    if entries_of(claim) and is_of_the_entry(claim, "two"):
        entries_of(claim).append(POD)
    yield claim


@lie("WRC-OBS-004", shows="ResourceClaim", says="reservedFor must tell whose claim an entry uses")
def own_claim_of_a_member_looks_like_that_of_its_group(claim: Object, memory: Memory) -> Shown:
    if entries_of(claim) and is_of_the_entry(claim, "own"):
        [group] = all_beside(claim, POD_GROUPS, memory)
        reference = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "group", "uid": uid_of(group)}
        entries_of(claim)[:] = [reference]
    yield claim


@lie("WRC-OBS-004", shows="ResourceClaim", only="[template]", says="the owner must tell whose claim an entry uses")
def second_generated_claim_has_no_controller(claim: Object, _memory: Memory) -> Shown:
    if is_of_the_entry(claim, "two"):
        for owner in claim["metadata"]["ownerReferences"]:
            owner["controller"] = False
    yield claim


@lie("WRC-OBS-005", shows="PodGroup", says="tells False and Unschedulable of its scheduling: not so after")
def missing_devices_are_not_told(group: Object, _memory: Memory) -> Shown:
    group["status"].pop("conditions", None)
    yield group


@lie("WRC-OBS-005", shows="PodGroup", says="tells True and Scheduled of its scheduling: not so after")
def condition_stays_false_when_the_devices_are_there(group: Object, memory: Memory) -> Shown:
    conditions = group["status"].get("conditions")
    if conditions:
        group["status"]["conditions"] = deepcopy(memory.facts.setdefault("conditions", deepcopy(conditions)))
    yield group


@lie("WRC-OBS-005", shows="PodGroup", says="the condition fell back when a late member found no place")
def condition_is_true_and_falls_back(group: Object, memory: Memory) -> Shown:
    """The first version tells True, though no Pod was placed; the next one tells the truth."""
    version = group["metadata"]["resourceVersion"]
    if memory.facts.setdefault("first", version) == version:
        condition = {"type": "PodGroupInitiallyScheduled", "status": "True", "reason": "Scheduled"}
        group["status"] = {"conditions": [condition]}
    yield group
