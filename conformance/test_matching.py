# SPDX-License-Identifier: Apache-2.0
"""MAT: which entry of a Pod is its PodGroup's, and which is the Pod's own."""

import pytest

from conformance.ownership import assert_own
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

    assert_own(pod, pod.claim("renamed"))
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
    assert_own(pod, claim)
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


@requirement("WRC-MAT-006")
@pytest.mark.parametrize("pods_come", ["after-the-claims", "at-once"])
def test_the_documented_pod_splits_between_itself_and_its_group(scenario: Scenario, pods_come: str) -> None:
    """Of four entries two are the Pod's and two its group's; so it is for a later Pod, in the opposite order."""
    scenario.node(devices=8)
    of_pod = [scenario.named("pod-claim"), scenario.from_template("pod-claim-template")]
    of_group = [scenario.named("pg-claim"), scenario.from_template("pg-claim-template")]
    group = scenario.pod_group(*of_group)
    if pods_come == "after-the-claims":
        group.claim("pg-claim-template")
    entries = [of_pod[0], of_group[0], of_pod[1], of_group[1]]
    pods = [scenario.pod(*entries, group=group)]
    eventually(pods[0], is_bound, BINDING)
    pods.append(scenario.pod(*reversed(entries), group=group))

    eventually(pods[1], is_bound, BINDING)

    generated = group.claim("pg-claim-template")
    assert controller_of(generated.read()) == group.uid, "the PodGroup must control the claim of its template entry"
    for pod in pods:
        own = pod.claim("pod-claim-template")
        assert_own(pod, own)
        recorded = {"pod-claim-template": own.name, "pg-claim-template": generated.name}
        assert pod.claim_names == recorded, f"the status of {pod} must name the claims of both template entries"
    for claim in (group.claim("pg-claim"), generated):
        assert claim.devices(), f"{claim} is used by both Pods, but is not allocated"
        assert claim.reserved_for() == [group.reference()], f"{claim} must be reserved for the PodGroup alone"
    own_named = claim_named(scenario.api, scenario.namespace, "pod-claim-claim")
    users = sorted(entry["uid"] for entry in own_named.reserved_for())
    assert own_named.devices(), f"{own_named} is used by both Pods, but is not allocated"
    assert users == sorted(pod.uid for pod in pods), f"{own_named} is no match: it must be reserved for both Pods"


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
        assert_own(loner, claim)
    devices = [claim.devices() for claim in (group.claim("shared"), *claims)]
    assert all(len(one) == 1 for one in devices), f"each of the three claims needs one device: {devices}"
    assert len({one[0] for one in devices}) == 3, f"group and loners must use three devices, not {devices}"


@pytest.mark.probe
@requirement("WRC-MAT-011")
def test_a_claim_of_the_group_under_another_name_is_reserved_for_the_pod(scenario: Scenario) -> None:
    """A Pod that names the ResourceClaim of its group under another entry name is reserved beside the group."""
    scenario.node()
    entry = scenario.named()
    group = scenario.pod_group(entry)
    eventually(scenario.pod(entry, group=group), is_bound, BINDING)

    alias = scenario.pod({**entry, "name": "alias"}, group=group)
    eventually(alias, is_bound, BINDING)

    assert group.claim("shared").reserved_for() == [group.reference(), alias.reference()], (
        "the entry of the second Pod is no match, so reservedFor must hold the PodGroup and then this Pod"
    )


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
