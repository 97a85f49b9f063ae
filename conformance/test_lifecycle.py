# SPDX-License-Identifier: Apache-2.0
"""LIF: reservation, allocation and generated ResourceClaims last as long as their PodGroup, not its Pods.

How they end with it is in ``test_lifecycle_teardown.py``, and what follows in ``test_lifecycle_churn.py``.
"""

import pytest

from conformance.endings import ENDINGS, end
from conformance.kinds import NAMED_AND_TEMPLATE
from conformance.ownership import assert_own
from fixtures.barriers import (
    claim_of_a_finished_pod_is_released,
    claim_of_a_plain_pod_is_released,
    pod_group_without_pods_goes,
)
from fixtures.conditions import (
    POD_GROUP_FINALIZER,
    are_bound,
    is_allocated,
    is_being_deleted,
    is_bound,
    is_gone,
    is_reserved_for,
    records_claims,
)
from fixtures.objects import Claim, PodGroup
from fixtures.scenario import Scenario
from fixtures.waiting import BINDING, GENERATION, RELEASE, REMOVAL, eventually
from verdicts.requirement import requirement


@requirement("WRC-LIF-001")
@NAMED_AND_TEMPLATE
def test_claim_outlives_the_pods_of_its_group(scenario: Scenario, kind: str) -> None:
    """Deleting first some and then all Pods of a PodGroup releases nothing: the next member uses the same device."""
    scenario.node()
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)
    pods = scenario.pods(3, entry, group=group)
    eventually(scenario.all_of(pods), are_bound(3), BINDING)
    claim = group.claim("shared")
    devices = claim.devices()

    for some in (pods[:1], pods[1:]):
        scenario.delete(*some)
        scenario.barrier(claim_of_a_plain_pod_is_released)

        _assert_in_use(claim, group, devices, "only Pods of its PodGroup are gone")

    _assert_kept_throughout(scenario, claim, group)
    eventually(scenario.pod(entry, group=group), is_bound, BINDING)
    names = [one["metadata"]["name"] for one in scenario.claims()]
    assert names == [claim.name], f"the next member must use ResourceClaim {claim.name}, but there are {names}"
    assert claim.devices() == devices, "the next member of the PodGroup got another device"


@requirement("WRC-LIF-002")
@NAMED_AND_TEMPLATE
@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_claim_outlives_the_finished_pods_of_its_group(scenario: Scenario, kind: str, phase: str) -> None:
    """First one and then all Pods of a PodGroup finish, and nothing is released: the next member uses the device."""
    scenario.node()
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)
    pods = scenario.pods(3, entry, group=group)
    eventually(scenario.all_of(pods), are_bound(3), BINDING)
    claim = group.claim("shared")
    devices = claim.devices()

    for some in (pods[:1], pods[1:]):
        scenario.finish(*some, phase=phase)
        _assert_in_use(claim, group, devices, "Pods of the PodGroup have finished")
    scenario.barrier(claim_of_a_finished_pod_is_released)

    _assert_in_use(claim, group, devices, "all Pods of the PodGroup have finished")
    _assert_kept_throughout(scenario, claim, group)
    eventually(scenario.pod(entry, group=group), is_bound, BINDING)
    _assert_in_use(claim, group, devices, "the next member is bound")
    names = [one["metadata"]["name"] for one in scenario.claims()]
    assert names == [claim.name], f"the next member must use {claim}, but there are {names}"


@requirement("WRC-LIF-003")
@NAMED_AND_TEMPLATE
def test_a_group_with_an_active_pod_is_only_marked_for_deletion(scenario: Scenario, kind: str) -> None:
    """While one member is active, a deleted PodGroup stays, and so do its reservation and its allocation."""
    scenario.node()
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)
    deleted, finished, active = scenario.pods(3, entry, group=group)
    eventually(scenario.all_of([deleted, finished, active]), are_bound(3), BINDING)
    claim = group.claim("shared")
    devices = claim.devices()

    scenario.delete(group)
    eventually(group, is_being_deleted, REMOVAL)
    scenario.delete(deleted)
    scenario.finish(finished)
    scenario.barrier(pod_group_without_pods_goes)  # one controller deletes PodGroups,
    scenario.barrier(claim_of_a_plain_pod_is_released)  # another one releases ResourceClaims

    _assert_held(group)
    _assert_in_use(claim, group, devices, "a member is active")
    _assert_kept_throughout(scenario, claim, group)


