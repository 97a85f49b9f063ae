# SPDX-License-Identifier: Apache-2.0
"""LIF: reservation, allocation and generated ResourceClaims last as long as their PodGroup, not its Pods."""

from conformance.kinds import NAMED_AND_TEMPLATE
from fixtures.barriers import claim_of_a_plain_pod_is_released, pod_group_without_pods_goes
from fixtures.conditions import (
    POD_GROUP_FINALIZER,
    are_bound,
    is_allocated,
    is_being_deleted,
    is_bound,
    is_gone,
    is_reserved,
    is_reserved_for,
    records_claims,
)
from fixtures.objects import Claim, PodGroup, controller_of
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

        assert claim() is not None, "the ResourceClaim went with the Pods of its PodGroup"
        assert claim.devices() == devices, "the allocation went with the Pods of the PodGroup"
        assert claim.reserved_for() == [group.reference()], "the reservation went with the Pods of the PodGroup"

    _assert_kept_throughout(scenario, claim, group)
    eventually(scenario.pod(entry, group=group), is_bound, BINDING)
    names = [one["metadata"]["name"] for one in scenario.claims()]
    assert names == [claim.name], f"the next member must use ResourceClaim {claim.name}, but there are {names}"
    assert claim.devices() == devices, "the next member of the PodGroup got another device"


@requirement("WRC-LIF-003")
@NAMED_AND_TEMPLATE
def test_a_group_with_an_active_pod_is_only_marked_for_deletion(scenario: Scenario, kind: str) -> None:
    """While a member is active, a deleted PodGroup stays, and so do its reservation and its allocation."""
    scenario.node()
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)
    eventually(scenario.pod(entry, group=group), is_bound, BINDING)
    claim = group.claim("shared")
    devices = claim.devices()

    scenario.delete(group)
    eventually(group, is_being_deleted, REMOVAL)
    scenario.barrier(pod_group_without_pods_goes)
    scenario.barrier(claim_of_a_plain_pod_is_released)

    _assert_held(group)
    assert claim() is not None, "the ResourceClaim is gone, although a member is active"
    assert claim.devices() == devices, "the allocation went, although a member is active"
    assert claim.reserved_for() == [group.reference()], "the reservation went, although a member is active"
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


@requirement("WRC-LIF-005")
def test_used_and_unused_generated_claims_go_with_their_group(scenario: Scenario) -> None:
    """After Pods and PodGroup, both generated claims go, and the only device serves the next PodGroup."""
    scenario.node(devices=1)
    entry = scenario.from_template()
    first = scenario.pod_group(entry, scenario.from_template("spare"), name="first")
    pod = scenario.pod(entry, group=first)
    eventually(pod, is_bound, BINDING)
    used, spare = first.claim("shared"), first.claim("spare")
    _assert_controlled(first, used, spare)
    devices = used.devices()

    scenario.delete(pod, first)
    eventually(first, is_gone, REMOVAL)
    eventually(used, is_gone, RELEASE)
    eventually(spare, is_gone, RELEASE)

    last = scenario.timeline.of(used).versions[-1].body
    assert not is_reserved(last), "the ResourceClaim was deleted while it was still reserved"
    assert not is_allocated(last), "the ResourceClaim was deleted while it was still allocated"
    second = scenario.pod_group(entry, name="second")
    eventually(scenario.pod(entry, group=second), is_bound, BINDING)
    assert second.claim("shared").devices() == devices, "the device of the deleted ResourceClaim must be free again"


@requirement("WRC-LIF-005")
def test_generated_claims_of_a_group_without_pods_go_with_it(scenario: Scenario) -> None:
    """Generated ResourceClaims that no Pod ever used are deleted after their PodGroup too."""
    group = scenario.pod_group(scenario.from_template(), scenario.from_template("spare"))
    claims = [group.claim("shared"), group.claim("spare")]
    _assert_controlled(group, *claims)

    scenario.delete(group)
    eventually(group, is_gone, REMOVAL)

    for claim in claims:
        eventually(claim, is_gone, RELEASE)


def _assert_kept_throughout(scenario: Scenario, claim: Claim, group: PodGroup) -> None:
    """Assert that the claim never lost its allocation or its reservation, not even for a moment."""
    history = scenario.timeline.of(claim)
    assert history.keeps(is_allocated), "the ResourceClaim was without allocation for a moment"
    assert history.keeps(is_reserved_for(group.reference())), "the ResourceClaim was not reserved for a moment"


def _assert_held(group: PodGroup) -> None:
    """Assert that the deleted PodGroup still exists, and that its protection finalizer holds it."""
    held = group()
    assert held is not None, "the PodGroup is gone, although one of its Pods is active"
    assert POD_GROUP_FINALIZER in held["metadata"].get("finalizers", ()), (
        "the PodGroup has lost its protection finalizer, although one of its Pods is active"
    )


def _assert_controlled(group: PodGroup, *claims: Claim) -> None:
    """Assert that the PodGroup, and no Pod, controls its generated claims: they then go because of it."""
    for claim in claims:
        assert controller_of(claim.read()) == group.uid, f"PodGroup {group.name} must control its generated {claim}"
