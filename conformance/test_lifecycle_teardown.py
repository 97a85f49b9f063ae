# SPDX-License-Identifier: Apache-2.0
"""LIF: how a PodGroup goes, and what becomes of its ResourceClaims when it does."""

from conformance.endings import ENDINGS, end
from conformance.kinds import NAMED_AND_TEMPLATE
from fixtures.api import Object
from fixtures.barriers import claim_of_a_plain_pod_is_released, pod_group_without_pods_goes
from fixtures.conditions import (
    CLAIM_FINALIZER,
    are_bound,
    is_allocated,
    is_being_deleted,
    is_bound,
    is_finished,
    is_gone,
    is_reserved,
    is_reserved_for,
    is_untouched,
)
from fixtures.objects import Claim, Pod, PodGroup, controller_of
from fixtures.scenario import Scenario
from fixtures.timeline import HISTORIES, History, Version
from fixtures.waiting import BINDING, NAMESPACE_REMOVAL, RELEASE, REMOVAL, Condition, eventually
from verdicts.requirement import requirement

#: PodGroups that are deleted at once, since controllers race for their claims.
GROUPS = 4


def released(kind: str) -> Condition:
    """Return what becomes of a ResourceClaim without its PodGroup: a named one is free again, another one goes."""
    return is_untouched if kind == "named" else is_gone


@requirement("WRC-LIF-004")
@NAMED_AND_TEMPLATE
@ENDINGS
def test_a_group_goes_with_its_last_active_pod(scenario: Scenario, kind: str, ending: str) -> None:
    """A deleted PodGroup goes when its last active member ends, not before, and not after its finished members."""
    scenario.node()
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)
    succeeded, failed, active = pods = scenario.pods(3, entry, group=group)
    eventually(scenario.all_of(pods), are_bound(3), BINDING)
    claim = group.claim("shared")
    scenario.finish(succeeded)
    scenario.delete(group)
    eventually(group, is_being_deleted, REMOVAL)
    scenario.finish(failed, phase="Failed")

    end(scenario, ending, active)
    eventually(group, is_gone, REMOVAL)
    eventually(claim, released(kind), RELEASE)

    assert _end_of(scenario, group).number > _end_of(scenario, active).number, (
        "the PodGroup went before its last active member"
    )


@requirement("WRC-LIF-004")
@NAMED_AND_TEMPLATE
def test_a_group_with_finished_pods_goes_at_once(scenario: Scenario, kind: str) -> None:
    """Members that finished before the deletion of their PodGroup hold neither it nor its ResourceClaim."""
    scenario.node()
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)
    succeeded, failed = pods = scenario.pods(2, entry, group=group)
    eventually(scenario.all_of(pods), are_bound(2), BINDING)
    claim = group.claim("shared")
    scenario.finish(succeeded)
    scenario.finish(failed, phase="Failed")

    scenario.delete(group)
    eventually(group, is_gone, REMOVAL)
    eventually(claim, released(kind), RELEASE)

    assert all(pod() is not None for pod in pods), "the finished Pods went with their PodGroup"


@requirement("WRC-LIF-004")
def test_a_terminating_pod_holds_its_group_until_it_is_gone(scenario: Scenario) -> None:
    """A member that is marked for deletion is active still: its deleted PodGroup goes when the member is gone."""
    scenario.node()
    entry = scenario.from_template()
    group = scenario.pod_group(entry)
    pod = scenario.pod(entry, group=group)
    eventually(pod, is_bound, BINDING)
    claim = group.claim("shared")
    scenario.hold(pod)

    scenario.delete(pod, group)
    scenario.barrier(pod_group_without_pods_goes)
    assert group() is not None, "the PodGroup is gone, although its member is still terminating"
    assert claim() is not None, "the ResourceClaim is gone, although a member is still terminating"
    assert claim.reserved_for() == [group.reference()], "the reservation is gone, although a member is terminating"

    scenario.strip_finalizers(pod)
    eventually(group, is_gone, REMOVAL)
    eventually(claim, is_gone, RELEASE)


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

    _assert_not_used_at_the_end(scenario.timeline.of(used))
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


@requirement("WRC-LIF-006")
@NAMED_AND_TEMPLATE
def test_claims_are_torn_down_in_order(scenario: Scenario, kind: str) -> None:
    """First the PodGroup goes, then reservation and allocation, then the finalizer, then the generated claim."""
    scenario.node(devices=GROUPS)
    entries = [scenario.entry(kind, source=f"source-{index}") for index in range(GROUPS)]
    groups = [scenario.pod_group(entry, name=f"group-{index}") for index, entry in enumerate(entries)]
    pods = [scenario.pod(entry, group=group) for entry, group in zip(entries, groups, strict=True)]
    eventually(scenario.all_of(pods), are_bound(GROUPS), BINDING)
    claims = [group.claim("shared") for group in groups]

    scenario.delete(*groups, *pods)

    for group, claim in zip(groups, claims, strict=True):
        eventually(group, is_gone, REMOVAL)
        eventually(claim, released(kind), RELEASE)
        history = scenario.timeline.of(claim)
        kept = history.before(_end_of(scenario, group)).keeps(is_reserved_for(group.reference()))
        assert kept, f"{claim} was released before its PodGroup was gone\n{kept}"
        never = history.never(is_used_without_finalizer)
        assert never, f"{claim} lost its finalizer before it was released\n{never}"
        _assert_not_used_at_the_end(history)


