# SPDX-License-Identifier: Apache-2.0
"""Lies about a ResourceClaim that several users share, and about one that is deleted while it is used."""

from copy import deepcopy

from tests.lies.lie import Answer, Memory, Object, Shown, false_answer, lie, name_of, uid_of
from tests.lies.named_claims import consumers_of, is_released, members_of
from tests.lies.reservation import POD


def lost_consumers(claim: Object, memory: Memory) -> list[Object]:
    """Return the entries that once were in ``status.reservedFor`` of the claim and now are not."""
    seen: dict[str, Object] = memory.facts.setdefault(uid_of(claim), {})
    now = {one["uid"] for one in consumers_of(claim)}
    lost = [deepcopy(one) for uid, one in seen.items() if uid not in now]
    seen.update({one["uid"]: deepcopy(one) for one in consumers_of(claim)})
    return lost


def is_marked(claim: Object) -> bool:
    """Tell whether the claim is marked for deletion and still reserved; that of a barrier never is both."""
    return bool(claim["metadata"].get("deletionTimestamp") and consumers_of(claim))


def is_of_a_barrier(answer: Answer) -> bool:
    """Tell whether the answer is about the claim of a canary."""
    return answer.name.startswith("barrier")


@lie("WRC-NAM-004", shows="ResourceClaim", says="reservedFor must hold both PodGroups, and nothing else")
def second_group_is_served_without_a_reservation(claim: Object, _memory: Memory) -> Shown:
    del consumers_of(claim)[1:]
    yield claim


@lie("WRC-NAM-004", shows="ResourceClaim", says="reservedFor must hold both PodGroups, and nothing else")
def pod_of_the_second_group_is_reserved_too(claim: Object, _memory: Memory) -> Shown:
    if len(consumers_of(claim)) == 2:
        consumers_of(claim).append(POD)
    yield claim


@lie("WRC-NAM-004", shows="ResourceClaim", says="the allocation changed, although one of the PodGroups stays")
def claim_is_deallocated_with_the_first_of_two_groups(claim: Object, memory: Memory) -> Shown:
    if lost_consumers(claim, memory):
        claim["status"].pop("allocation", None)
    yield claim


@lie("WRC-NAM-004", shows="ResourceClaim", says="the PodGroup that stays must be alone in reservedFor")
def first_of_two_groups_takes_both_reservations(claim: Object, memory: Memory) -> Shown:
    if lost_consumers(claim, memory):
        consumers_of(claim).clear()
    yield claim


@lie("WRC-NAM-004", shows="ResourceClaim", says="the PodGroup that stays must be alone in reservedFor")
def last_of_two_groups_loses_its_reservation_with_its_pods(claim: Object, memory: Memory) -> Shown:
    if lost_consumers(claim, memory) and not members_of(claim, memory):
        consumers_of(claim).clear()
    yield claim


@lie("WRC-NAM-004", shows="ResourceClaim", says="for a moment, the ResourceClaim was released")
def claim_is_allocated_anew_when_the_first_group_goes(claim: Object, memory: Memory) -> Shown:
    """It has the same device again before anyone looks."""
    if lost_consumers(claim, memory) and members_of(claim, memory):
        claim["status"].pop("allocation", None)
    yield claim


@lie("WRC-NAM-004", shows="ResourceClaim", says="is not reserved for podgroups/")
def wrong_one_of_two_groups_loses_its_reservation(claim: Object, memory: Memory) -> Shown:
    """Only a time-out can tell that something stays."""
    lost = lost_consumers(claim, memory)
    if len(lost) == 1:
        claim["status"]["reservedFor"] = lost
    yield claim


@lie("WRC-NAM-004", shows="ResourceClaim", says="is untouched: not so after")
def claim_stays_allocated_after_both_groups(claim: Object, memory: Memory) -> Shown:
    """Only a time-out can tell that something stays."""
    if is_released(claim, memory):
        claim["status"]["allocation"] = memory.facts["used"]["status"]["allocation"]
    yield claim


@lie("WRC-NAM-005", shows="ResourceClaim", says="and both Pods that do not match, and nothing else")
def pod_of_another_group_is_served_without_a_reservation(claim: Object, _memory: Memory) -> Shown:
    claim["status"]["reservedFor"] = [one for one in consumers_of(claim) if not one["name"].startswith("stranger")]
    yield claim


@lie("WRC-NAM-005", shows="ResourceClaim", says="and both Pods that do not match, and nothing else")
def group_takes_over_from_the_pods(claim: Object, _memory: Memory) -> Shown:
    groups = [one for one in consumers_of(claim) if one["resource"] == "podgroups"]
    claim["status"]["reservedFor"] = groups or consumers_of(claim)
    yield claim


@lie("WRC-NAM-005", shows="ResourceClaim", says="so its entry must be gone from reservedFor, and only this one")
def first_to_go_takes_all_reservations(claim: Object, memory: Memory) -> Shown:
    if lost_consumers(claim, memory):
        consumers_of(claim).clear()
    yield claim


@lie(
    "WRC-NAM-005", shows="ResourceClaim", only="[loner-then-group", says="the group is gone, so its entry must be gone"
)
def group_takes_the_reservation_of_a_pod_with_it(claim: Object, memory: Memory) -> Shown:
    """A Pod that goes takes nothing but its own."""
    if any(one["resource"] == "podgroups" for one in lost_consumers(claim, memory)):
        consumers_of(claim).clear()
    yield claim


