# SPDX-License-Identifier: Apache-2.0
"""Lies about what nodes and users may do with PodGroups and ResourceClaims."""

from dataclasses import replace

from tests.lies.lie import Answer, Memory, Object, Shown, false_answer, lie, name_of

OWN_PODS = "test_a_node_reads_the_claims_of_its_own_pods_alone"
BOUND_BEFORE = "test_a_node_reads_a_claim_that_its_pod_is_given_later"
ADMIN, EDIT, VIEW = "[admin]", "[edit]", "[view]"


def granted(answer: Answer, memory: Memory, condition: bool = True) -> Answer:
    """Return what the API server would have answered to somebody with all rights, if it refused under the condition."""
    if answer.status != 403 or not condition:
        return answer
    if answer.method != "GET":
        return answer.accepted()
    return replace(answer, status=200, body=memory.truth(answer.path))


def is_of_node(answer: Answer, number: int) -> bool:
    """Tell whether a node of the scenario was refused, by its number."""
    return answer.status == 403 and f"-node-{number}" in str(answer.body.get("message"))


def is_used(answer: Answer, memory: Memory) -> bool:
    """Tell whether the ResourceClaim is reserved."""
    return bool(memory.truth(answer.path).get("status", {}).get("reservedFor"))


def is_read(answer: Answer) -> bool:
    """Tell whether a ResourceClaim was read that is reserved."""
    return answer.method == "GET" and answer.status == 200 and bool(answer.body.get("status", {}).get("reservedFor"))


def reviewed(answer: Answer, verb: str, resource: str, *, allowed: bool) -> Answer:
    """Return another answer to the question whether one may use ``verb`` on ``resource``, such as ``pods/status``."""
    attributes = answer.sent["spec"]["resourceAttributes"]
    asked = "/".join(filter(None, (attributes["resource"], attributes.get("subresource"))))
    if (attributes["verb"], asked) != (verb, resource):
        return answer
    return replace(answer, body={**answer.body, "status": {"allowed": allowed}})


@false_answer(
    "WRC-SEC-001", to="resourceclaims", check=OWN_PODS, says="for no Pod with the claim is bound, but the answer is 200"
)
def nodes_may_read_all_claims(answer: Answer, memory: Memory) -> Answer:
    return granted(answer, memory)


@false_answer(
    "WRC-SEC-001",
    to="resourceclaims",
    check=OWN_PODS,
    says="for no Pod with this claim runs there, but the answer is 200",
)
def claim_in_use_may_be_read_by_every_node(answer: Answer, memory: Memory) -> Answer:
    return granted(answer, memory, is_of_node(answer, 1) and is_used(answer, memory))


@false_answer(
    "WRC-SEC-001",
    to="resourceclaims",
    check=OWN_PODS,
    says="for no Pod with this claim runs there, but the answer is 200",
)
def host_may_read_the_unused_claim_of_the_pod_group(answer: Answer, memory: Memory) -> Answer:
    if not is_of_node(answer, 0) or is_used(answer, memory):
        return answer
    claims = memory.truth(answer.collection)["items"]
    return granted(answer, memory, any(claim.get("status", {}).get("reservedFor") for claim in claims))


@false_answer(
    "WRC-SEC-001",
    to="resourceclaims",
    check=OWN_PODS,
    says="a node that lists all ResourceClaims must be refused with 403",
)
def node_may_list_all_claims(answer: Answer, memory: Memory) -> Answer:
    return granted(answer, memory, not answer.name)


@false_answer("WRC-SEC-001", to="resourceclaims", check=OWN_PODS, says="node 0, reading ResourceClaim")
def host_may_not_read_the_claim_of_its_pod(answer: Answer, _memory: Memory) -> Answer:
    if is_read(answer):
        return answer.rejected(403, "Forbidden", "no relationship found between node and this object")
    return answer


@false_answer("WRC-SEC-001", to="resourceclaims", check=OWN_PODS, says="is forbidden: not so after")
def host_may_read_the_claim_for_ever(answer: Answer, memory: Memory) -> Answer:
    if is_read(answer):
        memory.facts["has read"] = answer.name
    return granted(answer, memory, is_of_node(answer, 0) and memory.facts.get("has read") == answer.name)


