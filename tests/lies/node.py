# SPDX-License-Identifier: Apache-2.0
"""Lies about the area KUB: wrong drivers, and kubelets that call them wrongly."""

from itertools import count

from fixtures.devices.pod_resources import Listed
from fixtures.devices.reference import faults
from fixtures.devices.reference.allocation import AllocatedDevice
from fixtures.devices.reference.faults import Faults, moved
from tests.lies.lie import Memory, Object, Shown, fault, lie, name_of

neighbouring_device_is_handed_out = fault(
    "neighbouring_device_is_handed_out",
    "WRC-KUB-001",
    Faults(hands_out=faults.a_neighbouring_device),
    says="sees the devices",
)
prepared_device_is_forgotten = fault(
    "prepared_device_is_forgotten", "WRC-KUB-001", Faults(forgets=True), says="sees the devices []"
)
no_pod_of_a_group_is_prepared = fault(
    "no_pod_of_a_group_is_prepared",
    "WRC-KUB-001",
    Faults(refuses=faults.claims_of_pod_groups),
    says="3 running Pods: not so after",
)


def _also_for_a_pod(claim: Object) -> Object:
    reserved = claim.get("status", {}).get("reservedFor")
    if reserved:
        reserved.append({"resource": "pods", "name": "member", "uid": "a-pod"})
    return claim


@lie("WRC-KUB-001", shows="ResourceClaim", says="must hold the PodGroup alone while its Pods run")
def kubelet_wants_an_entry_for_a_pod(claim: Object, _memory: Memory) -> Shown:
    """Right in all but the reservation, which an ungrouped Pod would need."""
    yield _also_for_a_pod(claim)


all_groups_get_the_first_device = fault(
    "all_groups_get_the_first_device",
    "WRC-KUB-002",
    Faults(hands_out=faults.always_the_first_device),
    says="two PodGroups share a device",
)


class _EachNodeItsOwn:
    """Hands out a device one further along with every prepare, whichever Node it is for."""

    def __init__(self) -> None:
        self._prepares = count()

    def __call__(self, device: AllocatedDevice, _times: int) -> AllocatedDevice:
        return moved(device, next(self._prepares))


each_node_hands_out_its_own_device = fault(
    "each_node_hands_out_its_own_device",
    "WRC-KUB-002",
    Faults(hands_out=_EachNodeItsOwn()),
    says="must see one and the same device",
)
claim_is_prepared_for_each_pod = fault(
    "claim_is_prepared_for_each_pod",
    "WRC-KUB-003",
    Faults(shows=faults.a_prepare_per_pod),
    says="must be asked 1 times to prepare",
)
device_is_taken_away_with_the_first_pod = fault(
    "device_is_taken_away_with_the_first_pod",
    "WRC-KUB-004",
    Faults(shows=faults.an_unprepare_while_in_use),
    says="must be asked 0 times to unprepare",
)
device_stays_prepared_as_long_as_the_group = fault(
    "device_stays_prepared_as_long_as_the_group",
    "WRC-KUB-004",
    Faults(shows=faults.no_unprepare),
    says="must be asked 1 times to unprepare",
)
later_pod_gets_a_device_that_nobody_prepared = fault(
    "later_pod_gets_a_device_that_nobody_prepared",
    "WRC-KUB-004",
    Faults(shows=faults.no_second_prepare),
    says="must be asked 2 times to prepare",
)
later_pod_gets_another_device = fault(
    "later_pod_gets_another_device",
    "WRC-KUB-004",
    Faults(hands_out=faults.another_device_each_time),
    says="the Pod that came later sees",
)
containers_get_all_requests = fault(
    "containers_get_all_requests",
    "WRC-KUB-005",
    Faults(ignores_requests=True),
    says="see the devices of these requests",
)
intruder_is_prepared = fault(
    "intruder_is_prepared",
    "WRC-KUB-006",
    Faults(shows=faults.a_prepare_per_pod),
    says="only its PodGroup's Pod may use it",
)


@lie("WRC-KUB-006", shows="Pod", says="though the claim is reserved for")
def intruder_runs(pod: Object, _memory: Memory) -> Shown:
    """Only a Pod of the wrong PodGroup is started; Pods of the right one are as they should be."""
    if name_of(pod).startswith("intruder") and "startTime" in pod.get("status", {}):
        pod["status"]["phase"] = "Running"
    yield pod


running_pods_lose_the_device = fault(
    "running_pods_lose_the_device",
    "WRC-KUB-009",
    Faults(shows=faults.an_unprepare_while_in_use),
    says="must be asked 0 times to unprepare",
)
later_pod_is_prepared_again = fault(
    "later_pod_is_prepared_again",
    "WRC-KUB-009",
    Faults(shows=faults.a_prepare_per_pod),
    says="has used it all the time",
)
recovered_driver_hands_out_a_neighbouring_device = fault(
    "recovered_driver_hands_out_a_neighbouring_device",
    "WRC-KUB-010",
    Faults(hands_out=faults.a_neighbouring_device),
    says="sees the devices",
)


def _the_first_pod_alone(listed: Listed) -> Listed:
    first = min(listed, default=("", ""))[0]
    return {key: devices if key[0] == first else [] for key, devices in listed.items()}


def _every_container(listed: Listed) -> Listed:
    every = max(listed.values(), key=len, default=[])
    return dict.fromkeys(listed, every)


only_the_first_pod_is_listed = fault(
    "only_the_first_pod_is_listed",
    "WRC-KUB-011",
    Faults(lists=_the_first_pod_alone),
    says="lists other devices than its containers use",
)
bystanders_are_listed_too = fault(
    "bystanders_are_listed_too",
    "WRC-KUB-011",
    Faults(lists=_every_container),
    says="lists other devices than its containers use",
)


@lie("WRC-KUB-010", shows="ResourceClaim", says="must keep its reservation while the driver fails")
def failure_moves_the_reservation_to_a_pod(claim: Object, _memory: Memory) -> Shown:
    """The Pods start all the same."""
    yield _also_for_a_pod(claim)
