# SPDX-License-Identifier: Apache-2.0
"""Lies about which ResourceClaims of a PodGroup are allocated, where, and for how long."""

from tests.lies.lie import Memory, Object, Shown, lie, name_of, uid_of
from tests.lies.reservation import POD, pods_beside

BURST = "test_a_burst_of_pods_lands_where_the_device_is"
PINNED = "test_a_member_pinned_to_another_node_stays_pending"
FINALIZER = "resource.kubernetes.io/delete-protection"
ALLOCATION = {"devices": {"results": [{"driver": "any", "pool": "any", "device": "any", "request": "any"}]}}


def members_of(shown: Object, memory: Memory, group: str = "group") -> list[Object]:
    """Return the Pods of a PodGroup in the namespace of what is shown."""
    return [pod for pod in pods_beside(shown, memory) if is_member(pod, group)]


def is_member(pod: Object, group: str = "group") -> bool:
    """Tell whether the Pod belongs to the PodGroup of that name."""
    return bool(pod["spec"].get("schedulingGroup") == {"podGroupName": group})


def is_for(claim: Object, entry: str) -> bool:
    """Tell whether the claim is named by the entry, or was generated for it."""
    return name_of(claim) == f"{entry}-claim" or name_of(claim).startswith(f"group-{entry}-")


def is_of(claim: Object, *groups: str) -> bool:
    """Tell whether the claim was generated for one of the PodGroups."""
    return name_of(claim).startswith(tuple(f"{group}-shared-" for group in groups))


def results_of(claim: Object) -> list[Object]:
    """Return the allocated devices, to be changed in place; empty if there are none."""
    results: list[Object] = claim["status"].get("allocation", {}).get("devices", {}).get("results", [])
    return results


def move_to_another_node(pod: Object) -> None:
    """Show a bound Pod on a Node that does not exist."""
    if pod["spec"].get("nodeName"):
        pod["spec"]["nodeName"] = "another-node"


@lie("WRC-ALC-004", shows="ResourceClaim", says="only entry c is used by a Pod")
def whole_list_of_the_group_is_allocated(claim: Object, memory: Memory) -> Shown:
    if any(is_for(claim, entry) for entry in "abd") and members_of(claim, memory):
        claim["status"]["allocation"] = ALLOCATION
    yield claim


@lie("WRC-ALC-004", shows="ResourceClaim", says="only entry c is used by a Pod")
def last_entry_is_reserved_with_the_third(claim: Object, memory: Memory) -> Shown:
    """It is not allocated."""
    if is_for(claim, "d") and members_of(claim, memory):
        claim["status"]["reservedFor"] = [POD]
    yield claim


@lie("WRC-ALC-004", shows="Pod ResourceClaim", says="no Pod uses entry b, so its ResourceClaim must be untouched")
def second_entry_had_a_finalizer_from_the_beginning(shown: Object, memory: Memory) -> Shown:
    """It is gone as soon as there is a Pod, before anyone looks."""
    memory.facts["pod"] = memory.facts.get("pod") or shown["kind"] == "Pod"
    if is_for(shown, "b") and not memory.facts["pod"]:
        shown["metadata"]["finalizers"] = [FINALIZER]
    yield shown


@lie("WRC-ALC-004", shows="ResourceClaim", says="that uses entry a is bound, but its ResourceClaim is not allocated")
def second_pod_gets_nothing(claim: Object, _memory: Memory) -> Shown:
    if is_for(claim, "a"):
        claim["status"] = {}
    yield claim


@lie("WRC-ALC-005", shows="Pod", check=BURST, says="but the Pods that share it are on")
def one_of_twelve_pods_is_on_another_node(pod: Object, memory: Memory) -> Shown:
    if is_member(pod) and uid_of(pod) == memory.facts.setdefault("astray", uid_of(pod)):
        move_to_another_node(pod)
    yield pod


@lie("WRC-ALC-005", shows="Pod", check=BURST, says="but the Pods that share it are on")
def all_of_twelve_pods_are_on_another_node(pod: Object, _memory: Memory) -> Shown:
    """They are together, but not where the device is."""
    move_to_another_node(pod)
    yield pod


@lie("WRC-ALC-005", shows="ResourceClaim", check=BURST, says="which is none of the Nodes with devices")
def device_is_in_a_pool_of_no_node(claim: Object, _memory: Memory) -> Shown:
    for result in results_of(claim):
        result["pool"] = "another-node"
    yield claim


@lie("WRC-ALC-005", shows="ResourceClaim", says="must have its one device, but it has")
def each_node_gets_a_device(claim: Object, _memory: Memory) -> Shown:
    results_of(claim).extend([{**result, "pool": "another-node"} for result in results_of(claim)])
    yield claim


@lie("WRC-ALC-005", shows="Pod", check=BURST, says="has 12 bound Pods: not so after")
def twelfth_pod_stays_pending(pod: Object, memory: Memory) -> Shown:
    """Only a time-out can tell that something is missing."""
    if is_member(pod) and uid_of(pod) == memory.facts.setdefault("pending", uid_of(pod)):
        pod["spec"].pop("nodeName", None)
    yield pod


@lie("WRC-ALC-005", shows="Pod", check=PINNED, says="are bound to wrc-")
def pinned_pods_of_a_burst_are_all_bound(pod: Object, memory: Memory) -> Shown:
    """Those of the other Node follow the first one that is bound."""
    bound = any(one["spec"].get("nodeName") for one in members_of(pod, memory))
    if bound and is_member(pod) and not name_of(pod).startswith("later"):
        pod["spec"].setdefault("nodeName", "any")
    yield pod


