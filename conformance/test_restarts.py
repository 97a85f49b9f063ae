# SPDX-License-Identifier: Apache-2.0
"""GEN, LIF, SEC: what survives while a component is killed and comes back, on a control plane of the check's own."""

from conformance.gates import CLAIMS_OFF, all_off
from conformance.kinds import NAMED_AND_TEMPLATE
from conformance.use import assert_used_by
from fixtures.api import Api, Object
from fixtures.barriers import claim_of_another_pod_group_is_generated
from fixtures.clusters.cluster import APISERVER, CONTROLLER_MANAGER, SCHEDULER
from fixtures.clusters.local import Gates
from fixtures.conditions import are_bound, is_bound, is_gone, is_reserved_for, is_untouched, records_claims
from fixtures.invariants import two_claims_for_one_entry
from fixtures.objects import PodGroup, entry_of, names_by_entry
from fixtures.own_control_plane import OwnControlPlane
from fixtures.scenario import Scenario
from fixtures.waiting import BINDING, BINDING_OF_MANY, GENERATION, RELEASE, eventually
from verdicts.requirement import requirement

FOUR = ("first", "second", "third", "fourth")
CLAIM_CONTROLLER = "system:controller:resource-claim-controller"
PROTECTION_CONTROLLER = "system:controller:podgroup-protection-controller"
KUBE_SCHEDULER = "system:kube-scheduler"
#: What each role may do with PodGroups where the gates are on.
RIGHTS = {
    CLAIM_CONTROLLER: [
        "get podgroups",
        "list podgroups",
        "patch podgroups/status",
        "update podgroups/status",
        "watch podgroups",
    ],
    KUBE_SCHEDULER: [
        "get podgroups",
        "list podgroups",
        "patch podgroups/status",
        "update podgroups/status",
        "watch podgroups",
    ],
    PROTECTION_CONTROLLER: ["get podgroups", "list podgroups", "update podgroups", "watch podgroups"],
}


@requirement("WRC-GEN-010")
def test_restarted_controller_adopts_what_it_has_generated(control_plane: OwnControlPlane, scenario: Scenario) -> None:
    """Killed amid bursts of PodGroups and Pods, and before it has recorded its claims, it generates none again."""
    scenario.node(devices=8)
    entries = [scenario.from_template(name) for name in FOUR]
    groups: list[PodGroup] = []
    for burst in ("early", "late"):
        groups += [scenario.pod_group(*entries, name=f"{burst}-{number}") for number in range(4)]
        pods = scenario.pods(8, entries[-1], group=groups[-1])
        control_plane.restart(CONTROLLER_MANAGER)
    claims = {group: _recorded(group) for group in groups}

    with control_plane.without(CONTROLLER_MANAGER):
        for group in groups:
            _forget_claims(group)
    again = {group: _recorded(group) for group in groups}

    eventually(scenario.all_of(pods), are_bound(8), BINDING)
    scenario.barrier(claim_of_another_pod_group_is_generated)
    for group in groups:
        assert again[group] == claims[group], f"{group} must be given the claims that it had, not {again[group]}"
        entries_of_claims = sorted(map(entry_of, group.generated_claims()))
        assert entries_of_claims == sorted(FOUR), f"{group} must have one claim per entry, not {entries_of_claims}"
    versions = sorted(scenario.timeline.versions(), key=lambda one: one.number)
    second = next(two_claims_for_one_entry(versions), "")
    assert not second, f"at no moment may one entry have two generated claims: {second}"


@requirement("WRC-LIF-010")
@NAMED_AND_TEMPLATE
def test_pod_group_that_went_unseen_is_cleaned_up(
    control_plane: OwnControlPlane, scenario: Scenario, kind: str
) -> None:
    """Deleted while kube-controller-manager is down, and created again by the same name, it loses all it held."""
    scenario.node()
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)
    pods = scenario.pods(2, entry, group=group)
    eventually(scenario.all_of(pods), are_bound(2), BINDING)
    claim = group.claim("shared")

    with control_plane.without(CONTROLLER_MANAGER):
        scenario.delete(*pods, group)
        scenario.strip_finalizers(group)
        again = scenario.pod_group(entry, name=group.name)
    eventually(claim, is_gone if kind == "template" else is_untouched, RELEASE)

    eventually(scenario.pod(entry, group=again), is_bound, BINDING)
    assert_used_by(again, again.claim("shared"))