@false_answer("WRC-SEC-001", to="resourceclaims", check=OWN_PODS, says="must be refused with 403, for no Pod")
def nodes_are_not_known(answer: Answer, _memory: Memory) -> Answer:
    return answer.rejected(401, "Unauthorized", "who are you?") if answer.status == 403 else answer


@false_answer("WRC-SEC-001", to="resourceclaims", check=BOUND_BEFORE, says="node 0, reading ResourceClaim")
def host_may_not_read_what_its_pod_is_given_later(answer: Answer, memory: Memory) -> Answer:
    """The suite reads the claim first, and then the node."""
    readings = memory.facts.setdefault("readings", [])
    readings += [answer.name] * (answer.method == "GET")
    if answer.name and readings.count(answer.name) > 1:
        return answer.rejected(403, "Forbidden", "no relationship found between node and this object")
    return answer


@false_answer("WRC-SEC-001", to="resourceclaims", check=BOUND_BEFORE, says="runs there, but the answer is 200")
def another_node_may_read_what_a_pod_is_given_later(answer: Answer, memory: Memory) -> Answer:
    return granted(answer, memory, is_of_node(answer, 1))


@false_answer(
    "WRC-SEC-002", to="podgroups", says="get the PodGroup of its Pods must be refused with 403, but was accepted"
)
def node_may_get_the_pod_group_of_its_pods(answer: Answer, memory: Memory) -> Answer:
    return granted(answer, memory, bool(answer.name))


@false_answer(
    "WRC-SEC-002", to="podgroups/status", says="get the status of the PodGroup must be refused with 403, but was"
)
def node_may_get_the_status_of_a_pod_group(answer: Answer, memory: Memory) -> Answer:
    return granted(answer, memory)


@false_answer("WRC-SEC-002", to="podgroups", says="list the PodGroups of a namespace must be refused with 403, but was")
def node_may_list_the_pod_groups_of_a_namespace(answer: Answer, memory: Memory) -> Answer:
    return granted(answer, memory, not answer.name and "/namespaces/" in answer.path)


@false_answer("WRC-SEC-002", to="podgroups", says="list all PodGroups must be refused with 403, but was accepted")
def node_may_list_the_pod_groups_of_all_namespaces(answer: Answer, memory: Memory) -> Answer:
    return granted(answer, memory, not answer.name and "/namespaces/" not in answer.path)


@false_answer("WRC-SEC-002", to="podgroups", says="watch PodGroups must be refused with 403, but")
def node_may_watch_pod_groups(answer: Answer, memory: Memory) -> Answer:
    is_watch = answer.status == 403 and "cannot watch" in str(answer.body.get("message"))
    return granted(answer, memory, is_watch)


@lie("WRC-SEC-002", shows="Pod", says="has 2 bound Pods: not so after")
def pods_of_a_pod_group_do_not_run(pod: Object, _memory: Memory) -> Shown:
    """Only a time-out can tell."""
    pod["spec"].pop("nodeName", None)
    yield pod


def adds(answer: Answer, name: str) -> bool:
    """Tell whether the last status that was sent has this name, and a claim."""
    statuses = (answer.sent or {}).get("status", {}).get("resourceClaimStatuses") or [{}]
    return bool(statuses[-1].get("name") == name and "resourceClaimName" in statuses[-1])


@false_answer(
    "WRC-SEC-003", to="pods/status", says="names another claim for its entry in the status of its Pod must be"
)
def node_may_change_the_claims_of_its_pods(answer: Answer, memory: Memory) -> Answer:
    return granted(answer, memory)


@false_answer(
    "WRC-SEC-003", to="pods/status", says="adds a claim in the status of its Pod must be refused with 403, but"
)
def node_may_add_a_claim_to_its_pods(answer: Answer, memory: Memory) -> Answer:
    return granted(answer, memory, adds(answer, "another"))


@false_answer("WRC-SEC-003", to="pods/status", says="names a claim for none in the status of its Pod must be refused")
def node_may_add_a_status_without_claim(answer: Answer, memory: Memory) -> Answer:
    return granted(answer, memory, not adds(answer, "another") and not adds(answer, "shared"))


@false_answer(
    "WRC-SEC-003", to="pods/status", only="[template]", says="removes the claim in the status of its Pod must be"
)
def node_may_remove_the_claims_of_its_pods(answer: Answer, memory: Memory) -> Answer:
    return granted(answer, memory, answer.sent == {"status": {"resourceClaimStatuses": []}})


