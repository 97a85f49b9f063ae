# SPDX-License-Identifier: Apache-2.0
"""SEC: what nodes and users may do with PodGroups and the ResourceClaims of their Pods."""

from collections.abc import Callable
from functools import partial
from itertools import product

import pytest

from conformance.access import Reading, Rights, include, is_allowed, is_forbidden, words
from conformance.kinds import NAMED_AND_TEMPLATE
from conformance.refusals import accepted, refused
from fixtures.api import Api, Object
from fixtures.bodies import Bodies, Placement
from fixtures.clusters.rights import Right
from fixtures.conditions import are_bound, is_bound, records_claims
from fixtures.identities import node_identity, user_with_role
from fixtures.objects import Pod
from fixtures.scenario import Scenario
from fixtures.waiting import AUTHORIZATION, BINDING, GENERATION, eventually
from verdicts.requirement import requirement

READ = ("get", "list", "watch")
WRITE = ("create", "update", "patch", "delete", "deletecollection")
SCHEDULING, RESOURCE = "scheduling.k8s.io", "resource.k8s.io"


@requirement("WRC-SEC-001")
@NAMED_AND_TEMPLATE
def test_a_node_reads_the_claims_of_its_own_pods_alone(scenario: Scenario, kind: str) -> None:
    """Before it runs a member and after, and while others run one without the claim, a node may not read the claim."""
    nodes = [scenario.node(), scenario.node()]
    used, unused = scenario.entry(kind, "used"), scenario.entry(kind, "unused")
    group = scenario.pod_group(used, unused)
    claims = [group.claim(entry["name"]) for entry in (used, unused)]
    scenario.pod(used, group=group, on=Placement("nowhere"), name="pending")
    readers = [(f"node {number}", node_identity(scenario, node)) for number, node in enumerate(nodes)]
    [host_used, *others] = [Reading(*reader, claim) for reader, claim in product(readers, claims)]

    _assert_forbidden("no Pod with the claim is bound", host_used, *others)
    pod = scenario.pod(used, group=group, on=Placement(nodes[0]))
    bystander = scenario.pod(group=group, on=Placement(nodes[1]))
    eventually(scenario.all_of([pod, bystander]), are_bound(2), BINDING)
    eventually(host_used, is_allowed, AUTHORIZATION)

    _assert_forbidden("no Pod with this claim runs there", *others)
    listing = partial(readers[0][1].list, "ResourceClaim", scenario.namespace)
    refused("a node that lists all ResourceClaims", listing, 403)
    scenario.delete(pod)
    eventually(host_used, is_forbidden, AUTHORIZATION)


@requirement("WRC-SEC-001")
def test_a_node_reads_a_claim_that_its_pod_is_given_later(scenario: Scenario) -> None:
    """A Pod that had its node before it had a claim gives this node, and no other, access when its status names one."""
    nodes = [scenario.node(), scenario.node()]
    entry = scenario.from_template()
    pod = scenario.pod(entry, group="group", on=Placement(nodes[0], bound=True))
    group = scenario.pod_group(entry)
    eventually(pod, records_claims("shared"), GENERATION)
    claim = group.claim("shared")
    host, other = (Reading(f"node {index}", node_identity(scenario, node), claim) for index, node in enumerate(nodes))

    eventually(host, is_allowed, AUTHORIZATION)

    _assert_forbidden("no Pod with the claim runs there", other)


@requirement("WRC-SEC-002")
def test_a_node_has_no_access_to_pod_groups(scenario: Scenario) -> None:
    """A node that runs members of a PodGroup can neither get nor list nor watch it, nor get its status."""
    node = scenario.node()
    entry = scenario.from_template()
    group = scenario.pod_group(entry)
    pods = scenario.pods(2, entry, group=group)
    eventually(scenario.all_of(pods), are_bound(2), BINDING)
    kubelet = node_identity(scenario, node)
    eventually(Reading("the node", kubelet, group.claim("shared")), is_allowed, AUTHORIZATION)

    path = kubelet.kinds["PodGroup"].path(scenario.namespace, group.name)
    collection = kubelet.kinds["PodGroup"].path(scenario.namespace)
    watch = {"watch": "true", "timeoutSeconds": "1"}
    requests: dict[str, Callable[[], object]] = {
        "get the PodGroup of its Pods": partial(kubelet.request, "GET", path),
        "get the status of the PodGroup": partial(kubelet.request, "GET", f"{path}/status"),
        "list the PodGroups of a namespace": partial(kubelet.list, "PodGroup", scenario.namespace),
        "list all PodGroups": partial(kubelet.list, "PodGroup"),
        "watch PodGroups": partial(kubelet.text, "GET", collection, query=watch),
    }
    for what, send in requests.items():
        refused(f"a node that wants to {what}", send, 403)


