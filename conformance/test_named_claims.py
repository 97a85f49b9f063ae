# SPDX-License-Identifier: Apache-2.0
"""NAM: entries of a PodGroup that name an existing ResourceClaim."""

from collections.abc import Iterable
from operator import itemgetter

import pytest

from conformance.kinds import NAMED_AND_TEMPLATE
from fixtures.api import Object
from fixtures.barriers import (
    claim_of_a_plain_pod_is_released,
    claim_of_another_pod_group_is_generated,
    plain_pod_is_bound,
)
from fixtures.conditions import (
    CLAIM_FINALIZER,
    are_bound,
    is_allocated,
    is_also_reserved_for,
    is_bound,
    is_gone,
    is_not_reserved_for,
    is_reserved_for,
    is_untouched,
)
from fixtures.objects import Claim, Handle, controller_of
from fixtures.scenario import Scenario
from fixtures.waiting import BINDING, RELEASE, REMOVAL, eventually
from verdicts.requirement import requirement

#: Metadata that the API server changes with every write.
VOLATILE = {"resourceVersion", "managedFields", "generation"}


@requirement("WRC-NAM-001")
def test_a_named_claim_is_used_and_left_alone(scenario: Scenario) -> None:
    """The named ResourceClaims are used themselves; they get a finalizer, but no owner, label or copy."""
    scenario.node()
    entries = [scenario.named("first"), scenario.named("second")]
    originals = scenario.claims()
    group = scenario.pod_group(*entries)
    pod = scenario.pod(*entries, group=group)

    eventually(pod, is_bound, BINDING)
    scenario.barrier(claim_of_another_pod_group_is_generated)

    for entry, original in zip(entries, originals, strict=True):
        claim = group.claim(entry["name"])
        expected = {**_lasting(original), "finalizers": [CLAIM_FINALIZER]}
        assert _lasting(claim.read()) == expected, f"{claim} must gain a finalizer and change in nothing else"
        assert len(claim.devices()) == 1, f"{claim}, which the Pod uses, must be allocated with its one device"
    names = _names_of_claims(scenario, group, pod)
    assert names == ["first-claim", "second-claim"], (
        f"no ResourceClaim may be created beside the two named ones, but there are {names}"
    )


@requirement("WRC-NAM-002")
def test_pods_wait_for_a_named_claim_that_does_not_exist_yet(scenario: Scenario) -> None:
    """Nothing creates the second of two named claims; all Pods wait, and are bound once a user has created it."""
    scenario.node()
    entries = [scenario.named("present"), {"name": "absent", "resourceClaimName": "absent-claim"}]
    group = scenario.pod_group(*entries)
    pods = scenario.pods(3, *entries, group=group)

    scenario.barrier(plain_pod_is_bound)

    bound = [pod.name for pod in pods if is_bound(pod.read())]
    assert not bound, f"{bound} are bound, although a ResourceClaim that they name does not exist"
    names = _names_of_claims(scenario, group, *pods)
    assert names == ["present-claim"], f"nothing but its user may create a named ResourceClaim, but there are {names}"
    scenario.claim("absent-claim")
    eventually(scenario.all_of(pods), are_bound(3), BINDING)
    for entry in ("present", "absent"):
        claim = group.claim(entry)
        assert claim.devices(), f"the Pods are bound, but {claim} is not allocated"
        assert claim.reserved_for() == [group.reference()], f"{claim} must be reserved for the PodGroup alone"


