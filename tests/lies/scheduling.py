# SPDX-License-Identifier: Apache-2.0
"""Lies about Pods that share a ResourceClaim and are scheduled at once, or when the devices come, or never."""

from tests.lies.lie import Memory, Object, Shown, lie, name_of, twin, uid_of
from tests.lies.reservation import POD, entries_of, pods_beside

AT_ONCE = "test_pods_that_are_created_at_once_are_all_bound"
TIME_AND_AGAIN = "test_pairs_of_pods_are_bound_time_and_again"
EVICTED, PREEMPTED = "[evicted", "[preempted"


def group_of_pod(pod: Object) -> str:
    """Return the name of the PodGroup of a Pod; empty if it has none."""
    return str((pod["spec"].get("schedulingGroup") or {}).get("podGroupName", ""))


def members_beside(shown: Object, group: str, memory: Memory) -> list[Object]:
    """Return the Pods of a PodGroup in the namespace of an object, as they truly are."""
    return [pod for pod in pods_beside(shown, memory) if group_of_pod(pod) == group]


def is_the_first_seen(pod: Object, memory: Memory) -> bool:
    """Tell whether this is the Pod that the lie was asked about first."""
    return bool(memory.facts.setdefault("first", uid_of(pod)) == uid_of(pod))


def forgotten(pod: Object) -> Object:
    """Return a Pod that never got its node."""
    pod["spec"].pop("nodeName", None)
    return pod


@lie("WRC-SCH-001", shows="Pod", check=AT_ONCE, says="have a node, and these have none: third-")
def one_pod_of_the_third_group_is_never_bound(pod: Object, memory: Memory) -> Shown:
    yield forgotten(pod) if group_of_pod(pod) == "third" and is_the_first_seen(pod, memory) else pod


@lie("WRC-SCH-001", shows="ResourceClaim", only="[20-", check=AT_ONCE, says="must be reserved for PodGroup third alone")
def twentieth_of_the_pods_reserves_for_itself(claim: Object, memory: Memory) -> Shown:
    is_second_of_third = name_of(claim).startswith("third-two")
    if entries_of(claim) and is_second_of_third and len(members_beside(claim, "third", memory)) >= 20:
        entries_of(claim).append(POD)
    yield claim


@lie(
    "WRC-SCH-001",
    shows="ResourceClaim",
    check=AT_ONCE,
    says="Pods of PodGroup second are bound, but ResourceClaim second-two",
)
def second_entry_of_the_second_group_is_not_allocated(claim: Object, _memory: Memory) -> Shown:
    if name_of(claim).startswith("second-two"):
        claim["status"].pop("allocation", None)
    yield claim


@lie("WRC-SCH-001", shows="ResourceClaim", check=AT_ONCE, says="need 6 ResourceClaims, not 7")
def second_pod_at_once_gets_another_claim(claim: Object, _memory: Memory) -> Shown:
    yield claim
    if name_of(claim).startswith("first-one"):
        yield twin(claim, "another")


@lie("WRC-SCH-001", shows="Pod", check=TIME_AND_AGAIN, says="1 of 2 have a node, and these have none: pair-7-")
def one_pod_of_many_pairs_is_never_bound(pod: Object, _memory: Memory) -> Shown:
    yield forgotten(pod) if name_of(pod).startswith("pair-7-") and name_of(pod).endswith("1") else pod


@lie("WRC-SCH-001", shows="ResourceClaim", check=TIME_AND_AGAIN, says="must be reserved for PodGroup pair-9 alone")
def last_pair_reserves_for_one_of_its_pods(claim: Object, _memory: Memory) -> Shown:
    if entries_of(claim) and name_of(claim).startswith("pair-9"):
        entries_of(claim).append(POD)
    yield claim


@lie("WRC-SCH-009", shows="Pod", says="2 of 3 have a node, and these have none: member-")
def one_of_three_waiting_pods_is_not_tried_again(pod: Object, memory: Memory) -> Shown:
    yield forgotten(pod) if is_the_first_seen(pod, memory) else pod


@lie("WRC-SCH-009", shows="Pod", only="[DeviceClass", says="0 of 3 have a node, and these have none: member-")
def device_class_is_not_noticed(pod: Object, _memory: Memory) -> Shown:
    yield forgotten(pod)


@lie("WRC-SCH-009", shows="ResourceClaim", says="must be reserved for PodGroup group alone")
def pods_that_waited_reserve_for_themselves(claim: Object, _memory: Memory) -> Shown:
    entries_of(claim)[:] = [POD for _ in entries_of(claim)]
    yield claim


