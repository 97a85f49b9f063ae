# SPDX-License-Identifier: Apache-2.0
"""API: claims in the templates of a Workload, and how a PodGroup refers to its template."""

from collections.abc import Sequence
from functools import partial

import pytest

from conformance.claim_lists import (
    VALID_LISTS,
    WRONG_NAMES,
    WRONG_NUMBERS,
    WRONG_SOURCES,
    InvalidList,
    from_template,
    named,
)
from conformance.kinds import NAMED_AND_TEMPLATE
from conformance.ownership import assert_own
from conformance.refusals import accepted, assert_create_invalid, causes_of, refused
from fixtures.api import Object
from fixtures.barriers import claim_of_another_pod_group_is_generated
from fixtures.bodies import Bodies
from fixtures.clusters.versions import MINORS, Reference, row_for
from fixtures.conditions import are_bound
from fixtures.objects import PodGroup, claim_named
from fixtures.scenario import Scenario
from fixtures.waiting import BINDING, eventually
from verdicts.requirement import requirement

#: The field of a Workload that holds its templates.
TEMPLATES = "spec.podGroupTemplates"
WRONG_LISTS = {"sources": WRONG_SOURCES, "names": WRONG_NAMES, "numbers": WRONG_NUMBERS}


@requirement("WRC-API-009")
def test_templates_take_the_lists_of_a_pod_group(scenario: Scenario) -> None:
    """Each list that a PodGroup may have is accepted in the templates of a Workload, and returned unchanged."""
    body = _bodies(scenario).workload("workload", **VALID_LISTS)

    created = accepted("A Workload with valid templates", partial(scenario.api.create, body))

    read = scenario.api.find("Workload", scenario.namespace, "workload")
    for how, workload in {"the answer": created, "get": read or {"spec": {}}}.items():
        returned = {one["name"]: one.get("resourceClaims") for one in workload["spec"].get("podGroupTemplates", ())}
        sent = {one["name"]: one["resourceClaims"] for one in body["spec"]["podGroupTemplates"]}
        assert returned == sent, f"the claims of all templates must come back unchanged, but {how} shows {returned}"


@requirement("WRC-API-009")
@pytest.mark.parametrize("lists", WRONG_LISTS.values(), ids=WRONG_LISTS)
def test_templates_refuse_what_a_pod_group_refuses(scenario: Scenario, lists: Sequence[InvalidList]) -> None:
    """A list that no PodGroup may have is refused in the second template of a Workload, and nothing is stored."""
    for invalid in lists:
        body = _bodies(scenario).workload("workload", valid=VALID_LISTS["mixed"], invalid=invalid.entries)
        what = f"A Workload whose second template has {invalid.fault}"
        field = f"spec.podGroupTemplates[1].resourceClaims{invalid.at}"
        assert_create_invalid(what, scenario.api, body, invalid.reason, field)


@requirement("WRC-API-009")
def test_claims_of_templates_cannot_be_changed(scenario: Scenario) -> None:
    """No entry of a template can be added, changed or removed, nor a template; a label of the Workload can."""
    first, second, third = named("first"), from_template("second"), named("third")
    body = _bodies(scenario).workload("workload", alpha=[first], beta=[first, second], gamma=[])
    original = accepted("A Workload", partial(scenario.api.create, body))
    alpha, beta, gamma = original["spec"]["podGroupTemplates"]
    changes = {
        "adding an entry": [alpha, {**beta, "resourceClaims": [first, second, third]}, gamma],
        "changing an entry": [alpha, {**beta, "resourceClaims": [first, from_template("second", "other")]}, gamma],
        "changing a kind": [{**alpha, "resourceClaims": [from_template("first")]}, beta, gamma],
        "removing an entry": [alpha, {**beta, "resourceClaims": [first]}, gamma],
        "removing all entries": [alpha, {**beta, "resourceClaims": None}, gamma],
        "adding a first entry": [alpha, beta, {**gamma, "resourceClaims": [first]}],
        "adding a template": [alpha, beta, gamma, {**beta, "name": "delta"}],
        "removing a template": [alpha, beta],
    }

    for what, templates in changes.items():
        _assert_immutable(scenario, what, original, templates)
    label = {"metadata": {"labels": {"wrc.example.com/changed": "yes"}}}
    changed = accepted("a label", partial(scenario.api.patch, "Workload", scenario.namespace, "workload", label))
    assert changed["spec"] == original["spec"], "a new label must leave the spec as it was"