@requirement("WRC-LIF-010")
@NAMED_AND_TEMPLATE
def test_restarted_scheduler_keeps_reservations(control_plane: OwnControlPlane, scenario: Scenario, kind: str) -> None:
    """Members that come after the restart, or wait for it, share the device and its one reservation; others do not."""
    scenario.node()
    entry, other_entry = scenario.entry(kind, "shared"), scenario.entry(kind, "other")
    group, other = scenario.pod_group(entry), scenario.pod_group(other_entry, name="other")
    eventually(scenario.pod(entry, group=group), is_bound, BINDING)
    claim = group.claim("shared")
    devices = claim.devices()

    with control_plane.without(SCHEDULER):
        waiting = [*scenario.pods(10, entry, group=group), scenario.pod(other_entry, group=other)]
    later = scenario.pods(10, entry, group=group)

    eventually(scenario.all_of([*waiting, *later]), are_bound(21), BINDING)
    kept = scenario.timeline.of(claim).keeps(is_reserved_for(group.reference()))
    assert kept, f"a restart of kube-scheduler must not touch the reservation: {kept}"
    assert_used_by(group, claim)
    assert claim.devices() == devices, f"the members must share {devices} after the restart, not {claim.devices()}"
    assert_used_by(other, other.claim("other"))
    taken = other.claim("other").devices()
    assert taken != devices, f"after the restart another PodGroup must not be given {devices}, which is in use"


@requirement("WRC-LIF-014")
def test_pending_work_is_done_once_after_an_outage(control_plane: OwnControlPlane, scenario: Scenario) -> None:
    """What was created and deleted right before kube-apiserver died is generated, reserved and cleaned up after."""
    scenario.node(devices=12)
    named, generated = scenario.named("named"), scenario.from_template("generated")
    leaving = scenario.pod_group(named, generated, name="leaving")
    member = scenario.pod(named, generated, group=leaving)
    eventually(member, is_bound, BINDING)
    unused = [leaving.claim("named"), leaving.claim("generated")]

    scenario.delete(member, leaving)
    entries = [scenario.from_template(name) for name in FOUR[:2]]
    groups = [scenario.pod_group(*entries, name=f"arriving-{number}") for number in range(4)]
    pods = [pod for group in groups for pod in scenario.pods(4, *entries, group=group)]
    control_plane.restart(APISERVER)

    eventually(scenario.all_of(pods), are_bound(16), BINDING_OF_MANY)
    eventually(unused[0], is_untouched, RELEASE)
    eventually(unused[1], is_gone, RELEASE)
    for group in groups:
        eventually(group, records_claims(*FOUR[:2]), GENERATION)
        found = sorted(map(entry_of, group.generated_claims()))
        assert found == sorted(FOUR[:2]), f"{group} must have one claim per entry after the outage, not {found}"
        assert group.claim_names == names_by_entry(group.generated_claims()), f"{group} must name its own claims"
        for entry in FOUR[:2]:
            assert_used_by(group, group.claim(entry))


@requirement("WRC-SEC-005")
def test_roles_of_components_depend_on_the_gates(control_plane: OwnControlPlane, scenario: Scenario) -> None:
    """kube-apiserver gives each component the rights to PodGroups that the gates call for, and no others."""
    with_both = _rights(scenario.api)
    for role in RIGHTS:  # it adds rights to roles that exist, and takes none away
        scenario.api.delete("ClusterRole", "", role)
    with control_plane.restarted(APISERVER, gates=all_off(scenario.cluster.version)):
        with_neither = _rights(scenario.api)
        with control_plane.restarted(APISERVER, gates=_all_on_but_claims(scenario.cluster.version)):
            without_claims = _rights(scenario.api)

    found = {"both gates": with_both, "GenericWorkload alone": without_claims, "neither gate": with_neither}
    wanted: dict[str, dict[str, list[str]]] = {
        "both gates": RIGHTS,
        "GenericWorkload alone": {**RIGHTS, CLAIM_CONTROLLER: []},
        "neither gate": {role: [] for role in RIGHTS},
    }
    wrong = [
        f"with {gates}, {role} may {found[gates][role]}, and not {rights}"
        for gates, roles in wanted.items()
        for role, rights in roles.items()
        if found[gates][role] != rights
    ]
    assert not wrong, f"the rights to PodGroups are wrong: {'; '.join(wrong)}"


def _all_on_but_claims(version: str) -> Gates:
    return {**dict.fromkeys(all_off(version), True), **CLAIMS_OFF}


def _recorded(group: PodGroup) -> dict[str, str]:
    """Return the claims of a PodGroup by entry, once all are recorded."""
    eventually(group, records_claims(*FOUR), GENERATION)
    return group.claim_names


def _forget_claims(group: PodGroup) -> None:
    """Bring a PodGroup to where it is when kube-controller-manager dies between generating and recording."""
    nothing: Object = {"status": {"resourceClaimStatuses": []}}
    group.api.patch("PodGroup", group.namespace, group.name, nothing, subresource="status")


def _rights(api: Api) -> dict[str, list[str]]:
    """Return what each role may do with PodGroups; nothing where there is no such role."""
    roles = {role: api.find("ClusterRole", "", role) or {"rules": []} for role in RIGHTS}
    return {
        name: sorted(
            f"{verb} {resource}"
            for rule in role["rules"]
            for resource in rule.get("resources", ())
            for verb in rule["verbs"]
            if "scheduling.k8s.io" in rule.get("apiGroups", ()) and resource.split("/")[0] == "podgroups"
        )
        for name, role in roles.items()
    }
