# SPDX-License-Identifier: Apache-2.0
"""MAT: whose PodGroup a Pod's entries are compared with, and what becomes of Pods that come before it."""

from conformance.kinds import NAMED_AND_TEMPLATE
from conformance.ownership import assert_own
from fixtures.api import Object
from fixtures.barriers import claim_of_another_pod_group_is_generated, plain_pod_is_bound
from fixtures.bodies import Placement
from fixtures.conditions import are_bound, is_allocated, is_bound, is_gone, is_reserved_for
from fixtures.objects import Pod, PodGroup, controller_of
from fixtures.scenario import Scenario
from fixtures.waiting import BINDING, REMOVAL, eventually
from verdicts.requirement import requirement


@requirement("WRC-MAT-008")
def test_only_the_entries_of_the_own_group_count(scenario: Scenario) -> None:
    """Beside two PodGroups with equal entries, which do not share, a Pod of a third one gets a claim of its own."""
    scenario.node(devices=6)
    entry = scenario.from_template()
    groups = [scenario.pod_group(entry, name="first"), scenario.pod_group(entry, name="second")]
    third = scenario.pod_group(scenario.from_template("other"), name="third")
    members = [scenario.pods(2, entry, group=group) for group in groups]
    stranger = scenario.pod(entry, group=third)

    eventually(scenario.all_of([*members[0], *members[1], stranger]), are_bound(5), BINDING)

    for group, pods in zip(groups, members, strict=True):
        _assert_shared(group, pods)
    assert_own(stranger, stranger.claim("shared"))
    claims = [groups[0].claim("shared"), groups[1].claim("shared"), stranger.claim("shared")]
    devices = [claim.devices() for claim in claims]
    assert len({one[0] for one in devices}) == 3, f"two PodGroups and a Pod must use three devices, not {devices}"


@requirement("WRC-MAT-008")
@NAMED_AND_TEMPLATE
def test_groups_of_one_name_in_two_namespaces_are_independent(scenario: Scenario, kind: str) -> None:
    """Pods use the ResourceClaim of the PodGroup in their own namespace; the end of one does not concern the other."""
    both = [scenario, scenario.neighbour()]
    groups, members = [], []
    for each in both:
        each.node()
        entry = each.entry(kind)
        groups.append(each.pod_group(entry))
        members.append(each.pods(2, entry, group=groups[-1]))
    for each, pods in zip(both, members, strict=True):
        eventually(each.all_of(pods), are_bound(2), BINDING)
    for group, pods in zip(groups, members, strict=True):
        _assert_shared(group, pods)

    both[1].delete(*members[1], groups[1])
    eventually(groups[1], is_gone, REMOVAL)
    scenario.barrier(claim_of_another_pod_group_is_generated)

    assert groups[0]() is not None, "the PodGroup went with one of its name in another namespace"
    claim = groups[0].claim("shared")
    for condition in (is_allocated, is_reserved_for(groups[0].reference())):
        kept = scenario.timeline.of(claim).keeps(condition)
        assert kept, f"a PodGroup of this name went in another namespace, and the claim was released. {kept}"


@requirement("WRC-MAT-009")
@NAMED_AND_TEMPLATE
def test_members_that_do_not_list_an_entry_have_no_share_in_it(scenario: Scenario, kind: str) -> None:
    """Members without entries, or with others, run on another Node than the group's device, and change nothing."""
    first, second = scenario.node(), scenario.node()
    entry = scenario.entry(kind)
    group = scenario.pod_group(scenario.from_template("unused"), entry)
    eventually(scenario.pod(entry, group=group, on=Placement(first)), is_bound, BINDING)
    claim = group.claim("shared")
    before = claim.read()

    without = scenario.pod(group=group, on=Placement(second))
    other = scenario.pod(scenario.from_template("own"), group=group, on=Placement(second))
    eventually(scenario.all_of([without, other]), are_bound(2), BINDING)
    scenario.barrier(claim_of_another_pod_group_is_generated)

    assert claim.read() == before, "members that do not use the ResourceClaim of their PodGroup must not change it"
    assert without.claim_names == {}, "a member without entries must have no ResourceClaim in its status"
    own = other.claim("own")
    assert_own(other, own)
    assert other.claim_names == {"own": own.name}, "the status of a member must name the claims of its own entries only"


@requirement("WRC-MAT-010")
@NAMED_AND_TEMPLATE
def test_pods_wait_for_a_group_that_does_not_exist_yet(scenario: Scenario, kind: str) -> None:
    """Before their PodGroup exists, Pods get neither claim nor Node; then they share the claim of their PodGroup."""
    scenario.node()
    entry = scenario.entry(kind)
    pods = scenario.pods(3, entry, group="group")

    scenario.barrier(plain_pod_is_bound)

    _assert_waiting(scenario, pods)
    group = scenario.pod_group(entry)
    eventually(scenario.all_of(pods), are_bound(3), BINDING)
    _assert_shared(group, pods)


@requirement("WRC-MAT-010")
def test_own_claims_wait_for_the_group_too(scenario: Scenario) -> None:
    """Only when the PodGroup exists is it known which entry is the Pod's own; each of two Pods gets one claim then."""
    scenario.node(devices=4)
    shared, own = scenario.from_template(), scenario.from_template("own")
    pods = [scenario.pod(shared, own, group="group"), scenario.pod(own, shared, group="group")]

    scenario.barrier(plain_pod_is_bound)

    _assert_waiting(scenario, pods)
    group = scenario.pod_group(shared)
    eventually(scenario.all_of(pods), are_bound(2), BINDING)
    _assert_shared(group, pods)
    for pod in pods:
        assert_own(pod, pod.claim("own"))


def _assert_waiting(scenario: Scenario, pods: list[Pod]) -> None:
    """Assert that Pods whose PodGroup does not exist have no Node, and that no ResourceClaim is generated for them."""
    bound = [pod.name for pod in pods if is_bound(pod.read())]
    assert not bound, f"{bound} are bound, although their PodGroup does not exist"
    uids = {pod.uid for pod in pods}
    owned = [one["metadata"]["name"] for one in scenario.claims() if controller_of(one) in uids]
    assert not owned, f"{owned} are generated for Pods whose PodGroup does not exist"
    recorded = {pod.name: names for pod in pods if (names := pod.claim_names)}
    assert not recorded, f"the PodGroup does not exist, so no ResourceClaim can be known, but there are {recorded}"


def _assert_shared(group: PodGroup, pods: list[Pod]) -> None:
    """Assert that all Pods use the claim for the entry "shared" of the PodGroup, which is reserved for it alone."""
    claim = group.claim("shared")
    state = claim.read()
    if _is_generated(group):
        assert controller_of(state) == group.uid, f"{claim}, which {group} has recorded, must be controlled by it"
        astray = {pod.name: names for pod in pods if (names := pod.claim_names).get("shared") != claim.name}
        assert not astray, f"members of {group} must use {claim}, but these do not: {astray}"
    assert claim.devices(), f"the Pods are bound, but {claim} is not allocated"
    assert claim.reserved_for() == [group.reference()], f"{claim} must be reserved for {group} alone"


def _is_generated(group: PodGroup) -> bool:
    entries: list[Object] = group.read()["spec"]["resourceClaims"]
    return any("resourceClaimTemplateName" in one for one in entries if one["name"] == "shared")
