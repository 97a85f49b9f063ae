# SPDX-License-Identifier: Apache-2.0
"""Lies about gangs: partly bound ones, and those that leave something behind."""

from tests.lies.lie import Memory, Object, Shown, lie, name_of, twin
from tests.lies.reservation import POD, entries_of, pods_beside
from tests.lies.scheduling import forgotten, group_of_pod, is_the_first_seen, members_beside

FINALIZER = "resource.kubernetes.io/delete-protection"


@lie("WRC-SCH-002", shows="Pod", says="have a node, and these have none: early-")
def first_pod_of_a_gang_is_never_bound(pod: Object, memory: Memory) -> Shown:
    yield forgotten(pod) if is_the_first_seen(pod, memory) else pod


@lie("WRC-SCH-002", shows="Pod", says="was bound when there were fewer Pods than minCount")
def early_pod_of_a_gang_does_not_wait_for_the_others(pod: Object, memory: Memory) -> Shown:
    if is_the_first_seen(pod, memory):
        pod["spec"].setdefault("nodeName", "any-node")
    yield pod


@lie("WRC-SCH-002", shows="ResourceClaim", only="[2-of-5", says="must be reserved for PodGroup group alone")
def pods_beyond_min_count_reserve_for_themselves(claim: Object, memory: Memory) -> Shown:
    if entries_of(claim) and len(pods_beside(claim, memory)) > 2:
        entries_of(claim).append(POD)
    yield claim


@lie("WRC-SCH-002", shows="ResourceClaim", only="[20-of-20", says="shares one ResourceClaim, but there are 2")
def twentieth_pod_of_a_gang_gets_a_second_claim(claim: Object, memory: Memory) -> Shown:
    yield claim
    if len(pods_beside(claim, memory)) >= 20:
        yield twin(claim, "second")


@lie("WRC-SCH-002", shows="ResourceClaim", only="[2-of-2", says="Pods of PodGroup group are bound, but ResourceClaim")
def gang_of_two_is_bound_without_an_allocation(claim: Object, _memory: Memory) -> Shown:
    claim["status"].pop("allocation", None)
    yield claim


@lie("WRC-SCH-003", shows="Pod", says="was bound, although its gang cannot be placed as a whole")
def one_pod_of_a_gang_is_bound_where_it_fits(pod: Object, memory: Memory) -> Shown:
    if group_of_pod(pod) and is_the_first_seen(pod, memory):
        pod["spec"].setdefault("nodeName", "any-node")
    yield pod


@lie("WRC-SCH-003", shows="ResourceClaim", only="-template]", says="the gang cannot be placed, so its claim must be")
def failed_gang_leaves_a_finalizer_behind(claim: Object, _memory: Memory) -> Shown:
    claim["metadata"]["finalizers"] = [FINALIZER]
    yield claim


@lie("WRC-SCH-003", shows="ResourceClaim", only="-named]", says="the gang cannot be placed, so its claim must be")
def failed_gang_leaves_a_reservation_behind(claim: Object, _memory: Memory) -> Shown:
    claim["status"] = {**claim["status"], "reservedFor": [POD]}
    yield claim


@lie("WRC-SCH-003", shows="PodGroup", says="must tell Unschedulable, not ('False', 'SchedulerError')")
def failed_gang_is_called_an_error(group: Object, _memory: Memory) -> Shown:
    for condition in group["status"].get("conditions", ()):
        condition["reason"] = "SchedulerError"
    yield group


@lie("WRC-SCH-003", shows="PodGroup", says="must tell Unschedulable, not ('', '')")
def failed_gang_tells_nothing(group: Object, _memory: Memory) -> Shown:
    group["status"].pop("conditions", None)
    yield group


@lie("WRC-SCH-004", shows="ResourceClaim", says="gang many lacks a Pod, so its claim must be untouched")
def nineteen_of_twenty_pods_allocate(claim: Object, memory: Memory) -> Shown:
    if name_of(claim).startswith("many") and len(members_beside(claim, "many", memory)) < 20:
        claim["status"] = {"allocation": {"devices": {}}}
    yield claim


@lie("WRC-SCH-004", shows="Pod", says="gang many lacks a Pod, but ['member-")
def first_of_nineteen_pods_is_bound_without_the_twentieth(pod: Object, memory: Memory) -> Shown:
    if group_of_pod(pod) == "many" and is_the_first_seen(pod, memory):
        pod["spec"].setdefault("nodeName", "any-node")
    yield pod


@lie("WRC-SCH-004", shows="Pod", says="19 of 20 have a node, and these have none: member-")
def one_pod_goes_on_waiting_in_a_complete_gang(pod: Object, memory: Memory) -> Shown:
    yield forgotten(pod) if group_of_pod(pod) == "many" and is_the_first_seen(pod, memory) else pod


@lie("WRC-SCH-004", shows="ResourceClaim", says="must be reserved for PodGroup few alone")
def last_pod_of_a_gang_reserves_for_itself(claim: Object, _memory: Memory) -> Shown:
    if entries_of(claim) and name_of(claim).startswith("few"):
        entries_of(claim).append(POD)
    yield claim
