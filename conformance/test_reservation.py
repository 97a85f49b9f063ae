# SPDX-License-Identifier: Apache-2.0
"""RES: what stands in ``status.reservedFor`` of a ResourceClaim that Pods of a PodGroup share."""

import pytest

from conformance.kinds import NAMED_AND_TEMPLATE
from fixtures.api import ApiError, Object
from fixtures.barriers import (
    claim_of_a_finished_pod_is_released,
    claim_of_a_plain_pod_is_released,
    claim_of_another_pod_group_is_generated,
    plain_pod_is_bound,
)
from fixtures.bodies import Entry, Placement
from fixtures.conditions import (
    are_bound,
    is_allocated,
    is_bound,
    is_gone,
    is_not_reserved_for,
    is_reserved,
    is_reserved_for,
    is_untouched,
)
from fixtures.objects import Claim, Pod, PodGroup
from fixtures.scenario import Scenario
from fixtures.waiting import BINDING, BINDING_OF_MANY, RELEASE, RESERVATION, eventually
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

    _assert_always_alone(scenario, group.claim("shared"), group)


@requirement("WRC-RES-003")
@NAMED_AND_TEMPLATE
@pytest.mark.parametrize("order", ["group-then-pods", "pods-then-group"])
def test_pods_bound_without_the_scheduler_reserve_for_their_group(scenario: Scenario, kind: str, order: str) -> None:
    """Both ResourceClaims of Pods that were bound by hand get one entry, for the PodGroup, whichever came first."""
    node = scenario.node()
    entries = [scenario.entry(kind, one) for one in ("first", "second")]
    by_hand = Placement(node, bound=True)
    pods_are_first = order == "pods-then-group"
    if pods_are_first:
        scenario.pods(2, *entries, group="group", on=by_hand)
    group = scenario.pod_group(*entries)
    claims = [group.claim(entry["name"]) for entry in entries]
    allocated = [scenario.allocate(claim, node, f"device-{index}") for index, claim in enumerate(claims)]
    if not pods_are_first:
        scenario.pods(2, *entries, group=group, on=by_hand)

    for claim in claims:
        eventually(claim, is_reserved, RESERVATION)
    scenario.barrier(claim_of_another_pod_group_is_generated)

    for claim, original in zip(claims, allocated, strict=True):
        assert claim.reserved_for() == [group.reference()], f"{claim} must be reserved for the PodGroup alone"
        assert claim.allocation() == original["status"]["allocation"], f"the allocation of {claim} has changed"
        _assert_always_alone(scenario, claim, group)


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
    _assert_always_alone(scenario, group.claim("shared"), group)


@requirement("WRC-RES-006")
@NAMED_AND_TEMPLATE
def test_members_need_no_room_in_a_full_list(scenario: Scenario, kind: str) -> None:
    """When reservedFor is full and the PodGroup amidst it, three more members are bound, and the list stays."""
    scenario.node()
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)
    eventually(scenario.pod(entry, group=group), is_bound, BINDING)
    claim = group.claim("shared")
    allocation = claim.allocation()
    strangers = scenario.strangers(MOST - 1)
    full = [*strangers[:100], group.reference(), *strangers[100:]]
    scenario.reserve(claim, full)

    pods = scenario.pods(3, entry, group=group, name="later")
    eventually(scenario.all_of(pods), are_bound(3), BINDING)

    assert claim.allocation() == allocation, "the allocation changed when members came to a full list"
    assert claim.reserved_for() == full, "members of a PodGroup that is in the full list must leave it as it is"


@requirement("WRC-RES-007")
@NAMED_AND_TEMPLATE
def test_entries_of_pods_and_group_go_with_their_own_consumers(scenario: Scenario, kind: str) -> None:
    """Entries before and behind that of a PodGroup go with their Pods, and that of the PodGroup goes with it."""
    scenario.node()
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)
    claim = group.claim("shared")
    by_name = {"name": "own", "resourceClaimName": claim.name}
    before, member, behind = _bound_in_turn(scenario, group, entry, by_name)
    allocation = claim.allocation()

    scenario.delete(before, behind)
    for pod in (before, behind):
        eventually(claim, is_not_reserved_for(pod.reference()), RELEASE)
    assert claim.reserved_for() == [group.reference()], "both Pods are gone, so the PodGroup must be left alone"

    last = scenario.pod(by_name, name="last")
    eventually(last, is_bound, BINDING)
    scenario.delete(member, group)
    eventually(claim, is_not_reserved_for(group.reference()), RELEASE)
    assert claim.reserved_for() == [last.reference()], "the PodGroup is gone, so the last Pod must be left alone"
    assert claim.allocation() == allocation, "the allocation changed, although a Pod still uses it"
    _assert_kept_allocated(scenario, claim)
    scenario.delete(last)
    eventually(claim, is_untouched if kind == "named" else is_gone, RELEASE)


