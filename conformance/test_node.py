# SPDX-License-Identifier: Apache-2.0
"""KUB: what a kubelet and a DRA driver do with a ResourceClaim that the Pods of a PodGroup share.

The driver is the suite's own or a foreign one, one per check and Node; its log says what the kubelet has asked it to
do, and each container shows in its environment what it has got: the devices, or what else the driver tells of them.
"""

import pytest

from conformance.kinds import NAMED_AND_TEMPLATE
from fixtures.api import Object
from fixtures.barriers import plain_pod_runs
from fixtures.bodies import Entry
from fixtures.conditions import (
    are_running,
    is_gone,
    is_reserved_for,
    is_running,
    is_seen_by_its_kubelet,
)
from fixtures.kubelets import Kubelet
from fixtures.objects import Claim, Pod
from fixtures.scenario import Scenario
from fixtures.waiting import END, RECOVERY, START, eventually
from verdicts.requirement import requirement


@requirement("WRC-KUB-001")
@NAMED_AND_TEMPLATE
def test_pods_of_a_group_start_with_the_device_of_its_claim(scenario: Scenario, kind: str) -> None:
    """The kubelet starts Pods whose ResourceClaim is reserved for their PodGroup alone, with its device."""
    kubelet = scenario.kubelet()
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)

    pods = scenario.pods(3, entry, group=group)
    eventually(scenario.all_of(pods), are_running(3), START)

    claim = group.claim("shared")
    assert claim.reserved_for() == [group.reference()], "reservedFor must hold the PodGroup alone while its Pods run"
    for pod in pods:
        assert_sees(kubelet, pod, claim)


@requirement("WRC-KUB-002")
@NAMED_AND_TEMPLATE
def test_members_see_one_device_and_another_group_sees_another(scenario: Scenario, kind: str) -> None:
    """All Pods of a PodGroup see the same device, on one Node and on two, and those of another PodGroup another one."""
    kubelets = [scenario.kubelet(devices=0), scenario.kubelet(devices=0)]
    scenario.network_devices(3)
    entries = [scenario.entry(kind, source=f"source-{number}") for number in range(2)]
    groups = [scenario.pod_group(entry, name=f"group-{number}") for number, entry in enumerate(entries)]

    pods = {
        group: [(kubelet, pod) for kubelet in kubelets for pod in scenario.pods(2, entry, group=group, on=kubelet.here)]
        for group, entry in zip(groups, entries, strict=True)
    }
    everyone = [pod for members in pods.values() for _, pod in members]
    eventually(scenario.all_of(everyone), are_running(len(everyone)), START)

    seen = {
        group.name: {pod.name: tuple(kubelet.devices_seen(pod)) for kubelet, pod in members}
        for group, members in pods.items()
    }
    for name, by_pod in seen.items():
        assert len(set(by_pod.values())) == 1, f"the Pods of PodGroup {name} must see one and the same device: {by_pod}"
    first, second = (set(by_pod.values()) for by_pod in seen.values())
    assert first.isdisjoint(second), f"two PodGroups share a device that is allocated to one of them: {seen}"


@requirement("WRC-KUB-003")
@NAMED_AND_TEMPLATE
def test_a_claim_is_prepared_once_on_each_node(scenario: Scenario, kind: str) -> None:
    """The driver is asked to prepare a ResourceClaim once per Node, however many Pods of the PodGroup use it there."""
    first, second = scenario.kubelet(devices=0), scenario.kubelet(devices=0)
    scenario.network_devices(3)
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)

    for count in (1, 5):
        pods = scenario.pods(count, entry, group=group, on=first.here)
        eventually(scenario.all_of(pods), are_running(count), START)
    eventually(scenario.pod(entry, group=group, on=second.here), is_running, START)

    claim = group.claim("shared")
    for kubelet, users in ((first, 6), (second, 1)):
        assert_prepared(kubelet, claim, times=1, because=f"{users} of its Pods have run there without a pause")


