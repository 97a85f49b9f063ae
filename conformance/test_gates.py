# SPDX-License-Identifier: Apache-2.0
"""GATE: what is there while feature gates and API versions are off, each on a control plane of the check's own."""

from collections.abc import Callable
from functools import partial

from conformance.gates import CLAIMS, CLAIMS_OFF, WORKLOADS, all_default, all_off
from conformance.kinds import NAMED_AND_TEMPLATE
from conformance.ownership import assert_own
from conformance.refusals import accepted
from fixtures.api import Api, ApiError, Object
from fixtures.bodies import Bodies
from fixtures.clusters.cluster import APISERVER, COMPONENTS, CONTROLLER_MANAGER, SCHEDULER
from fixtures.clusters.versions import row_for
from fixtures.conditions import are_bound, records_claims
from fixtures.errors import NotApplicable
from fixtures.metrics import Metrics
from fixtures.objects import PodGroup, claim_named
from fixtures.own_control_plane import OwnControlPlane
from fixtures.scenario import Scenario
from fixtures.waiting import BINDING, GENERATION, eventually, quiet_period
from verdicts.requirement import requirement

#: All versions that the API group has or had; PriorityClass is always served in the first.
VERSIONS = ("v1", "v1beta1", "v1alpha3", "v1alpha2", "v1alpha1")
SERVED = ["podgroups", "podgroups/status", "workloads"]


@requirement("WRC-GATE-001")
def test_pod_groups_are_served_where_gate_and_version_are_on(
    control_plane: OwnControlPlane, scenario: Scenario
) -> None:
    """Neither the gate nor the API version alone suffices; with all versions on, just the documented ones have them."""
    row = row_for(scenario.cluster.version)
    off = all_default(row.minor)

    found = {"gate and version on": _served(scenario.api)}
    if not row.requires_template:  # or kube-apiserver waits for the Workloads that its admission looks up
        with control_plane.restarted(APISERVER, runtime_config=()):
            found["only the gate on"] = _served(scenario.api)
    with control_plane.restarted(APISERVER, gates=off):
        found["only the version on"] = _served(scenario.api)
    with control_plane.restarted(APISERVER, runtime_config=("api/all=true",)):
        found["gate and all versions on"] = _served(scenario.api)

    wanted = {
        "gate and version on": {row.scheduling_version: SERVED},
        "only the gate on": {},
        "only the version on": {},
        "gate and all versions on": dict.fromkeys(row.workload_versions, SERVED),
    }
    wrong = [f"with {when}: {found[when]}, not {wanted[when]}" for when in found if found[when] != wanted[when]]
    assert not wrong, f"scheduling.k8s.io serves, by version, {'; '.join(wrong)}"


@requirement("WRC-GATE-002")
def test_the_gate_is_off_by_default_and_shown(
    control_plane: OwnControlPlane, metrics: Callable[[str], Metrics]
) -> None:
    """Each component shows the gate with the stage of its version: 1 where it is switched on, and 0 by default."""
    row = row_for(control_plane.cluster.version)

    shown = {}
    for component in COMPONENTS:
        shown[f"{component}, switched on"] = _states(metrics(component))
        with control_plane.restarted(component, gates=all_default(row.minor)):
            shown[f"{component}, by default"] = _states(metrics(component))

    wanted = {one: {row.gate_stage: float(one.endswith("on"))} for one in shown}
    wrong = [f"{one}: {shown[one]}, not {wanted[one]}" for one in shown if shown[one] != wanted[one]]
    assert not wrong, f"kubernetes_feature_enabled shows for {CLAIMS}, by stage: {'; '.join(wrong)}"


@requirement("WRC-GATE-003")
def test_the_gate_without_its_dependency_is_refused(control_plane: OwnControlPlane) -> None:
    """Each component that is started with the gate on and the one it depends on off ends, and names that one."""
    contradiction = {**all_off(control_plane.cluster.version), CLAIMS: True}

    said = {component: control_plane.refusal(component, contradiction) for component in COMPONENTS}

    started = [component for component, words in said.items() if not words]
    assert not started, f"{', '.join(started)} must refuse to start with {CLAIMS} on and {WORKLOADS} off, but started"
    for component, words in said.items():
        assert not words.startswith(f"{component} exited with code 0"), f"{component} must end with an error: {words}"
        named = [line for line in words.splitlines() if CLAIMS in line and WORKLOADS in line]
        assert named, f"{component} must say that {CLAIMS} depends on the disabled {WORKLOADS}, but said: {words}"