@requirement("WRC-NAM-003")
def test_a_named_claim_survives_its_pod_group_and_serves_the_next(scenario: Scenario) -> None:
    """After the PodGroup is gone, the same ResourceClaim is free and as it was before, and is used again."""
    scenario.node()
    entry = scenario.named()
    [original] = scenario.claims()
    first = scenario.pod_group(entry, name="first")
    pod = scenario.pod(entry, group=first)
    eventually(pod, is_bound, BINDING)
    claim = first.claim("shared")

    scenario.delete(pod, first)
    eventually(first, is_gone, REMOVAL)
    eventually(claim, is_untouched, RELEASE)
    scenario.barrier(claim_of_another_pod_group_is_generated)

    survivor = claim()
    assert survivor is not None, "the named ResourceClaim was deleted with its PodGroup"
    assert _lasting(survivor) == _lasting(original), "the named ResourceClaim is not what it was before"
    second = scenario.pod_group(entry, name="second")
    eventually(scenario.pod(entry, group=second), is_bound, BINDING)
    assert claim.devices(), "the Pod of the next PodGroup is bound, but the ResourceClaim is not allocated"
    assert claim.reserved_for() == [second.reference()], "the next PodGroup must be alone in reservedFor"


@requirement("WRC-NAM-004")
@pytest.mark.parametrize(("leaving", "staying"), [("first", "second"), ("second", "first")])
def test_two_groups_share_a_named_claim_until_both_are_gone(scenario: Scenario, leaving: str, staying: str) -> None:
    """Each PodGroup has its reservation beside the other's; only with the last of them does the allocation go."""
    scenario.node()
    entry = scenario.named()
    entries = {"first": entry, "second": {**entry, "name": "under-another-name"}}
    groups = {name: scenario.pod_group(one, name=name) for name, one in entries.items()}
    pods = {name: scenario.pods(2, one, group=groups[name]) for name, one in entries.items()}
    eventually(scenario.all_of([*pods["first"], *pods["second"]]), are_bound(4), BINDING)
    claim = groups["first"].claim("shared")
    allocation = claim.allocation()
    assert allocation, "Pods of both PodGroups are bound, but their ResourceClaim is not allocated"
    both = _in_order(group.reference() for group in groups.values())
    assert _in_order(claim.reserved_for()) == both, "reservedFor must hold both PodGroups, and nothing else"

    scenario.delete(*pods[leaving], groups[leaving])
    eventually(claim, is_not_reserved_for(groups[leaving].reference()), RELEASE)
    scenario.delete(*pods[staying])
    scenario.barrier(claim_of_a_plain_pod_is_released)

    assert claim.reserved_for() == [groups[staying].reference()], "the PodGroup that stays must be alone in reservedFor"
    assert claim.allocation() == allocation, "the allocation changed, although one of the PodGroups stays"
    for condition in (is_allocated, is_also_reserved_for(groups[staying].reference())):
        kept = scenario.timeline.of(claim).keeps(condition)
        assert kept, f"for a moment, the ResourceClaim was released, although one of the PodGroups stays. {kept}"
    scenario.delete(groups[staying])
    eventually(claim, is_untouched, RELEASE)


@requirement("WRC-NAM-005")
@pytest.mark.parametrize("order", [("loner", "group", "stranger"), ("stranger", "loner", "group")], ids="-then-".join)
def test_a_group_shares_a_named_claim_with_pods_of_their_own(scenario: Scenario, order: tuple[str, ...]) -> None:
    """A PodGroup, a Pod of none and a Pod of another have one entry each, which goes when they go themselves."""
    scenario.node()
    entry = scenario.named()
    group = scenario.pod_group(entry)
    members = scenario.pods(2, entry, group=group)
    loner = scenario.pod(entry, name="loner")
    stranger = scenario.pod(entry, group=scenario.pod_group(name="other"), name="stranger")
    eventually(scenario.all_of([*members, loner, stranger]), are_bound(4), BINDING)
    claim = group.claim("shared")
    allocation = claim.allocation()
    assert allocation, "all Pods are bound, but their ResourceClaim is not allocated"
    users: dict[str, list[Handle]] = {"group": [*members, group], "loner": [loner], "stranger": [stranger]}
    entries = {"group": group.reference(), "loner": loner.reference(), "stranger": stranger.reference()}
    assert _in_order(claim.reserved_for()) == _in_order(entries.values()), (
        "reservedFor must hold the PodGroup and both Pods that do not match, and nothing else"
    )

    *earlier, last = order
    for user in earlier:
        scenario.delete(*users[user])
        eventually(claim, is_not_reserved_for(entries.pop(user)), RELEASE)
        assert _in_order(claim.reserved_for()) == _in_order(entries.values()), (
            f"the {user} is gone, so its entry must be gone from reservedFor, and only this one"
        )
    scenario.barrier(claim_of_a_plain_pod_is_released)

    assert claim.allocation() == allocation, f"the allocation changed, although the {last} still uses it"
    for condition in (is_allocated, is_also_reserved_for(entries[last])):
        kept = scenario.timeline.of(claim).keeps(condition)
        assert kept, f"for a moment, the ResourceClaim was released, although the {last} still uses it. {kept}"
    scenario.delete(*users[last])
    eventually(claim, is_untouched, RELEASE)