@requirement("WRC-API-010")
@NAMED_AND_TEMPLATE
def test_claims_of_a_template_have_no_effect_by_themselves(scenario: Scenario, kind: str) -> None:
    """A PodGroup of a template with claims gets none if it lists none, and its Pods use those entries as their own."""
    scenario.node()
    entry = scenario.entry(kind)
    scenario.api.create(_bodies(scenario).workload("workload", workers=[entry]))
    created = accepted("A PodGroup of a template", partial(scenario.api.create, _of_template(scenario, "group")))
    group = PodGroup(scenario.api, "PodGroup", scenario.namespace, "group", created["metadata"]["uid"])

    pods = scenario.pods(2, entry, group=group)
    eventually(scenario.all_of(pods), are_bound(2), BINDING)
    scenario.barrier(claim_of_another_pod_group_is_generated)

    state = group.read()
    assert not state["spec"].get("resourceClaims"), "claims of a Workload's template were copied into the PodGroup"
    assert not group.claim_names, f"the PodGroup lists no claims, but its status names {group.claim_names}"
    generated = [claim["metadata"]["name"] for claim in group.generated_claims()]
    assert not generated, f"the PodGroup lists no claims, but {generated} were generated for it"
    if kind == "named":
        consumers = claim_named(scenario.api, scenario.namespace, "shared-claim").reserved_for()
        names = sorted(consumer["name"] for consumer in consumers)
        assert names == sorted(pod.name for pod in pods), f"the claim must be reserved for the Pods, but is for {names}"
    else:
        for pod in pods:
            assert_own(pod, pod.claim("shared"))


@requirement("WRC-API-011")
def test_a_pod_group_refers_to_its_template(scenario: Scenario) -> None:
    """The reference of this Kubernetes version is accepted and kept; that of another version is refused with 400."""
    scenario.api.create(_bodies(scenario).workload("workload", first=[], workers=[named("only")]))
    row = row_for(scenario.cluster.version)
    reference = row.template_reference("workload", "workers")
    others = [one.template_reference("workload", "workers") for one in MINORS if one is not row]

    created = accepted("A PodGroup of a template", partial(scenario.api.create, _of_template(scenario, "group")))
    [listed] = scenario.api.list("PodGroup", scenario.namespace)
    for how, group in {"the answer": created, "list": listed}.items():
        kept = {field: group["spec"].get(field) for field in reference}
        assert kept == reference, f"the reference to a template must be kept, but {how} shows {kept}"
    for other in others:
        body = _referring(scenario, "other", other)
        refused(f"The field {list(other)} of another version", partial(scenario.api.create, body), 400)
        assert scenario.api.find("PodGroup", scenario.namespace, "other") is None, "the refused PodGroup is stored"


@requirement("WRC-API-011")
@pytest.mark.parametrize("missing", ["Workload", "template"])
def test_a_reference_to_nothing(scenario: Scenario, missing: str) -> None:
    """If its Workload, or the template in it, does not exist, 1.36 refuses a PodGroup with 403, and 1.37 accepts it."""
    scenario.api.create(_bodies(scenario).workload("workload", workers=[]))
    names = ("missing", "workers") if missing == "Workload" else ("workload", "missing")
    row = row_for(scenario.cluster.version)
    body = _referring(scenario, "group", row.template_reference(*names))
    what = f"A PodGroup whose {missing} does not exist"

    if row.requires_template:
        refused(what, partial(scenario.api.create, body), 403)
        assert scenario.api.find("PodGroup", scenario.namespace, "group") is None, f"{what} was refused, but is stored"
    else:
        spec = accepted(what, partial(scenario.api.create, body))["spec"]
        kept = {field: spec.get(field) for field in body["spec"]}
        assert kept == body["spec"], f"{what} must be kept as it was sent, but there is {kept}"


def _bodies(scenario: Scenario) -> Bodies:
    return Bodies(scenario.namespace, scenario.driver)


def _of_template(scenario: Scenario, name: str) -> Object:
    """Return a PodGroup without claims that refers to the template "workers"."""
    reference = row_for(scenario.cluster.version).template_reference("workload", "workers")
    return _referring(scenario, name, reference)


def _referring(scenario: Scenario, name: str, reference: Reference) -> Object:
    body = _bodies(scenario).pod_group(name, ())
    del body["spec"]["resourceClaims"]
    body["spec"] |= reference
    return body


def _assert_immutable(scenario: Scenario, what: str, original: Object, templates: Sequence[Object]) -> None:
    """Assert that the templates cannot be replaced by these, and that nothing of the spec has changed."""
    change: Object = {"spec": {"podGroupTemplates": templates}}
    answer = refused(what, partial(scenario.api.patch, "Workload", scenario.namespace, "workload", change), 422)
    fields = [field for _, field in causes_of(answer)]
    assert {field[: len(TEMPLATES)] for field in fields} == {TEMPLATES}, (
        f"{what} must be refused at spec.podGroupTemplates, but the causes are at {fields}"
    )
    stored = scenario.api.find("Workload", scenario.namespace, "workload") or {"spec": {}}
    assert stored["spec"] == original["spec"], f"{what} was refused, but the spec is changed: {stored['spec']}"