@lie("WRC-SCH-010", shows="Pod", says="the competitor is bound, although the PodGroup holds the devices")
def devices_are_free_when_the_pods_are_driven_out(pod: Object, _memory: Memory) -> Shown:
    if name_of(pod).startswith("competitor"):
        pod["spec"].setdefault("nodeName", "any-node")
    yield pod


@lie("WRC-SCH-010", shows="ResourceClaim", only=EVICTED, says="the allocation changed when the Pods were evicted")
def second_device_is_another_one_after_the_eviction(claim: Object, memory: Memory) -> Shown:
    yield with_another_device(claim, memory)


@lie("WRC-SCH-010", shows="ResourceClaim", only=PREEMPTED, says="the allocation changed when the Pods were preempted")
def allocation_goes_with_the_last_preempted_pod(claim: Object, memory: Memory) -> Shown:
    if "allocation" in claim["status"] and not members_beside(claim, "group", memory):
        del claim["status"]["allocation"]
    yield claim


@lie("WRC-SCH-010", shows="ResourceClaim", only="template]", says="the reservation was lost when the Pods were")
def reservation_is_lost_with_the_first_of_the_pods(claim: Object, memory: Memory) -> Shown:
    yield reserved_at_first(claim, memory)


@lie("WRC-SCH-010", shows="Pod", says="is bound: not so after")
def competitor_waits_although_the_pod_group_is_deleted(pod: Object, _memory: Memory) -> Shown:
    yield forgotten(pod) if name_of(pod).startswith("competitor") else pod


# On v1.37.2 this probe is red, so the first lie heals it.
@lie("WRC-SCH-011", shows="Pod", heals=True)
def order_of_the_entries_is_of_no_importance(pod: Object, _memory: Memory) -> Shown:
    pod["spec"].setdefault("nodeName", "any-node")
    yield pod


@lie("WRC-SCH-011", shows="Pod", only="[opposite", says="19 of 20 have a node, and these have none: group-9-")
def order_of_the_entries_matters_to_the_last_pod_group(pod: Object, memory: Memory) -> Shown:
    pod["spec"].setdefault("nodeName", "any-node")
    yield forgotten(pod) if group_of_pod(pod) == "group-9" and is_the_first_seen(pod, memory) else pod


def on_a_device_of_its_own(claim: Object) -> Object:
    """Return a claim whose device, if it has one, has the name of the claim."""
    for result in (claim["status"].get("allocation") or {}).get("devices", {}).get("results") or ():
        result["device"] = name_of(claim)
    return claim


# On v1.37.2 this probe is red in some runs, so the first lie heals it.
@lie("WRC-SCH-012", shows="ResourceClaim", heals=True)
def all_claims_have_devices_of_their_own(claim: Object, _memory: Memory) -> Shown:
    yield on_a_device_of_its_own(claim)


@lie("WRC-SCH-012", shows="ResourceClaim", says="1 of 40 devices are allocated to two ResourceClaims each")
def second_entries_of_the_first_and_the_last_group_have_one_device(claim: Object, _memory: Memory) -> Shown:
    claim = on_a_device_of_its_own(claim)
    if name_of(claim).startswith(("group-0-two", "group-19-two")) and "allocation" in claim["status"]:
        claim["status"]["allocation"]["devices"]["results"][0]["device"] = "device-0"
    yield claim


def with_another_device(claim: Object, memory: Memory) -> Object:
    """Return a claim whose last device is another one, if its PodGroup has no Pods."""
    results = claim["status"].get("allocation", {}).get("devices", {}).get("results") or ()
    if results and not members_beside(claim, "group", memory):
        results[-1]["device"] = "device-of-others"
    return claim


def reserved_at_first(claim: Object, memory: Memory) -> Object:
    """Return a claim whose first version was reserved for the PodGroup; as it truly is, the next one is not."""
    path = f"/apis/scheduling.k8s.io/v1beta1/namespaces/{claim['metadata']['namespace']}/podgroups"
    version = claim["metadata"]["resourceVersion"]
    groups = memory.truth(path)["items"]
    if groups and memory.facts.setdefault(uid_of(claim), version) == version:
        reference = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": name_of(groups[0])}
        claim["status"] = {"reservedFor": [{**reference, "uid": uid_of(groups[0])}]}
    return claim
