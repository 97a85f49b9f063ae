# SPDX-License-Identifier: Apache-2.0
"""RES: what stands in ``status.reservedFor`` of a ResourceClaim that Pods of a PodGroup share."""

import pytest

from conformance.kinds import NAMED_AND_TEMPLATE
from fixtures.api import ApiError, Object
from fixtures.barriers import plain_pod_is_bound
from fixtures.conditions import are_bound, is_allocated, is_bound, is_reserved, is_reserved_for
from fixtures.objects import Claim, Pod, PodGroup
from fixtures.scenario import Scenario
from fixtures.waiting import BINDING, BINDING_OF_MANY, eventually
from verdicts.requirement import requirement

#: ``ResourceClaimReservedForMaxSize``: as many consumers as one ResourceClaim may have.
MOST = 256


@requirement("WRC-RES-001")
@NAMED_AND_TEMPLATE
def test_the_entry_is_the_reference_to_the_pod_group(scenario: Scenario, kind: str) -> None:
    """The entry holds API group, plural resource, name and uid of the PodGroup, and nothing else."""
    scenario.node()
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)

    eventually(scenario.pod(entry, group=group), is_bound, BINDING)

    reference = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "group", "uid": group.uid}
    assert group.claim("shared").reserved_for() == [reference], (
        "the entry in reservedFor is not the reference to the PodGroup"
    )


@requirement("WRC-RES-002")
@NAMED_AND_TEMPLATE
def test_reservation_stays_one_entry_however_many_pods(scenario: Scenario, kind: str) -> None:
    """With 1, 2 and 20 matching Pods, reservedFor holds the PodGroup alone, after each batch and in between."""
    scenario.node()
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)
    pods: list[Pod] = []

    for count in (1, 2, 20):
        pods += scenario.pods(count - len(pods), entry, group=group)
        eventually(scenario.all_of(pods), are_bound(count), BINDING)

        assert group.claim("shared").reserved_for() == [group.reference()], (
            f"with {count} bound Pods, reservedFor must hold the PodGroup alone"
        )

    _assert_always_alone(scenario, group)


@requirement("WRC-RES-004")
def test_reserved_for_holds_256_entries_and_no_more(scenario: Scenario) -> None:
    """A status with 256 consumers is accepted; one with 257, or with the same uid twice, is rejected."""
    scenario.node()
    claim = scenario.claim()
    eventually(scenario.pod({"name": "own", "resourceClaimName": claim.name}), is_bound, BINDING)
    users = claim.reserved_for()
    [stranger, *others] = scenario.strangers(MOST - len(users) + 1)

    refusal = _refusal(scenario, claim, [*users, *others])
    assert refusal is None, f"256 entries in reservedFor must be accepted: {refusal}"
    assert len(claim.reserved_for()) == MOST, "256 entries were accepted, but not stored"

    _assert_invalid(_refusal(scenario, claim, [*users, *others, stranger]), "257 entries")
    twins = [*users, stranger, {**stranger, "name": "twin"}]
    _assert_invalid(_refusal(scenario, claim, twins), "the same uid twice")
    assert len(claim.reserved_for()) == MOST, "a rejected status was stored all the same"
    scenario.reserve(claim, users)  # strangers are kept for ever otherwise, and hold the finalizer


@requirement("WRC-RES-005")
def test_pods_without_a_group_cannot_share_beyond_256(scenario: Scenario) -> None:
    """Of three Pods that name a ResourceClaim with 254 consumers, two are bound and the third has to wait.

    Without this limit, sharing by more Pods through a PodGroup would prove nothing.
    """
    scenario.node()
    claim = scenario.claim()
    entry = {"name": "own", "resourceClaimName": claim.name}
    eventually(scenario.pod(entry), is_bound, BINDING)
    users = claim.reserved_for()
    scenario.reserve(claim, [*users, *scenario.strangers(MOST - len(users) - 2)])

    pods = scenario.pods(3, entry)
    eventually(scenario.all_of(pods), are_bound(2), BINDING)
    scenario.barrier(plain_pod_is_bound)

    bound = [one for one in scenario.all_of(pods)() if is_bound(one)]
    assert len(bound) == 2, f"{len(bound)} of 3 Pods are bound, where reservedFor has room for 2"
    assert len(claim.reserved_for()) == MOST, "two more Pods are bound, so reservedFor must be full"
    scenario.reserve(claim, users)


@pytest.mark.slow
@requirement("WRC-RES-006")
@NAMED_AND_TEMPLATE
def test_three_hundred_pods_share_one_claim(scenario: Scenario, kind: str) -> None:
    """300 Pods of one PodGroup are all bound on one ResourceClaim, which is reserved for the PodGroup alone."""
    scenario.node(pods=400)
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)

    pods = scenario.pods(300, entry, group=group)
    eventually(scenario.all_of(pods), are_bound(300), BINDING_OF_MANY)

    claim = group.claim("shared")
    assert is_allocated(claim.read()), "300 Pods are bound, but their ResourceClaim is not allocated"
    assert claim.reserved_for() == [group.reference()], "with 300 bound Pods, reservedFor must hold the PodGroup alone"
    names = [one["metadata"]["name"] for one in scenario.claims()]
    assert names == [claim.name], f"one ResourceClaim must serve all 300 Pods, but there are {len(names)}"
    _assert_always_alone(scenario, group)


def _assert_always_alone(scenario: Scenario, group: PodGroup) -> None:
    """Assert that since its first reservation the PodGroup's claim was reserved for it alone, without a break."""
    alone = is_reserved_for(group.reference())

    def is_reserved_otherwise(claim: Object) -> bool:
        return is_reserved(claim) and not alone(claim)

    history = scenario.timeline.of(group.claim("shared"))
    assert history.never(is_reserved_otherwise), "for a moment, reservedFor did not hold the PodGroup alone"
    assert history.keeps(alone), "for a moment, reservedFor no longer held the PodGroup"


def _refusal(scenario: Scenario, claim: Claim, consumers: list[Object]) -> ApiError | None:
    """Write ``status.reservedFor``, and return the error if the API server refuses the status."""
    try:
        scenario.reserve(claim, consumers)
    except ApiError as error:
        if error.status == 429 or error.status >= 500:  # this says nothing about the status
            raise
        return error
    return None


def _assert_invalid(refusal: ApiError | None, what: str) -> None:
    """Assert that the API server rejected a status as invalid, and because of reservedFor."""
    assert refusal, f"{what} in reservedFor must be rejected, but was accepted"
    assert refusal.status == 422, f"{what} in reservedFor: rejected with {refusal.status} instead of 422: {refusal}"
    fields = [cause["field"] for cause in refusal.document.get("details", {}).get("causes", ())]
    assert any(field.startswith("status.reservedFor") for field in fields), (
        f"{what} in reservedFor: rejected because of {fields or 'no field at all'}, not of status.reservedFor"
    )