@false_answer("WRC-SEC-003", to="pods/status", says="must be refused with 403, but the answer is")
def change_of_claims_is_refused_as_invalid(answer: Answer, _memory: Memory) -> Answer:
    return answer.rejected(422, "Invalid", "no such entry") if answer.status == 403 else answer


@false_answer("WRC-SEC-003", to="pods pods/status", says="the node was refused, but the status of its Pod names {")
def refused_change_of_claims_is_stored(answer: Answer, memory: Memory) -> Answer:
    if answer.status == 403 and adds(answer, "another"):
        memory.facts["status"] = answer.sent["status"]
    if answer.method == "GET" and answer.name and "status" in memory.facts:
        return replace(answer, body={**answer.body, "status": memory.facts["status"]})
    return answer


@false_answer("WRC-SEC-003", to="pods/status", says="a node that writes the phase of its Pod must be accepted, but")
def node_may_write_no_status_at_all(answer: Answer, _memory: Memory) -> Answer:
    return answer.rejected(403, "Forbidden", "no") if answer.status == 200 else answer


@false_answer("WRC-SEC-003", to="resourceclaims", says="a node may read a ResourceClaim that its Pod does not use")
def node_may_read_a_claim_that_it_tried_to_add(answer: Answer, memory: Memory) -> Answer:
    return granted(answer, memory, answer.name == "secret")


@false_answer("WRC-SEC-004", to="selfsubjectaccessreviews", says="may patch podgroups/status")
def roles_patch_the_status_of_pod_groups(answer: Answer, _memory: Memory) -> Answer:
    return reviewed(answer, "patch", "podgroups/status", allowed=True)


@false_answer("WRC-SEC-004", to="selfsubjectaccessreviews", says="may update resourceclaims/status")
def roles_update_the_status_of_claims(answer: Answer, _memory: Memory) -> Answer:
    return reviewed(answer, "update", "resourceclaims/status", allowed=True)


@false_answer("WRC-SEC-004", to="selfsubjectaccessreviews", only=VIEW, says="may deletecollection workloads")
def view_deletes_all_workloads(answer: Answer, _memory: Memory) -> Answer:
    return reviewed(answer, "deletecollection", "workloads", allowed=True)


@false_answer("WRC-SEC-004", to="selfsubjectaccessreviews", says=": may not watch podgroups/status")
def roles_do_not_watch_the_status_of_pod_groups(answer: Answer, _memory: Memory) -> Answer:
    """Only a time-out can tell that something is missing."""
    return reviewed(answer, "watch", "podgroups/status", allowed=False)


@false_answer("WRC-SEC-004", to="selfsubjectaccessreviews", only=EDIT, says=": may not patch workloads")
def edit_does_not_patch_workloads(answer: Answer, _memory: Memory) -> Answer:
    """Only a time-out can tell that something is missing."""
    return reviewed(answer, "patch", "workloads", allowed=False)


@false_answer(
    "WRC-SEC-004", to="podgroups", only=VIEW, says="a user who creates a PodGroup must be refused with 403, but"
)
def view_creates_pod_groups_whatever_the_review_says(answer: Answer, memory: Memory) -> Answer:
    return granted(answer, memory)


@false_answer("WRC-SEC-004", to="podgroups", only=ADMIN, says="a user who creates a PodGroup must be accepted, but")
def admin_creates_no_pod_groups_whatever_the_review_says(answer: Answer, _memory: Memory) -> Answer:
    if answer.method == "POST" and name_of(answer.sent) == "created":
        return answer.rejected(403, "Forbidden", "no")
    return answer


@false_answer("WRC-SEC-004", to="resourceclaims/status", says="who forges the status of ResourceClaim target must be")
def users_write_reservations_whatever_the_review_says(answer: Answer, memory: Memory) -> Answer:
    return granted(answer, memory)


@false_answer("WRC-SEC-004", to="podgroups podgroups/status", says="the user was refused, but the status of PodGroup")
def forged_claim_status_is_refused_and_stored(answer: Answer, memory: Memory) -> Answer:
    if answer.status == 403 and answer.resource == "podgroups/status":
        memory.facts["status"] = answer.sent["status"]
    if answer.method == "GET" and "status" in memory.facts:
        return replace(answer, body={**answer.body, "status": memory.facts["status"]})
    return answer
