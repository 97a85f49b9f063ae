# SPDX-License-Identifier: Apache-2.0
"""Lies about what is there while feature gates and API versions are off."""

from conformance.gates import CLAIMS, WORKLOADS
from fixtures.clusters.local import Gates
from fixtures.metrics import Metrics, Sample
from tests.lies.lie import Answer, Memory, Object, Shown, false_answer, false_metrics, false_start, lie, name_of, uid_of

PG_CLAIMS_CLEARED = "test_claims_of_new_objects_are_cleared_without_the_gate"
GROUPS_CLEARED = "test_scheduling_groups_of_new_pods_are_cleared_without_pod_groups"
ENTRY = {"name": "template", "resourceClaimTemplateName": "template-template"}


@false_start("WRC-GATE-001", says="with only the version on: {'v")
def pod_groups_are_served_by_default(_component: str, gates: Gates) -> Gates:
    """The gate is on by default, so that the API version alone suffices."""
    return {**gates, WORKLOADS: True} if WORKLOADS in gates else gates


@lie("WRC-GATE-001", shows="APIResourceList", says="with only the gate on: {'v1': ['podgroups']}")
def pod_groups_are_served_in_the_version_of_priority_classes(listed: Object, _memory: Memory) -> Shown:
    if listed["groupVersion"] == "scheduling.k8s.io/v1":
        listed["resources"].append({"name": "podgroups"})
    yield listed


@lie("WRC-GATE-001", shows="APIResourceList", says="with gate and version on")
def status_of_pod_groups_is_not_served(listed: Object, _memory: Memory) -> Shown:
    listed["resources"] = [one for one in listed["resources"] if one["name"] != "podgroups/status"]
    yield listed


@lie("WRC-GATE-001", shows="APIResourceList", says="with gate and all versions on: {")
def last_version_has_no_workloads_when_all_are_on(listed: Object, memory: Memory) -> Shown:
    """The second time that a version with PodGroups is shown is after the first restart that serves them."""
    names = {one["name"] for one in listed["resources"]}
    if "podgroups" in names:
        seen = memory.facts["seen"] = memory.facts.get("seen", 0) + 1
        if seen > 1:
            listed["resources"] = [one for one in listed["resources"] if one["name"] != "workloads"]
    yield listed


def _with_states(shown: Metrics, states: list[tuple[str, float]]) -> Metrics:
    """Return metrics that show these stages and values of the gate instead."""
    others = tuple(one for one in shown.samples if one.labels.get("name") != CLAIMS)
    name = "kubernetes_feature_enabled"
    return Metrics(others + tuple(Sample(name, {"name": CLAIMS, "stage": stage}, value) for stage, value in states))


def _states(shown: Metrics) -> list[tuple[str, float]]:
    return [(one.labels["stage"], one.value) for one in shown.samples if one.labels.get("name") == CLAIMS]


@false_start("WRC-GATE-002", says="kube-apiserver, by default: {'")
def gate_is_on_by_default(_component: str, gates: Gates) -> Gates:
    return dict.fromkeys(gates, True)


@false_start("WRC-GATE-002", says="kube-scheduler, by default: {'")
def gate_is_on_by_default_in_the_scheduler_alone(component: str, gates: Gates) -> Gates:
    return dict.fromkeys(gates, True) if component == "kube-scheduler" else gates


@false_metrics("WRC-GATE-002", says="kube-controller-manager, switched on: {}")
def state_of_the_gate_is_not_shown(shown: Metrics, _facts: Object) -> Metrics:
    return _with_states(shown, [])


@false_metrics("WRC-GATE-002", says="by stage: kube-apiserver, switched on: {'")
def stage_of_the_gate_is_that_of_a_stable_feature(shown: Metrics, _facts: Object) -> Metrics:
    return _with_states(shown, [("", value) for _, value in _states(shown)])


@false_start("WRC-GATE-003", says="kube-apiserver, kube-controller-manager, kube-scheduler must refuse to start")
def dependency_of_the_gate_is_switched_on_silently(_component: str, gates: Gates) -> Gates:
    return {**gates, WORKLOADS: True}


@false_start("WRC-GATE-003", says="on and GenericWorkload off, but started")
def scheduler_starts_without_the_dependency_of_the_gate(component: str, gates: Gates) -> Gates:
    return {**gates, CLAIMS: False} if component == "kube-scheduler" else gates


@false_start("WRC-GATE-003", says="kube-controller-manager must say that")
def controller_manager_refuses_for_another_reason(component: str, gates: Gates) -> Gates:
    return {"NoSuchGate": True} if component == "kube-controller-manager" else gates


@false_start("WRC-GATE-004", check=PG_CLAIMS_CLEARED, says="PodGroup must lack its resourceClaims")
def claims_are_kept_without_the_gate(_component: str, _gates: Gates) -> Gates:
    return {}


@false_answer("WRC-GATE-004", to="podgroups workloads", check=PG_CLAIMS_CLEARED, says="a new PodGroup must be accepted")
def claims_are_rejected_without_the_gate(answer: Answer, _memory: Memory) -> Answer:
    return answer.rejected(422, "Invalid", "the gate is off") if answer.method == "POST" else answer


@false_answer("WRC-GATE-004", to="podgroups", check=PG_CLAIMS_CLEARED, says="PodGroup must lack its resourceClaims")
def claims_are_only_hidden_without_the_gate(answer: Answer, _memory: Memory) -> Answer:
    """They are stored, and seen as soon as the gate is on."""
    if answer.method == "GET" and answer.name == "group":
        answer.body["spec"]["resourceClaims"] = [ENTRY]
    return answer


