# SPDX-License-Identifier: Apache-2.0
"""Lies about how a PodGroup goes, and what becomes of its ResourceClaims when it does."""

from typing import Any

from tests.lies.lie import Answer, Memory, Object, Shown, false_answer, lie, name_of
from tests.lies.lifecycle import finished_members, is_of_a_pod_group, not_found
from tests.lies.named_claims_in_use import lost_consumers
from tests.lies.reservation import entries_of, is_finished, pods_beside

USED = "test_used_and_unused_generated_claims_go_with_their_group"
LAST_POD = "test_a_group_goes_with_its_last_active_pod"
FINISHED_PODS = "test_a_group_with_finished_pods_goes_at_once"
TERMINATING = "test_a_terminating_pod_holds_its_group_until_it_is_gone"
ORPHANS = "test_orphaned_claims_stay_without_owner_and_are_released"
FOREGROUND = "test_foreground_deletion_does_not_wait_for_claims"
ENTRY = "resource.kubernetes.io/pod-claim-name"


def is_found(answer: Answer) -> bool:
    """Tell whether the answer is one object that somebody looked for by its name."""
    return bool(answer.method == "GET" and answer.name and answer.status == 200)


def groups_beside(shown: Object, memory: Memory) -> list[str]:
    """Return the names of the PodGroups in the namespace of an object, as they truly are."""
    path = f"/apis/scheduling.k8s.io/v1beta1/namespaces/{shown['metadata']['namespace']}/podgroups"
    return [name_of(one) for one in memory.truth(path)["items"]]


def kept_in_memory(answer: Answer, memory: Memory) -> Answer:
    """Answer a GET of an object that is gone with what it last was."""
    if answer.status == 404:
        return memory.facts.get(answer.name, answer)  # type: ignore[no-any-return]
    memory.facts[answer.name] = answer
    return answer


def with_lasting(field: str, claim: Object, memory: Memory) -> Object:
    """Return the claim with a field of its status as it was before it was cleared."""
    lasting: dict[str, Any] = memory.facts.setdefault(claim["metadata"]["uid"], {})
    value = claim.get("status", {}).get(field) or lasting.get(field)
    if value:
        lasting[field] = claim.setdefault("status", {})[field] = value
    return claim


@false_answer("WRC-LIF-004", to="podgroups", says="PodGroup group is gone: not so after")
def finished_members_hold_their_group_for_ever(answer: Answer, memory: Memory) -> Answer:
    """Only a time-out can tell that something stays."""
    return kept_in_memory(answer, memory) if answer.name == "group" else answer


@lie("WRC-LIF-004", shows="PodGroup", check=LAST_POD, says="the PodGroup went before its last active member")
def group_goes_before_its_last_active_member(group: Object, _memory: Memory) -> Shown:
    if not group["metadata"].get("deletionTimestamp"):
        yield group


@lie("WRC-LIF-004", shows="ResourceClaim", only="named]", says="ResourceClaim shared-claim is untouched: not so after")
def named_claim_stays_reserved_while_there_are_finished_members(claim: Object, memory: Memory) -> Shown:
    """Only a time-out can tell that something stays."""
    lost = lost_consumers(claim, memory)
    if lost and finished_members(claim, memory):
        claim["status"]["reservedFor"] = lost
    yield claim


@false_answer("WRC-LIF-004", to="resourceclaims", only="template]", says="-shared-")
def generated_claim_stays_while_there_are_finished_members(answer: Answer, memory: Memory) -> Answer:
    """Only a time-out can tell that something stays."""
    return kept_in_memory(answer, memory) if answer.name.startswith("group-") else answer


@false_answer("WRC-LIF-004", to="pods", check=FINISHED_PODS, says="the finished Pods went with their PodGroup")
def finished_pods_go_with_their_group(answer: Answer, memory: Memory) -> Answer:
    gone = is_found(answer) and is_finished(answer.body) and not groups_beside(answer.body, memory)
    return not_found(answer) if gone else answer


@lie("WRC-LIF-004", shows="PodGroup", check=TERMINATING, says="is gone, although its member is still terminating")
def group_goes_with_a_member_that_is_only_marked(group: Object, memory: Memory) -> Shown:
    active = [one for one in pods_beside(group, memory) if not one["metadata"].get("deletionTimestamp")]
    if active or not group["metadata"].get("deletionTimestamp"):
        yield group


