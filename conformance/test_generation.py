# SPDX-License-Identifier: Apache-2.0
"""GEN: ResourceClaims that are generated from a ResourceClaimTemplate, once for each entry of a PodGroup."""

from fixtures.api import Object
from fixtures.barriers import claim_of_another_pod_group_is_generated
from fixtures.bodies import Entry
from fixtures.conditions import are_bound, is_bound, is_untouched, records_claims
from fixtures.objects import CLAIM_NAME_ANNOTATION, Pod, controller_of, entry_of, names_by_entry
from fixtures.scenario import Scenario
from fixtures.waiting import BINDING, GENERATION, eventually
from verdicts.requirement import requirement


@requirement("WRC-GEN-001")
def test_one_claim_is_generated_for_the_whole_group_before_any_pod(scenario: Scenario) -> None:
    """Once PodGroup and template exist, one ResourceClaim is generated, stays one and stays untouched."""
    scenario.node()
    group = scenario.pod_group(scenario.from_template())

    claim = group.claim("shared")
    scenario.barrier(claim_of_another_pod_group_is_generated)

    generated = [one["metadata"]["name"] for one in group.generated_claims()]
    assert generated == [claim.name], (
        f"the one entry of the PodGroup must have one generated ResourceClaim, but it controls {generated}"
    )
    _assert_one_claim_for_each_group(scenario)
    untouched = scenario.timeline.of(claim).always(is_untouched)
    assert untouched, f"no Pod exists, so the claim must be untouched. {untouched}"


@requirement("WRC-GEN-001")
def test_each_entry_has_a_claim_of_its_own(scenario: Scenario) -> None:
    """Before any Pod exists, four template entries lead to four untouched ResourceClaims, one for each."""
    scenario.node(devices=5)
    names = ["first", "second", "third", "fourth"]
    group = scenario.pod_group(*(scenario.from_template(name) for name in names))

    eventually(group, records_claims(*names), GENERATION)
    scenario.barrier(claim_of_another_pod_group_is_generated)

    generated = group.generated_claims()
    entries = sorted(map(entry_of, generated))
    assert entries == sorted(names), f"the entries are {sorted(names)}, the ResourceClaims are for {entries}"
    assert group.claim_names == names_by_entry(generated), (
        "the PodGroup's status must name for each entry the ResourceClaim that was generated for it"
    )
    touched = [entry_of(one) for one in generated if not is_untouched(one)]
    assert not touched, f"no Pod exists, so the claims must be untouched, but those for {touched} are not"


@requirement("WRC-GEN-003")
def test_the_pod_group_controls_the_generated_claim(scenario: Scenario) -> None:
    """The PodGroup is the only owner, as controller, and the annotation names the entry, also with a Pod."""
    scenario.node()
    annotated = scenario.from_template("annotated", annotations={CLAIM_NAME_ANNOTATION: "of-the-template"})
    entries = [scenario.from_template("plain"), annotated]
    group = scenario.pod_group(*entries)
    claims = {name: group.claim(name) for name in ("plain", "annotated")}

    eventually(scenario.pod(*entries, group=group), is_bound, BINDING)

    owner = {
        "apiVersion": f"scheduling.k8s.io/{scenario.cluster.scheduling_version}",
        "kind": "PodGroup",
        "name": group.name,
        "uid": group.uid,
        "controller": True,
    }
    for entry, claim in claims.items():
        state = claim.read()
        owners = [_without_block_owner_deletion(one) for one in state["metadata"].get("ownerReferences", ())]
        assert owners == [owner], f"the PodGroup must control the claim for {entry!r}, and be its only owner"
        assert entry_of(state) == entry, f"{CLAIM_NAME_ANNOTATION} must name the PodGroup's entry {entry!r}"


@requirement("WRC-GEN-016")
def test_labels_and_annotations_of_the_template_are_copied(scenario: Scenario) -> None:
    """A ResourceClaim has the labels and annotations of its template, and does not set blockOwnerDeletion."""
    label, annotation = "wrc.example.com/label", "wrc.example.com/annotation"
    names = ["first", "second"]
    group = scenario.pod_group(
        *(scenario.from_template(name, labels={label: name}, annotations={annotation: name}) for name in names)
    )

    for name in names:
        metadata = group.claim(name).read()["metadata"]
        assert metadata.get("labels") == {label: name}, f"the claim for {name!r} must have its template's labels"
        assert metadata.get("annotations") == {annotation: name, CLAIM_NAME_ANNOTATION: name}, (
            f"the claim for {name!r} must have its template's annotations and the one that names the entry"
        )
        blocking = [owner for owner in metadata.get("ownerReferences", ()) if "blockOwnerDeletion" in owner]
        assert not blocking, f"the owner reference of the claim for {name!r} must not set blockOwnerDeletion"


