# SPDX-License-Identifier: Apache-2.0
"""Lies about allocations where the Pods of a PodGroup cannot run."""

from tests.lies.lie import Memory, Object, Shown, lie, name_of
from tests.lies.reservation import POD, entries_of, pods_beside
from tests.lies.scheduling import forgotten, is_the_first_seen, reserved_at_first


def results_of(claim: Object) -> list[Object]:
    """Return the devices that are allocated to a claim, to be changed in place."""
    return list((claim["status"].get("allocation") or {}).get("devices", {}).get("results") or ())


def a_pod_is_pinned(claim: Object, memory: Memory) -> bool:
    """Tell whether there is a Pod yet that can only run elsewhere."""
    return any(name_of(pod).startswith("pinned") for pod in pods_beside(claim, memory))


def is_of_the_second_entry(claim: Object) -> bool:
    """Tell whether a claim, named or generated, is that of the second entry."""
    return name_of(claim).startswith(("second", "group-second"))


@lie("WRC-SCH-005", shows="ResourceClaim", says="but ResourceClaim")
def second_claim_stays_where_it_was(claim: Object, memory: Memory) -> Shown:
    if is_of_the_second_entry(claim):
        for result in results_of(claim):
            result["pool"] = memory.facts.setdefault("pool", result["pool"])
    yield claim


@lie("WRC-SCH-005", shows="ResourceClaim", says="must be reserved for PodGroup group alone")
def group_that_moved_is_reserved_twice(claim: Object, memory: Memory) -> Shown:
    pools = {result["pool"] for result in results_of(claim)}
    if pools and {memory.facts.setdefault(name_of(claim), pools.copy().pop())} != pools:
        entries_of(claim).extend(entries_of(claim)[:1])
    yield claim


@lie("WRC-SCH-005", shows="Pod", says="2 of 3 have a node, and these have none: member-")
def one_pod_of_the_group_cannot_move(pod: Object, memory: Memory) -> Shown:
    is_elsewhere = pod["spec"]["nodeSelector"].get("kubernetes.io/hostname", "").endswith("node-1")
    yield forgotten(pod) if is_elsewhere and is_the_first_seen(pod, memory) else pod


@lie("WRC-SCH-006", shows="ResourceClaim", says="the allocation changed, although a member of the PodGroup has a node")
def device_is_pulled_from_under_a_member(claim: Object, memory: Memory) -> Shown:
    if a_pod_is_pinned(claim, memory):
        claim["status"] = {}
    yield claim


@lie("WRC-SCH-006", shows="ResourceClaim", only="[terminating", says="the allocation changed, although a member")
def terminating_member_gets_another_device(claim: Object, memory: Memory) -> Shown:
    if a_pod_is_pinned(claim, memory):
        for result in results_of(claim):
            result["device"] = "device-of-others"
    yield claim


@lie("WRC-SCH-006", shows="Pod", only="[without-claims", says="but ['pinned-")
def member_without_claims_does_not_keep_others_from_being_bound(pod: Object, memory: Memory) -> Shown:
    if name_of(pod).startswith("pinned") and is_the_first_seen(pod, memory):
        pod["spec"].setdefault("nodeName", "any-node")
    yield pod


@lie("WRC-SCH-006", shows="ResourceClaim", only="-template]", says="the reservation was taken back, although a member")
def reservation_is_taken_back_for_a_moment(claim: Object, memory: Memory) -> Shown:
    yield reserved_at_first(claim, memory)


@lie("WRC-SCH-006", shows="ResourceClaim", only="-named]", says="was without allocation, although it was used")
def allocation_is_taken_back_for_a_moment(claim: Object, memory: Memory) -> Shown:
    if memory.facts.setdefault("first", claim["metadata"]["resourceVersion"]) == claim["metadata"]["resourceVersion"]:
        claim["status"] = {"allocation": {"devices": {}}}
    yield claim


@lie("WRC-SCH-007", shows="ResourceClaim", says="has reserved it")
def allocation_goes_although_another_consumer_has_reserved_it(claim: Object, memory: Memory) -> Shown:
    if a_pod_is_pinned(claim, memory):
        claim["status"].pop("allocation", None)
    yield claim


@lie("WRC-SCH-007", shows="ResourceClaim", says="lost its reservation when another PodGroup could not be placed")
def reservation_of_the_other_consumer_goes_as_well(claim: Object, memory: Memory) -> Shown:
    """It goes with that of the PodGroup that cannot be placed."""
    memory.facts["two"] = memory.facts.get("two") or len(entries_of(claim)) > 1
    if memory.facts["two"] and len(entries_of(claim)) == 1:
        entries_of(claim)[:] = [POD]
    yield claim


@lie("WRC-SCH-007", shows="Pod", only="[PodGroup", says="but ['pinned-")
def pod_is_bound_elsewhere_beside_the_reservation_of_another_group(pod: Object, _memory: Memory) -> Shown:
    if name_of(pod).startswith("pinned"):
        pod["spec"].setdefault("nodeName", "any-node")
    yield pod
