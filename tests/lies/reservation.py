# SPDX-License-Identifier: Apache-2.0
"""Lies about what stands in ``status.reservedFor``."""

from copy import deepcopy
from dataclasses import replace

from tests.lies.lie import Answer, Memory, Object, Shown, false_answer, lie, twin

THREE_HUNDRED_PODS = "test_three_hundred_pods_share_one_claim"
FULL_LIST = "test_members_need_no_room_in_a_full_list"
POD = {"resource": "pods", "name": "somebody", "uid": "0b8f4b52-0000-4000-8000-000000000000"}
#: As many entries as a claim may have.
MOST = 256


def entries_of(claim: Object) -> list[Object]:
    """Return ``status.reservedFor`` of a claim, to be changed in place; empty if nothing is reserved."""
    entries: list[Object] = claim.get("status", {}).get("reservedFor") or []
    return entries


def is_finished(pod: Object) -> bool:
    """Tell whether a Pod has reached a terminal phase."""
    return pod["status"].get("phase") in {"Succeeded", "Failed"}


def pods_beside(claim: Object, memory: Memory) -> list[Object]:
    """Return all Pods of the namespace of a claim, as they truly are."""
    pods: list[Object] = memory.truth(f"/api/v1/namespaces/{claim['metadata']['namespace']}/pods")["items"]
    return pods


@lie("WRC-RES-001", shows="ResourceClaim", says="not the reference to the PodGroup")
def entry_names_the_kind_instead_of_the_resource(claim: Object, _memory: Memory) -> Shown:
    for entry in entries_of(claim):
        entry["resource"] = "PodGroup"
    yield claim


@lie("WRC-RES-001", shows="ResourceClaim", says="not the reference to the PodGroup")
def entry_has_the_version_in_its_group(claim: Object, _memory: Memory) -> Shown:
    for entry in entries_of(claim):
        entry["apiGroup"] = "scheduling.k8s.io/v1beta1"
    yield claim


@lie("WRC-RES-001", shows="ResourceClaim", says="not the reference to the PodGroup")
def entry_has_the_uid_of_an_earlier_instance(claim: Object, _memory: Memory) -> Shown:
    for entry in entries_of(claim):
        entry["uid"] = POD["uid"]
    yield claim


@lie("WRC-RES-001", shows="ResourceClaim", only="[template]", says="not the reference to the PodGroup")
def entry_of_a_generated_claim_lacks_the_group(claim: Object, _memory: Memory) -> Shown:
    for entry in entries_of(claim):
        del entry["apiGroup"]
    yield claim


@lie("WRC-RES-001", shows="ResourceClaim", only="[named]", says="not the reference to the PodGroup")
def named_claim_is_not_reserved_at_all(claim: Object, _memory: Memory) -> Shown:
    entries_of(claim).clear()
    yield claim


@lie("WRC-RES-002", shows="ResourceClaim", says="with 1 bound Pods, reservedFor must hold the PodGroup alone")
def pod_beside_the_pod_group_in_reserved_for(claim: Object, _memory: Memory) -> Shown:
    if entries_of(claim):
        entries_of(claim).append(POD)
    yield claim


@lie("WRC-RES-002", shows="ResourceClaim", says="with 2 bound Pods, reservedFor must hold the PodGroup alone")
def second_pod_reserves_for_the_pod_group_again(claim: Object, memory: Memory) -> Shown:
    if entries_of(claim) and len(pods_beside(claim, memory)) > 1:
        entries_of(claim).append(entries_of(claim)[0])
    yield claim


@lie("WRC-RES-002", shows="ResourceClaim", says="with 20 bound Pods, reservedFor must hold the PodGroup alone")
def pod_in_reserved_for_from_the_twentieth_pod_on(claim: Object, memory: Memory) -> Shown:
    if entries_of(claim) and len(pods_beside(claim, memory)) >= 20:
        entries_of(claim).append(POD)
    yield claim


