# SPDX-License-Identifier: Apache-2.0
"""TNT: a taint of a device keeps the Pods of a PodGroup away from it, or drives all of them out that use it."""

import pytest

from conformance.kinds import NAMED_AND_TEMPLATE
from conformance.use import assert_used_by
from fixtures.api import Object
from fixtures.barriers import (
    claim_of_a_plain_pod_is_released,
    plain_pod_is_bound,
    plain_pod_is_evicted_from_a_tainted_device,
)
from fixtures.bodies import Placement
from fixtures.conditions import (
    are_bound,
    is_being_deleted,
    is_bound,
    is_evicted_because_of_a_taint,
    is_gone,
    is_reserved_for,
    is_untouched,
)
from fixtures.devices.synthetic import TAINT_KEY
from fixtures.objects import Pod
from fixtures.scenario import Barrier, Scenario
from fixtures.waiting import BINDING, EVICTION, RELEASE, REMOVAL, NotYet, eventually
from verdicts.requirement import requirement

#: Seconds for which a claim tolerates a taint of its device, and by which eviction may be early: the API server
#: notes the time of a taint in whole seconds.
TOLERATED_SECONDS, EARLY_SECONDS = 5, 1
SOME_SECONDS: Object = {"key": TAINT_KEY, "effect": "NoExecute", "tolerationSeconds": TOLERATED_SECONDS}


@requirement("WRC-TNT-001")
@NAMED_AND_TEMPLATE
@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
def test_only_claims_that_tolerate_a_taint_get_a_tainted_device(scenario: Scenario, kind: str, effect: str) -> None:
    """Where all devices are tainted, a PodGroup waits if its claim tolerates nothing or another taint, else it runs."""
    node = scenario.node(devices=3)
    scenario.devices.taint(effect, *((scenario.driver, node, f"device-{index}") for index in range(3)))
    other_effect = "NoExecute" if effect == "NoSchedule" else "NoSchedule"
    entries = {
        "intolerant": scenario.entry(kind),
        "other-key": scenario.tolerating(kind, {"key": "wrc.example.com/other"}, "other-key"),
        "other-effect": scenario.tolerating(kind, {"key": TAINT_KEY, "effect": other_effect}, "other-effect"),
        "tolerant": scenario.tolerating(kind, {"key": TAINT_KEY, "effect": effect}, "tolerant"),
    }
    groups = {name: scenario.pod_group(entry, name=name) for name, entry in entries.items()}
    pods = {name: scenario.pods(2, entry, group=groups[name]) for name, entry in entries.items()}

    eventually(scenario.all_of(pods.pop("tolerant")), are_bound(2), BINDING)
    assert_used_by(groups["tolerant"], groups.pop("tolerant").claim("tolerant"))
    scenario.barrier(_pod_that_tolerates(effect))

    for name, group in groups.items():
        bound = [pod.name for pod in pods[name] if is_bound(pod.read())]
        assert not bound, f"{bound} are bound, although no claim of PodGroup {name} tolerates {TAINT_KEY}:{effect}"
        untouched = scenario.timeline.of(group.claim(entries[name]["name"])).always(is_untouched)
        assert untouched, f"the claim of PodGroup {name} does not tolerate {TAINT_KEY}:{effect}\n{untouched}"


@requirement("WRC-TNT-002")
@NAMED_AND_TEMPLATE
def test_all_pods_that_use_a_tainted_device_are_evicted(scenario: Scenario, kind: str) -> None:
    """A taint of the device of the last entry evicts 20 Pods that use it, alone or with others, and says why."""
    scenario.node()
    first, last = entries = [scenario.entry(kind, one) for one in ("first", "last")]
    group = scenario.pod_group(*entries)
    pods = scenario.pods(10, last, group=group, name="alone")
    eventually(scenario.all_of(pods), are_bound(10), BINDING)  # not all at once, for WRC-SCH-011
    pods += scenario.pods(10, first, last, group=group)
    eventually(scenario.all_of(pods), are_bound(20), BINDING)
    for pod in pods:
        scenario.hold(pod)

    scenario.devices.taint("NoExecute", *group.claim("last").devices())

    eventually(scenario.all_of(pods), are_evicted, EVICTION)
    for pod in pods:
        scenario.strip_finalizers(pod)
        eventually(pod, is_gone, REMOVAL)


