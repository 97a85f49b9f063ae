# SPDX-License-Identifier: Apache-2.0
"""MAT: which entry of a Pod is its PodGroup's, and which is the Pod's own."""

import pytest

from fixtures.barriers import claim_of_another_pod_group_is_generated
from fixtures.bodies import Entry
from fixtures.conditions import are_bound, is_bound, is_untouched
from fixtures.objects import Claim, Pod, PodGroup, claim_named, controller_of, reservations_of
from fixtures.scenario import Scenario
from fixtures.waiting import BINDING, eventually, in_yaml
from verdicts.requirement import requirement


@requirement("WRC-MAT-001")
def test_an_equal_named_entry_is_reserved_for_the_group(scenario: Scenario) -> None:
    """A Pod entry that equals a named entry of the PodGroup uses that claim, reserved for the group alone."""
    scenario.node()
    entry = scenario.named()
    group = scenario.pod_group(scenario.named("other"), entry)

    eventually(scenario.pod(entry, group=group), is_bound, BINDING)

    claim = group.claim("shared")
    assert claim.devices(), "the Pod is bound, but the ResourceClaim of its entry is not allocated"
    assert claim.reserved_for() == [group.reference()], "reservedFor must hold the PodGroup alone"


@requirement("WRC-MAT-002")
def test_an_equal_template_entry_uses_the_claim_of_the_group(scenario: Scenario) -> None:
    """A Pod entry that equals a template entry of the PodGroup is recorded with, and uses, the group's claim."""
    scenario.node()
    entry = scenario.from_template()
    group = scenario.pod_group(scenario.from_template("other"), entry)
    pod = scenario.pod(entry, group=group)

    eventually(pod, is_bound, BINDING)

    claim = group.claim("shared")
    assert pod.claim_names == {"shared": claim.name}, "the Pod's status must name the claim of its PodGroup"
    assert controller_of(claim.read()) == group.uid, "the PodGroup must control the claim that its Pod uses"
    assert claim.devices(), "the Pod is bound, but the ResourceClaim of its entry is not allocated"
    assert claim.reserved_for() == [group.reference()], "reservedFor must hold the PodGroup alone"


@requirement("WRC-MAT-003")
def test_the_same_template_under_another_entry_name_is_no_match(scenario: Scenario) -> None:
    """The Pod gets a ResourceClaim of its own, and the PodGroup's stays untouched."""
    scenario.node()
    entry = scenario.from_template()
    group = scenario.pod_group(entry)
    pod = scenario.pod({**entry, "name": "renamed"}, group=group)

    eventually(pod, is_bound, BINDING)
    scenario.barrier(claim_of_another_pod_group_is_generated)

    _assert_own(pod, pod.claim("renamed"))
    _assert_unused(group.claim("shared"))


@requirement("WRC-MAT-004")
def test_another_template_under_the_same_entry_name_is_no_match(scenario: Scenario) -> None:
    """The Pod gets a ResourceClaim of its own, made from the template that the Pod names."""
    scenario.node(devices=4)
    group = scenario.pod_group(scenario.from_template())
    template = scenario.template("another-template", devices=2)
    pod = scenario.pod({"name": "shared", "resourceClaimTemplateName": "another-template"}, group=group)

    eventually(pod, is_bound, BINDING)
    scenario.barrier(claim_of_another_pod_group_is_generated)

    claim = pod.claim("shared")
    _assert_own(pod, claim)
    assert claim.read()["spec"] == template["spec"]["spec"], "the Pod's claim must come from the Pod's template"
    _assert_unused(group.claim("shared"))


@requirement("WRC-MAT-005")
@pytest.mark.parametrize(("of_group", "of_pod"), [("named", "template"), ("template", "named"), ("named", "named")])
def test_another_kind_or_another_claim_is_no_match(scenario: Scenario, of_group: str, of_pod: str) -> None:
    """An entry of the same name that names something else is the Pod's own; the PodGroup reserves nothing."""
    scenario.node()
    # Where the kinds differ, claim and template have the same name: it must not be taken for the same source.
    source = "one" if of_group != of_pod else "another"
    group = scenario.pod_group(scenario.entry(of_group, "shared", source="one"))
    entry = scenario.entry(of_pod, "shared", source=source)
    pod = scenario.pod(entry, group=group)

    eventually(pod, is_bound, BINDING)
    scenario.barrier(claim_of_another_pod_group_is_generated)

    claim = _claim_of(scenario, pod, entry)
    assert claim.devices(), "the Pod is bound, but the ResourceClaim of its entry is not allocated"
    assert claim.reserved_for() == [pod.reference()], "the entry is no match: it must be reserved for the Pod alone"
    reserved = _names_reserved_for(scenario, group)
    assert not reserved, f"no entry of the Pod matches, yet {reserved} is reserved for its PodGroup"
    _assert_unused(group.claim("shared"))


@requirement("WRC-MAT-007")
def test_pods_without_a_group_do_not_share(scenario: Scenario) -> None:
    """Beside a PodGroup, two Pods of no group get a claim and a device each from the same template."""
    scenario.node(devices=4)
    entry = scenario.from_template()
    group = scenario.pod_group(entry)
    members = scenario.pods(2, entry, group=group)
    loners = scenario.pods(2, entry)

    eventually(scenario.all_of([*members, *loners]), are_bound(4), BINDING)

    claims = [loner.claim("shared") for loner in loners]
    for loner, claim in zip(loners, claims, strict=True):
        _assert_own(loner, claim)
    devices = [claim.devices() for claim in (group.claim("shared"), *claims)]
    assert all(len(one) == 1 for one in devices), f"each of the three claims needs one device: {devices}"
    assert len({one[0] for one in devices}) == 3, f"group and loners must use three devices, not {devices}"


def _assert_own(pod: Pod, claim: Claim) -> None:
    """Assert that the ResourceClaim was generated for this Pod, and is allocated and reserved for it alone."""
    references = claim.read()["metadata"].get("ownerReferences", ())
    owners = [(owner["kind"], owner["name"], owner["uid"]) for owner in references]
    assert owners == [("Pod", pod.name, pod.uid)], f"{claim}, which {pod} uses, must be owned by this Pod alone"
    assert claim.devices(), f"{pod} is bound, but its {claim} is not allocated"
    assert claim.reserved_for() == [pod.reference()], f"{claim} must be reserved for {pod} alone"


def _assert_unused(claim: Claim) -> None:
    """Assert that the ResourceClaim of a PodGroup, none of whose Pods matches, was left as it was created."""
    state = claim.read()
    assert is_untouched(state), f"no Pod uses the PodGroup's {claim}, so it must be untouched:\n{in_yaml(state)}"


def _names_reserved_for(scenario: Scenario, group: PodGroup) -> list[str]:
    return [
        claim["metadata"]["name"]
        for claim in scenario.claims()
        if group.uid in {reservation["uid"] for reservation in reservations_of(claim)}
    ]


def _claim_of(scenario: Scenario, pod: Pod, entry: Entry) -> Claim:
    if "resourceClaimName" in entry:
        return claim_named(scenario.api, scenario.namespace, entry["resourceClaimName"])
    return pod.claim(entry["name"])