@requirement("WRC-KUB-004")
@NAMED_AND_TEMPLATE
def test_a_device_is_unprepared_when_the_last_pod_of_the_node_has_gone(scenario: Scenario, kind: str) -> None:
    """The driver is asked to unprepare when no Pod on the Node uses the ResourceClaim, and to prepare for the next."""
    kubelet = scenario.kubelet()
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)
    first = scenario.pod(entry, group=group)
    eventually(first, is_running, START)
    others = scenario.pods(4, entry, group=group)
    eventually(scenario.all_of(others), are_running(4), START)
    claim = group.claim("shared")
    device = kubelet.devices_seen(first)

    end_all(scenario, [first, *others[1:]])
    assert_unprepared(kubelet, claim, times=0, because=f"{others[0]} still uses it")
    end_all(scenario, others[:1])
    assert_unprepared(kubelet, claim, times=1, because="no Pod uses it any more")
    assert claim.reserved_for() == [group.reference()], "the PodGroup must keep its reservation without a Pod"

    later = scenario.pod(entry, group=group)
    eventually(later, is_running, START)
    assert_prepared(kubelet, claim, times=2, because="a Pod uses it again")
    seen = kubelet.devices_seen(later)
    assert seen == device, f"the Pod that came later sees {seen}, the others saw {device}"


@requirement("WRC-KUB-005")
@NAMED_AND_TEMPLATE
def test_only_containers_that_list_the_claim_get_its_devices(scenario: Scenario, kind: str) -> None:
    """A container, also an init container, gets the devices that its resources.claims ask for, and no others."""
    kubelet = scenario.kubelet()
    entry = scenario.asking(kind, "shared", scenario.request("left"), scenario.request("right"))
    group = scenario.pod_group(entry)
    all_of_it, left = [{"name": "shared"}], [{"name": "shared", "request": "left"}]
    containers = {"init": all_of_it, "user": all_of_it, "left-only": left, "bystander": []}

    pods = scenario.pods(2, entry, group=group, containers=containers)
    eventually(scenario.all_of(pods), are_running(2), START)

    of_request = kubelet.devices_shown(group.claim("shared"))
    asked = {"init": ["left", "right"], "user": ["left", "right"], "left-only": ["left"], "bystander": []}
    wanted = {name: sorted(one for request in asked[name] for one in of_request[request]) for name in containers}
    for pod in pods:
        seen = {name: kubelet.devices_seen(pod, name) for name in containers}
        assert seen == wanted, f"the containers of {pod} must see the devices of these requests: {asked}; but: {seen}"


@requirement("WRC-KUB-006")
@NAMED_AND_TEMPLATE
def test_a_pod_that_the_claim_is_not_reserved_for_is_not_started(scenario: Scenario, kind: str) -> None:
    """A Pod bound to a Node does not start with a ResourceClaim that is reserved for another PodGroup alone."""
    kubelet = scenario.kubelet()
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)
    member = scenario.pod(entry, group=group)
    eventually(member, is_running, START)
    claim = group.claim("shared")

    by_name: Entry = {"name": "shared", "resourceClaimName": claim.name}
    intruder = scenario.pod(by_name, group="a-group-that-does-not-exist", name="intruder", on=kubelet.bound)
    scenario.barrier(plain_pod_runs)

    phases = {version.body["status"]["phase"] for version in scenario.timeline.of(intruder).versions}
    assert phases == {"Pending"}, f"{intruder} reached {phases}, though the claim is reserved for {group} alone"
    assert_prepared(kubelet, claim, times=1, because="only its PodGroup's Pod may use it")
    assert claim.reserved_for() == [group.reference()], "reservedFor must hold the PodGroup alone"


@requirement("WRC-KUB-009")
@NAMED_AND_TEMPLATE
def test_a_pod_that_never_started_takes_no_device_from_others(scenario: Scenario, kind: str) -> None:
    """Deleting a Pod that could not be prepared leaves the shared ResourceClaim prepared for the Pods that run."""
    kubelet = scenario.kubelet()
    shared, unserved = scenario.entry(kind), scenario.unserved(kind, "unserved", kubelet)
    group = scenario.pod_group(shared, unserved)
    user = scenario.pod(shared, group=group)
    eventually(user, is_running, START)
    claim = group.claim("shared")

    stuck = scenario.pod(shared, unserved, group=group, name="stuck")
    eventually(stuck, is_seen_by_its_kubelet, START)
    scenario.barrier(plain_pod_runs)
    end_all(scenario, [stuck])
    scenario.barrier(plain_pod_runs)

    assert_unprepared(kubelet, claim, times=0, because=f"{user} still uses it")
    later = scenario.pod(shared, group=group)
    eventually(later, is_running, START)
    assert_sees(kubelet, later, claim)
    assert_prepared(kubelet, claim, times=1, because=f"{user} has used it all the time")


