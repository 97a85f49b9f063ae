# SPDX-License-Identifier: Apache-2.0
"""ALC: when a ResourceClaim of a PodGroup is allocated, and that it then stays as it is."""

from conformance.kinds import NAMED_AND_TEMPLATE
from fixtures.api import Object
from fixtures.barriers import plain_pod_is_bound
from fixtures.conditions import CLAIM_FINALIZER, are_bound, is_allocated, is_bound, is_untouched
from fixtures.objects import Claim, Pod, devices_of, reservations_of
from fixtures.scenario import Scenario
from fixtures.timeline import Version
from fixtures.waiting import BINDING, eventually
from verdicts.requirement import requirement


@requirement("WRC-ALC-001")
@NAMED_AND_TEMPLATE
def test_nothing_is_allocated_before_a_pod_needs_it(scenario: Scenario, kind: str) -> None:
    """Although devices are free, a claim that no Pod uses has no allocation, reservation or finalizer."""
    scenario.node()
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)
    claim = group.claim("shared")
    member_without_claims = scenario.pod(group=group)
    eventually(member_without_claims, is_bound, BINDING)

    scenario.barrier(plain_pod_is_bound)

    untouched = scenario.timeline.of(claim).always(is_untouched)
    assert untouched, f"no Pod uses the claim, so it must be untouched. {untouched}"


@requirement("WRC-ALC-002")
@NAMED_AND_TEMPLATE
def test_the_first_bound_pod_has_its_claim_ready(scenario: Scenario, kind: str) -> None:
    """When the first Pod gets a node, its claim has finalizer, allocation and the PodGroup's reservation."""
    scenario.node()
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)
    claim = group.claim("shared")
    pod = scenario.pod(entry, group=group)

    eventually(pod, is_bound, BINDING)

    then = _as_the_pod_was_bound(scenario, claim, pod)
    finalizers = then["metadata"].get("finalizers", ())
    assert CLAIM_FINALIZER in finalizers, "the Pod was bound before the claim had its finalizer"
    assert devices_of(then), "the Pod was bound before its claim was allocated"
    assert reservations_of(then) == [group.reference()], (
        "the Pod was bound before its claim was reserved for the PodGroup alone"
    )


@requirement("WRC-ALC-003")
@NAMED_AND_TEMPLATE
def test_later_pods_reuse_the_allocation(scenario: Scenario, kind: str) -> None:
    """Five more Pods leave the allocation exactly as the first one found it, though other devices are free."""
    scenario.node(devices=8)
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)
    eventually(scenario.pod(entry, group=group), is_bound, BINDING)
    claim = group.claim("shared")
    allocation = claim.allocation()
    assert allocation, "the first Pod is bound, but the claim is not allocated"

    pods = scenario.pods(5, entry, group=group)
    eventually(scenario.all_of(pods), are_bound(5), BINDING)

    claims = {one["metadata"]["uid"]: one["metadata"]["name"] for one in scenario.claims()}
    assert claims == {claim.uid: claim.name}, f"all Pods must use the one {claim}, but there are {claims}"
    assert claim.allocation() == allocation, "the allocation changed when more Pods came"
    kept = scenario.timeline.of(claim).keeps(is_allocated)
    assert kept, f"the claim was allocated anew when more Pods came. {kept}"


def _as_the_pod_was_bound(scenario: Scenario, claim: Claim, pod: Pod) -> Object:
    """Return the last version of the ResourceClaim that is older than the one that gave the Pod its node."""
    bound = next(version for version in scenario.timeline.of(pod) if is_bound(version.body))
    versions = [one for one in scenario.timeline.of(claim) if _number(one) < _number(bound)]
    return versions[-1].body


def _number(version: Version) -> int:
    """Return the resourceVersion, which is one sequence for all objects of a control plane's etcd."""
    return int(version.body["metadata"]["resourceVersion"])