@requirement("WRC-GEN-006")
def test_statuses_list_the_template_entries_only(scenario: Scenario) -> None:
    """With two named and two template entries, both statuses name the claims of the latter alone."""
    scenario.node(devices=4)
    templates = [scenario.from_template("template-a"), scenario.from_template("template-b")]
    entries = [scenario.named("named-a"), templates[0], scenario.named("named-b"), templates[1]]
    group = scenario.pod_group(*entries)
    eventually(group, records_claims("template-a", "template-b"), GENERATION)
    pod = scenario.pod(*entries, group=group)

    eventually(pod, is_bound, BINDING)

    generated = group.generated_claims()
    of_entries = sorted(map(entry_of, generated))
    assert of_entries == ["template-a", "template-b"], (
        f"each template entry, and no other, must have one generated claim, but there are claims for {of_entries}"
    )
    names = names_by_entry(generated)
    assert group.claim_names == names, "the PodGroup's status must name the claims of its template entries alone"
    assert pod.claim_names == names, "the Pod's status must name the claims of its template entries alone"


@requirement("WRC-GEN-007")
def test_further_pods_lead_to_no_further_claim(scenario: Scenario) -> None:
    """1, 2 and then 12 Pods with the matching entry all point to the one ResourceClaim of their PodGroup."""
    scenario.node()
    entry = scenario.from_template()
    group = scenario.pod_group(entry)
    claim = group.claim("shared")
    pods: list[Pod] = []

    for count in (1, 2, 12):
        pods += scenario.pods(count - len(pods), entry, group=group)
        eventually(scenario.all_of(pods), are_bound(count), BINDING)
    scenario.barrier(claim_of_another_pod_group_is_generated)

    expected = {"shared": claim.name}
    astray = {pod.name: names for pod in pods if (names := pod.claim_names) != expected}
    assert not astray, f"every member must point to ResourceClaim {claim.name}, but these do not: {astray}"
    assert group.claim_names == expected, "the PodGroup's status must still name its ResourceClaim"
    _assert_one_claim_for_each_group(scenario)


@requirement("WRC-GEN-008")
def test_entries_of_one_template_have_claims_of_their_own(scenario: Scenario) -> None:
    """In six PodGroups at once, four entries of one annotated template have four claims with their own annotation."""
    scenario.node(devices=5)
    names = ["first", "second", "third", "fourth"]
    template = scenario.template(annotations={"wrc.example.com/annotation": "of-the-template"})
    entries: list[Entry] = [{"name": name, "resourceClaimTemplateName": template["metadata"]["name"]} for name in names]
    groups = [scenario.pod_group(*entries, name=f"group-{index}") for index in range(6)]

    for group in groups:
        eventually(group, records_claims(*names), GENERATION)
        generated = group.generated_claims()
        of_entries = sorted(map(entry_of, generated))
        assert of_entries == sorted(names), f"{group} has the entries {sorted(names)}, the claims are for {of_entries}"
        assert group.claim_names == names_by_entry(generated), f"the status of {group} must name a claim for each entry"
        kept = [one["metadata"]["annotations"].get("wrc.example.com/annotation") for one in generated]
        assert kept == ["of-the-template"] * 4, f"the claims of {group} must keep the template's annotation"

    pod = scenario.pod(*entries, group=groups[-1])
    eventually(pod, is_bound, BINDING)
    assert pod.claim_names == groups[-1].claim_names, "a Pod must point to the claim of each of its four entries"
    devices = [device for name in names for device in groups[-1].claim(name).devices()]
    assert len(set(devices)) == 4, f"four claims must have four devices, but they have {devices}"


def _assert_one_claim_for_each_group(scenario: Scenario) -> None:
    """Assert that each PodGroup of the namespace, all of one entry, controls one claim; there is no other."""
    groups = [one["metadata"]["uid"] for one in scenario.api.list("PodGroup", scenario.namespace)]
    claims = scenario.claims()
    assert sorted(map(controller_of, claims)) == sorted(groups), (
        f"each of the {len(groups)} PodGroups (one is the barrier's) must control one ResourceClaim, and no other "
        f"may exist, but there are {[one['metadata']['name'] for one in claims]}"
    )


def _without_block_owner_deletion(owner: Object) -> Object:
    """Leave out what another requirement speaks of."""
    return {key: value for key, value in owner.items() if key != "blockOwnerDeletion"}
