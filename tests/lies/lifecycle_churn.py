# SPDX-License-Identifier: Apache-2.0
"""Lies about PodGroups that follow each other fast, under one name or side by side."""

from copy import deepcopy

from tests.lies.generation import entry_of, statuses_of
from tests.lies.lie import Answer, Memory, Object, Shown, false_answer, lie, name_of, twin
from tests.lies.lifecycle_teardown import kept_in_memory
from tests.lies.named_claims_in_use import lost_consumers
from tests.lies.reservation import POD, entries_of

CHURN = "test_rapid_churn_leaves_nothing_behind"


@lie("WRC-LIF-007", shows="ResourceClaim", only="[named]", says="is not reserved for podgroups/group: not so after")
def entry_of_an_earlier_group_of_this_name_stays(claim: Object, memory: Memory) -> Shown:
    """Only a time-out can tell that something stays."""
    lost = lost_consumers(claim, memory)
    if entries_of(claim):
        claim["status"]["reservedFor"] = lost + entries_of(claim)
    yield claim


@lie("WRC-LIF-007", shows="ResourceClaim", says="reservedFor must hold the new PodGroup alone")
def third_group_of_this_name_is_not_reserved_for(claim: Object, memory: Memory) -> Shown:
    """Whether there is an entry was only looked up by its name."""
    instances: list[str] = memory.facts.setdefault("instances", [])
    instances += [one["uid"] for one in entries_of(claim) if one["uid"] not in instances]
    if len(instances) > 2:
        entries_of(claim).clear()
    yield claim


@lie("WRC-LIF-007", shows="ResourceClaim", says="their ResourceClaim is not allocated")
def second_group_of_this_name_gets_no_device(claim: Object, memory: Memory) -> Shown:
    instances: list[str] = memory.facts.setdefault("instances", [])
    instances += [one["uid"] for one in entries_of(claim) if one["uid"] not in instances]
    if len(instances) > 1:
        claim["status"].pop("allocation", None)
    yield claim


@lie("WRC-LIF-007", shows="ResourceClaim", only="[template]", says="must belong to the new PodGroup by its uid")
def claim_keeps_the_owner_of_the_first_group_of_this_name(claim: Object, memory: Memory) -> Shown:
    owner = claim["metadata"]["ownerReferences"][0]
    owner["uid"] = memory.facts.setdefault("first", owner["uid"])
    yield claim


@lie("WRC-LIF-007", shows="Pod", only="[template]", says="named a ResourceClaim of an earlier PodGroup of this name")
def pod_that_came_early_names_a_claim_of_an_earlier_group_until_it_is_bound(pod: Object, memory: Memory) -> Shown:
    statuses = statuses_of(pod)
    if "shared" in statuses:
        first = memory.facts.setdefault("first", deepcopy(statuses["shared"]))
        if not pod["spec"].get("nodeName"):
            statuses["shared"] |= first
    yield pod


@false_answer("WRC-LIF-007", to="resourceclaims", only="[template]", says="is gone: not so after")
def last_claim_of_this_name_stays(answer: Answer, memory: Memory) -> Answer:
    """Only a time-out can tell that something stays."""
    return kept_in_memory(answer, memory) if answer.name.startswith("group-") else answer


@lie("WRC-LIF-007", shows="ResourceClaim", only="[named]", says="is untouched: not so after")
def named_claim_keeps_its_finalizer_after_all_groups_of_this_name(claim: Object, memory: Memory) -> Shown:
    """Only a time-out can tell that something stays."""
    if lost_consumers(claim, memory):
        claim["metadata"]["finalizers"] = ["resource.kubernetes.io/delete-protection"]
    yield claim


def reserved_for_the_first_of_its_name(claim: Object, memory: Memory) -> bool:
    """Take the reservation for all but the first PodGroup "group" away, and tell whether there was another one."""
    namesakes = [one for one in entries_of(claim) if one["name"] == "group"]
    for one in namesakes:
        memory.facts.setdefault("first", one["uid"])
    others = [one for one in namesakes if one["uid"] != memory.facts["first"]]
    for one in others:
        entries_of(claim).remove(one)
    return bool(others)


# On v1.37.2 and v1.36.3 this probe is red, so the first lie heals it.
@lie("WRC-LIF-016", shows="ResourceClaim", heals=True)
def finished_pods_reserve_nothing_for_a_namesake(claim: Object, memory: Memory) -> Shown:
    reserved_for_the_first_of_its_name(claim, memory)
    yield claim


@lie("WRC-LIF-016", shows="ResourceClaim", says="must stay reserved for the other PodGroup alone")
def finished_pod_reserves_for_itself_when_a_namesake_comes(claim: Object, memory: Memory) -> Shown:
    if reserved_for_the_first_of_its_name(claim, memory):
        entries_of(claim).append(POD)
    yield claim


@lie("WRC-LIF-016", shows="ResourceClaim", only="[Failed]", says="but the claim was reserved for it")
def failed_pods_reserve_for_a_namesake(claim: Object, _memory: Memory) -> Shown:
    """The truth, so far; whoever mends it for Pods that have succeeded must not forget those that have failed."""
    yield claim


@false_answer("WRC-LIF-009", to="podgroups", says="- PodGroup group-17")
def one_group_of_many_is_never_removed(answer: Answer, memory: Memory) -> Answer:
    """Only a time-out can tell that something stays."""
    if answer.method == "POST" and name_of(answer.body) == "group-17":
        memory.facts["group"] = answer.body
    elif "items" in answer.body and "group" in memory.facts:
        answer.body["items"] = [*(answer.body["items"] or []), memory.facts["group"]]
    return answer


@lie("WRC-LIF-009", shows="ResourceClaim", lingers=True, says="- ResourceClaim group-")
def claims_that_nobody_used_are_never_removed(claim: Object, memory: Memory) -> Shown:
    """Only a time-out can tell that something stays."""
    if not lost_consumers(claim, memory):
        yield claim


@lie("WRC-LIF-009", shows="ResourceClaim", says="ResourceClaim named-claim")
def named_claim_stays_reserved_for_one_group_of_many(claim: Object, memory: Memory) -> Shown:
    lost = [one for one in lost_consumers(claim, memory) if one["name"].endswith("7")]
    if lost and name_of(claim) == "named-claim":
        claim["status"]["reservedFor"] = entries_of(claim) + lost
    yield claim


@lie("WRC-LIF-009", shows="Pod", says="has 2 bound Pods: not so after")
def pods_are_no_longer_bound_after_twenty_groups(pod: Object, _memory: Memory) -> Shown:
    """Only a time-out can tell that something is missing."""
    group = pod["spec"].get("schedulingGroup", {}).get("podGroupName", "")
    if group and int(group.removeprefix("group-")) >= 20:
        pod["spec"].pop("nodeName", None)
    yield pod


@lie("WRC-LIF-009", shows="Pod", says="is bound: not so after")
def one_device_is_never_free_again(pod: Object, _memory: Memory) -> Shown:
    """Only a time-out can tell that something is missing."""
    if not pod["spec"].get("schedulingGroup"):
        pod["spec"].pop("nodeName", None)
    yield pod


@lie("WRC-INV-002", shows="ResourceClaim", check=CHURN, says="two generated ResourceClaims for its entry 'generated'")
def one_group_of_many_has_two_claims_until_one_is_used(claim: Object, _memory: Memory) -> Shown:
    yield claim
    if entry_of(claim) and name_of(claim).startswith("group-7-") and not entries_of(claim):
        yield twin(claim, "second")
