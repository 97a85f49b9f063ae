# SPDX-License-Identifier: Apache-2.0
"""Standing invariants, on timelines made by hand: what holds, what breaks them, and what is exempt."""

from collections.abc import Iterable
from typing import Any

import pytest

from fixtures import invariants
from fixtures.api import Object
from fixtures.errors import Undetermined
from fixtures.invariants import (
    IDS,
    LIVING_CONSUMERS,
    NODE_OF_ALLOCATION,
    ONE_CLAIM_PER_DEVICE,
    ONE_CLAIM_PER_ENTRY,
    devices_in_two_claims,
    pods_outside_the_allocation,
    too_many_or_dead_consumers,
    two_claims_for_one_entry,
)
from fixtures.objects import CLAIM_NAME_ANNOTATION
from fixtures.timeline import DELETED, Timeline, Version
from fixtures.waiting import PACE, RELEASE, canary
from verdicts.outcomes import Verdict

LONG = RELEASE.seconds + 1


def version(kind: str, name: str, at: float, event: str = "MODIFIED", **parts: Any) -> Version:
    """Return a version that was written, and seen, at ``at`` seconds; the uid is the name."""
    metadata = {"name": name, "uid": name, "resourceVersion": str(int(at * 10)), **parts.pop("metadata", {})}
    return Version(at, event, {"kind": kind, "metadata": metadata, **parts})


def claim(
    name: str,
    at: float,
    *devices: str,
    node: str = "node-a",
    reserved: Iterable[str] = (),
    result: Object | None = None,
    event: str = "MODIFIED",
    **metadata: Any,
) -> Version:
    """Return a version of a claim with these devices allocated on a node, and reserved for these Pods."""
    results = [{"driver": "driver", "pool": "pool", "device": device} | (result or {}) for device in devices]
    named = {"key": "metadata.name", "operator": "In", "values": [node]}
    selector = {"nodeSelectorTerms": [{"matchFields": [named]}]}
    entries = [{"resource": "pods", "name": one, "uid": one} for one in reserved]
    allocation = {"allocation": {"devices": {"results": results}, "nodeSelector": selector}} if devices else {}
    return version("ResourceClaim", name, at, event, metadata=metadata, status={"reservedFor": entries, **allocation})


def generated(name: str, at: float, *, owner: str = "group", entry: str = "shared", event: str = "MODIFIED") -> Version:
    """Return a version of a claim that a PodGroup controls."""
    owners = [{"kind": "PodGroup", "uid": owner, "controller": True}]
    return claim(name, at, event=event, ownerReferences=owners, annotations={CLAIM_NAME_ANNOTATION: entry})


def group(at: float = 0, name: str = "group", event: str = "MODIFIED") -> Version:
    return version("PodGroup", name, at, event)


def pod(at: float, *, node: str = "node-a", uses: str = "claim", event: str = "MODIFIED", **status: Any) -> Version:
    """Return a version of a bound Pod that names a claim."""
    spec = {"nodeName": node, "resourceClaims": [{"name": "shared", "resourceClaimName": uses}]}
    return version("Pod", "pod", at, event, spec=spec, status=status)


def test_a_device_in_one_claim_at_a_time_is_fine():
    """Two claims on two devices; one device again after its claim was deallocated, or was deleted."""
    assert not list(devices_in_two_claims([claim("one", 1, "a"), claim("two", 2, "b")]))
    assert not list(devices_in_two_claims([claim("one", 1, "a"), claim("one", 2), claim("two", 3, "a")]))
    deleted = claim("one", 2, "a", event=DELETED)
    assert not list(devices_in_two_claims([claim("one", 1, "a"), deleted, claim("two", 3, "a")]))


def test_a_device_in_two_claims_is_a_violation():
    """It suffices that one of several devices is in both, and that it is so for a moment."""
    versions = [claim("one", 1, "a", "b"), claim("two", 2, "c", "b"), claim("two", 3)]

    [violation] = devices_in_two_claims(versions)

    assert violation == (
        "Device driver/pool/b is allocated to ResourceClaims one and two at the same time, "
        "2.00 s after the start of the scenario"
    )


@pytest.mark.parametrize("result", [{"adminAccess": True}, {"shareID": "3f1c"}, {"pool": "another"}])
def test_a_device_may_be_in_two_claims_by_admin_access_or_if_it_is_shared(result):
    """Exempt are admin access and devices that allow multiple allocations; a namesake is another device."""
    assert not list(devices_in_two_claims([claim("one", 1, "a"), claim("two", 2, "a", result=result)]))


def test_one_generated_claim_for_each_entry_is_fine():
    """Other entries, other PodGroups, claims of Pods, and a successor after the deletion do not count."""
    versions = [
        group(),
        group(0, "other"),
        generated("one", 1),
        generated("two", 2, entry="other"),
        generated("three", 3, owner="other"),
        generated("of-pod-a", 4, owner="pod"),
        generated("of-pod-b", 5, owner="pod"),
        generated("one", 6, event=DELETED),
        generated("four", 7),
    ]

    assert not list(two_claims_for_one_entry(versions))


