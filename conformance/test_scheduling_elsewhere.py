# SPDX-License-Identifier: Apache-2.0
"""SCH: what becomes of an allocation when the Pods of a PodGroup cannot run where it is."""

import pytest

from conformance.kinds import NAMED_AND_TEMPLATE
from conformance.use import assert_used_by
from fixtures.barriers import plain_pod_is_bound
from fixtures.bodies import Entry, Placement
from fixtures.conditions import (
    are_bound,
    is_allocated,
    is_also_reserved_for,
    is_bound,
    is_gone,
    is_reserved_for,
)
from fixtures.objects import Claim, Pod, PodGroup
from fixtures.scenario import Scenario
from fixtures.waiting import BINDING, REMOVAL, eventually
from verdicts.requirement import requirement


@requirement("WRC-SCH-005")
@NAMED_AND_TEMPLATE
@pytest.mark.parametrize("reserved", ["for-the-group", "for-nobody"])
def test_a_group_without_scheduled_pods_can_move(scenario: Scenario, kind: str, reserved: str) -> None:
    """Both claims of a PodGroup without Pods are given up when its next Pods can only run elsewhere."""
    home, elsewhere = scenario.node(), scenario.node()
    entries = [scenario.entry(kind, one) for one in ("first", "second")]
    group = scenario.pod_group(*entries)
    claims = [group.claim(entry["name"]) for entry in entries]
    if reserved == "for-nobody":
        for index, claim in enumerate(claims):
            scenario.allocate(claim, home, f"device-{index}")
    else:
        _use_and_leave(scenario, scenario.pods(2, *entries, group=group, on=Placement(home)))
    assert {pool for claim in claims for _, pool, _ in claim.devices()} == {home}, "both claims must be allocated"

    pods = scenario.pods(3, *entries, group=group, on=Placement(elsewhere))
    eventually(scenario.all_of(pods), are_bound(3), BINDING)

    for claim in claims:
        assert_used_by(group, claim)
        [(_, pool, _)] = claim.devices()
        assert pool == elsewhere, f"the Pods run on {elsewhere}, but {claim} is allocated on {pool}"


@requirement("WRC-SCH-006")
@NAMED_AND_TEMPLATE
@pytest.mark.parametrize("member", ["running", "terminating", "without-claims"])
def test_a_scheduled_member_keeps_the_allocation(scenario: Scenario, kind: str, member: str) -> None:
    """While a member has a node, even a terminating one or one without claims, those pinned elsewhere have to wait."""
    home, elsewhere = scenario.node(), scenario.node()
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)
    claim = group.claim("shared")
    users = scenario.pods(2, entry, group=group, on=Placement(home))
    without_claims = scenario.pod(group=group, on=Placement(home), name="without-claims")
    eventually(scenario.all_of([*users, without_claims]), are_bound(3), BINDING)
    allocation = claim.allocation()
    _leave_one(scenario, member, users, without_claims)

    pinned = scenario.pods(2, entry, group=group, on=Placement(elsewhere), name="pinned")
    scenario.barrier(plain_pod_is_bound)

    bound = [pod.name for pod in pinned if is_bound(pod.read())]
    assert not bound, f"the device is on {home}, but {bound} are bound on {elsewhere}"
    assert claim.allocation() == allocation, "the allocation changed, although a member of the PodGroup has a node"
    kept = scenario.timeline.of(claim).keeps(is_reserved_for(group.reference()))
    assert kept, f"the reservation was taken back, although a member of the PodGroup has a node\n{kept}"
    _assert_kept_allocated(scenario, claim)


@requirement("WRC-SCH-007")
@NAMED_AND_TEMPLATE
@pytest.mark.parametrize("order", [("group", "other"), ("other", "group")], ids=["group-is-first", "group-is-last"])
@pytest.mark.parametrize("other", ["Pod", "PodGroup"])
def test_the_allocation_of_another_consumer_stays(
    scenario: Scenario, kind: str, order: tuple[str, str], other: str
) -> None:
    """A PodGroup that cannot be placed leaves an allocation alone that a Pod, or a PodGroup without Pods, reserves."""
    home, elsewhere = scenario.node(), scenario.node()
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)
    claim = group.claim("shared")
    by_name = {"name": "own", "resourceClaimName": claim.name}
    other_group = scenario.pod_group(by_name, name="other") if other == "PodGroup" else None
    users = {"group": (entry, group), "other": (by_name, other_group)}
    pods = {who: _bound(scenario, *users[who], node=home) for who in order}
    consumer = other_group or pods["other"]
    allocation = claim.allocation()

    scenario.delete(pods["group"], *(pods.values() if other_group else ()))
    pinned = scenario.pods(2, entry, group=group, on=Placement(elsewhere), name="pinned")
    scenario.barrier(plain_pod_is_bound)

    bound = [pod.name for pod in pinned if is_bound(pod.read())]
    assert not bound, f"the device is on {home}, but {bound} are bound on {elsewhere}"
    assert claim.allocation() == allocation, f"the allocation changed, although {consumer} has reserved it"
    kept = scenario.timeline.of(claim).keeps(is_also_reserved_for(consumer.reference()))
    assert kept, f"{consumer} lost its reservation when another PodGroup could not be placed\n{kept}"
    _assert_kept_allocated(scenario, claim)


def _use_and_leave(scenario: Scenario, pods: list[Pod]) -> None:
    """Wait until the Pods are bound, and delete them."""
    eventually(scenario.all_of(pods), are_bound(len(pods)), BINDING)
    scenario.delete(*pods)
    for pod in pods:
        eventually(pod, is_gone, REMOVAL)


def _bound(scenario: Scenario, entry: Entry, group: PodGroup | None, node: str) -> Pod:
    """Return a Pod that is bound on the Node with the claim of the entry."""
    pod = scenario.pod(entry, group=group, on=Placement(node))
    eventually(pod, is_bound, BINDING)
    return pod


def _leave_one(scenario: Scenario, member: str, users: list[Pod], without_claims: Pod) -> None:
    """Delete all members but one of those that use the claim, running or terminating, or the one without claims."""
    first, second = users
    if member == "terminating":
        scenario.hold(first)
        scenario.delete(first)
    elif member == "without-claims":
        scenario.delete(first)
    scenario.delete(second, *(() if member == "without-claims" else (without_claims,)))
    eventually(second, is_gone, REMOVAL)


def _assert_kept_allocated(scenario: Scenario, claim: Claim) -> None:
    """Assert that the claim never lost its allocation, not even for a moment."""
    kept = scenario.timeline.of(claim).keeps(is_allocated)
    assert kept, f"for a moment, the ResourceClaim was without allocation, although it was used\n{kept}"
