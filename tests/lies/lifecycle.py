# SPDX-License-Identifier: Apache-2.0
"""Lies about how long reservation, allocation and generated claims last."""

from tests.lies.lie import Answer, Memory, Object, Shown, false_answer, lie, name_of, twin
from tests.lies.reservation import entries_of, is_finished, pods_beside

ACTIVE_POD = "test_a_group_with_an_active_pod_is_only_marked_for_deletion"
PENDING_POD = "test_a_group_with_a_pending_pod_is_only_marked_for_deletion"


def is_of_a_pod_group(claim: Object) -> bool:
    """Tell whether a claim is reserved for a PodGroup."""
    return any(entry["resource"] == "podgroups" for entry in entries_of(claim))


def members_left(claim: Object, memory: Memory) -> int:
    """Return how many Pods of PodGroups there are, and remember the most and the fewest since."""
    count = sum(1 for pod in pods_beside(claim, memory) if pod["spec"].get("schedulingGroup"))
    memory.facts["most"] = max(count, memory.facts.get("most", 0))
    memory.facts["emptied"] = memory.facts.get("emptied") or (count == 0 and memory.facts["most"] > 0)
    return count


def finished_members(shown: Object, memory: Memory) -> int:
    """Return how many Pods of PodGroups have reached a terminal phase."""
    return sum(1 for pod in pods_beside(shown, memory) if pod["spec"].get("schedulingGroup") and is_finished(pod))


def a_member_has_ended(shown: Object, memory: Memory) -> bool:
    """Tell whether a Pod of a PodGroup has finished, or is gone."""
    return members_left(shown, memory) < memory.facts["most"] or finished_members(shown, memory) > 0


def a_group_is_being_deleted(namespace: str, memory: Memory) -> bool:
    """Tell whether the PodGroup of the scenario has a deletionTimestamp."""
    groups = memory.truth(f"/apis/scheduling.k8s.io/v1beta1/namespaces/{namespace}/podgroups")["items"]
    return any(group["metadata"].get("deletionTimestamp") for group in groups)


def not_found(answer: Answer) -> Answer:
    """Answer that there is no object of that name."""
    return answer.rejected(404, "NotFound", f'{answer.resource} "{answer.name}" not found')


@lie(
    "WRC-LIF-001", shows="ResourceClaim", says="the allocation has changed, although only Pods of its PodGroup are gone"
)
def everything_goes_with_the_last_pod(claim: Object, memory: Memory) -> Shown:
    if is_of_a_pod_group(claim) and members_left(claim, memory) == 0:
        claim["status"] = {}
    yield claim


@lie(
    "WRC-LIF-001",
    shows="ResourceClaim",
    says="reservedFor must hold the PodGroup alone; only Pods of its PodGroup are gone",
)
def reservation_goes_with_the_last_pod(claim: Object, memory: Memory) -> Shown:
    if is_of_a_pod_group(claim) and members_left(claim, memory) == 0:
        del claim["status"]["reservedFor"]
    yield claim


@lie(
    "WRC-LIF-001", shows="ResourceClaim", says="the allocation has changed, although only Pods of its PodGroup are gone"
)
def allocation_goes_while_only_some_of_the_pods_are_deleted(claim: Object, memory: Memory) -> Shown:
    if is_of_a_pod_group(claim) and 0 < members_left(claim, memory) < memory.facts["most"]:
        del claim["status"]["allocation"]
    yield claim


@false_answer(
    "WRC-LIF-001", to="resourceclaims", says="the ResourceClaim is gone, although only Pods of its PodGroup are gone"
)
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


@lie(
    "WRC-LIF-003",
    shows="ResourceClaim",
    check=ACTIVE_POD,
    says="reservedFor must hold the PodGroup alone; a member is active",
)
def reservation_goes_with_the_deletion_of_the_group(claim: Object, memory: Memory) -> Shown:
    if is_of_a_pod_group(claim) and a_group_is_being_deleted(claim["metadata"]["namespace"], memory):
        del claim["status"]["reservedFor"]
    yield claim


@lie(
    "WRC-LIF-003",
    shows="ResourceClaim",
    check=ACTIVE_POD,
    says="the allocation has changed, although a member is active",
)
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


@false_answer("WRC-LIF-003", to="podgroups", check=ACTIVE_POD, says="the PodGroup is gone, although one of its Pods")
def finished_member_takes_its_group_with_it(answer: Answer, memory: Memory) -> Answer:
    found = answer.method == "GET" and answer.name == "group" and answer.status == 200
    return not_found(answer) if found and finished_members(answer.body, memory) else answer


