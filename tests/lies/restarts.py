# SPDX-License-Identifier: Apache-2.0
"""Lies about what survives while a component is killed and comes back."""

from copy import deepcopy

from fixtures.clusters.local import Gates
from tests.lies.generation import entry_of, statuses_of
from tests.lies.lie import Memory, Object, Shown, false_start, lie, name_of, twin, uid_of

UNSEEN = "test_pod_group_that_went_unseen_is_cleaned_up"
SCHEDULER = "test_restarted_scheduler_keeps_reservations"
POD = {"resource": "pods", "name": "somebody", "uid": "0b8f4b52-0000-4000-8000-000000000000"}


def controller_name_of(shown: Object) -> str:
    """Return the name of the owner of an object; empty if it has none."""
    return next((str(one["name"]) for one in shown["metadata"].get("ownerReferences", ())), "")


@lie("WRC-GEN-010", shows="ResourceClaim", says="must have one claim per entry, not ['first', 'fourth', 'fourth'")
def fourth_entry_of_the_last_group_is_generated_twice(claim: Object, _memory: Memory) -> Shown:
    yield claim
    if controller_name_of(claim) == "late-3" and entry_of(claim) == "fourth":
        yield twin(claim, "second")


@lie("WRC-GEN-010", shows="ResourceClaim", says="at no moment may one entry have two generated claims: PodGroup late-3")
def second_claim_goes_when_the_first_is_used(claim: Object, _memory: Memory) -> Shown:
    yield claim
    unused = "allocation" not in claim.get("status", {})
    if controller_name_of(claim) == "late-3" and entry_of(claim) == "fourth" and unused:
        yield twin(claim, "second")


@lie("WRC-GEN-010", shows="PodGroup", says="PodGroup late-3 must be given the claims that it had, not")
def claim_that_was_not_recorded_is_replaced(group: Object, memory: Memory) -> Shown:
    """Only the third entry of the last PodGroup is concerned, once its record was wiped."""
    statuses = statuses_of(group)
    if name_of(group) == "late-3":
        memory.facts["recorded"] = memory.facts.get("recorded", False) or "fourth" in statuses
        memory.facts["wiped"] = memory.facts.get("wiped", False) or (memory.facts["recorded"] and not statuses)
        if memory.facts["wiped"] and "third" in statuses:
            statuses["third"]["resourceClaimName"] += "-again"
    yield group


@lie("WRC-LIF-010", shows="ResourceClaim", lingers=True, check=UNSEEN, only="template", says="is gone: not so after")
def generated_claim_of_a_group_that_went_unseen_stays(claim: Object, _memory: Memory) -> Shown:
    yield claim


@lie("WRC-LIF-010", shows="ResourceClaim", check=UNSEEN, only="named", says="is untouched: not so after")
def named_claim_stays_reserved_for_a_group_that_went_unseen(claim: Object, memory: Memory) -> Shown:
    """The reservation is told from that of the new PodGroup by its name alone, so that it stays."""
    first = memory.facts.setdefault("status", {})
    if claim.get("status", {}).get("reservedFor"):
        first.update(deepcopy(claim["status"]))
    yield {**claim, "status": first}


@lie("WRC-LIF-010", shows="ResourceClaim", check=UNSEEN, says="must be reserved for PodGroup group alone, not for")
def next_group_inherits_the_reservation_of_the_one_before(claim: Object, memory: Memory) -> Shown:
    """Name and entry are right, and the uid is that of the PodGroup which is gone."""
    for reserved in claim.get("status", {}).get("reservedFor", ()):
        reserved["uid"] = memory.facts.setdefault("uid", reserved["uid"])
    yield claim


@lie("WRC-LIF-010", shows="ResourceClaim", check=SCHEDULER, says="must be reserved for PodGroup group alone, not for")
def twentieth_member_is_reserved_beside_its_group(claim: Object, memory: Memory) -> Shown:
    if name_of(claim).startswith(("shared", "group-shared")) and claim.get("status", {}).get("reservedFor"):
        path = f"/api/v1/namespaces/{claim['metadata']['namespace']}/pods"
        bound = [pod for pod in memory.truth(path)["items"] if pod["spec"].get("nodeName")]
        if len(bound) > 20:
            claim["status"]["reservedFor"].append(POD)
    yield claim


@lie("WRC-LIF-010", shows="ResourceClaim", check=SCHEDULER, says="after the restart another PodGroup must not be given")
def restarted_scheduler_forgets_what_is_in_use(claim: Object, memory: Memory) -> Shown:
    results = claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results", ())
    for one in results:
        one["device"] = memory.facts.setdefault("device", one["device"])
    yield claim


@lie(
    "WRC-LIF-014", shows="ResourceClaim", says="must have one claim per entry after the outage, not ['first', 'second'"
)
def last_group_gets_a_second_claim_after_the_outage(claim: Object, _memory: Memory) -> Shown:
    yield claim
    if controller_name_of(claim) == "arriving-3" and entry_of(claim) == "second":
        yield twin(claim, "again")


@lie("WRC-LIF-014", shows="ResourceClaim", lingers=True, says="is gone: not so after")
def cleanup_is_lost_in_the_outage(claim: Object, _memory: Memory) -> Shown:
    yield claim


@lie("WRC-LIF-014", shows="ResourceClaim", says="must be reserved for PodGroup arriving-3 alone")
def last_group_is_reserved_beside_a_pod_after_the_outage(claim: Object, _memory: Memory) -> Shown:
    if controller_name_of(claim) == "arriving-3" and claim.get("status", {}).get("reservedFor"):
        claim["status"]["reservedFor"].append(POD)
    yield claim


@lie("WRC-LIF-014", shows="Pod", says="has 16 bound Pods: not so after")
def one_pod_is_forgotten_in_the_outage(pod: Object, memory: Memory) -> Shown:
    last = memory.facts.setdefault("last", uid_of(pod)) if name_of(pod).endswith("-3") else ""
    if uid_of(pod) == last:
        pod["spec"].pop("nodeName", None)
    yield pod


@lie("WRC-SEC-005", shows="ClusterRole", says="with both gates, system:kube-scheduler may")
def scheduler_may_not_write_the_status_of_pod_groups(role: Object, _memory: Memory) -> Shown:
    if name_of(role) == "system:kube-scheduler":
        role["rules"] = [rule for rule in role["rules"] if "podgroups/status" not in rule.get("resources", ())]
    yield role


@lie("WRC-SEC-005", shows="ClusterRole", says="with both gates, system:controller:podgroup-protection-controller may")
def protection_controller_may_delete_pod_groups(role: Object, _memory: Memory) -> Shown:
    for rule in role["rules"]:
        if name_of(role).endswith("podgroup-protection-controller") and "update" in rule["verbs"]:
            rule["verbs"].append("delete")
    yield role


@false_start("WRC-SEC-005", says="with GenericWorkload alone, system:controller:resource-claim-controller may ['get")
def claim_controller_has_its_rights_without_its_gate(_component: str, gates: Gates) -> Gates:
    return gates if not gates.get("GenericWorkload") else {**gates, "DRAWorkloadResourceClaims": True}


@false_start("WRC-SEC-005", says="with neither gate, system:kube-scheduler may ['get podgroups'")
def scheduler_has_its_rights_without_its_gate(_component: str, gates: Gates) -> Gates:
    return {**gates, "GenericWorkload": True}
