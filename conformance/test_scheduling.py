# SPDX-License-Identifier: Apache-2.0
"""SCH: Pods that share a ResourceClaim are bound all at once, or as soon as there are devices; these stay theirs."""

from itertools import chain, product

import pytest

from conformance.kinds import NAMED_AND_TEMPLATE
from conformance.ownership import assert_own
from conformance.use import assert_used_by
from fixtures.api import Object
from fixtures.barriers import plain_pod_is_bound
from fixtures.bodies import Entry, Placement
from fixtures.conditions import are_bound, is_allocated, is_bound, is_gone, is_reserved_for, is_unschedulable
from fixtures.errors import Undetermined
from fixtures.objects import Pod, devices_of
from fixtures.scenario import Scenario
from fixtures.waiting import BINDING, BINDING_OF_MANY, PROBED_BINDING, REMOVAL, Waited, eventually, poll
from verdicts.requirement import requirement

#: Of the entries in their order, those that another member lists.
OPPOSITE, LAST_ONLY = slice(None, None, -1), slice(3, None)
#: Pairs of Pods that could get into each other's way; soak takes more of them.
PAIRS, PAIRS_SOAK = 10, 100
#: ``staging/src/k8s.io/api/resource/v1/types.go: AllocationResultsMaxSize`` is 32.
MORE_THAN_A_CLAIM_CAN_HAVE = 99


@requirement("WRC-SCH-001")
@NAMED_AND_TEMPLATE
@pytest.mark.parametrize("count", [2, 20])
def test_pods_that_are_created_at_once_are_all_bound(scenario: Scenario, kind: str, count: int) -> None:
    """Three times 2 or 20 Pods, created at once, are all bound with one allocation for each entry of their PodGroup."""
    scenario.node(devices=6)
    for name in ("first", "second", "third"):  # one after the other, for WRC-SCH-012
        entries = [scenario.entry(kind, one, source=f"{name}-{one}") for one in ("one", "two")]
        group = scenario.pod_group(*entries, name=name)

        pods = scenario.pods(count, *entries, group=group, name=name)
        eventually(scenario.all_of(pods), are_bound(count), BINDING)

        for entry in ("one", "two"):
            assert_used_by(group, group.claim(entry))
    claims = [one["metadata"]["name"] for one in scenario.claims()]
    assert len(claims) == 6, f"3 PodGroups with 2 entries need 6 ResourceClaims, not {len(claims)}: {claims}"


@requirement("WRC-SCH-001")
@NAMED_AND_TEMPLATE
def test_pairs_of_pods_are_bound_time_and_again(scenario: Scenario, kind: str, pytestconfig: pytest.Config) -> None:
    """Ten times a claim comes that two Pods wait for, so that both can be scheduled at the same moment; both are."""
    pairs = PAIRS_SOAK if pytestconfig.getoption("--wrc-soak") else PAIRS
    scenario.node(devices=pairs, pods=4 * pairs)
    for name in (f"pair-{index}" for index in range(pairs)):
        entry = {"name": "shared", "resourceClaimName" if kind == "named" else "resourceClaimTemplateName": name}
        group = scenario.pod_group(entry, name=name)
        pods = scenario.pods(2, entry, group=group, name=name)

        (scenario.claim if kind == "named" else scenario.template)(name)
        eventually(scenario.all_of(pods), are_bound(2), BINDING)

        assert_used_by(group, group.claim("shared"))


@requirement("WRC-SCH-009")
@NAMED_AND_TEMPLATE
@pytest.mark.parametrize("missing", ["ResourceSlice", "DeviceClass"])
def test_pods_that_wait_for_devices_are_tried_again(scenario: Scenario, kind: str, missing: str) -> None:
    """Three members wait for a ResourceSlice or a DeviceClass: when it appears, all are bound for their PodGroup."""
    if missing == "DeviceClass":
        scenario.devices.withdraw_class()
    node = scenario.node(devices=3 if missing == "DeviceClass" else 0)
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)
    pods = scenario.pods(3, entry, group=group)
    _wait_until_tried(pods)

    if missing == "DeviceClass":
        scenario.devices.publish_class()
    else:
        scenario.devices.publish(node, 3)
    eventually(scenario.all_of(pods), are_bound(3), BINDING)

    assert_used_by(group, group.claim("shared"))