@lie("WRC-LIF-004", shows="ResourceClaim", check=TERMINATING, says="is gone, although a member is terminating")
def reservation_goes_with_a_member_that_is_only_marked(claim: Object, memory: Memory) -> Shown:
    if is_of_a_pod_group(claim) and any(p["metadata"].get("deletionTimestamp") for p in pods_beside(claim, memory)):
        del claim["status"]["reservedFor"]
    yield claim


@false_answer("WRC-LIF-004", to="resourceclaims", check=TERMINATING, says="is gone, although a member is still")
def claim_goes_with_a_member_that_is_only_marked(answer: Answer, memory: Memory) -> Answer:
    marked = is_found(answer) and any(
        pod["metadata"].get("deletionTimestamp") for pod in pods_beside(answer.body, memory)
    )
    return not_found(answer) if marked and answer.name.startswith("group-") else answer


@lie("WRC-LIF-005", shows="ResourceClaim", lingers=True, says="-shared-")
def generated_claim_outlives_its_group(claim: Object, _memory: Memory) -> Shown:
    yield claim


@false_answer("WRC-LIF-005", to="resourceclaims", says="-spare-")
def unused_claim_outlives_its_group(answer: Answer, memory: Memory) -> Answer:
    return kept_in_memory(answer, memory) if "-spare-" in answer.name else answer


@lie("WRC-LIF-005", shows="ResourceClaim", check=USED, says="deleted while it was still reserved")
def used_claim_is_deleted_while_it_is_reserved(claim: Object, memory: Memory) -> Shown:
    yield with_lasting("reservedFor", claim, memory)


@lie("WRC-LIF-005", shows="ResourceClaim", check=USED, says="deleted while it was still allocated")
def used_claim_is_deleted_while_it_is_allocated(claim: Object, memory: Memory) -> Shown:
    yield with_lasting("allocation", claim, memory)


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


@lie("WRC-LIF-006", shows="PodGroup", says="was released before its PodGroup was gone")
def claims_are_released_before_their_group_is_gone(group: Object, memory: Memory) -> Shown:
    """The last PodGroup seems to have gone later than it did."""
    if name_of(group) == "group-3" and name_of(group) not in groups_beside(group, memory):
        group["metadata"]["resourceVersion"] = str(int(group["metadata"]["resourceVersion"]) + 1000)
    yield group


@lie("WRC-LIF-006", shows="ResourceClaim", says="lost its finalizer before it was released")
def one_claim_loses_its_finalizer_before_it_is_released(claim: Object, _memory: Memory) -> Shown:
    if any(entry["name"] == "group-3" for entry in entries_of(claim)):
        claim["metadata"]["finalizers"] = ["example.com/foreign"]
    yield claim


@lie("WRC-LIF-006", shows="ResourceClaim", only="[template]", says="deleted while it was still allocated")
def last_claim_is_deleted_while_it_is_allocated(claim: Object, memory: Memory) -> Shown:
    """Its finalizer seems to stay, too."""
    held = claim["metadata"].get("finalizers") or ["resource.kubernetes.io/delete-protection"]
    shown = with_lasting("allocation", claim, memory)
    if shown.get("status", {}).get("allocation"):
        claim["metadata"]["finalizers"] = held
    yield shown


@lie("WRC-LIF-006", shows="ResourceClaim", only="[named]", says="is untouched: not so after")
def named_claim_keeps_its_finalizer(claim: Object, memory: Memory) -> Shown:
    """Only a time-out can tell that something stays."""
    if lost_consumers(claim, memory):
        claim["metadata"]["finalizers"] = ["resource.kubernetes.io/delete-protection"]
    yield claim


@false_answer("WRC-LIF-008", to="resourceclaims", only="[template]", says="-shared-")
def claim_outlives_a_group_without_finalizer(answer: Answer, memory: Memory) -> Answer:
    """Only a time-out can tell that something stays."""
    return kept_in_memory(answer, memory) if answer.name.startswith("group-") else answer


@lie("WRC-LIF-008", shows="ResourceClaim", only="[named]", says="is untouched: not so after")
def pods_of_a_lost_group_keep_its_claim(claim: Object, memory: Memory) -> Shown:
    """Only a time-out can tell that something stays."""
    yield with_lasting("reservedFor", claim, memory)


