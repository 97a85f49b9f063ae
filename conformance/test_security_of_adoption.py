# SPDX-License-Identifier: Apache-2.0
"""SEC: which ResourceClaim that a user made becomes that of a PodGroup."""

from collections.abc import Mapping

from conformance.claim_lists import from_template
from fixtures.api import Object
from fixtures.barriers import claim_of_another_pod_group_is_generated
from fixtures.bodies import Bodies
from fixtures.conditions import is_bound, is_gone, records_claims
from fixtures.objects import CLAIM_NAME_ANNOTATION, Claim, PodGroup
from fixtures.scenario import Scenario
from fixtures.waiting import BINDING, GENERATION, REMOVAL, eventually
from verdicts.requirement import requirement

#: The template that comes after the forged ResourceClaims: before it, none can be generated.
LATE = "late-template"
ENTRY = from_template("shared", LATE)


@requirement("WRC-SEC-006")
def test_a_claim_with_owner_and_annotation_is_adopted(scenario: Scenario) -> None:
    """A ResourceClaim that a user made in the image of a generated one becomes the PodGroup's, and the only one."""
    scenario.node()
    group = scenario.pod_group(ENTRY)
    forged = _forge(scenario, "forged", [_controller(scenario, group)])

    eventually(group, records_claims("shared"), GENERATION)
    scenario.template(LATE)
    pod = scenario.pod(ENTRY, group=group)
    eventually(pod, is_bound, BINDING)
    scenario.barrier(claim_of_another_pod_group_is_generated)

    assert group.claim_names == {"shared": forged.name}, f"the forged claim must be adopted, not {group.claim_names}"
    assert pod.claim_names == {"shared": forged.name}, f"the Pod must use the adopted claim, not {pod.claim_names}"
    owned = [claim["metadata"]["name"] for claim in group.generated_claims()]
    assert owned == [forged.name], f"nothing may be generated beside the adopted claim, but there are {owned}"
    assert forged.reserved_for() == [group.reference()], "the adopted claim must be reserved for the PodGroup alone"


@requirement("WRC-SEC-006")
def test_a_claim_without_owner_or_annotation_is_not_adopted(scenario: Scenario) -> None:
    """A ResourceClaim that lacks one of both, or is another's, is ignored: a proper one is generated beside it."""
    predecessor = scenario.pod_group(name="of-the-predecessor")
    scenario.delete(predecessor)
    eventually(predecessor, is_gone, REMOVAL)
    other = scenario.pod_group(name="other")
    names = ("no-annotation", "another-entry", "no-owner", "no-controller", "of-another", "of-the-predecessor")
    groups = {name: scenario.pod_group(ENTRY, name=name) for name in names}
    own = {name: _controller(scenario, group) for name, group in groups.items()}
    forged = [
        _forge(scenario, "no-annotation-shared", [own["no-annotation"]], entry=None),
        _forge(scenario, "another-entry-shared", [own["another-entry"]], entry="another"),
        _forge(scenario, "no-owner-shared", []),
        _forge(scenario, "no-controller-shared", [{**own["no-controller"], "controller": False}]),
        _forge(scenario, "of-another-shared", [_controller(scenario, other)]),
        _forge(scenario, "of-the-predecessor-shared", [{**own["of-the-predecessor"], "uid": predecessor.uid}]),
    ]

    scenario.barrier(claim_of_another_pod_group_is_generated)

    for name, group in groups.items():
        assert not group.claim_names, f"the forged claim {name} was adopted: the status names {group.claim_names}"
    scenario.template(LATE)
    for name, group in groups.items():
        eventually(group, records_claims("shared"), GENERATION)
        _assert_generated(name, group, forged)


def _assert_generated(name: str, group: PodGroup, forged: list[Claim]) -> None:
    """Assert that the PodGroup uses one generated ResourceClaim, which is none of the forged ones."""
    recorded = group.claim_names["shared"]
    assert recorded not in {claim.name for claim in forged}, f"the forged claim {name} was adopted after all"
    generated = [claim["metadata"]["name"] for claim in group.generated_claims("shared")]
    assert generated == [recorded], f"{group} must have one generated claim, {recorded}, but there are {generated}"


def _controller(scenario: Scenario, group: PodGroup) -> Object:
    api_version = scenario.api.kinds["PodGroup"].api_version
    return {"apiVersion": api_version, "kind": "PodGroup", "name": group.name, "uid": group.uid, "controller": True}


def _forge(scenario: Scenario, name: str, owners: list[Object], entry: str | None = "shared") -> Claim:
    """Create a ResourceClaim with these owners, and annotated with the entry unless that is None."""
    body = Bodies(scenario.namespace, scenario.driver).claim(name, 1)
    annotations: Mapping[str, str] = {CLAIM_NAME_ANNOTATION: entry} if entry else {}
    body["metadata"] |= {"ownerReferences": owners, "annotations": dict(annotations)}
    created = scenario.api.create(body)
    return Claim(scenario.api, "ResourceClaim", scenario.namespace, name, created["metadata"]["uid"])