@requirement("WRC-SCH-010")
@NAMED_AND_TEMPLATE
@pytest.mark.parametrize("how", ["evicted", "preempted"])
def test_devices_stay_with_the_group_when_its_pods_are_driven_out(scenario: Scenario, kind: str, how: str) -> None:
    """Whether its Pods are evicted or preempted, a PodGroup keeps its devices until it is deleted."""
    # The group wants 2 of 3 devices, and so does who competes for them: one is left for the barrier.
    scenario.node(devices=3, pods=2)
    scenario.template("pair", devices=2)
    entry = _entry_for_a_pair(scenario, kind)
    group = scenario.pod_group(entry)
    pods = scenario.pods(2, entry, group=group)
    eventually(scenario.all_of(pods), are_bound(2), BINDING)
    claim = group.claim("shared")
    allocation = claim.allocation()

    _drive_out(scenario, how, pods)
    competitor = scenario.pod({"name": "own", "resourceClaimTemplateName": "pair"}, name="competitor")
    scenario.barrier(plain_pod_is_bound)

    assert not is_bound(competitor.read()), "the competitor is bound, although the PodGroup holds the devices"
    assert claim.allocation() == allocation, f"the allocation changed when the Pods were {how}"
    kept = scenario.timeline.of(claim).keeps(is_reserved_for(group.reference()))
    assert kept, f"the reservation was lost when the Pods were {how}\n{kept}"
    scenario.delete(group)
    eventually(competitor, is_bound, BINDING)


