# SPDX-License-Identifier: Apache-2.0
"""SKW: one component has the gate off while others have it on, each on a control plane of the check's own."""

import pytest

from conformance.gates import CLAIMS_OFF, all_off
from conformance.kinds import NAMED_AND_TEMPLATE
from conformance.ownership import assert_own
from conformance.use import assert_used_by
from fixtures.barriers import (
    claim_of_a_plain_pod_is_released,
    plain_pod_is_bound,
    plain_pod_is_evicted_from_a_tainted_device,
)
from fixtures.clusters.cluster import CONTROLLER_MANAGER, SCHEDULER
from fixtures.clusters.versions import row_for
from fixtures.conditions import (
    are_bound,
    is_being_deleted,
    is_bound,
    is_gone,
    is_reserved_for,
    is_unbound,
    is_untouched,
)
from fixtures.errors import NotApplicable
from fixtures.objects import controller_of, entry_of
from fixtures.own_control_plane import OwnControlPlane
from fixtures.scenario import Scenario
from fixtures.waiting import BINDING, EVICTION, RELEASE, eventually
from verdicts.requirement import requirement


@requirement("WRC-SKW-001")
@requirement("WRC-SKW-002")
@pytest.mark.parametrize("early", [False, True], ids=["new-group", "old-group"])
def test_matching_entry_without_the_gate_of_the_controller(
    control_plane: OwnControlPlane, scenario: Scenario, *, early: bool
) -> None:
    """It yields no claim at all since 1.37 and one per Pod in 1.36; with the gate on again there is the group's one."""
    scenario.node(devices=5)
    entry = scenario.from_template()
    group = scenario.pod_group(entry) if early else None
    generated = [group.claim("shared").uid] if group else []

    with control_plane.restarted(CONTROLLER_MANAGER, gates=CLAIMS_OFF):
        group = group or scenario.pod_group(entry)
        pods = scenario.pods(3, entry, group=group)
        scenario.barrier(plain_pod_is_bound)
        owners = _owners(scenario, "shared")

    per_pod = row_for(scenario.cluster.version).generates_per_pod_without_the_gate
    wanted = sorted([group.uid for _ in generated] + [pod.uid for pod in pods if per_pod])
    must = "a claim per Pod" if per_pod else "no new claim"
    assert owners == wanted, (
        f"with the gate off in kube-controller-manager, there must be {must} for the matching entry, but claims are "
        f"owned by {owners}"
    )
    claim = group.claim("shared")
    later = [scenario.pod(entry, group=group)] if per_pod else pods
    eventually(scenario.all_of(later), are_bound(len(later)), BINDING)
    assert_used_by(group, claim)
    found = [one["metadata"]["uid"] for one in group.generated_claims()]
    assert found == (generated or [claim.uid]), f"{group} must have its one claim once the gate is on, not {found}"


@requirement("WRC-SKW-003")
@pytest.mark.parametrize("order", ["own-shared", "shared-own"])
def test_other_entries_without_the_gate_of_the_controller(
    control_plane: OwnControlPlane, scenario: Scenario, order: str
) -> None:
    """A Pod with an entry of its own alone gets its claim; one that mixes it with a matching one waits as a whole."""
    if row_for(scenario.cluster.version).generates_per_pod_without_the_gate:
        raise NotApplicable("a kube-controller-manager of this version generates for all entries without the gate")
    scenario.node()
    entries = {name: scenario.from_template(name) for name in ("own", "shared")}

    with control_plane.restarted(CONTROLLER_MANAGER, gates=CLAIMS_OFF):
        group = scenario.pod_group(entries["shared"])
        mixed = scenario.pod(*(entries[name] for name in order.split("-")), group=group, name="mixed")
        other = scenario.pod(entries["own"], group=group, name="other")
        claim = other.claim("own")
        scenario.barrier(plain_pod_is_bound)
        recorded = mixed.claim_names

    assert not recorded, f"a Pod with a matching entry must wait as a whole while the gate is off, but has {recorded}"
    eventually(scenario.all_of([mixed, other]), are_bound(2), BINDING)
    assert_own(other, claim)
    assert_own(mixed, mixed.claim("own"))
    assert_used_by(group, group.claim("shared"))


