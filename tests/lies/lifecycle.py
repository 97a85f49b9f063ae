# SPDX-License-Identifier: Apache-2.0
"""Lies about how long reservation, allocation and generated claims last."""

from typing import Any

from tests.lies.lie import Answer, Memory, Object, Shown, false_answer, lie, name_of, twin
from tests.lies.reservation import entries_of, pods_beside

ACTIVE_POD = "test_a_group_with_an_active_pod_is_only_marked_for_deletion"
PENDING_POD = "test_a_group_with_a_pending_pod_is_only_marked_for_deletion"
USED = "test_used_and_unused_generated_claims_go_with_their_group"
ENTRY = "resource.kubernetes.io/pod-claim-name"


def is_of_a_pod_group(claim: Object) -> bool:
    """Tell whether a claim is reserved for a PodGroup."""
    return any(entry["resource"] == "podgroups" for entry in entries_of(claim))


def members_left(claim: Object, memory: Memory) -> int:
    """Return how many Pods of PodGroups there are, and remember the most and the fewest since."""
    count = sum(1 for pod in pods_beside(claim, memory) if pod["spec"].get("schedulingGroup"))
    memory.facts["most"] = max(count, memory.facts.get("most", 0))
    memory.facts["emptied"] = memory.facts.get("emptied") or (count == 0 and memory.facts["most"] > 0)
    return count


def a_group_is_being_deleted(namespace: str, memory: Memory) -> bool:
    """Tell whether the PodGroup of the scenario has a deletionTimestamp."""
    groups = memory.truth(f"/apis/scheduling.k8s.io/v1beta1/namespaces/{namespace}/podgroups")["items"]
    return any(group["metadata"].get("deletionTimestamp") for group in groups)


def not_found(answer: Answer) -> Answer:
    """Answer that there is no object of that name."""
    return answer.rejected(404, "NotFound", f'{answer.resource} "{answer.name}" not found')


@lie("WRC-LIF-001", shows="ResourceClaim", says="the allocation went with the Pods")
def everything_goes_with_the_last_pod(claim: Object, memory: Memory) -> Shown:
    if is_of_a_pod_group(claim) and members_left(claim, memory) == 0:
        claim["status"] = {}
    yield claim


@lie("WRC-LIF-001", shows="ResourceClaim", says="the reservation went with the Pods")
def reservation_goes_with_the_last_pod(claim: Object, memory: Memory) -> Shown:
    if is_of_a_pod_group(claim) and members_left(claim, memory) == 0:
        del claim["status"]["reservedFor"]
    yield claim


@lie("WRC-LIF-001", shows="ResourceClaim", says="the allocation went with the Pods")
def allocation_goes_while_only_some_of_the_pods_are_deleted(claim: Object, memory: Memory) -> Shown:
    if is_of_a_pod_group(claim) and 0 < members_left(claim, memory) < memory.facts["most"]:
        del claim["status"]["allocation"]
    yield claim


@false_answer("WRC-LIF-001", to="resourceclaims", says="the ResourceClaim went with the Pods")
def claim_is_gone_after_the_last_pod(answer: Answer, memory: Memory) -> Answer:
    found = answer.status == 200 and answer.name
    if found and is_of_a_pod_group(answer.body) and members_left(answer.body, memory) == 0:
        return not_found(answer)
    return answer


@lie("WRC-LIF-001", shows="ResourceClaim", says="the next member of the PodGroup got another device")
def next_member_gets_another_device(claim: Object, memory: Memory) -> Shown:
    if is_of_a_pod_group(claim) and members_left(claim, memory) and memory.facts["emptied"]:
        claim["status"]["allocation"]["devices"]["results"][0]["device"] = "device-2"
    yield claim


@lie("WRC-LIF-001", shows="ResourceClaim", only="[template]", says="the next member must use ResourceClaim")
def next_member_gets_a_claim_of_its_own(claim: Object, memory: Memory) -> Shown:
    yield claim
    if is_of_a_pod_group(claim) and members_left(claim, memory) and memory.facts["emptied"]:
        yield twin(claim, "next")


@lie("WRC-LIF-003", shows="PodGroup", says="the PodGroup is gone, although one of its Pods is active")
def pod_group_vanishes_under_its_active_pod(group: Object, _memory: Memory) -> Shown:
    if not group["metadata"].get("deletionTimestamp"):
        yield group


@lie("WRC-LIF-003", shows="PodGroup", check=PENDING_POD, says="the PodGroup is gone, although one of its Pods")
def only_a_bound_pod_holds_its_group(group: Object, memory: Memory) -> Shown:
    bound = any(pod["spec"].get("nodeName") for pod in pods_beside(group, memory))
    if bound or not group["metadata"].get("deletionTimestamp"):
        yield group