@requirement("WRC-NAM-006")
@NAMED_AND_TEMPLATE
def test_a_reserved_claim_is_only_marked_for_deletion(scenario: Scenario, kind: str) -> None:
    """A deleted ResourceClaim stays, with all it has, while its PodGroup stays, even without Pods; then it goes."""
    scenario.node()
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)
    pods = scenario.pods(2, entry, group=group)
    eventually(scenario.all_of(pods), are_bound(2), BINDING)
    claim = group.claim("shared")
    original = claim.read()

    scenario.delete(claim)
    _assert_held(claim, original)
    scenario.delete(*pods)
    scenario.barrier(claim_of_a_plain_pod_is_released)

    _assert_held(claim, original)
    for condition in (is_allocated, is_reserved_for(group.reference())):
        kept = scenario.timeline.of(claim).keeps(condition)
        assert kept, f"for a moment, the ResourceClaim was released, although its PodGroup stays. {kept}"
    scenario.delete(group)
    eventually(claim, is_gone, RELEASE)


@requirement("WRC-NAM-007")
@NAMED_AND_TEMPLATE
def test_pods_get_no_claim_that_is_marked_for_deletion(scenario: Scenario, kind: str) -> None:
    """Neither a new member nor a Pod that names the ResourceClaim is bound, while its PodGroup still holds it."""
    scenario.node()
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)
    eventually(scenario.pod(entry, group=group), is_bound, BINDING)
    claim = group.claim("shared")
    original = claim.read()
    scenario.delete(claim)

    late = [
        scenario.pod(entry, group=group, name="late-member"),
        scenario.pod({"name": "own", "resourceClaimName": claim.name}, name="late-loner"),
    ]
    scenario.barrier(plain_pod_is_bound)

    bound = [pod.name for pod in late if is_bound(pod.read())]
    assert not bound, f"{bound} are bound with a ResourceClaim that is marked for deletion"
    _assert_held(claim, original)


def _names_of_claims(scenario: Scenario, *owners: Handle) -> list[str]:
    """Return the names of the ResourceClaims without controller, or of these; barriers have their own."""
    uids = {"", *(owner.uid for owner in owners)}
    return [one["metadata"]["name"] for one in scenario.claims() if controller_of(one) in uids]


def _assert_held(claim: Claim, original: Object) -> None:
    """Assert that the deleted ResourceClaim exists and has its finalizer and the status that it had before."""
    held = claim()
    assert held is not None, f"{claim} is gone, although it is reserved for a PodGroup"
    assert held["metadata"].get("deletionTimestamp"), f"{claim} was deleted, but is not marked for deletion"
    assert held["metadata"].get("finalizers") == [CLAIM_FINALIZER], f"{claim} must be held by its finalizer"
    assert held["status"] == original["status"], f"{claim} must keep allocation and reservation when it is deleted"


def _in_order(consumers: Iterable[Object]) -> list[Object]:
    """Sort entries of ``status.reservedFor``, whose order means nothing."""
    return sorted(consumers, key=itemgetter("uid"))


def _lasting(claim: Object) -> Object:
    """Return what of a ResourceClaim its user gave: the spec, and the metadata that lasts."""
    metadata = {key: value for key, value in claim["metadata"].items() if key not in VOLATILE}
    return {**metadata, "spec": claim["spec"]}