@requirement("WRC-LIF-008")
@NAMED_AND_TEMPLATE
def test_a_group_without_its_finalizer_is_released_under_its_pods(scenario: Scenario, kind: str) -> None:
    """Whoever strips the finalizer of a deleted PodGroup frees the device of its Pods, and the next Pod gets it."""
    scenario.node(devices=1)
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)
    pods = scenario.pods(2, entry, group=group)
    eventually(scenario.all_of(pods), are_bound(2), BINDING)
    claim = group.claim("shared")
    devices = claim.devices()
    scenario.delete(group)
    eventually(group, is_being_deleted, REMOVAL)

    scenario.strip_finalizers(group)
    eventually(group, is_gone, REMOVAL)
    eventually(claim, released(kind), RELEASE)

    next_one = scenario.pod(scenario.from_template("own"))
    eventually(next_one, is_bound, BINDING)
    assert next_one.claim("own").devices() == devices, "the device of the lost PodGroup must be free for the next Pod"
    assert all(pod() is not None for pod in pods), "the Pods went with their PodGroup, so that nothing is shown"


@requirement("WRC-LIF-011")
def test_a_namespace_with_groups_can_be_deleted(scenario: Scenario) -> None:
    """A namespace goes with its PodGroups: one in use, one with a pending Pod, one without Pods, and a deleted one."""
    other = scenario.neighbour()
    other.node()
    entries = [other.named(), other.from_template("own")]
    in_use, pending, deleted = (other.pod_group(*entries, name=one) for one in ("in-use", "pending", "deleted"))
    other.pod_group(*entries, name="without-pods")
    pods = [*other.pods(2, *entries, group=in_use), other.pod(*entries, group=deleted)]
    eventually(other.all_of(pods), are_bound(3), BINDING)
    other.pod(*entries, {"name": "missing", "resourceClaimName": "missing"}, group=pending)
    other.delete(deleted)

    eventually(other.delete_namespace(), is_gone, NAMESPACE_REMOVAL)

    left = [
        f"{one['kind']} {one['metadata']['name']}"
        for kind in HISTORIES
        for one in other.api.list(kind, other.namespace)
    ]
    assert not left, f"the namespace is gone, but there are {left}"


@requirement("WRC-LIF-012")
def test_orphaned_claims_stay_without_owner_and_are_released(scenario: Scenario) -> None:
    """A PodGroup deleted with Orphan leaves used and unused claims: without owner, reservation and allocation."""
    scenario.node()
    entry = scenario.from_template()
    group = scenario.pod_group(entry, scenario.from_template("spare"))
    pod = scenario.pod(entry, group=group)
    eventually(pod, is_bound, BINDING)
    claims = [group.claim("shared"), group.claim("spare")]
    _assert_controlled(group, *claims)

    scenario.delete(pod)
    scenario.delete(group, propagation="Orphan")
    eventually(group, is_gone, REMOVAL)
    for claim in claims:
        eventually(claim, is_untouched, RELEASE)
    scenario.barrier(claim_of_a_plain_pod_is_released)

    for claim in claims:
        orphan = claim()
        assert orphan is not None, f"{claim} must stay without its PodGroup, but is gone"
        assert not orphan["metadata"].get("ownerReferences"), f"{claim} must have no owner any more"
        assert not orphan["metadata"].get("deletionTimestamp"), f"{claim} must stay, but is marked for deletion"


@requirement("WRC-LIF-012")
def test_foreground_deletion_does_not_wait_for_claims(scenario: Scenario) -> None:
    """A PodGroup deleted in the foreground is gone, although used and unused claims are still there, marked."""
    scenario.node()
    entry = scenario.from_template()
    group = scenario.pod_group(entry, scenario.from_template("spare"))
    pod = scenario.pod(entry, group=group)
    eventually(pod, is_bound, BINDING)
    claims = [group.claim("shared"), group.claim("spare")]
    for claim in claims:
        scenario.hold(claim)

    scenario.delete(pod)
    scenario.delete(group, propagation="Foreground")
    eventually(group, is_gone, REMOVAL)

    for claim in claims:
        assert claim() is not None, f"{claim} went, although a finalizer holds it"
        eventually(claim, is_being_deleted, RELEASE)
        scenario.strip_finalizers(claim)
        eventually(claim, is_gone, RELEASE)


def is_used_without_finalizer(claim: Object) -> bool:
    """The ResourceClaim is allocated or reserved, and has no finalizer."""
    return (is_allocated(claim) or is_reserved(claim)) and CLAIM_FINALIZER not in claim["metadata"].get(
        "finalizers", ()
    )


def _end_of(scenario: Scenario, one: Pod | PodGroup) -> Version:
    """Return the version with which an object was gone, or with which a Pod finished."""
    return next(version for version in scenario.timeline.of(one) if version.is_deletion or is_finished(version.body))


def _assert_not_used_at_the_end(history: History) -> None:
    """Assert that the last version of a claim, with which it may have gone, has no reservation and no allocation."""
    last = history.versions[-1].body
    assert not is_reserved(last), "the ResourceClaim was deleted while it was still reserved"
    assert not is_allocated(last), "the ResourceClaim was deleted while it was still allocated"


def _assert_controlled(group: PodGroup, *claims: Claim) -> None:
    """Assert that the PodGroup, and no Pod, controls its generated claims: they then go because of it."""
    for claim in claims:
        assert controller_of(claim.read()) == group.uid, f"PodGroup {group.name} must control its generated {claim}"