@lie("WRC-LIF-003", shows="PodGroup", says="has lost its protection finalizer")
def protection_finalizer_goes_with_the_deletion(group: Object, _memory: Memory) -> Shown:
    if group["metadata"].get("deletionTimestamp"):
        group["metadata"]["finalizers"] = ["example.com/foreign"]
    yield group


@lie("WRC-LIF-003", shows="PodGroup", check=ACTIVE_POD, only="[named]", says="PodGroup group is being deleted: not so")
def deletion_of_a_group_with_an_active_pod_is_ignored(group: Object, _memory: Memory) -> Shown:
    group["metadata"].pop("deletionTimestamp", None)
    yield group


@lie("WRC-LIF-003", shows="ResourceClaim", check=ACTIVE_POD, says="the reservation went, although a member is active")
def reservation_goes_with_the_deletion_of_the_group(claim: Object, memory: Memory) -> Shown:
    if is_of_a_pod_group(claim) and a_group_is_being_deleted(claim["metadata"]["namespace"], memory):
        del claim["status"]["reservedFor"]
    yield claim


@lie("WRC-LIF-003", shows="ResourceClaim", check=ACTIVE_POD, says="the allocation went, although a member is active")
def allocation_goes_with_the_deletion_of_the_group(claim: Object, memory: Memory) -> Shown:
    if is_of_a_pod_group(claim) and a_group_is_being_deleted(claim["metadata"]["namespace"], memory):
        del claim["status"]["allocation"]
    yield claim


@false_answer("WRC-LIF-003", to="resourceclaims", says="ResourceClaim is gone, although a member is")
def claim_is_gone_after_the_deletion_of_the_group(answer: Answer, memory: Memory) -> Answer:
    found = answer.status == 200 and answer.name.startswith(("group-", "shared-"))
    if found and a_group_is_being_deleted(answer.body["metadata"]["namespace"], memory):
        return not_found(answer)
    return answer


@lie("WRC-LIF-005", shows="ResourceClaim", lingers=True, says="-shared-")
def generated_claim_outlives_its_group(claim: Object, _memory: Memory) -> Shown:
    yield claim


@false_answer("WRC-LIF-005", to="resourceclaims", says="-spare-")
def unused_claim_outlives_its_group(answer: Answer, memory: Memory) -> Answer:
    return _kept_in_memory(answer, memory) if "-spare-" in answer.name else answer


@lie("WRC-LIF-005", shows="ResourceClaim", check=USED, says="deleted while it was still reserved")
def used_claim_is_deleted_while_it_is_reserved(claim: Object, memory: Memory) -> Shown:
    yield _with_lasting("reservedFor", claim, memory)


@lie("WRC-LIF-005", shows="ResourceClaim", check=USED, says="deleted while it was still allocated")
def used_claim_is_deleted_while_it_is_allocated(claim: Object, memory: Memory) -> Shown:
    yield _with_lasting("allocation", claim, memory)


@lie("WRC-LIF-005", shows="ResourceClaim", check=USED, says="the device of the deleted ResourceClaim must be free")
def next_group_gets_no_device(claim: Object, _memory: Memory) -> Shown:
    if name_of(claim).startswith("second-"):
        claim["status"].pop("allocation", None)
    yield claim


@lie("WRC-LIF-005", shows="Pod", check=USED, says="is bound: not so after")
def device_of_the_deleted_claim_is_never_free(pod: Object, _memory: Memory) -> Shown:
    if pod["spec"].get("schedulingGroup") == {"podGroupName": "second"}:
        pod["spec"].pop("nodeName", None)
    yield pod


@lie("WRC-LIF-005", shows="ResourceClaim", says="must control its generated")
def unused_claim_is_controlled_by_another_instance_of_the_group(claim: Object, _memory: Memory) -> Shown:
    if claim["metadata"].get("annotations", {}).get(ENTRY) == "spare":
        claim["metadata"]["ownerReferences"][0]["uid"] = "0b8f4b52-0000-4000-8000-000000000000"
    yield claim


def _kept_in_memory(answer: Answer, memory: Memory) -> Answer:
    """Answer a GET of an object that is gone with what it last was."""
    if answer.status == 404:
        return memory.facts.get(answer.name, answer)  # type: ignore[no-any-return]
    memory.facts[answer.name] = answer
    return answer


def _with_lasting(field: str, claim: Object, memory: Memory) -> Object:
    """Return the claim with a field of its status as it was before it was cleared."""
    lasting: dict[str, Any] = memory.facts.setdefault(claim["metadata"]["uid"], {})
    value = claim.get("status", {}).get(field) or lasting.get(field)
    if value:
        lasting[field] = claim.setdefault("status", {})[field] = value
    return claim