@requirement("WRC-RES-008")
@NAMED_AND_TEMPLATE
def test_entries_of_unknown_kinds_block_deallocation(scenario: Scenario, kind: str) -> None:
    """Entries before and behind that of a PodGroup stay when it goes, and so does the allocation."""
    scenario.node()
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)
    pod = scenario.pod(entry, group=group)
    eventually(pod, is_bound, BINDING)
    claim = group.claim("shared")
    allocation = claim.allocation()
    first, *others = _of_unknown_kinds(group, pod)
    scenario.reserve(claim, [first, group.reference(), *others])

    scenario.delete(pod, group)
    eventually(claim, is_not_reserved_for(group.reference()), RELEASE)
    scenario.barrier(claim_of_a_plain_pod_is_released)

    assert claim() is not None, "the ResourceClaim is gone, although consumers of unknown kinds use it"
    assert claim.reserved_for() == [first, *others], "the entries of unknown kinds must stay, and no other"
    assert claim.allocation() == allocation, "the allocation changed, although consumers of unknown kinds use it"
    _assert_kept_allocated(scenario, claim)


@requirement("WRC-RES-008")
@NAMED_AND_TEMPLATE
def test_entries_with_another_uid_are_removed(scenario: Scenario, kind: str) -> None:
    """Entries with the name of a PodGroup but another uid go, before and behind the true one, and these alone."""
    scenario.node()
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)
    pod = scenario.pod(entry, group=group)
    eventually(pod, is_bound, BINDING)
    claim = group.claim("shared")
    allocation = claim.allocation()
    older, younger = ({**group.reference(), "uid": f"{word}-instance"} for word in ("older", "younger"))
    unknown = _of_unknown_kinds(group, pod)

    scenario.reserve(claim, [older, group.reference(), *unknown, younger])
    for impostor in (older, younger):
        eventually(claim, is_not_reserved_for(impostor), RELEASE)

    assert claim.reserved_for() == [group.reference(), *unknown], "the impostors must be removed, and no other entry"
    assert claim.allocation() == allocation, "the allocation changed, although the PodGroup still uses it"


@requirement("WRC-RES-009")
@pytest.mark.probe
@NAMED_AND_TEMPLATE
@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_entries_of_finished_pods_go_and_stay_away(scenario: Scenario, kind: str, phase: str) -> None:
    """Entries before and behind that of a PodGroup go when their Pods finish, once and for all."""
    scenario.node()
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)
    claim = group.claim("shared")
    by_name = {"name": "own", "resourceClaimName": claim.name}
    before, _, behind = _bound_in_turn(scenario, group, entry, by_name)

    scenario.finish(before, behind, phase=phase)
    for pod in (before, behind):
        eventually(claim, is_not_reserved_for(pod.reference()), RELEASE)
    scenario.barrier(claim_of_a_finished_pod_is_released)

    for pod in (before, behind):
        [*_, finished] = scenario.timeline.of(pod)
        away = scenario.timeline.of(claim).after(finished).keeps(is_not_reserved_for(pod.reference()))
        assert away, f"the finished {pod} came back into reservedFor\n{away}"
    assert claim.reserved_for() == [group.reference()], "both Pods have finished, so the PodGroup must be left alone"


def _of_unknown_kinds(group: PodGroup, pod: Pod) -> list[Object]:
    """Return consumers that only look like a PodGroup or Pod: by the resource, by the API group, or by neither."""
    return [
        {"apiGroup": "wrc.example.com", "resource": "podgroups", "name": group.name, "uid": "stranger-like-a-group"},
        {"apiGroup": "wrc.example.com", "resource": "pods", "name": pod.name, "uid": "stranger-like-a-pod"},
        {"apiGroup": "scheduling.k8s.io", "resource": "workloads", "name": group.name, "uid": "workload"},
    ]


def _bound_in_turn(scenario: Scenario, group: PodGroup, entry: Entry, by_name: Entry) -> tuple[Pod, Pod, Pod]:
    """Bind a Pod of no PodGroup, a member, and another Pod of none, so that reservedFor has them in this order."""
    pods = []
    for name, claims, owner in (("before", by_name, None), ("member", entry, group), ("behind", by_name, None)):
        pods.append(scenario.pod(claims, group=owner, name=name))
        eventually(pods[-1], is_bound, BINDING)
    before, member, behind = pods
    assert group.claim("shared").reserved_for() == [before.reference(), group.reference(), behind.reference()], (
        "reservedFor must hold a Pod, the PodGroup and another Pod, in the order in which they came"
    )
    return before, member, behind


def _assert_kept_allocated(scenario: Scenario, claim: Claim) -> None:
    """Assert that the claim never lost its allocation, not even for a moment."""
    kept = scenario.timeline.of(claim).keeps(is_allocated)
    assert kept, f"for a moment, the ResourceClaim was without allocation, although it was used\n{kept}"


def _assert_always_alone(scenario: Scenario, claim: Claim, group: PodGroup) -> None:
    """Assert that since its first reservation the claim was reserved for the PodGroup alone, without a break."""
    alone = is_reserved_for(group.reference())

    def is_reserved_otherwise(claim: Object) -> bool:
        return is_reserved(claim) and not alone(claim)

    history = scenario.timeline.of(claim)
    never, kept = history.never(is_reserved_otherwise), history.keeps(alone)
    assert never, f"for a moment, reservedFor did not hold the PodGroup alone\n{never}"
    assert kept, f"for a moment, reservedFor no longer held the PodGroup\n{kept}"


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