@lie("WRC-RES-002", shows="ResourceClaim", says="reservedFor did not hold the PodGroup alone")
def pod_in_reserved_for_until_the_first_pod_is_bound(claim: Object, memory: Memory) -> Shown:
    """Only the watch shows it: each later look at the same version tells the truth."""
    told = memory.facts.setdefault("told", set())
    version = claim["metadata"]["resourceVersion"]
    if entries_of(claim) and version not in told:
        told.add(version)
        entries_of(claim).append(POD)
    yield claim


@lie("WRC-RES-003", shows="ResourceClaim", says="must be reserved for the PodGroup alone")
def pod_bound_by_hand_reserves_for_itself(claim: Object, _memory: Memory) -> Shown:
    entries_of(claim)[:] = [POD for _ in entries_of(claim)]
    yield claim


@lie("WRC-RES-003", shows="ResourceClaim", says="must be reserved for the PodGroup alone")
def second_pod_bound_by_hand_reserves_the_second_claim_for_itself(claim: Object, _memory: Memory) -> Shown:
    if entries_of(claim) and "second-" in claim["metadata"]["name"]:
        entries_of(claim).append(POD)
    yield claim


@lie("WRC-RES-003", shows="ResourceClaim", only="[pods-then-group", says="did not hold the PodGroup alone")
def pod_bound_before_its_group_is_there_reserves_for_itself_at_first(claim: Object, memory: Memory) -> Shown:
    """Only the watch shows it: each later look at the same version tells the truth."""
    told = memory.facts.setdefault("told", set())
    version = claim["metadata"]["resourceVersion"]
    if entries_of(claim) and "second-" in claim["metadata"]["name"] and version not in told:
        told.add(version)
        entries_of(claim)[:] = [POD]
    yield claim


@lie("WRC-RES-003", shows="ResourceClaim", only="-template]", says="is reserved: not so after")
def generated_claim_of_pods_bound_by_hand_is_not_reserved(claim: Object, _memory: Memory) -> Shown:
    """Only a time-out can tell that something is missing."""
    entries_of(claim).clear()
    yield claim


@lie("WRC-RES-003", shows="ResourceClaim", says="the allocation of ResourceClaim")
def allocation_by_hand_is_replaced_with_the_reservation(claim: Object, _memory: Memory) -> Shown:
    if entries_of(claim):
        claim["status"]["allocation"]["devices"]["results"][0]["device"] = "device-2"
    yield claim


@false_answer("WRC-RES-004", to="resourceclaims/status", says="257 entries in reservedFor must be rejected")
def status_with_257_entries_looks_accepted(answer: Answer, _memory: Memory) -> Answer:
    return answer.accepted() if _sent_entries(answer) > MOST else answer


@false_answer("WRC-RES-004", to="resourceclaims/status", says="the same uid twice in reservedFor must be rejected")
def status_with_the_same_uid_twice_looks_accepted(answer: Answer, _memory: Memory) -> Answer:
    return answer.accepted() if answer.status == 422 and _sent_entries(answer) < MOST else answer


@false_answer("WRC-RES-004", to="resourceclaims/status", says="rejected with 400 instead of 422")
def status_with_257_entries_is_a_bad_request(answer: Answer, _memory: Memory) -> Answer:
    return answer.rejected(400, "BadRequest", "too many entries") if _sent_entries(answer) > MOST else answer


@false_answer("WRC-RES-004", to="resourceclaims/status", says="rejected because of ['spec.devices']")
def status_is_rejected_because_of_another_field(answer: Answer, _memory: Memory) -> Answer:
    elsewhere = {**answer.body, "details": {"causes": [{"field": "spec.devices"}]}}
    return replace(answer, body=elsewhere) if answer.status == 422 else answer


@false_answer("WRC-RES-004", to="resourceclaims/status", says="256 entries in reservedFor must be accepted")
def status_with_256_entries_is_one_too_many(answer: Answer, _memory: Memory) -> Answer:
    return answer.rejected(422, "Invalid", "at most 255") if _sent_entries(answer) == MOST else answer


