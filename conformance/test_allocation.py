# SPDX-License-Identifier: Apache-2.0
"""ALC: when a ResourceClaim of a PodGroup is allocated, and that it then stays as it is."""

from conformance.kinds import NAMED_AND_TEMPLATE
from fixtures.api import Object
from fixtures.barriers import claim_of_a_plain_pod_is_released, plain_pod_is_bound
from fixtures.bodies import Entry, Placement
from fixtures.conditions import CLAIM_FINALIZER, are_bound, is_allocated, is_bound, is_untouched
from fixtures.objects import Claim, Pod, devices_of, reservations_of
from fixtures.scenario import Scenario
from fixtures.waiting import BINDING, eventually
from verdicts.requirement import requirement


@requirement("WRC-ALC-001")
@NAMED_AND_TEMPLATE
def test_nothing_is_allocated_before_a_pod_needs_it(scenario: Scenario, kind: str) -> None:
    """Although devices are free, a claim that no Pod uses has no allocation, reservation or finalizer."""
    scenario.node()
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)
    claim = group.claim("shared")
    member_without_claims = scenario.pod(group=group)
    eventually(member_without_claims, is_bound, BINDING)

    scenario.barrier(plain_pod_is_bound)

    untouched = scenario.timeline.of(claim).always(is_untouched)
    assert untouched, f"no Pod uses the claim, so it must be untouched. {untouched}"


@requirement("WRC-ALC-002")
@NAMED_AND_TEMPLATE
def test_the_first_bound_pod_has_its_claim_ready(scenario: Scenario, kind: str) -> None:
    """When the first Pod gets a node, its claim has finalizer, allocation and the PodGroup's reservation."""
    scenario.node()
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)
    claim = group.claim("shared")
    pod = scenario.pod(entry, group=group)

    eventually(pod, is_bound, BINDING)

    then = _as_the_pod_was_bound(scenario, claim, pod)
    finalizers = then["metadata"].get("finalizers", ())
    assert CLAIM_FINALIZER in finalizers, "the Pod was bound before the claim had its finalizer"
    assert devices_of(then), "the Pod was bound before its claim was allocated"
    assert reservations_of(then) == [group.reference()], (
        "the Pod was bound before its claim was reserved for the PodGroup alone"
    )


@requirement("WRC-ALC-003")
@NAMED_AND_TEMPLATE
def test_later_pods_reuse_the_allocation(scenario: Scenario, kind: str) -> None:
    """Five more Pods leave the allocation exactly as the first one found it, though other devices are free."""
    scenario.node(devices=8)
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry)
    eventually(scenario.pod(entry, group=group), is_bound, BINDING)
    claim = group.claim("shared")
    allocation = claim.allocation()
    assert allocation, "the first Pod is bound, but the claim is not allocated"

    pods = scenario.pods(5, entry, group=group)
    eventually(scenario.all_of(pods), are_bound(5), BINDING)

    claims = {one["metadata"]["uid"]: one["metadata"]["name"] for one in scenario.claims()}
    assert claims == {claim.uid: claim.name}, f"all Pods must use the one {claim}, but there are {claims}"
    assert claim.allocation() == allocation, "the allocation changed when more Pods came"
    kept = scenario.timeline.of(claim).keeps(is_allocated)
    assert kept, f"the claim was allocated anew when more Pods came. {kept}"


@requirement("WRC-ALC-004")
@NAMED_AND_TEMPLATE
def test_only_the_entries_that_pods_use_are_allocated(scenario: Scenario, kind: str) -> None:
    """Of four entries, a Pod that uses the third and one that uses the first leave the others untouched."""
    scenario.node(devices=6)
    other = "template" if kind == "named" else "named"
    entries = {name: scenario.entry(one, name) for name, one in zip("abcd", [kind, other] * 2, strict=True)}
    group = scenario.pod_group(*entries.values())
    claims = {name: group.claim(name) for name in entries}

    eventually(scenario.pod(entries["c"], group=group), is_bound, BINDING)
    untouched = {name: is_untouched(claims[name].read()) for name in entries}
    assert untouched == {"a": True, "b": True, "c": False, "d": True}, "only entry c is used by a Pod"
    eventually(scenario.pod(entries["a"], group=group), is_bound, BINDING)
    scenario.barrier(plain_pod_is_bound)

    for name in "ac":
        assert claims[name].devices(), f"a Pod that uses entry {name} is bound, but its ResourceClaim is not allocated"
    for name in "bd":
        untouched_ever = scenario.timeline.of(claims[name]).always(is_untouched)
        assert untouched_ever, f"no Pod uses entry {name}, so its ResourceClaim must be untouched. {untouched_ever}"


@requirement("WRC-ALC-005")
@NAMED_AND_TEMPLATE
def test_a_burst_of_pods_lands_where_the_device_is(scenario: Scenario, kind: str) -> None:
    """Twelve Pods that can be scheduled all at once share a device of one of three Nodes, and land on this Node."""
    nodes = [scenario.node() for _ in range(3)]
    entry = _entry_without_source(kind)
    group = scenario.pod_group(entry)
    pods = scenario.pods(12, entry, group=group)

    _create_source(scenario, kind)
    eventually(scenario.all_of(pods), are_bound(12), BINDING)

    node = _node_of(group.claim("shared"))
    assert node in nodes, f"the claim is allocated on {node!r}, which is none of the Nodes with devices"
    used = {pod.read()["spec"]["nodeName"] for pod in pods}
    assert used == {node}, f"the device is on {node}, but the Pods that share it are on {sorted(used)}"