@requirement("WRC-SCH-013")
@NAMED_AND_TEMPLATE
@pytest.mark.parametrize("later", [1, 5])
def test_members_have_devices_of_their_own_beside_the_shared_one(scenario: Scenario, kind: str, later: int) -> None:
    """Members share a device that two Nodes reach, and get devices of their own, of which no Node has all."""
    for _ in range(2):
        scenario.node(devices=(1 + later) // 2)
    network = scenario.neighbour()
    network.network_devices(2)
    shared = scenario.asking(kind, "shared", scenario.request("device", network.driver))
    own = scenario.from_template("own")
    group = scenario.pod_group(shared)
    pods = [scenario.pod(shared, own, group=group)]
    eventually(pods[0], is_bound, BINDING)

    pods += scenario.pods(later, own, shared, group=group, name="later")
    eventually(scenario.all_of(pods), are_bound(1 + later), BINDING)

    assert_used_by(group, group.claim("shared"))
    for pod in pods:
        assert_own(pod, pod.claim("own"))
    used = [device for pod in pods for device in pod.claim("own").devices()]
    assert len(set(used)) == 1 + later, f"{1 + later} Pods must have as many devices of their own, not {used}"


@requirement("WRC-SCH-014")
@pytest.mark.probe
def test_a_hopeless_member_does_not_hold_up_the_others(scenario: Scenario) -> None:
    """In four PodGroups a member asks for more devices than a claim can have, and stays Pending; all others are bound.

    It has the shared claim as well, or not; one of the others has no claim at all.
    """
    scenario.node(devices=8)
    scenario.template("impossible", devices=MORE_THAN_A_CLAIM_CAN_HAVE)
    impossible = {"name": "impossible", "resourceClaimTemplateName": "impossible"}
    groups, hopeless, others = [], [], []
    for kind, is_user in product(("named", "template"), (True, False)):
        name = f"{kind}-{'and' if is_user else 'or'}-impossible"
        shared = scenario.entry(kind, source=name)
        groups.append(scenario.pod_group(shared, name=name))
        hopeless.append(scenario.pod(*[shared] * is_user, impossible, group=groups[-1], name="hopeless"))
        others += scenario.pods(2, shared, group=groups[-1], name=name)
        others.append(scenario.pod(group=groups[-1], name="without-claims"))

    eventually(scenario.all_of(others), are_bound(len(others)), PROBED_BINDING)

    bound = [pod.name for pod in hopeless if is_bound(pod.read())]
    assert not bound, f"{bound} are bound, although no Node can satisfy their claims"
    for group in groups:
        assert_used_by(group, group.claim("shared"))


@requirement("WRC-SCH-011")
@pytest.mark.probe
@pytest.mark.timeout(300)
@pytest.mark.breaks_invariant("WRC-INV-001", reason="a burst of PodGroups: WRC-SCH-012 is about that")
@pytest.mark.parametrize("others", [OPPOSITE, LAST_ONLY], ids=["opposite-order", "last-entry-only"])
def test_members_that_list_different_entries_are_bound(scenario: Scenario, others: slice) -> None:
    """All members of ten PodGroups are bound: one has the four entries in order, the other in opposite, or only one."""
    scenario.node(devices=40)
    sources = {f"group-{index}": [f"source-{index}-{one}" for one in "abcd"] for index in range(10)}
    pods: list[Pod] = []
    for name, claims in sources.items():
        entries = [{"name": one[-1], "resourceClaimName": one} for one in claims]
        group = scenario.pod_group(*entries, name=name)
        pods += [scenario.pod(*order, group=group, name=f"{name}-member") for order in (entries, entries[others])]

    for claim in chain(*sources.values()):  # so that both members can be scheduled at the same time
        scenario.claim(claim)
    eventually(scenario.all_of(pods), are_bound(20), PROBED_BINDING)


@requirement("WRC-SCH-012")
@pytest.mark.probe
@pytest.mark.timeout(300)
@pytest.mark.breaks_invariant("WRC-INV-001", reason="the check asserts it itself, as a known fault")
@NAMED_AND_TEMPLATE
def test_a_burst_of_groups_gets_different_devices(scenario: Scenario, kind: str) -> None:
    """The forty claims of twenty PodGroups, whose members are created at once, have forty different devices."""
    scenario.node(devices=40)
    for name in (f"group-{index}" for index in range(20)):
        entries = [scenario.entry(kind, one, source=f"{name}-{one}") for one in ("one", "two")]
        scenario.pods(4, *entries, group=scenario.pod_group(*entries, name=name), name=name)

    claims = poll(scenario.claims, are_allocated, BINDING_OF_MANY, on_time_out=_not_allocated)

    holders: dict[str, list[str]] = {}
    for claim in claims:
        for _, _, device in devices_of(claim):
            holders.setdefault(device, []).append(claim["metadata"]["name"])
    shared = {device: claims for device, claims in holders.items() if len(claims) > 1}
    assert not shared, f"{len(shared)} of 40 devices are allocated to two ResourceClaims each: {shared}"


def are_allocated(claims: list[Object]) -> bool:
    """All ResourceClaims of a list are allocated, and there are forty."""
    return len(claims) == 40 and all(map(is_allocated, claims))


def _not_allocated(waited: Waited) -> Exception:
    return Undetermined(
        f"Not all claims were allocated (WRC-SCH-001), so they cannot be judged.\n{waited.last_state()}"
    )


def _wait_until_tried(pods: list[Pod]) -> None:
    """Wait until the scheduler has found no place for any of the Pods.

    Raises:
        Undetermined: it did not say so.
    """
    for pod in pods:
        poll(pod, is_unschedulable, BINDING, on_time_out=_not_tried)


def _not_tried(waited: Waited) -> Exception:
    return Undetermined(f"The scheduler did not say that it tried a Pod without a place.\n{waited.last_state()}")


def _entry_for_a_pair(scenario: Scenario, kind: str) -> Entry:
    """Return an entry for a ResourceClaim of two devices."""
    if kind == "named":
        return {"name": "shared", "resourceClaimName": scenario.claim(devices=2).name}
    return {"name": "shared", "resourceClaimTemplateName": "pair"}


def _drive_out(scenario: Scenario, how: str, pods: list[Pod]) -> None:
    """Let all Pods of a full Node be evicted, or give way to others that are more important, and soon go."""
    if how == "evicted":
        scenario.evict(*pods)
    else:
        important = scenario.pods(2, name="important", on=Placement(preempts=True))
        eventually(scenario.all_of(important), are_bound(2), BINDING)
        scenario.delete(*important)
    for pod in pods:
        eventually(pod, is_gone, REMOVAL)