@requirement("WRC-TNT-003")
@NAMED_AND_TEMPLATE
def test_pods_that_do_not_use_a_tainted_device_stay(scenario: Scenario, kind: str) -> None:
    """Members without the tainted claim, Pods of other PodGroups, even of one of the same name, and plain ones stay."""
    scenario.node(devices=6)
    used, spared = entries = [scenario.entry(kind, one) for one in ("used", "spared")]
    group = scenario.pod_group(*entries)
    own = scenario.entry(kind, "own")
    other = scenario.pod_group(own, name="other")
    evicted = scenario.pods(2, used, group=group, name="evicted")
    staying = [
        scenario.pod(group=group, name="without-claims"),
        scenario.pod(spared, group=group, name="with-another-claim"),
        scenario.pod(own, group=other, name="of-another-group"),
        scenario.pod(scenario.from_template("plain"), name="plain"),
    ]
    eventually(scenario.all_of([*evicted, *staying]), are_bound(6), BINDING)
    staying.append(_member_of_a_namesake(scenario.neighbour(), kind))

    scenario.devices.taint("NoExecute", *group.claim("used").devices())
    for pod in evicted:
        eventually(pod, is_gone, EVICTION)
    scenario.barrier(plain_pod_is_evicted_from_a_tainted_device)

    _assert_not_evicted(staying, "although they do not use the tainted device")


@requirement("WRC-TNT-004")
@NAMED_AND_TEMPLATE
def test_an_unlimited_toleration_prevents_the_eviction(scenario: Scenario, kind: str) -> None:
    """Pods that share a claim which tolerates the taint without limit stay."""
    scenario.node()
    entry = scenario.tolerating(kind, {"key": TAINT_KEY, "effect": "NoExecute"})
    group = scenario.pod_group(entry)
    pods = scenario.pods(3, entry, group=group)
    eventually(scenario.all_of(pods), are_bound(3), BINDING)

    scenario.devices.taint("NoExecute", *group.claim("shared").devices())
    scenario.barrier(plain_pod_is_evicted_from_a_tainted_device)

    _assert_not_evicted(pods, "although their claim tolerates the taint without limit")


@requirement("WRC-TNT-008")
@pytest.mark.probe
@NAMED_AND_TEMPLATE
def test_a_toleration_of_all_effects_prevents_the_eviction(scenario: Scenario, kind: str) -> None:
    """Pods that share a claim whose toleration names no effect, and so matches all of them, stay."""
    scenario.node()
    entry = scenario.tolerating(kind, {"key": TAINT_KEY})
    group = scenario.pod_group(entry)
    pods = scenario.pods(3, entry, group=group)
    eventually(scenario.all_of(pods), are_bound(3), BINDING)

    scenario.devices.taint("NoExecute", *group.claim("shared").devices())
    scenario.barrier(plain_pod_is_evicted_from_a_tainted_device)

    _assert_not_evicted(pods, "although their claim tolerates the taint with every effect")


@requirement("WRC-TNT-004")
@NAMED_AND_TEMPLATE
def test_a_limited_toleration_delays_the_eviction_of_all(scenario: Scenario, kind: str) -> None:
    """Pods that share a claim which tolerates the taint for some seconds are all evicted, none of them earlier."""
    scenario.node()
    entry = scenario.tolerating(kind, SOME_SECONDS)
    group = scenario.pod_group(entry)
    pods = scenario.pods(3, entry, group=group)
    eventually(scenario.all_of(pods), are_bound(3), BINDING)
    since = scenario.timeline.now

    scenario.devices.taint("NoExecute", *group.claim("shared").devices())
    for pod in pods:
        eventually(pod, is_gone, EVICTION)

    for pod in pods:
        evicted = next(one for one in scenario.timeline.of(pod) if one.is_deletion or is_being_deleted(one.body))
        seconds = evicted.at - since
        assert seconds >= TOLERATED_SECONDS - EARLY_SECONDS, (
            f"the claim tolerates the taint for {TOLERATED_SECONDS} s, but {pod} was evicted after {seconds:.1f} s"
        )


@requirement("WRC-TNT-004")
@NAMED_AND_TEMPLATE
def test_removing_the_taint_in_time_cancels_the_eviction(scenario: Scenario, kind: str) -> None:
    """If the taint goes while the claim still tolerates it, none of the Pods that share the claim is evicted."""
    scenario.node(devices=4)
    entry = scenario.tolerating(kind, SOME_SECONDS)
    group = scenario.pod_group(entry)
    pods = scenario.pods(3, entry, group=group)
    intolerant = scenario.pod(scenario.from_template("own"), name="intolerant")
    eventually(scenario.all_of([*pods, intolerant]), are_bound(4), BINDING)
    devices = group.claim("shared").devices()

    scenario.devices.taint("NoExecute", *devices, *intolerant.claim("own").devices())
    eventually(intolerant, is_gone, EVICTION)  # so the controller has seen the taints
    scenario.devices.untaint(*devices)
    scenario.barrier(pod_whose_claim_tolerates_as_long_is_evicted)

    _assert_not_evicted(pods, "although the taint was removed while their claim still tolerated it")


