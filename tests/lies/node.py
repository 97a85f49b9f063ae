# SPDX-License-Identifier: Apache-2.0
"""Lies about the area KUB: wrong drivers, and kubelets that call them wrongly."""

from itertools import count

from fixtures.devices.pod_resources import Listed
from fixtures.devices.reference import faults
from fixtures.devices.reference.allocation import AllocatedDevice
from fixtures.devices.reference.faults import Faults, moved
from tests.lies.lie import Memory, Object, Shown, fault, lie, name_of


@fault("WRC-KUB-001", says="sees the devices")
def neighbouring_device_is_handed_out() -> Faults:
    return Faults(hands_out=faults.a_neighbouring_device)


@fault("WRC-KUB-001", says="sees the devices []")
def prepared_device_is_forgotten() -> Faults:
    return Faults(forgets=True)


@fault("WRC-KUB-001", says="3 running Pods: not so after")
def no_pod_of_a_group_is_prepared() -> Faults:
    return Faults(refuses=faults.claims_of_pod_groups)


def _also_for_a_pod(claim: Object) -> Object:
    reserved = claim.get("status", {}).get("reservedFor")
    if reserved:
        reserved.append({"resource": "pods", "name": "member", "uid": "a-pod"})
    return claim


@lie("WRC-KUB-001", shows="ResourceClaim", says="must hold the PodGroup alone while its Pods run")
def kubelet_wants_an_entry_for_a_pod(claim: Object, _memory: Memory) -> Shown:
    """Right in all but the reservation, which an ungrouped Pod would need."""
    yield _also_for_a_pod(claim)


@fault("WRC-KUB-002", says="two PodGroups share a device")
def all_groups_get_the_first_device() -> Faults:
    return Faults(hands_out=faults.always_the_first_device)


class _EachNodeItsOwn:
    """Hands out a device one further along with every prepare, whichever Node it is for."""

    def __init__(self) -> None:
        self._prepares = count()

    def __call__(self, device: AllocatedDevice, _times: int) -> AllocatedDevice:
        return moved(device, next(self._prepares))


@fault("WRC-KUB-002", says="must see one and the same device")
def each_node_hands_out_its_own_device() -> Faults:
    return Faults(hands_out=_EachNodeItsOwn())


@fault("WRC-KUB-003", says="must be asked 1 times to prepare")
def claim_is_prepared_for_each_pod() -> Faults:
    return Faults(shows=faults.a_prepare_per_pod)


@fault("WRC-KUB-004", says="must be asked 0 times to unprepare")
def device_is_taken_away_with_the_first_pod() -> Faults:
    return Faults(shows=faults.an_unprepare_while_in_use)


@fault("WRC-KUB-004", says="must be asked 1 times to unprepare")
def device_stays_prepared_as_long_as_the_group() -> Faults:
    return Faults(shows=faults.no_unprepare)


@fault("WRC-KUB-004", says="must be asked 2 times to prepare")
def later_pod_gets_a_device_that_nobody_prepared() -> Faults:
    return Faults(shows=faults.no_second_prepare)


@fault("WRC-KUB-004", says="the Pod that came later sees")
def later_pod_gets_another_device() -> Faults:
    return Faults(hands_out=faults.another_device_each_time)


@fault("WRC-KUB-005", says="see the devices of these requests")
def containers_get_all_requests() -> Faults:
    return Faults(ignores_requests=True)


@fault("WRC-KUB-006", says="only its PodGroup's Pod may use it")
def intruder_is_prepared() -> Faults:
    return Faults(shows=faults.a_prepare_per_pod)


@lie("WRC-KUB-006", shows="Pod", says="though the claim is reserved for")
def intruder_runs(pod: Object, _memory: Memory) -> Shown:
    """Only a Pod of the wrong PodGroup is started; Pods of the right one are as they should be."""
    if name_of(pod).startswith("intruder") and "startTime" in pod.get("status", {}):
        pod["status"]["phase"] = "Running"
    yield pod


@fault("WRC-KUB-009", says="must be asked 0 times to unprepare")
def running_pods_lose_the_device() -> Faults:
    return Faults(shows=faults.an_unprepare_while_in_use)


@fault("WRC-KUB-009", says="has used it all the time")
def later_pod_is_prepared_again() -> Faults:
    return Faults(shows=faults.a_prepare_per_pod)


@fault("WRC-KUB-010", says="sees the devices")
def recovered_driver_hands_out_a_neighbouring_device() -> Faults:
    return Faults(hands_out=faults.a_neighbouring_device)


def _the_first_pod_alone(listed: Listed) -> Listed:
    first = min(listed, default=("", ""))[0]
    return {key: devices if key[0] == first else [] for key, devices in listed.items()}


def _every_container(listed: Listed) -> Listed:
    every = max(listed.values(), key=len, default=[])
    return dict.fromkeys(listed, every)


@fault("WRC-KUB-011", says="lists other devices than its containers use")
def only_the_first_pod_is_listed() -> Faults:
    return Faults(lists=_the_first_pod_alone)


@fault("WRC-KUB-011", says="lists other devices than its containers use")
def bystanders_are_listed_too() -> Faults:
    return Faults(lists=_every_container)


@lie("WRC-KUB-010", shows="ResourceClaim", says="must keep its reservation while the driver fails")
def failure_moves_the_reservation_to_a_pod(claim: Object, _memory: Memory) -> Shown:
    """The Pods start all the same."""
    yield _also_for_a_pod(claim)