@requirement("WRC-GATE-004")
def test_claims_of_new_objects_are_cleared_without_the_gate(control_plane: OwnControlPlane, scenario: Scenario) -> None:
    """PodGroup and Workload are stored without their claims and else unchanged; a Pod then has a claim of its own."""
    scenario.node()
    entries = [scenario.named("named"), scenario.from_template("template")]
    bodies = Bodies(scenario.namespace, scenario.driver)
    sent = [bodies.pod_group("group", entries), bodies.workload("work", one=entries, two=entries[1:])]

    with control_plane.restarted(APISERVER, gates=CLAIMS_OFF):
        answered = [accepted(f"a new {one['kind']}", partial(scenario.api.create, one)) for one in sent]
        pod = scenario.pod(*entries, group="group")
    stored = [_stored(scenario, one) for one in answered]

    complete = [scenario.api.create(_renamed(one)) for one in sent]
    for cleared, kept in zip((*answered, *stored), complete * 2, strict=True):
        wanted = _without_claims(kept["spec"])
        assert cleared["spec"] == wanted, (
            f"{cleared['kind']} must lack its resourceClaims and nothing else, but its spec is {cleared['spec']}"
        )
    eventually(scenario.all_of([pod]), are_bound(1), BINDING)
    assert_own(pod, pod.claim("template"))
    named = claim_named(scenario.api, scenario.namespace, "named-claim").reserved_for()
    assert named == [pod.reference()], f"the named claim must be reserved for the Pod alone, not for {named}"


@requirement("WRC-GATE-004")
@NAMED_AND_TEMPLATE
def test_scheduling_groups_of_new_pods_are_cleared_without_pod_groups(
    control_plane: OwnControlPlane, scenario: Scenario, kind: str
) -> None:
    """With GenericWorkload off, Pods are stored without their schedulingGroup, and are no members ever after."""
    scenario.node()
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)

    with control_plane.restarted(APISERVER, gates=all_off(scenario.cluster.version)):
        pods = scenario.pods(2, entry, group=group)
        answered = [pod.read() for pod in pods]

    for one in (*answered, *(pod.read() for pod in pods)):
        assert "schedulingGroup" not in one["spec"], (
            f"Pod {one['metadata']['name']} must have no schedulingGroup, but has {one['spec']['schedulingGroup']}"
        )
    eventually(scenario.all_of(pods), are_bound(2), BINDING)
    claims = [pod.claim("shared") for pod in pods] if kind == "template" else [group.claim("shared")] * 2
    for pod, claim in zip(pods, claims, strict=True):
        if kind == "template":
            assert_own(pod, claim)
        assert pod.reference() in claim.reserved_for(), f"{claim} must be reserved for {pod}, which is in no PodGroup"
        assert group.reference() not in claim.reserved_for(), f"{claim} must not be reserved for {group}: no members"


@requirement("WRC-GATE-005")
def test_claims_of_existing_objects_survive_the_gate(control_plane: OwnControlPlane, scenario: Scenario) -> None:
    """While the gate is off, updates keep the claims of PodGroup and Workload, and claim statuses can be written."""
    entries = [scenario.named("named"), scenario.from_template("template")]
    group = scenario.pod_group(*entries)
    work = scenario.api.create(
        Bodies(scenario.namespace, scenario.driver).workload("work", one=entries, two=entries[1:])
    )
    recorded = eventually(group, records_claims("template"), GENERATION)["status"]["resourceClaimStatuses"]
    statuses = [*recorded, {"name": "named", "resourceClaimName": "chosen-by-hand"}]
    objects = [group.read(), work]

    with control_plane.restarted(APISERVER, gates=CLAIMS_OFF):
        updated = [_label(scenario.api, one) for one in objects] + [_replace(scenario.api, one) for one in objects]
        written = _write_statuses(group, statuses)
        off = [_stored(scenario, one) for one in objects]
    on = [_stored(scenario, one) for one in objects]

    for before, after in zip(objects * 4, (*updated, *off, *on), strict=True):
        assert after["spec"] == before["spec"], (
            f"updates while the gate is off must not change the spec of {before['kind']}, but it became {after['spec']}"
        )
    for stage, state in (("the answer", written), ("while the gate is off", off[0]), ("on again", on[0])):
        found = state.get("status", {}).get("resourceClaimStatuses")
        assert _by_name(found) == _by_name(statuses), (
            f"the claim statuses that were written while the gate was off must be kept ({stage}), but are {found}"
        )