@requirement("WRC-TNT-005")
@NAMED_AND_TEMPLATE
def test_an_eviction_releases_nothing(scenario: Scenario, kind: str) -> None:
    """After all Pods are evicted, allocation and reservation stay until their PodGroup is deleted."""
    scenario.node()
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)
    pods = scenario.pods(3, entry, group=group)
    eventually(scenario.all_of(pods), are_bound(3), BINDING)
    claim = group.claim("shared")
    allocation = claim.allocation()

    scenario.devices.taint("NoExecute", *claim.devices())
    for pod in pods:
        eventually(pod, is_gone, EVICTION)
    scenario.barrier(claim_of_a_plain_pod_is_released)

    assert claim() is not None, "the ResourceClaim is gone, although only Pods were evicted"
    assert claim.allocation() == allocation, "the allocation changed, although only Pods were evicted"
    kept = scenario.timeline.of(claim).keeps(is_reserved_for(group.reference()))
    assert kept, f"the reservation for the PodGroup is gone, although only Pods were evicted\n{kept}"
    scenario.delete(group)
    eventually(claim, is_untouched if kind == "named" else is_gone, RELEASE)


@requirement("WRC-TNT-006")
@pytest.mark.probe
@NAMED_AND_TEMPLATE
def test_a_replacement_is_not_started_on_a_tainted_device(scenario: Scenario, kind: str) -> None:
    """While the device of the PodGroup has its taint, a new member in the place of an evicted one is not bound."""
    scenario.node()
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)
    evicted = scenario.pod(entry, group=group)
    eventually(evicted, is_bound, BINDING)
    scenario.devices.taint("NoExecute", *group.claim("shared").devices())
    eventually(evicted, is_gone, EVICTION)

    replacement = scenario.pod(entry, group=group, name="replacement")
    scenario.barrier(plain_pod_is_bound)

    never = scenario.timeline.of(replacement).never(is_bound)
    assert never, f"the replacement was bound on the tainted device, from which it is evicted again\n{never}"


@requirement("WRC-TNT-007")
@NAMED_AND_TEMPLATE
def test_members_without_a_node_are_not_evicted(scenario: Scenario, kind: str) -> None:
    """Members that use the claim of the tainted device, but have no node, stay, whether they came early or late."""
    scenario.node()
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)
    nowhere = Placement("no-such-node")
    pods = scenario.pods(2, entry, group=group)
    waiting = [scenario.pod(entry, group=group, name="early", on=nowhere)]
    eventually(scenario.all_of(pods), are_bound(2), BINDING)

    scenario.devices.taint("NoExecute", *group.claim("shared").devices())
    waiting.append(scenario.pod(entry, group=group, name="late", on=nowhere))
    for pod in pods:
        eventually(pod, is_gone, EVICTION)
    scenario.barrier(plain_pod_is_evicted_from_a_tainted_device)

    _assert_not_evicted(waiting, "although they have no node")


def are_evicted(pods: list[Object]) -> bool:
    """All Pods of a list are marked for deletion and say that it is because of a taint."""
    staying = [pod["metadata"]["name"] for pod in pods if not is_evicted_because_of_a_taint(pod)]
    if staying:
        raise NotYet(f"{len(staying)} of {len(pods)} are not, such as {staying[0]}")
    return True


def _pod_that_tolerates(effect: str) -> Barrier:
    """Return the canary that the scheduler binds a Pod of no PodGroup, whose claim tolerates the taint."""

    def tolerant_pod_is_bound(scenario: Scenario) -> None:
        entry = scenario.tolerating("template", {"key": TAINT_KEY, "effect": effect}, "canary")
        eventually(scenario.pod(entry, name="canary"), is_bound, BINDING)

    return tolerant_pod_is_bound


def pod_whose_claim_tolerates_as_long_is_evicted(scenario: Scenario) -> None:
    """A Pod of no PodGroup, whose claim tolerates a taint as long, and whose device gets it now, is evicted."""
    pod = scenario.pod(scenario.tolerating("template", SOME_SECONDS, "canary"), name="canary")
    eventually(pod, is_bound, BINDING)
    scenario.devices.taint("NoExecute", *pod.claim("canary").devices())
    eventually(pod, is_gone, EVICTION)


def _member_of_a_namesake(scenario: Scenario, kind: str) -> Pod:
    """Return a bound member of a PodGroup of the same name in another namespace."""
    scenario.node()
    entry = scenario.entry(kind, "used")
    pod = scenario.pod(entry, group=scenario.pod_group(entry), name="of-a-namesake")
    eventually(pod, is_bound, BINDING)
    return pod


def _assert_not_evicted(pods: list[Pod], although: str) -> None:
    """Assert that none of the Pods is gone or marked for deletion."""
    evicted = [pod.name for pod in pods if is_being_deleted(pod())]
    assert not evicted, f"{evicted} were evicted, {although}"