@requirement("WRC-LIF-003")
def test_a_group_with_a_pending_pod_is_only_marked_for_deletion(scenario: Scenario) -> None:
    """A Pod that has no node yet is active too: its deleted PodGroup stays, and so does the generated claim."""
    entry = scenario.from_template()
    group = scenario.pod_group(entry)
    pending = scenario.pod(entry, group=group)
    eventually(pending, records_claims("shared"), GENERATION)
    claim = group.claim("shared")

    scenario.delete(group)
    eventually(group, is_being_deleted, REMOVAL)
    scenario.barrier(pod_group_without_pods_goes)

    _assert_held(group)
    assert claim() is not None, "the generated ResourceClaim is gone, although a member is pending"


@requirement("WRC-LIF-013")
@NAMED_AND_TEMPLATE
@ENDINGS
def test_claims_of_single_members_go_with_their_pod(scenario: Scenario, kind: str, ending: str) -> None:
    """What was generated for a member alone goes when that member ends; the PodGroup and the other member keep theirs.

    The Pods come before their PodGroup, and their entry has the name of one of its own, which is for another claim.
    """
    scenario.node(devices=4)
    shared = scenario.entry(kind)
    own = scenario.from_template("own", "template-of-single-members")
    ended, other = pods = scenario.pods(2, shared, own, group="group")
    group = scenario.pod_group(shared, scenario.from_template("own"))
    eventually(scenario.all_of(pods), are_bound(2), BINDING)
    claim, unused = group.claim("shared"), group.claim("own")
    devices = claim.devices()
    own_claims = {pod: pod.claim("own") for pod in pods}
    for pod in pods:
        assert_own(pod, own_claims[pod])

    end(scenario, ending, ended)
    eventually(own_claims[ended], is_gone, RELEASE)

    assert own_claims[other]() is not None, "the ResourceClaim of the other member alone went with that of the first"
    assert_own(other, own_claims[other])
    _assert_in_use(claim, group, devices, "only a Pod of its PodGroup has ended")
    _assert_kept_throughout(scenario, claim, group)
    assert unused() is not None, "the ResourceClaim of the PodGroup went with that of a Pod for an entry of this name"


def _assert_in_use(claim: Claim, group: PodGroup, devices: list[tuple[str, str, str]], although: str) -> None:
    """Assert that the claim exists, has these devices, and is reserved for the PodGroup alone."""
    assert claim() is not None, f"the ResourceClaim is gone, although {although}"
    assert claim.devices() == devices, f"the allocation has changed, although {although}"
    assert claim.reserved_for() == [group.reference()], f"reservedFor must hold the PodGroup alone; {although}"


def _assert_kept_throughout(scenario: Scenario, claim: Claim, group: PodGroup) -> None:
    """Assert that the claim never lost its allocation or its reservation, not even for a moment."""
    history = scenario.timeline.of(claim)
    allocated, reserved = history.keeps(is_allocated), history.keeps(is_reserved_for(group.reference()))
    assert allocated, f"for a moment, the ResourceClaim was without allocation\n{allocated}"
    assert reserved, f"for a moment, reservedFor did not hold the PodGroup alone\n{reserved}"


def _assert_held(group: PodGroup) -> None:
    """Assert that the deleted PodGroup still exists, and that its protection finalizer holds it."""
    held = group()
    assert held is not None, "the PodGroup is gone, although one of its Pods is active"
    assert POD_GROUP_FINALIZER in held["metadata"].get("finalizers", ()), (
        "the PodGroup has lost its protection finalizer, although one of its Pods is active"
    )