@lie("WRC-LIF-002", shows="ResourceClaim", says="the allocation has changed, although")
def everything_goes_when_the_last_pod_has_finished(claim: Object, memory: Memory) -> Shown:
    if is_of_a_pod_group(claim) and finished_members(claim, memory) == members_left(claim, memory):
        claim["status"] = {}
    yield claim


@lie(
    "WRC-LIF-002", shows="ResourceClaim", only="[Failed-", says="reservedFor must hold the PodGroup alone; Pods of the"
)
def reservation_goes_when_the_first_pod_has_failed(claim: Object, memory: Memory) -> Shown:
    if is_of_a_pod_group(claim) and 0 < finished_members(claim, memory) < members_left(claim, memory):
        del claim["status"]["reservedFor"]
    yield claim


@false_answer("WRC-LIF-002", to="resourceclaims", only="[Succeeded-", says="the ResourceClaim is gone, although")
def claim_is_gone_when_all_pods_have_succeeded(answer: Answer, memory: Memory) -> Answer:
    found = answer.method == "GET" and answer.status == 200 and answer.name and is_of_a_pod_group(answer.body)
    if found and finished_members(answer.body, memory) == members_left(answer.body, memory):
        return not_found(answer)
    return answer


@lie("WRC-LIF-002", shows="ResourceClaim", says="the allocation has changed, although the next member is bound")
def next_member_after_finished_ones_gets_another_device(claim: Object, memory: Memory) -> Shown:
    if is_of_a_pod_group(claim) and 0 < finished_members(claim, memory) < members_left(claim, memory) == 4:
        claim["status"]["allocation"]["devices"]["results"][0]["device"] = "device-2"
    yield claim


@lie("WRC-LIF-002", shows="ResourceClaim", only="-template]", says="the next member must use ResourceClaim")
def next_member_after_finished_ones_gets_a_claim_of_its_own(claim: Object, memory: Memory) -> Shown:
    yield claim
    if is_of_a_pod_group(claim) and members_left(claim, memory) == 4:
        yield twin(claim, "next")


@lie("WRC-LIF-013", shows="ResourceClaim", says="-own-", lingers=True)
def claim_of_a_single_member_lasts_as_long_as_the_group(claim: Object, _memory: Memory) -> Shown:
    """Only a time-out can tell that something stays."""
    yield claim


@lie("WRC-LIF-013", shows="ResourceClaim", says="must be owned by this Pod alone")
def claim_of_a_single_member_is_owned_by_its_group_too(claim: Object, _memory: Memory) -> Shown:
    if name_of(claim).startswith("member-"):
        claim["metadata"]["ownerReferences"].append({"kind": "PodGroup", "name": "group", "uid": "0b8f4b52"})
    yield claim


@lie("WRC-LIF-013", shows="ResourceClaim", says="the allocation has changed, although only a Pod of its PodGroup")
def claim_of_the_group_goes_with_that_of_a_single_member(claim: Object, memory: Memory) -> Shown:
    if is_of_a_pod_group(claim) and a_member_has_ended(claim, memory):
        claim["status"] = {}
    yield claim


@false_answer("WRC-LIF-013", to="resourceclaims", says="went with that of a Pod for an entry of this name")
def unused_claim_of_the_same_entry_goes_too(answer: Answer, memory: Memory) -> Answer:
    unused = answer.method == "GET" and answer.status == 200 and answer.name.startswith("group-own-")
    return not_found(answer) if unused and a_member_has_ended(answer.body, memory) else answer


@false_answer("WRC-LIF-013", to="resourceclaims", says="of the other member alone went with that of the first")
def claims_of_all_members_go_with_the_first(answer: Answer, memory: Memory) -> Answer:
    own = answer.method == "GET" and answer.status == 200 and answer.name.startswith("member-")
    return not_found(answer) if own and a_member_has_ended(answer.body, memory) else answer


@lie("WRC-LIF-013", shows="ResourceClaim", only="Deleted-", says="must be reserved for Pod")
def claim_of_the_other_member_is_released_with_that_of_the_first(claim: Object, memory: Memory) -> Shown:
    if name_of(claim).startswith("member-") and a_member_has_ended(claim, memory):
        claim["status"].pop("reservedFor", None)
    yield claim