@lie("WRC-LIF-008", shows="ResourceClaim", says="the device of the lost PodGroup must be free for the next Pod")
def next_pod_gets_another_device_than_the_lost_group(claim: Object, _memory: Memory) -> Shown:
    if any(entry["resource"] == "pods" for entry in entries_of(claim)):
        claim["status"]["allocation"]["devices"]["results"][0]["device"] = "device-1"
    yield claim


@false_answer("WRC-LIF-008", to="pods", says="the Pods went with their PodGroup")
def pods_go_with_a_group_that_lost_its_finalizer(answer: Answer, memory: Memory) -> Answer:
    lost = is_found(answer) and answer.body["spec"].get("schedulingGroup") and not groups_beside(answer.body, memory)
    return not_found(answer) if lost else answer


@false_answer("WRC-LIF-011", to="namespaces", says="is gone: not so after")
def namespace_hangs(answer: Answer, memory: Memory) -> Answer:
    """Only a time-out can tell that something stays."""
    return kept_in_memory(answer, memory)


@false_answer("WRC-LIF-011", to="podgroups", says="the namespace is gone, but there are ['PodGroup deleted']")
def group_under_deletion_outlives_its_namespace(answer: Answer, memory: Memory) -> Answer:
    if "items" in answer.body and "deleted" in memory.facts:
        answer.body["items"] = [memory.facts["deleted"]]
    elif answer.method == "DELETE" and answer.name == "deleted":
        memory.facts["deleted"] = answer.body
    return answer


@lie("WRC-LIF-012", shows="ResourceClaim", check=ORPHANS, says="is untouched: not so after")
def orphan_stays_allocated_for_ever(claim: Object, memory: Memory) -> Shown:
    """Only a time-out can tell that something stays."""
    yield with_lasting("allocation", claim, memory)


@false_answer("WRC-LIF-012", to="resourceclaims", check=ORPHANS, says="must stay without its PodGroup, but is gone")
def unused_claim_goes_instead_of_being_orphaned(answer: Answer, memory: Memory) -> Answer:
    """It is there for a moment yet."""
    gone = is_found(answer) and "-spare-" in answer.name and not groups_beside(answer.body, memory)
    looks = memory.facts["looks"] = memory.facts.get("looks", 0) + gone
    return not_found(answer) if looks > 1 else answer


@lie("WRC-LIF-012", shows="ResourceClaim", check=ORPHANS, says="must have no owner any more")
def unused_orphan_keeps_its_owner(claim: Object, memory: Memory) -> Shown:
    owners = claim["metadata"].get("ownerReferences") or memory.facts.get(name_of(claim))
    if owners and "-spare-" in name_of(claim):
        memory.facts[name_of(claim)] = claim["metadata"]["ownerReferences"] = owners
    yield claim


@lie("WRC-LIF-012", shows="ResourceClaim", check=ORPHANS, says="but is marked for deletion")
def orphan_is_marked_for_deletion(claim: Object, memory: Memory) -> Shown:
    if lost_consumers(claim, memory):
        claim["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    yield claim


@false_answer("WRC-LIF-012", to="podgroups", check=FOREGROUND, says="PodGroup group is gone: not so after")
def foreground_deletion_waits_for_claims(answer: Answer, memory: Memory) -> Answer:
    """Only a time-out can tell that something stays."""
    return kept_in_memory(answer, memory) if answer.name == "group" else answer


@false_answer("WRC-LIF-012", to="resourceclaims", check=FOREGROUND, says="went, although a finalizer holds it")
def unused_claim_goes_in_spite_of_its_finalizer(answer: Answer, memory: Memory) -> Answer:
    gone = is_found(answer) and "-spare-" in answer.name and not groups_beside(answer.body, memory)
    return not_found(answer) if gone else answer


@lie("WRC-LIF-012", shows="ResourceClaim", check=FOREGROUND, says="is being deleted: not so after")
def unused_claim_is_left_alone_by_a_deletion_in_the_foreground(claim: Object, _memory: Memory) -> Shown:
    """Only a time-out can tell that something is missing."""
    if "-spare-" in name_of(claim):
        claim["metadata"].pop("deletionTimestamp", None)
    yield claim
