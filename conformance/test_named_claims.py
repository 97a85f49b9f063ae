# SPDX-License-Identifier: Apache-2.0
"""NAM: entries of a PodGroup that name an existing ResourceClaim."""

from fixtures.api import Object
from fixtures.barriers import claim_of_another_pod_group_is_generated
from fixtures.conditions import CLAIM_FINALIZER, is_bound, is_gone, is_untouched
from fixtures.objects import controller_of
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
    # The barrier's own ResourceClaim is controlled by another PodGroup.
    claims = [one for one in scenario.claims() if controller_of(one) in {"", group.uid, pod.uid}]
    names = [claim["metadata"]["name"] for claim in claims]
    assert names == ["first-claim", "second-claim"], (
        f"no ResourceClaim may be created beside the two named ones, but there are {names}"
    )


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


def _lasting(claim: Object) -> Object:
    """Return what of a ResourceClaim its user gave: the spec, and the metadata that lasts."""
    metadata = {key: value for key, value in claim["metadata"].items() if key not in VOLATILE}
    return {**metadata, "spec": claim["spec"]}
