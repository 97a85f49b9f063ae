# SPDX-License-Identifier: Apache-2.0
"""Lies about what becomes of the ResourceClaims that a PodGroup names."""

from copy import deepcopy

from tests.lies.lie import Memory, Object, Shown, lie, name_of, twin, uid_of
from tests.lies.reservation import POD, pods_beside

OTHER_UID = "0b8f4b52-0000-4000-8000-000000000000"


def consumers_of(claim: Object) -> list[Object]:
    """Return ``status.reservedFor``; empty if there is none."""
    consumers: list[Object] = claim["status"].get("reservedFor", [])
    return consumers


def owner_reference(consumer: Object) -> Object:
    """Return the owner reference of the PodGroup that an entry of ``reservedFor`` stands for."""
    group = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "controller": True}
    return {**group, "name": consumer["name"], "uid": consumer["uid"]}


def is_released(claim: Object, memory: Memory) -> bool:
    """Tell whether the claim was used once and is no longer; ``facts["used"]`` is its first used version."""
    if consumers_of(claim):
        memory.facts.setdefault("used", deepcopy(claim))
    used = memory.facts.get("used", {"metadata": {}})
    return name_of(used) == name_of(claim) and not consumers_of(claim)


def is_member(pod: Object) -> bool:
    """Tell whether the Pod belongs to a PodGroup."""
    return bool(pod["spec"].get("schedulingGroup"))


def members_of(claim: Object, memory: Memory) -> list[Object]:
    """Return the Pods beside the claim that belong to a PodGroup; those of barriers do not."""
    return [pod for pod in pods_beside(claim, memory) if is_member(pod)]


@lie("WRC-NAM-001", shows="ResourceClaim", says="must gain a finalizer and change in nothing else")
def pod_group_becomes_the_owner_of_a_named_claim(claim: Object, _memory: Memory) -> Shown:
    if consumers_of(claim):
        claim["metadata"]["ownerReferences"] = [owner_reference(consumers_of(claim)[0])]
    yield claim


@lie("WRC-NAM-001", shows="ResourceClaim", says="ResourceClaim second-claim must gain a finalizer and")
def second_named_claim_gets_a_label(claim: Object, _memory: Memory) -> Shown:
    if name_of(claim) == "second-claim" and consumers_of(claim):
        claim["metadata"]["labels"]["scheduling.k8s.io/pod-group"] = "group"
    yield claim


@lie("WRC-NAM-001", shows="ResourceClaim", says="must gain a finalizer and change in nothing else")
def named_claim_is_annotated_with_its_entry(claim: Object, _memory: Memory) -> Shown:
    if consumers_of(claim):
        claim["metadata"]["annotations"] = {"resource.kubernetes.io/pod-claim-name": "first"}
    yield claim


@lie("WRC-NAM-001", shows="ResourceClaim", says="must gain a finalizer and change in nothing else")
def named_claim_is_replaced_by_one_of_the_same_name(claim: Object, _memory: Memory) -> Shown:
    if consumers_of(claim):
        claim["metadata"]["uid"] = OTHER_UID
    yield claim


@lie("WRC-NAM-001", shows="ResourceClaim", says="ResourceClaim second-claim must gain a finalizer and")
def spec_of_the_second_named_claim_is_changed(claim: Object, _memory: Memory) -> Shown:
    if name_of(claim) == "second-claim" and consumers_of(claim):
        claim["spec"]["devices"]["requests"][0]["exactly"]["count"] = 2
    yield claim


@lie("WRC-NAM-001", shows="ResourceClaim", says="second-claim, which the Pod uses, must be allocated")
def second_named_claim_is_not_allocated(claim: Object, _memory: Memory) -> Shown:
    if name_of(claim) == "second-claim":
        claim["status"] = {}
    yield claim


@lie("WRC-NAM-001", shows="ResourceClaim", says="may be created beside the two named ones, but there are")
def copy_of_a_named_claim_is_generated(claim: Object, _memory: Memory) -> Shown:
    yield claim
    if consumers_of(claim):
        copy = twin(claim, "copy")
        copy["metadata"]["ownerReferences"] = [owner_reference(consumers_of(claim)[0])]
        yield copy


@lie("WRC-NAM-001", shows="ResourceClaim", says="may be created beside the two named ones, but there are")
def second_named_claim_is_copied_without_an_owner(claim: Object, _memory: Memory) -> Shown:
    yield claim
    if name_of(claim) == "second-claim" and consumers_of(claim):
        yield twin(claim, "copy")


@lie("WRC-NAM-002", shows="ResourceClaim", says="nothing but its user may create a named ResourceClaim")
def missing_named_claim_is_created_by_the_control_plane(claim: Object, _memory: Memory) -> Shown:
    yield claim
    if name_of(claim) == "present-claim":
        yield twin(claim, "for-the-absent")


@lie("WRC-NAM-002", shows="ResourceClaim", lingers=True, says="nothing but its user may create a named ResourceClaim")
def last_pod_gets_a_claim_of_its_own_for_the_missing_one(claim: Object, memory: Memory) -> Shown:
    yield claim
    pods = members_of(claim, memory)
    if pods and name_of(claim) != "present-claim":  # the barrier's: it comes after all Pods
        own = twin(claim, "own")
        own["metadata"]["ownerReferences"] = [{"kind": "Pod", "uid": uid_of(pods[-1]), "controller": True}]
        yield own