@requirement("WRC-SEC-003")
@NAMED_AND_TEMPLATE
def test_a_node_cannot_change_the_claims_of_its_pods(scenario: Scenario, kind: str) -> None:
    """A node may write other parts of a Pod's status, but not add, change or remove the ResourceClaims named in it."""
    node = scenario.node()
    entry = scenario.entry(kind)
    secret = scenario.claim("secret")
    pod = scenario.pod(entry, group=scenario.pod_group(entry))
    eventually(pod, is_bound, BINDING)
    kubelet = node_identity(scenario, node)
    original = pod.claim_names
    accepted("a node that writes the phase of its Pod", partial(_write_status, kubelet, pod, {"phase": "Running"}))

    stolen = {"name": "shared", "resourceClaimName": secret.name}
    statuses = [{"name": name, "resourceClaimName": claim} for name, claim in original.items()]
    changes = {
        "names another claim for its entry": [stolen],
        "adds a claim": [*statuses, {**stolen, "name": "another"}],
        "names a claim for none": [*statuses, {"name": "another"}],
    } | ({"removes the claim": []} if statuses else {})
    for what, changed in changes.items():
        write = partial(_write_status, kubelet, pod, {"resourceClaimStatuses": changed})
        refused(f"a node that {what} in the status of its Pod", write, 403)
        assert pod.claim_names == original, f"the node was refused, but the status of its Pod names {pod.claim_names}"
    assert Reading("node", kubelet, secret)() == 403, "a node may read a ResourceClaim that its Pod does not use"


@requirement("WRC-SEC-004")
@pytest.mark.parametrize("role", ["view", "edit", "admin"])
def test_default_roles_write_no_status(scenario: Scenario, role: str) -> None:
    """View reads PodGroups, their status and Workloads; edit and admin write the objects; none writes a status."""
    user = user_with_role(scenario, role)
    asked = [
        *_rights(scenario, SCHEDULING, ("podgroups", "podgroups/status", "workloads"), (*READ, *WRITE)),
        *_rights(scenario, RESOURCE, ("resourceclaims/status",), WRITE),
    ]
    reads = _rights(scenario, SCHEDULING, ("podgroups", "podgroups/status", "workloads"), READ)
    writes = _rights(scenario, SCHEDULING, ("podgroups", "workloads"), WRITE) if role != "view" else []
    expected = [*reads, *writes]
    granted = eventually(Rights(f"a user with the role {role}", user, asked), include(expected), AUTHORIZATION)

    beyond = sorted(set(granted) - set(words(expected)))
    assert not beyond, f"a user with the role {role} may {', '.join(beyond)}"
    _assert_writes(scenario, user, may_create=role != "view")


def _assert_writes(scenario: Scenario, user: Api, *, may_create: bool) -> None:
    """Assert that the user can write what the role grants, and can forge neither claim statuses nor reservations."""
    group, claim = scenario.pod_group(scenario.named(), name="existing"), scenario.claim("target")
    body = Bodies(scenario.namespace, scenario.driver).pod_group("created", ())
    if may_create:
        accepted("a user who creates a PodGroup", partial(user.create, body))
    else:
        refused("a user who creates a PodGroup", partial(user.create, body), 403)
    forged = {"resourceClaimStatuses": [{"name": "shared", "resourceClaimName": claim.name}]}
    reserved = {"reservedFor": [group.reference()]}
    for target, status in ((group, forged), (claim, reserved)):
        change: Object = {"status": status}
        write = partial(user.patch, target.kind, target.namespace, target.name, change, subresource="status")
        refused(f"a user who forges the status of {target}", write, 403)
        stored = target.read().get("status", {})
        assert not stored.keys() & status.keys(), f"the user was refused, but the status of {target} is {stored}"


def _rights(scenario: Scenario, api_group: str, resources: tuple[str, ...], verbs: tuple[str, ...]) -> list[Right]:
    return [Right(api_group, resource, verb, scenario.namespace) for resource, verb in product(resources, verbs)]


def _assert_forbidden(why: str, *readings: Reading) -> None:
    for reading in readings:
        status = reading()
        assert status == 403, f"{reading} must be refused with 403, for {why}, but the answer is {status}"


def _write_status(kubelet: Api, pod: Pod, status: Object) -> Object:
    return kubelet.patch("Pod", pod.namespace, pod.name, {"status": status}, subresource="status")