@requirement("WRC-GATE-007")
def test_components_are_idle_until_pod_groups_are_served(control_plane: OwnControlPlane, scenario: Scenario) -> None:
    """Started while PodGroups are not served, neither component serves a plain Pod; once they are, both resume."""
    if row_for(scenario.cluster.version).requires_template:
        raise NotApplicable("kube-apiserver of this version is not ready itself while PodGroups are not served")
    scenario.node()
    entry = scenario.from_template()

    with control_plane.restarted(APISERVER, runtime_config=()):
        control_plane.restart(CONTROLLER_MANAGER)
        control_plane.restart(SCHEDULER)
        with_claim, without_claim = scenario.pod(entry, name="with-claim"), scenario.pod(name="without-claim")
        scenario.limit_claims(10)  # another controller of the same component does its work
        quiet_period()
        claims, node = with_claim.claim_names, without_claim.read()["spec"].get("nodeName")

    assert not claims, f"kube-controller-manager must wait until PodGroups are served, but generated {claims}"
    assert not node, f"kube-scheduler must wait until PodGroups are served, but bound a Pod to {node}"
    eventually(scenario.all_of([with_claim, without_claim]), are_bound(2), BINDING)
    assert_own(with_claim, with_claim.claim("shared"))


def _served(api: Api) -> dict[str, list[str]]:
    """Return which of the resources each version of scheduling.k8s.io serves, if it serves any."""
    served = {}
    for version in VERSIONS:
        try:
            resources = api.request("GET", f"/apis/scheduling.k8s.io/{version}")["resources"]
        except ApiError as error:
            if error.status != 404:
                raise
            continue
        served[version] = sorted({one["name"] for one in resources} & set(SERVED))
    return {version: resources for version, resources in served.items() if resources}


def _states(shown: Metrics) -> dict[str, float]:
    """Return what a component shows of the gate, by stage."""
    samples = [one for one in shown.samples if one.is_one_of("kubernetes_feature_enabled", {"name": CLAIMS})]
    return {one.labels["stage"]: one.value for one in samples}


def _stored(scenario: Scenario, shown: Object) -> Object:
    """Return an object as it is now."""
    return scenario.api.request("GET", _path(scenario.api, shown))


def _renamed(body: Object) -> Object:
    return {**body, "metadata": {**body["metadata"], "name": f"{body['metadata']['name']}-complete"}}


def _without_claims(spec: Object) -> Object:
    """Return the spec of a PodGroup or a Workload without claims, its own or those of its templates."""
    rest = {key: value for key, value in spec.items() if key != "resourceClaims"}
    if "podGroupTemplates" in rest:
        rest["podGroupTemplates"] = [_without_claims(template) for template in rest["podGroupTemplates"]]
    return rest


def _label(api: Api, shown: Object) -> Object:
    """Change an object in a way that has nothing to do with claims, by a patch."""
    metadata = shown["metadata"]
    return api.patch(shown["kind"], metadata["namespace"], metadata["name"], {"metadata": {"labels": {"color": "red"}}})


def _replace(api: Api, shown: Object) -> Object:
    """Change an object in a way that has nothing to do with claims, by writing all of it."""
    path = _path(api, shown)
    now = api.request("GET", path)
    now["metadata"]["labels"]["color"] = "blue"
    return api.request("PUT", path, now, query={"fieldValidation": "Strict"})


def _write_statuses(group: PodGroup, statuses: list[Object]) -> Object:
    change: Object = {"status": {"resourceClaimStatuses": statuses}}
    return group.api.patch("PodGroup", group.namespace, group.name, change, subresource="status")


def _path(api: Api, shown: Object) -> str:
    return api.kinds[shown["kind"]].path(shown["metadata"]["namespace"], shown["metadata"]["name"])


def _by_name(statuses: list[Object] | None) -> dict[str, Object]:
    return {one["name"]: one for one in statuses or ()}