@lie("WRC-ALC-005", shows="Pod", check=PINNED, says="are bound to wrc-")
def pinned_pod_that_comes_later_is_bound(pod: Object, _memory: Memory) -> Shown:
    if name_of(pod).startswith("later"):
        pod["spec"].setdefault("nodeName", "any")
    yield pod


@lie("WRC-ALC-005", shows="ResourceClaim", check=PINNED, says="must not take the allocation from the others")
def allocation_is_taken_away_for_a_moment(claim: Object, memory: Memory) -> Shown:
    """It is there with the finalizer already, and not when it is shown next; all later looks show it again."""
    if results_of(claim) and not memory.facts.get("seen"):
        memory.facts["seen"] = claim["status"].pop("allocation")
    elif claim["metadata"].get("finalizers") and (name_of(claim) == "late" or is_of(claim, "group")):
        claim["status"].setdefault("allocation", ALLOCATION)
    yield claim


@lie("WRC-ALC-006", shows="ResourceClaim", says="no Pod can be scheduled, so the claim must be untouched")
def claim_is_reserved_before_a_place_is_found(claim: Object, _memory: Memory) -> Shown:
    if is_for(claim, "shared"):
        claim["status"].setdefault("reservedFor", [POD])
    yield claim


@lie("WRC-ALC-006", shows="ResourceClaim", says="no Pod can be scheduled, so the claim must be untouched")
def claim_has_a_finalizer_before_a_place_is_found(claim: Object, _memory: Memory) -> Shown:
    if is_for(claim, "shared"):
        claim["metadata"].setdefault("finalizers", [FINALIZER])
    yield claim


@lie("WRC-ALC-006", shows="ResourceClaim", says="a member is bound, but its ResourceClaim is not allocated")
def pod_that_fits_gets_no_device(claim: Object, _memory: Memory) -> Shown:
    if is_for(claim, "shared"):
        claim["status"] = {}
    yield claim


@lie("WRC-ALC-006", shows="ResourceClaim", says="the claim must be reserved for the PodGroup alone")
def reservation_holds_a_pod_without_a_place(claim: Object, _memory: Memory) -> Shown:
    if claim["status"].get("reservedFor") and is_for(claim, "shared"):
        claim["status"]["reservedFor"].append(POD)
    yield claim


@lie("WRC-ALC-006", shows="Pod", says="are bound, although they fit nowhere")
def pod_that_lacks_other_devices_is_bound_with_the_one_that_fits(pod: Object, _memory: Memory) -> Shown:
    if name_of(pod).startswith("without-devices"):
        pod["spec"].setdefault("nodeName", "any")
    yield pod


@lie("WRC-ALC-006", shows="Pod", says="is bound: not so after")
def pod_that_fits_waits_for_those_that_do_not(pod: Object, _memory: Memory) -> Shown:
    """Only a time-out can tell that something is missing."""
    if name_of(pod).startswith("member"):
        pod["spec"].pop("nodeName", None)
    yield pod


@lie("WRC-ALC-007", shows="ResourceClaim", says="two PodGroups must get different devices")
def two_groups_share_a_device_of_their_pairs(claim: Object, memory: Memory) -> Shown:
    if results_of(claim) and is_of(claim, "first", "second"):
        device = memory.facts.setdefault("device", results_of(claim)[0]["device"])
        results_of(claim)[0]["device"] = device
    yield claim


@lie("WRC-ALC-007", shows="ResourceClaim", says="so each claim has two devices")
def second_group_gets_one_device_of_its_pair(claim: Object, _memory: Memory) -> Shown:
    if is_of(claim, "second"):
        del results_of(claim)[1:]
    yield claim


@lie("WRC-ALC-007", shows="Pod", says="although the PodGroups that hold the devices still exist")
def third_group_gets_the_devices_with_the_last_pod(pod: Object, memory: Memory) -> Shown:
    if is_member(pod, "third") and not members_of(pod, memory, "first"):
        pod["spec"].setdefault("nodeName", "any")
    yield pod


@lie("WRC-ALC-007", shows="ResourceClaim", says="the devices went with the Pods, not with their PodGroup")
def devices_are_free_with_the_last_pod(claim: Object, memory: Memory) -> Shown:
    if is_of(claim, "first") and not members_of(claim, memory, "first"):
        claim["status"].pop("allocation", None)
    yield claim


@lie("WRC-ALC-007", shows="Pod", says="has 2 bound Pods: not so after")
def second_pod_of_the_third_group_waits_for_ever(pod: Object, memory: Memory) -> Shown:
    """Only a time-out can tell that something is missing."""
    if is_member(pod, "third") and uid_of(pod) == memory.facts.setdefault("pending", uid_of(pod)):
        pod["spec"].pop("nodeName", None)
    yield pod


@lie("WRC-ALC-007", shows="ResourceClaim", says="are free for the third PodGroup, but it has")
def third_group_gets_other_devices_than_the_free_ones(claim: Object, _memory: Memory) -> Shown:
    if is_of(claim, "third") and results_of(claim):
        results_of(claim)[0]["device"] = "device-4"
    yield claim


@lie("WRC-ALC-007", shows="ResourceClaim", says="the devices of the PodGroup that stays have changed")
def group_that_stays_swaps_its_devices(claim: Object, memory: Memory) -> Shown:
    if is_of(claim, "second") and any(pod["spec"].get("nodeName") for pod in members_of(claim, memory, "third")):
        results_of(claim).reverse()
    yield claim