@lie("WRC-RES-004", shows="ResourceClaim", says="256 entries were accepted, but not stored")
def last_of_256_entries_is_not_stored(claim: Object, _memory: Memory) -> Shown:
    del entries_of(claim)[MOST - 1 :]
    yield claim


@false_answer("WRC-RES-004", to="resourceclaims resourceclaims/status", says="stored all the same")
def rejected_status_is_stored_all_the_same(answer: Answer, memory: Memory) -> Answer:
    if answer.status == 422:
        memory.facts["stored"] = deepcopy(answer.sent["status"]["reservedFor"])
    elif answer.method == "GET" and "stored" in memory.facts:
        answer.body["status"]["reservedFor"] = memory.facts["stored"]
    return answer


@lie("WRC-RES-005", shows="Pod", says="3 of 3 Pods are bound")
def pod_without_a_reservation_is_bound_all_the_same(pod: Object, _memory: Memory) -> Shown:
    refused = [one for one in pod["status"].get("conditions", ()) if one["type"] == "PodScheduled"]
    if refused and refused[0]["status"] == "False":
        pod["spec"]["nodeName"] = "any-node"
    yield pod


@lie("WRC-RES-005", shows="ResourceClaim", says="reservedFor must be full")
def last_pod_is_bound_without_a_reservation(claim: Object, _memory: Memory) -> Shown:
    del entries_of(claim)[MOST - 1 :]
    yield claim


@lie(
    "WRC-RES-006",
    shows="ResourceClaim",
    check=THREE_HUNDRED_PODS,
    says="with 300 bound Pods, reservedFor must hold the PodGroup alone",
)
def pod_in_reserved_for_from_the_257th_pod_on(claim: Object, memory: Memory) -> Shown:
    if entries_of(claim) and len(pods_beside(claim, memory)) > MOST:
        entries_of(claim).append(POD)
    yield claim


@lie(
    "WRC-RES-006",
    shows="ResourceClaim",
    check=THREE_HUNDRED_PODS,
    says="one ResourceClaim must serve all 300 Pods, but there are 2",
)
def second_claim_beside_the_first_among_many_pods(claim: Object, memory: Memory) -> Shown:
    yield claim
    if len(pods_beside(claim, memory)) > MOST:
        yield twin(claim, "second")


@lie("WRC-RES-006", shows="Pod", only="[named]", check=THREE_HUNDRED_PODS, says="299 of 300 have a node")
def one_of_three_hundred_pods_is_never_bound(pod: Object, memory: Memory) -> Shown:
    if memory.facts.setdefault("forgotten", pod["metadata"]["uid"]) == pod["metadata"]["uid"]:
        pod["spec"].pop("nodeName", None)
    yield pod


@lie("WRC-RES-006", shows="Pod", check=FULL_LIST, says="2 of 3 have a node, and these have none: later-")
def last_member_finds_no_room_in_a_full_list(pod: Object, memory: Memory) -> Shown:
    pods = memory.facts.setdefault("pods", [])
    if pod["metadata"]["uid"] not in pods:
        pods.append(pod["metadata"]["uid"])
    if pod["metadata"]["uid"] in pods[3:]:
        pod["spec"].pop("nodeName", None)
    yield pod


@lie("WRC-RES-006", shows="ResourceClaim", check=FULL_LIST, says="must leave it as it is")
def member_takes_the_last_place_in_a_full_list(claim: Object, memory: Memory) -> Shown:
    if len(entries_of(claim)) == MOST and len(pods_beside(claim, memory)) == 4:
        entries_of(claim)[-1] = POD
    yield claim


@lie("WRC-RES-006", shows="ResourceClaim", check=FULL_LIST, says="the allocation changed when members came to a full")
def third_member_of_a_full_list_moves_the_allocation(claim: Object, memory: Memory) -> Shown:
    if len(entries_of(claim)) == MOST and len(pods_beside(claim, memory)) == 4:
        claim["status"]["allocation"]["devices"]["results"][0]["device"] = "any"
    yield claim


def _sent_entries(answer: Answer) -> int:
    return len(answer.sent["status"].get("reservedFor") or ())