def test_two_generated_claims_for_one_entry_are_a_violation():
    """A second one for a moment is enough; the PodGroup may be seen later than its claims."""
    versions = [generated("one", 1), generated("two", 2), generated("two", 3, event=DELETED), group(4)]

    [violation] = two_claims_for_one_entry(versions)

    assert violation == (
        "PodGroup group has two generated ResourceClaims for its entry 'shared' at the same time: one and two, "
        "2.00 s after the start of the scenario"
    )


def test_a_pod_where_its_device_is_is_fine():
    """The allocation names the Pod's node, or no node at all, or is not the Pod's."""
    anywhere = claim("claim", 1, "a")
    anywhere.body["status"]["allocation"].pop("nodeSelector")

    assert not list(pods_outside_the_allocation([claim("claim", 1, "a"), pod(2)]))
    assert not list(pods_outside_the_allocation([anywhere, pod(2)]))
    assert not list(pods_outside_the_allocation([claim("claim", 1, "a", node="node-b"), pod(2, uses="other")]))
    assert not list(pods_outside_the_allocation([claim("claim", 1), pod(2)]))


def test_terms_of_a_node_selector_are_alternatives():
    """Nodes of all terms are allowed; a term that names no node allows who knows which."""
    two = claim("claim", 1, "a", node="node-b")
    terms = two.body["status"]["allocation"]["nodeSelector"]["nodeSelectorTerms"]

    terms.append({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-a"]}]})
    assert not list(pods_outside_the_allocation([two, pod(2)]))

    terms[1] = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["east"]}]}
    assert not list(pods_outside_the_allocation([two, pod(2)]))


@pytest.mark.parametrize(
    "versions",
    [
        [claim("claim", 1, "a", node="node-b"), pod(2)],
        [pod(1), claim("claim", 2, "a", node="node-b")],
        [claim("claim", 0, "a"), pod(1), claim("claim", 2, "a", node="node-b")],
    ],
    ids=["bound elsewhere", "allocated elsewhere", "moved away"],
)
def test_a_pod_outside_the_allocation_is_a_violation(versions):
    """It is one however it came about: by binding, by allocation, or by another allocation."""
    [violation] = pods_outside_the_allocation(versions)

    assert violation == (
        "Pod pod is bound to Node node-a, but ResourceClaim claim, which it uses as 'shared', is allocated on "
        "node-b only, 2.00 s after the start of the scenario"
    )


def test_a_recorded_claim_is_used_too():
    """The ResourceClaim of a template entry is named by the Pod's status."""
    user = pod(2, uses="", resourceClaimStatuses=[{"name": "shared", "resourceClaimName": "generated"}])

    assert list(pods_outside_the_allocation([claim("generated", 1, "a", node="node-b"), user]))


@pytest.mark.parametrize("end", [pod(2, phase="Succeeded"), pod(2, phase="Failed"), pod(2, event=DELETED)])
def test_the_claim_of_a_finished_pod_may_move(end):
    """Whoever has let go of a ResourceClaim is not concerned by its next allocation."""
    versions = [claim("claim", 0, "a"), pod(1), end, claim("claim", 3, "a", node="node-b")]

    assert not list(pods_outside_the_allocation(versions))


def test_a_deleted_claim_binds_nobody():
    """What a ResourceClaim of the same name had allocated before does not matter."""
    gone = claim("claim", 1, "a", node="node-b", event=DELETED)

    assert not list(pods_outside_the_allocation([claim("claim", 0, "a", node="node-b"), gone, pod(2)]))


def test_256_consumers_are_fine_and_257_are_a_violation():
    """The limit is on the number of entries, whoever they are."""
    many = [f"pod-{index}" for index in range(257)]

    assert not list(too_many_or_dead_consumers([claim("one", 1, "a", reserved=many[:256])]))
    assert list(too_many_or_dead_consumers([claim("one", 1, "a", reserved=many)])) == [
        "ResourceClaim one has 257 entries in reservedFor, 1.00 s after the start of the scenario"
    ]


@pytest.mark.parametrize(
    ("released", "violations"),
    [
        (2 + RELEASE.seconds, []),
        (2 + LONG, ["ResourceClaim one is still reserved for Pod pod, 61.0 s after that was deleted"]),
    ],
)
def test_a_dead_consumer_is_released_within_the_limit(released, violations):
    """The time from the deletion of the consumer to the next version without it counts."""
    versions = [claim("one", 1, "a", reserved=["pod"]), pod(2, event=DELETED), claim("one", released, "a")]

    assert list(too_many_or_dead_consumers(versions)) == violations


def test_a_dead_consumer_counts_from_its_death_over_several_versions():
    """Further changes of the ResourceClaim do not begin the time anew."""
    kept = [claim("one", at, "a", reserved=["pod"]) for at in (1, 30, 60)]

    assert list(too_many_or_dead_consumers([*kept, pod(2, event=DELETED), claim("one", 2 + LONG, "a")])) == [
        "ResourceClaim one is still reserved for Pod pod, 61.0 s after that was deleted"
    ]