@requirement("WRC-SKW-004")
def test_entries_of_grouped_pods_without_pod_groups_in_the_controller(
    control_plane: OwnControlPlane, scenario: Scenario
) -> None:
    """With GenericWorkload off there, a grouped Pod gets no claim at all in 1.37, and is an ordinary one in 1.36."""
    entry = scenario.from_template("own")
    group = scenario.pod_group()
    scenario.node()

    with control_plane.restarted(CONTROLLER_MANAGER, gates=all_off(scenario.cluster.version)):
        pods = scenario.pods(2, entry, group=group)
        scenario.barrier(plain_pod_is_bound)
        owners = _owners(scenario, "own")

    ordinary = row_for(scenario.cluster.version).generates_per_pod_without_the_gate
    wanted = sorted(pod.uid for pod in pods if ordinary)
    assert owners == wanted, f"while it knows no PodGroups, it must generate {len(wanted)} claims, not for {owners}"


@requirement("WRC-SKW-005")
@NAMED_AND_TEMPLATE
def test_leftovers_stay_until_the_gate_is_on_again(
    control_plane: OwnControlPlane, scenario: Scenario, kind: str
) -> None:
    """With the gate off in kube-controller-manager, a deleted PodGroup keeps its reservation and the allocation."""
    scenario.node()
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)
    pods = scenario.pods(2, entry, group=group)
    eventually(scenario.all_of(pods), are_bound(2), BINDING)
    claim = group.claim("shared")
    before = claim.read()["status"]

    with control_plane.restarted(CONTROLLER_MANAGER, gates=CLAIMS_OFF):
        scenario.delete(*pods, group)
        eventually(group, is_gone, RELEASE)
        if kind == "template":
            eventually(claim, is_being_deleted, RELEASE)
        scenario.barrier(claim_of_a_plain_pod_is_released)
        left = claim()

    status = left and left["status"]
    assert status == before, f"{claim} must keep allocation and reservation while the gate is off, but has {status}"
    eventually(claim, is_gone if kind == "template" else is_untouched, RELEASE)


@requirement("WRC-SKW-006")
@NAMED_AND_TEMPLATE
def test_a_claim_outlives_a_cycle_of_the_gate(control_plane: OwnControlPlane, scenario: Scenario, kind: str) -> None:
    """On, off and on again in both components, Pods come and go, and the one claim stays what it is."""
    scenario.node()
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)
    pods = scenario.pods(3, entry, group=group)
    eventually(scenario.all_of(pods), are_bound(3), BINDING)
    claim = group.claim("shared")
    devices = claim.devices()

    with (
        control_plane.restarted(CONTROLLER_MANAGER, gates=CLAIMS_OFF),
        control_plane.restarted(SCHEDULER, gates=CLAIMS_OFF),
    ):
        scenario.delete(*pods[:2])
        scenario.barrier(claim_of_a_plain_pod_is_released)
        scenario.delete(pods[2])
        scenario.barrier(claim_of_a_plain_pod_is_released)

    eventually(scenario.pod(entry, group=group), is_bound, BINDING)
    kept = scenario.timeline.of(claim).keeps(is_reserved_for(group.reference()))
    assert kept, f"a cycle of the gate must not touch the reservation: {kept}"
    assert claim.devices() == devices, f"a new member must share {devices}, not {claim.devices()}"
    created = {one.uid for one in scenario.timeline.versions("ResourceClaim") if entry_of(one.body) in {"", "shared"}}
    assert created == {claim.uid}, f"there must be no ResourceClaim for {group} but {claim.name}, not {len(created)}"


@requirement("WRC-SKW-007")
def test_a_scheduler_without_the_gate_reserves_for_pods(control_plane: OwnControlPlane, scenario: Scenario) -> None:
    """A named claim is then reserved for each Pod itself, alone or beside the PodGroup that has reserved it before."""
    scenario.node()
    used, fresh = scenario.named("used"), scenario.named("fresh")
    group = scenario.pod_group(used, fresh)
    eventually(scenario.pod(used, group=group), is_bound, BINDING)

    with control_plane.restarted(SCHEDULER, gates=CLAIMS_OFF):
        pods = {entry["name"]: scenario.pods(2, entry, group=group) for entry in (used, fresh)}
        for members in pods.values():
            eventually(scenario.all_of(members), are_bound(2), BINDING)

    for name, first in (("used", [group.reference()]), ("fresh", [])):
        wanted = [*first, *(pod.reference() for pod in pods[name])]
        reserved = group.claim(name).reserved_for()
        assert _by_uid(reserved) == _by_uid(wanted), (
            f"with the gate off in kube-scheduler, the {name} claim must be reserved for {_words(wanted)}, "
            f"not for {_words(reserved)}"
        )