@lie("WRC-GATE-004", shows="Workload", check=PG_CLAIMS_CLEARED, says="Workload must lack its resourceClaims and")
def second_template_of_a_workload_keeps_its_claims(work: Object, _memory: Memory) -> Shown:
    if name_of(work) == "work":
        work["spec"]["podGroupTemplates"][1]["resourceClaims"] = [ENTRY]
    yield work


@lie("WRC-GATE-004", shows="Workload", check=PG_CLAIMS_CLEARED, says="Workload must lack its resourceClaims and")
def second_template_of_a_workload_is_cleared_as_a_whole(work: Object, _memory: Memory) -> Shown:
    if name_of(work) == "work":
        del work["spec"]["podGroupTemplates"][1]
    yield work


@lie("WRC-GATE-004", shows="ResourceClaim", check=PG_CLAIMS_CLEARED, says="must be reserved for the Pod alone, not for")
def named_claim_is_reserved_for_the_cleared_pod_group(claim: Object, _memory: Memory) -> Shown:
    if name_of(claim) == "named-claim" and "reservedFor" in claim.get("status", {}):
        group = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "group", "uid": "unknown"}
        claim["status"]["reservedFor"] = [group]
    yield claim


@false_start("WRC-GATE-004", check=GROUPS_CLEARED, says="must have no schedulingGroup, but has")
def scheduling_groups_are_kept_without_pod_groups(_component: str, _gates: Gates) -> Gates:
    return {}


@lie("WRC-GATE-004", shows="Pod", check=GROUPS_CLEARED, says="-1 must have no schedulingGroup, but has")
def scheduling_group_of_the_second_pod_is_kept(pod: Object, _memory: Memory) -> Shown:
    if name_of(pod).endswith("-1"):
        pod["spec"]["schedulingGroup"] = {"podGroupName": "group"}
    yield pod


@lie("WRC-GATE-004", shows="PodGroup ResourceClaim", check=GROUPS_CLEARED, only="named", says="no members")
def named_claim_is_reserved_for_the_pod_group_too(shown: Object, memory: Memory) -> Shown:
    if shown["kind"] == "PodGroup":
        memory.facts["uid"] = uid_of(shown)
    elif "reservedFor" in shown.get("status", {}):
        group = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "group", "uid": memory.facts["uid"]}
        shown["status"]["reservedFor"].append(group)
    yield shown


@false_answer("WRC-GATE-005", to="podgroups", says="must not change the spec of PodGroup, but it became")
def patch_without_the_gate_wipes_the_claims(answer: Answer, _memory: Memory) -> Answer:
    if answer.method == "PATCH":
        del answer.body["spec"]["resourceClaims"]
    return answer


@false_answer("WRC-GATE-005", to="podgroups", says="must not change the spec of PodGroup, but it became")
def replacement_without_the_gate_wipes_the_claims(answer: Answer, _memory: Memory) -> Answer:
    if answer.method == "PUT":
        del answer.body["spec"]["resourceClaims"]
    return answer


@false_answer("WRC-GATE-005", to="workloads", says="must not change the spec of Workload, but it became")
def updated_workload_loses_the_claims_of_its_second_template(answer: Answer, _memory: Memory) -> Answer:
    """The answers to the updates still show them."""
    if answer.method == "GET" and answer.body["metadata"]["labels"].get("color") == "blue":
        del answer.body["spec"]["podGroupTemplates"][1]["resourceClaims"]
    return answer


@false_answer("WRC-GATE-005", to="podgroups/status", says="must be kept (the answer), but are None")
def written_claim_statuses_are_cleared_without_the_gate(answer: Answer, _memory: Memory) -> Answer:
    answer.body["status"].pop("resourceClaimStatuses", None)
    return answer


@false_answer("WRC-GATE-005", to="podgroups", says="must be kept (on again), but are [")
def written_claim_statuses_are_lost_when_the_gate_is_on_again(answer: Answer, memory: Memory) -> Answer:
    """The first look at both of them is while the gate is off."""
    statuses = answer.body.get("status", {}).get("resourceClaimStatuses", [])
    if answer.method == "GET" and len(statuses) > 1:
        memory.facts["looks"] = memory.facts.get("looks", 0) + 1
        if memory.facts["looks"] > 1:
            statuses.pop()
    return answer


@lie("WRC-GATE-007", shows="Pod", says="kube-controller-manager must wait until PodGroups are served, but generated")
def claims_of_plain_pods_are_generated_all_the_same(pod: Object, _memory: Memory) -> Shown:
    if name_of(pod).startswith("with-claim"):
        pod["status"]["resourceClaimStatuses"] = [{"name": "shared", "resourceClaimName": "shared"}]
    yield pod


@lie("WRC-GATE-007", shows="Pod", says="kube-scheduler must wait until PodGroups are served, but bound a Pod to")
def plain_pod_is_bound_all_the_same(pod: Object, _memory: Memory) -> Shown:
    if name_of(pod).startswith("without-claim"):
        pod["spec"]["nodeName"] = "node-0"
    yield pod


@lie("WRC-GATE-007", shows="Pod", says="has 2 bound Pods: not so")
def pod_with_a_claim_is_not_served_even_then(pod: Object, _memory: Memory) -> Shown:
    """Only a time-out can tell that something is missing."""
    if name_of(pod).startswith("with-claim"):
        pod["spec"].pop("nodeName", None)
    yield pod