class Told(Timeline):
    """A timeline that tells what it was given, in the order of arrival."""

    def __init__(self, *versions: Version, gaps: tuple[str, ...] = ()) -> None:
        self._told = versions
        self._lost = gaps

    def versions(self, kind: str = "") -> tuple[Version, ...]:
        return tuple(one for one in self._told if kind in {"", one.kind})

    @property
    def gaps(self) -> tuple[str, ...]:
        return self._lost

    def catch_up(self) -> None:
        self.refuse_gaps()


def verdicts(timeline: Timeline, *judged: str) -> dict[str, Verdict]:
    return {one.requirement: one.verdict for one in invariants.judge(timeline, judged or IDS, "test_one")}


def test_each_invariant_is_judged_on_the_timeline_of_a_check():
    """A violation is non-conformant with its words, for the check that ran; what holds is conformant."""
    timeline = Told(group(), generated("one", 1), generated("two", 2))

    outcomes = invariants.judge(timeline, IDS, "test_one")

    assert {one.requirement: one.verdict for one in outcomes} == {
        ONE_CLAIM_PER_DEVICE: Verdict.CONFORMANT,
        ONE_CLAIM_PER_ENTRY: Verdict.NON_CONFORMANT,
        NODE_OF_ALLOCATION: Verdict.CONFORMANT,
        LIVING_CONSUMERS: Verdict.CONFORMANT,
    }
    assert outcomes[1].message.startswith("PodGroup group has two generated ResourceClaims")
    assert {one.check for one in outcomes} == {"test_one"}


def test_only_the_named_invariants_are_judged():
    """A check that breaks one on purpose leaves it out, and a lie mutes all but its own."""
    timeline = Told(group(), generated("one", 1), generated("two", 2))

    assert verdicts(timeline, NODE_OF_ALLOCATION) == {NODE_OF_ALLOCATION: Verdict.CONFORMANT}
    assert invariants.judge(Told(gaps=("lost",)), (), "test_one") == []


def test_before_and_after_is_told_by_resource_version():
    """The watches of two kinds are not in step: the deletion of a claim may arrive after the next one's allocation."""
    deletion = claim("one", 2, "a", event=DELETED)
    late = Version(9, DELETED, deletion.body)

    assert verdicts(Told(claim("one", 1, "a"), claim("two", 3, "a"), late), ONE_CLAIM_PER_DEVICE) == {
        ONE_CLAIM_PER_DEVICE: Verdict.CONFORMANT
    }


def test_a_gap_leaves_all_invariants_open():
    """Neither is anything shown, nor may a deletion that was lost make a violation."""
    timeline = Told(group(), generated("one", 1), generated("two", 2), gaps=("ResourceClaim: 410",))

    outcomes = invariants.judge(timeline, IDS, "test_one")

    assert [one.verdict for one in outcomes] == [Verdict.UNDETERMINED] * 4
    assert outcomes[0].message == "A watch lost events, so nothing can be said of history: ResourceClaim: 410"


@pytest.fixture
def impatient(monkeypatch) -> None:
    """A release is not waited for."""
    monkeypatch.setattr(PACE, "time_scale", 0.001)


@pytest.mark.usefixtures("impatient")
def test_a_consumer_that_is_dead_at_the_end_is_waited_for():
    """A check is over sooner than the limit; a reservation that then stays until the limit is a violation."""
    timeline = Told(claim("one", 1, "a", reserved=["pod", "other"]), pod(2, event=DELETED))

    [outcome] = invariants.judge(timeline, [LIVING_CONSUMERS], "test_one")

    assert outcome.verdict is Verdict.NON_CONFORMANT
    assert outcome.message.startswith(
        "Reservations for consumers that are gone are released: not so after 0.06 s: "
        "ResourceClaim one is still reserved for Pod pod. This is the limit for "
    )


def test_a_consumer_that_is_released_in_time_is_fine():
    """The reservation of a deleted Pod, or a claim that goes with its reservation, leaves nothing to wait for."""
    reserved = claim("one", 1, "a", reserved=["pod"])

    for end in (claim("one", 3, "a"), claim("one", 3, "a", reserved=["pod"], event=DELETED)):
        assert verdicts(Told(reserved, pod(2, event=DELETED), end), LIVING_CONSUMERS) == {
            LIVING_CONSUMERS: Verdict.CONFORMANT
        }


@pytest.mark.usefixtures("impatient")
def test_a_controller_that_does_nothing_is_not_blamed_for_the_dead():
    """If no canary gets through, the invariant is undetermined."""

    def fail(component: str, _seconds: float) -> None:
        raise Undetermined(f"{component} did nothing")

    timeline = Told(claim("one", 1, "a", reserved=["group"]), group(2, event=DELETED))

    with canary(fail):
        [outcome] = invariants.judge(timeline, [LIVING_CONSUMERS], "test_one")

    assert (outcome.verdict, outcome.message) == (Verdict.UNDETERMINED, "kube-controller-manager did nothing")