@requirement("WRC-SKW-008")
@NAMED_AND_TEMPLATE
def test_no_member_is_evicted_without_the_gate_of_the_controller(
    control_plane: OwnControlPlane, scenario: Scenario, kind: str
) -> None:
    """A taint of a device evicts through a Pod's own reservation; through a PodGroup's only with the gate on again."""
    scenario.node()
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)
    pods = scenario.pods(2, entry, group=group)
    eventually(scenario.all_of(pods), are_bound(2), BINDING)
    claim = group.claim("shared")

    with control_plane.restarted(CONTROLLER_MANAGER, gates=CLAIMS_OFF):
        scenario.devices.taint("NoExecute", *claim.devices())
        scenario.barrier(plain_pod_is_evicted_from_a_tainted_device)
        evicted = [pod.name for pod in pods if is_being_deleted(pod())]

    assert not evicted, f"with the gate off, no member may be evicted through its PodGroup, but {evicted} were"
    for pod in pods:
        eventually(pod, is_gone, EVICTION)


@requirement("WRC-SKW-010")
@NAMED_AND_TEMPLATE
def test_a_reservation_replaced_by_hand_frees_the_claim(
    control_plane: OwnControlPlane, scenario: Scenario, kind: str
) -> None:
    """With the gate off, the PodGroup's entry is replaced by those of its Pods; when they go, the claim is released."""
    scenario.node()
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)
    pods = scenario.pods(2, entry, group=group)
    eventually(scenario.all_of(pods), are_bound(2), BINDING)
    claim = group.claim("shared")

    with control_plane.restarted(CONTROLLER_MANAGER, gates=CLAIMS_OFF):
        scenario.reserve(claim, [pod.reference() for pod in pods])
        scenario.delete(pods[0])
        eventually(claim, is_reserved_for(pods[1].reference()), RELEASE)
        scenario.delete(pods[1])
        eventually(claim, is_untouched, RELEASE)


@requirement("WRC-SKW-011")
@pytest.mark.parametrize("used", [False, True], ids=["fresh", "used"])
def test_a_scheduler_without_the_gate_leaves_generated_claims_alone(
    control_plane: OwnControlPlane, scenario: Scenario, *, used: bool
) -> None:
    """A Pod that uses the generated claim of its PodGroup waits, be the claim in use or not, and then is bound."""
    scenario.node()
    entry = scenario.from_template()
    group = scenario.pod_group(entry)
    claim = group.claim("shared")
    if used:
        eventually(scenario.pod(entry, group=group), is_bound, BINDING)
    before = claim.read().get("status", {})

    with control_plane.restarted(SCHEDULER, gates=CLAIMS_OFF):
        pod = scenario.pod(entry, group=group)
        assert pod.claim("shared").uid == claim.uid, "a member must be given the claim of its PodGroup"
        scenario.barrier(plain_pod_is_bound)
        state, status = pod.read(), claim.read().get("status", {})

    assert is_unbound(state), f"a Pod must not be bound with a claim that it does not own, but has {state['spec']}"
    assert status == before, f"{claim} must stay as it was, but its status is {status}"
    eventually(pod, is_bound, BINDING)
    assert_used_by(group, claim)


def _owners(scenario: Scenario, entry: str) -> list[str]:
    """Return the uid of the owner of each ResourceClaim that was ever generated for an entry, sorted."""
    scenario.timeline.catch_up()
    versions = scenario.timeline.versions("ResourceClaim")
    owners = {one.uid: controller_of(one.body) for one in versions if entry_of(one.body) == entry}
    return sorted(owners.values())


def _by_uid(consumers: list[dict[str, str]]) -> dict[str, dict[str, str]]:
    return {one["uid"]: one for one in consumers}


def _words(consumers: list[dict[str, str]]) -> list[str]:
    return [f"{one['resource']}/{one['name']}" for one in consumers]