@requirement("WRC-ALC-005")
@NAMED_AND_TEMPLATE
def test_a_member_pinned_to_another_node_stays_pending(scenario: Scenario, kind: str) -> None:
    """Of members pinned to two Nodes, scheduled at once or later, only those of the device's Node are bound."""
    nodes = [scenario.node(), scenario.node()]
    entry = _entry_without_source(kind)
    group = scenario.pod_group(entry)
    pods = {node: scenario.pods(6, entry, group=group, on=Placement(node)) for node in nodes}

    _create_source(scenario, kind)
    eventually(scenario.all_of([*pods[nodes[0]], *pods[nodes[1]]]), are_bound(6), BINDING)
    node = _node_of(group.claim("shared"))
    for one in nodes:
        pods[one] += scenario.pods(1, entry, group=group, on=Placement(one), name="later")
    eventually(scenario.all_of(pods[node]), are_bound(7), BINDING)
    scenario.barrier(plain_pod_is_bound)

    [other] = set(nodes) - {node}
    astray = [pod.name for pod in pods[other] if is_bound(pod.read())]
    assert not astray, f"the device is on {node}, but {astray} are bound to {other}"
    kept = scenario.timeline.of(group.claim("shared")).keeps(is_allocated)
    assert kept, f"members that cannot be scheduled must not take the allocation from the others. {kept}"


@requirement("WRC-ALC-006")
@NAMED_AND_TEMPLATE
def test_a_pod_without_a_place_leaves_its_claim_untouched(scenario: Scenario, kind: str) -> None:
    """Members that fit no Node, or lack devices of another claim, allocate nothing; one that fits then does."""
    scenario.node()
    entry = scenario.entry(kind)
    scenario.template("too-many", devices=9)
    too_many = {"name": "too-many", "resourceClaimTemplateName": "too-many"}
    group = scenario.pod_group(entry)
    claim = group.claim("shared")
    hopeless = [
        scenario.pod(entry, group=group, on=Placement("no-such-node"), name="without-node"),
        scenario.pod(entry, too_many, group=group, name="without-devices"),
    ]

    scenario.barrier(plain_pod_is_bound)

    untouched = scenario.timeline.of(claim).always(is_untouched)
    assert untouched, f"no Pod can be scheduled, so the claim must be untouched. {untouched}"
    eventually(scenario.pod(entry, group=group), is_bound, BINDING)
    assert claim.devices(), "a member is bound, but its ResourceClaim is not allocated"
    assert claim.reserved_for() == [group.reference()], "the claim must be reserved for the PodGroup alone"
    bound = [pod.name for pod in hopeless if is_bound(pod.read())]
    assert not bound, f"{bound} are bound, although they fit nowhere"


@requirement("WRC-ALC-007")
def test_devices_of_a_group_are_free_when_the_group_is_gone(scenario: Scenario) -> None:
    """Of three PodGroups, two get different devices; the third waits until one of them, not only its Pods, goes."""
    # Each claim wants 2 of 5 devices, so that one is left for the barrier.
    scenario.node(devices=5)
    scenario.template("pair", devices=2)
    entry = {"name": "shared", "resourceClaimTemplateName": "pair"}
    groups = [scenario.pod_group(entry, name=name) for name in ("first", "second", "third")]
    pods = []
    for group in groups[:2]:
        pods.append(scenario.pods(2, entry, group=group))
        eventually(scenario.all_of(pods[-1]), are_bound(2), BINDING)
    pods.append(scenario.pods(2, entry, group=groups[2]))
    devices = [groups[0].claim("shared").devices(), groups[1].claim("shared").devices()]
    assert [len(one) for one in devices] == [2, 2], f"the Pods are bound, so each claim has two devices: {devices}"
    assert not set(devices[0]) & set(devices[1]), f"two PodGroups must get different devices, not {devices}"

    scenario.delete(*pods[0])
    scenario.barrier(claim_of_a_plain_pod_is_released)

    bound = [pod.name for pod in pods[2] if is_bound(pod.read())]
    assert not bound, f"{bound} are bound, although the PodGroups that hold the devices still exist"
    assert groups[0].claim("shared").devices() == devices[0], "the devices went with the Pods, not with their PodGroup"
    scenario.delete(groups[0])
    eventually(scenario.all_of(pods[2]), are_bound(2), BINDING)
    third = groups[2].claim("shared").devices()
    assert sorted(third) == sorted(devices[0]), f"{devices[0]} are free for the third PodGroup, but it has {third}"
    assert groups[1].claim("shared").devices() == devices[1], "the devices of the PodGroup that stays have changed"


def _entry_without_source(kind: str) -> Entry:
    """Return an entry of what does not exist yet, so that all its Pods wait and then can be scheduled at once."""
    return {"name": "shared", "resourceClaimName" if kind == "named" else "resourceClaimTemplateName": "late"}


def _create_source(scenario: Scenario, kind: str) -> None:
    """Create what the entry names."""
    if kind == "named":
        scenario.claim("late")
    else:
        scenario.template("late")


def _node_of(claim: Claim) -> str:
    """Return the Node of the one device that is allocated; its pool has the Node's name."""
    devices = claim.devices()
    assert len(devices) == 1, f"Pods are bound, so {claim} must have its one device, but it has {devices}"
    return devices[0][1]


def _as_the_pod_was_bound(scenario: Scenario, claim: Claim, pod: Pod) -> Object:
    """Return the last version of the ResourceClaim that is older than the one that gave the Pod its node."""
    bound = next(version for version in scenario.timeline.of(pod) if is_bound(version.body))
    return scenario.timeline.of(claim).before(bound).versions[-1].body