@requirement("WRC-KUB-010")
@pytest.mark.slow
def test_pods_start_once_the_driver_recovers(scenario: Scenario) -> None:
    """The kubelet asks a driver that has failed again; all waiting Pods then start, and share the devices."""
    kubelet = scenario.kubelet(devices=4, failures=2)
    entries = [scenario.entry("named", "named"), scenario.entry("template", "generated")]
    group = scenario.pod_group(*entries)

    pods = scenario.pods(3, *entries, group=group)
    eventually(scenario.all_of(pods), are_running(3), RECOVERY)

    claims = [group.claim(entry["name"]) for entry in entries]
    for claim in claims:
        # Pods that wait at the same time may each cause a call; a driver must bear that.
        outcomes = [call.outcome for call in kubelet.driver.calls.of(claim.uid, "prepare")]
        assert set(outcomes[2:]) == {"succeeded"}, f"after two failures the driver was asked again thus: {outcomes[2:]}"
        kept = scenario.timeline.of(claim).keeps(is_reserved_for(group.reference()))
        assert kept, f"the PodGroup must keep its reservation while the driver fails: {kept}"
    for pod in pods:
        assert_sees(kubelet, pod, *claims)


@requirement("WRC-KUB-011")
@NAMED_AND_TEMPLATE
def test_the_kubelet_lists_the_shared_device_for_each_container(scenario: Scenario, kind: str) -> None:
    """The PodResources API lists ResourceClaim and device for every container that uses them, and for no other."""
    kubelet = scenario.kubelet()
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)
    used: list[Object] = [{"name": "shared"}]
    containers = {"first": used, "second": used, "bystander": []}

    pods = scenario.pods(2, entry, group=group, containers=containers)
    eventually(scenario.all_of(pods), are_running(2), START)

    claim = group.claim("shared")
    devices = [(claim.name, *device) for device in claim.devices()]
    wanted = {(pod.name, name): devices if uses else [] for pod in pods for name, uses in containers.items()}
    assert kubelet.lists() == wanted, f"the kubelet lists other devices than its containers use: {kubelet.lists()}"


def assert_sees(kubelet: Kubelet, pod: Pod, *claims: Claim) -> None:
    """A container of the Pod has found the devices that are allocated to the ResourceClaims, and no others."""
    seen = kubelet.devices_seen(pod)
    by_request = [devices for claim in claims for devices in kubelet.devices_shown(claim).values()]
    wanted = sorted(device for devices in by_request for device in devices)
    assert seen == wanted, f"{pod} sees the devices {seen}, but {', '.join(map(str, claims))} have {wanted}"


def assert_prepared(kubelet: Kubelet, claim: Claim, *, times: int, because: str) -> None:
    """The driver was asked so many times to prepare the ResourceClaim."""
    calls = kubelet.driver.calls.of(claim.uid, "prepare")
    assert len(calls) == times, (
        f"the driver on {kubelet.node} must be asked {times} times to prepare {claim}, since {because}; "
        f"it was asked {len(calls)} times"
    )


def assert_unprepared(kubelet: Kubelet, claim: Claim, *, times: int, because: str) -> None:
    """The driver was asked so many times to unprepare the ResourceClaim."""
    calls = kubelet.driver.calls.of(claim.uid, "unprepare")
    assert len(calls) == times, (
        f"the driver on {kubelet.node} must be asked {times} times to unprepare {claim}, since {because}; "
        f"it was asked {len(calls)} times"
    )


def end_all(scenario: Scenario, pods: list[Pod]) -> None:
    """Delete Pods, and wait until their kubelet has ended them."""
    scenario.stop(*pods)
    for pod in pods:
        eventually(pod, is_gone, END)