@lie("WRC-NAM-002", shows="Pod", says="are bound, although a ResourceClaim that they name does not exist")
def third_pod_is_bound_without_the_missing_claim(pod: Object, memory: Memory) -> Shown:
    order: list[str] = memory.facts.setdefault("order", [])
    if uid_of(pod) not in order:
        order.append(uid_of(pod))
    if order.index(uid_of(pod)) == 2:
        pod["spec"].setdefault("nodeName", "any")
    yield pod


@lie("WRC-NAM-002", shows="Pod", says="has 3 bound Pods: not so after")
def one_pod_is_never_queued_again(pod: Object, memory: Memory) -> Shown:
    """Only a time-out can tell that something is missing."""
    if is_member(pod) and memory.facts.setdefault("first", uid_of(pod)) == uid_of(pod):
        pod["spec"].pop("nodeName", None)
    yield pod


@lie("WRC-NAM-002", shows="ResourceClaim", says="absent-claim must be reserved for the PodGroup alone")
def claim_that_came_late_is_reserved_for_a_pod(claim: Object, _memory: Memory) -> Shown:
    if name_of(claim) == "absent-claim":
        consumers_of(claim)[:] = [POD for _ in consumers_of(claim)]
    yield claim


@lie("WRC-NAM-002", shows="ResourceClaim", says="but ResourceClaim absent-claim is not allocated")
def claim_that_came_late_is_not_allocated(claim: Object, _memory: Memory) -> Shown:
    if name_of(claim) == "absent-claim":
        claim["status"] = {}
    yield claim


@lie("WRC-NAM-003", shows="ResourceClaim", says="the object does not exist")
def named_claim_goes_with_its_pod_group(claim: Object, memory: Memory) -> Shown:
    if not is_released(claim, memory):
        yield claim


@lie("WRC-NAM-003", shows="ResourceClaim", says="the object does not exist")
def named_claim_is_created_anew_after_its_pod_group(claim: Object, memory: Memory) -> Shown:
    if is_released(claim, memory):
        claim["metadata"]["uid"] = OTHER_UID
    yield claim


@lie("WRC-NAM-003", shows="ResourceClaim", says="is untouched: not so after")
def named_claim_stays_allocated_after_its_pod_group(claim: Object, memory: Memory) -> Shown:
    """Only a time-out can tell that something stays."""
    if is_released(claim, memory):
        claim["status"]["allocation"] = memory.facts["used"]["status"]["allocation"]
    yield claim


@lie("WRC-NAM-003", shows="ResourceClaim", says="is untouched: not so after")
def finalizer_of_a_named_claim_stays_after_its_pod_group(claim: Object, memory: Memory) -> Shown:
    """Only a time-out can tell that something stays."""
    if is_released(claim, memory):
        claim["metadata"]["finalizers"] = memory.facts["used"]["metadata"]["finalizers"]
    yield claim


@lie("WRC-NAM-003", shows="ResourceClaim", says="the named ResourceClaim is not what it was before")
def spec_of_a_named_claim_changes_after_its_pod_group(claim: Object, memory: Memory) -> Shown:
    if is_released(claim, memory):
        claim["spec"]["devices"]["requests"][0]["exactly"]["count"] = 2
    yield claim


@lie("WRC-NAM-003", shows="ResourceClaim", says="the named ResourceClaim is not what it was before")
def dead_pod_group_stays_the_owner_of_a_named_claim(claim: Object, memory: Memory) -> Shown:
    if is_released(claim, memory):
        claim["metadata"]["ownerReferences"] = [owner_reference(consumers_of(memory.facts["used"])[0])]
    yield claim


@lie("WRC-NAM-003", shows="ResourceClaim", says="the next PodGroup must be alone in reservedFor")
def reservation_for_the_dead_pod_group_comes_back(claim: Object, memory: Memory) -> Shown:
    if consumers_of(claim) and not is_released(claim, memory):
        dead = [one for one in consumers_of(memory.facts["used"]) if one not in consumers_of(claim)]
        claim["status"]["reservedFor"] = dead + consumers_of(claim)
    yield claim


@lie("WRC-NAM-003", shows="ResourceClaim", says="the next PodGroup must be alone in reservedFor")
def claim_is_reserved_for_the_name_of_the_dead_pod_group(claim: Object, _memory: Memory) -> Shown:
    """The uid is that of the next PodGroup."""
    for consumer in consumers_of(claim):
        consumer["name"] = "first"
    yield claim


@lie("WRC-NAM-003", shows="ResourceClaim", says="but the ResourceClaim is not allocated")
def named_claim_is_allocated_only_once(claim: Object, memory: Memory) -> Shown:
    """The next PodGroup gets nothing."""
    memory.facts["spent"] = memory.facts.get("spent", False) or is_released(claim, memory)
    if memory.facts["spent"]:
        claim["status"] = {}
    yield claim