@lie("WRC-NAM-005", shows="ResourceClaim", only="[stranger-then", says="the loner is gone, so its entry must be gone")
def last_pod_takes_the_reservation_of_the_group_with_it(claim: Object, memory: Memory) -> Shown:
    if len(lost_consumers(claim, memory)) == 2:
        consumers_of(claim).clear()
    yield claim


@lie("WRC-NAM-005", shows="ResourceClaim", only="[loner-then-group", says="is not reserved for podgroups/group")
def group_stays_among_pods(claim: Object, memory: Memory) -> Shown:
    """Only a time-out can tell that something stays."""
    groups = [one for one in lost_consumers(claim, memory) if one["resource"] == "podgroups"]
    consumers_of(claim).extend(groups)
    yield claim


@lie("WRC-NAM-005", shows="ResourceClaim", says="the allocation changed, although the")
def last_user_gets_another_device(claim: Object, memory: Memory) -> Shown:
    if len(lost_consumers(claim, memory)) == 2 and consumers_of(claim):
        claim["status"]["allocation"]["devices"]["results"][0]["device"] = "any"
    yield claim


@lie("WRC-NAM-005", shows="ResourceClaim", says="is untouched: not so after")
def claim_stays_allocated_after_group_and_pods(claim: Object, memory: Memory) -> Shown:
    """Only a time-out can tell that something stays."""
    if is_released(claim, memory):
        claim["status"]["allocation"] = memory.facts["used"]["status"]["allocation"]
    yield claim


@lie("WRC-NAM-006", shows="ResourceClaim", says="is gone, although it is reserved for a PodGroup")
def reserved_claim_is_deleted_at_once(claim: Object, _memory: Memory) -> Shown:
    if not is_marked(claim):
        yield claim


@false_answer("WRC-NAM-006", to="resourceclaims", says="is gone, although it is reserved for a PodGroup")
def deleted_claim_goes_with_the_pods(answer: Answer, memory: Memory) -> Answer:
    found = answer.status == 200 and answer.name and not is_of_a_barrier(answer)
    if found and is_marked(answer.body) and not members_of(answer.body, memory):
        return answer.rejected(404, "NotFound", f"{answer.name} not found")
    return answer


@lie("WRC-NAM-006", shows="ResourceClaim", says="was deleted, but is not marked for deletion")
def deletion_of_a_reserved_claim_is_ignored(claim: Object, _memory: Memory) -> Shown:
    claim["metadata"].pop("deletionTimestamp", None)
    yield claim


@lie("WRC-NAM-006", shows="ResourceClaim", says="must be held by its finalizer")
def deletion_takes_the_finalizer(claim: Object, _memory: Memory) -> Shown:
    if is_marked(claim):
        claim["metadata"]["finalizers"] = ["example.com/foreign"]
    yield claim


@lie("WRC-NAM-006", shows="ResourceClaim", says="must keep allocation and reservation when it is deleted")
def deletion_takes_the_reservation(claim: Object, _memory: Memory) -> Shown:
    if is_marked(claim):
        consumers_of(claim).clear()
    yield claim


@lie("WRC-NAM-006", shows="ResourceClaim", says="must keep allocation and reservation when it is deleted")
def deleted_claim_is_deallocated_with_the_pods(claim: Object, memory: Memory) -> Shown:
    if is_marked(claim) and not members_of(claim, memory):
        claim["status"].pop("allocation", None)
    yield claim


@false_answer("WRC-NAM-006", to="resourceclaims", says="is gone: not so after")
def deleted_claim_stays_after_its_group(answer: Answer, memory: Memory) -> Answer:
    """Only a time-out can tell that something stays."""
    if not answer.name or is_of_a_barrier(answer):
        return answer
    if answer.status == 404:
        return memory.facts.get(answer.name, answer)  # type: ignore[no-any-return]
    memory.facts[answer.name] = answer
    return answer


@lie("WRC-NAM-007", shows="Pod", says="bound with a ResourceClaim that is marked for deletion")
def new_member_gets_a_claim_that_is_marked_for_deletion(pod: Object, _memory: Memory) -> Shown:
    """Its PodGroup has the reservation already."""
    if name_of(pod).startswith("late-member"):
        pod["spec"].setdefault("nodeName", "any")
    yield pod


@lie("WRC-NAM-007", shows="Pod", says="bound with a ResourceClaim that is marked for deletion")
def pod_without_a_group_gets_a_claim_that_is_marked_for_deletion(pod: Object, _memory: Memory) -> Shown:
    if name_of(pod).startswith("late-loner"):
        pod["spec"].setdefault("nodeName", "any")
    yield pod


@lie("WRC-NAM-007", shows="ResourceClaim", says="must keep allocation and reservation when it is deleted")
def claim_that_is_marked_for_deletion_is_reserved_for_a_late_pod(claim: Object, _memory: Memory) -> Shown:
    """The Pod is not bound yet."""
    if is_marked(claim) and consumers_of(claim):
        consumers_of(claim).append(POD)
    yield claim
