# SPDX-License-Identifier: Apache-2.0
"""What the feature exists for, on real kubelets: more Pods than 256 share one device. Run by ``make real-scale``."""

from collections import Counter

import pytest

from conformance.kinds import NAMED_AND_TEMPLATE
from fixtures.conditions import are_running
from fixtures.scenario import Scenario
from fixtures.waiting import START, START_OF_MANY, eventually
from verdicts.requirement import requirement

#: More than ``ResourceClaimReservedForMaxSize``, which is 256.
PODS = 260


@requirement("WRC-RES-006")
@requirement("WRC-KUB-002")
@pytest.mark.real_scale
@NAMED_AND_TEMPLATE
def test_more_than_256_running_pods_share_one_device(scenario: Scenario, kind: str) -> None:
    """On two Nodes 260 Pods of one PodGroup run at the same time, and all of them see the same device."""
    kubelets = [scenario.kubelet(devices=0), scenario.kubelet(devices=0)]
    scenario.network_devices(3)
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)

    firsts = [scenario.pod(entry, group=group, on=kubelet.here) for kubelet in kubelets]
    eventually(scenario.all_of(firsts), are_running(2), START)  # Pods that start at once may each cause a prepare
    pods = {
        kubelet: [first, *scenario.pods(PODS // 2 - 1, entry, group=group, on=kubelet.here)]
        for kubelet, first in zip(kubelets, firsts, strict=True)
    }
    eventually(scenario.all_of(pod for some in pods.values() for pod in some), are_running(PODS), START_OF_MANY)

    claim = group.claim("shared")
    seen = Counter(device for kubelet, some in pods.items() for pod in some for device in kubelet.devices_seen(pod))
    wanted = [device for devices in kubelets[0].devices_shown(claim).values() for device in devices]
    assert seen == dict.fromkeys(wanted, PODS), (
        f"all {PODS} Pods must see the allocated device {wanted}, and see {seen}"
    )
    assert claim.reserved_for() == [group.reference()], "reservedFor must hold the PodGroup alone"
    prepares = [len(kubelet.driver.calls.of(claim.uid, "prepare")) for kubelet in kubelets]
    assert prepares == [1, 1], f"the claim must be prepared once on each Node, and was {prepares} times"
