# SPDX-License-Identifier: Apache-2.0
"""Lies about whose PodGroup counts for a Pod, and about Pods that come before it."""

from tests.lies.lie import Answer, Memory, Object, Shown, false_answer, lie, name_of, uid_of
from tests.lies.matching import ALLOCATION, OTHER_UID, POD, consumers_of, is_of_a_pod, owners_of
from tests.lies.reservation import pods_beside

OWN_GROUP = "test_only_the_entries_of_the_own_group_count"
TWO_NAMESPACES = "test_groups_of_one_name_in_two_namespaces_are_independent"
TEMPLATE_OR_NAMED = "test_pods_wait_for_a_group_that_does_not_exist_yet"
OWN_CLAIMS = "test_own_claims_wait_for_the_group_too"


def claim_statuses(shown: Object) -> dict[str, Object]:
    """Return ``status.resourceClaimStatuses`` by entry; the values may be changed in place."""
    return {one["name"]: one for one in shown.get("status", {}).get("resourceClaimStatuses", ())}


def group_of(pod: Object) -> str:
    """Return the name of the PodGroup that a Pod belongs to, or an empty string."""
    return str((pod["spec"].get("schedulingGroup") or {}).get("podGroupName", ""))


def record(shown: Object, memory: Memory, entry: str = "shared") -> str:
    """Remember the first claim that a PodGroup records for the entry, and return it."""
    if shown["kind"] == "PodGroup" and entry in claim_statuses(shown):
        memory.facts.setdefault(entry, claim_statuses(shown)[entry]["resourceClaimName"])
    return str(memory.facts.get(entry, ""))


def in_second_namespace(shown: Object, memory: Memory) -> bool:
    """Tell whether this lies in another namespace than the first object that was shown."""
    namespace = shown["metadata"]["namespace"]
    return bool(memory.facts.setdefault("namespace", namespace) != namespace)


@lie("WRC-MAT-008", shows="PodGroup Pod", check=OWN_GROUP, says="must be owned by this Pod alone")
def entry_of_any_group_matches(shown: Object, memory: Memory) -> Shown:
    """A Pod of the third PodGroup uses the claim of the first."""
    claim = record(shown, memory)
    if shown["kind"] == "Pod" and group_of(shown) == "third" and "shared" in claim_statuses(shown):
        claim_statuses(shown)["shared"]["resourceClaimName"] = claim
    yield shown


@lie("WRC-MAT-008", shows="PodGroup Pod", check=OWN_GROUP, says="members of PodGroup second must use ResourceClaim")
def one_pod_of_the_second_group_uses_the_claim_of_the_first(shown: Object, memory: Memory) -> Shown:
    claim = record(shown, memory)
    of_second = shown["kind"] == "Pod" and group_of(shown) == "second" and "shared" in claim_statuses(shown)
    if of_second and memory.facts.setdefault("astray", uid_of(shown)) == uid_of(shown):
        claim_statuses(shown)["shared"]["resourceClaimName"] = claim
    yield shown


@lie("WRC-MAT-008", shows="ResourceClaim", check=OWN_GROUP, says="must be reserved for PodGroup second alone")
def claim_of_the_second_group_is_reserved_for_the_first(claim: Object, memory: Memory) -> Shown:
    if name_of(claim).startswith("first-") and consumers_of(claim):
        memory.facts["first"] = consumers_of(claim)[0]
    if name_of(claim).startswith("second-") and consumers_of(claim):
        claim["status"]["reservedFor"] = [memory.facts.get("first", POD)]
    yield claim


@lie("WRC-MAT-008", shows="ResourceClaim", check=OWN_GROUP, says="must be reserved for Pod")
def own_claim_is_reserved_for_a_group_without_that_entry(claim: Object, _memory: Memory) -> Shown:
    if is_of_a_pod(claim):
        for consumer in consumers_of(claim):
            consumer |= {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "third", "uid": OTHER_UID}
    yield claim


@lie("WRC-MAT-008", shows="ResourceClaim", check=OWN_GROUP, says="two PodGroups and a Pod must use three devices")
def groups_with_equal_entries_share_a_device(claim: Object, memory: Memory) -> Shown:
    if not is_of_a_pod(claim):
        for result in claim["status"].get("allocation", {}).get("devices", {}).get("results", ()):
            result["device"] = memory.facts.setdefault("device", result["device"])
    yield claim


@lie("WRC-MAT-008", shows="ResourceClaim", check=TWO_NAMESPACES, says="must be reserved for PodGroup group alone")
def reservation_in_the_second_namespace_is_for_the_group_in_the_first(claim: Object, memory: Memory) -> Shown:
    """Only the uid tells one from the other."""
    for consumer in consumers_of(claim):
        consumer["uid"] = memory.facts.setdefault("uid", consumer["uid"])
    yield claim


@lie(
    "WRC-MAT-008",
    shows="ResourceClaim",
    check=TWO_NAMESPACES,
    only="[template]",
    says="has recorded, must be controlled by it",
)
def claim_in_the_second_namespace_belongs_to_the_group_in_the_first(claim: Object, memory: Memory) -> Shown:
    for owner in owners_of(claim):
        owner["uid"] = memory.facts.setdefault("owner", owner["uid"])
    yield claim


@lie("WRC-MAT-008", shows="ResourceClaim", check=TWO_NAMESPACES, says="is not allocated")
def claim_in_the_second_namespace_is_not_allocated(claim: Object, memory: Memory) -> Shown:
    if in_second_namespace(claim, memory):
        claim["status"].pop("allocation", None)
    yield claim


@lie("WRC-MAT-008", shows="ResourceClaim", check=TWO_NAMESPACES, says="and the claim was released")
def claim_was_allocated_before_and_is_released(claim: Object, memory: Memory) -> Shown:
    """The first version of the claim in the first namespace is shown with what the later ones lack."""
    versions: list[str] = memory.facts.setdefault(uid_of(claim), [])
    if (version := claim["metadata"]["resourceVersion"]) not in versions:
        versions.append(version)
    if version == versions[0] and not in_second_namespace(claim, memory):
        claim["status"]["allocation"] = ALLOCATION
    yield claim


@false_answer(
    "WRC-MAT-008", to="podgroups", check=TWO_NAMESPACES, says="went with one of its name in another namespace"
)
def group_goes_with_one_of_its_name(answer: Answer, memory: Memory) -> Answer:
    """It is gone when the PodGroup of the barrier is created, after the one in the second namespace has gone."""
    if answer.method == "POST" and answer.sent["metadata"]["name"].startswith("barrier"):
        memory.facts["barrier"] = True
    if memory.facts.get("barrier") and answer.method == "GET" and answer.name == "group":
        return answer.rejected(404, "NotFound", "group not found")
    return answer


@lie("WRC-MAT-009", shows="Pod ResourceClaim", says="must not change it")
def each_member_is_reserved(shown: Object, memory: Memory) -> Shown:
    if shown["kind"] == "ResourceClaim" and consumers_of(shown) and not is_of_a_pod(shown):
        consumers_of(shown).extend([POD for pod in pods_beside(shown, memory)[1:] if group_of(pod)])
    yield shown


@lie("WRC-MAT-009", shows="ResourceClaim", says="must not change it")
def member_without_entries_moves_the_allocation(claim: Object, memory: Memory) -> Shown:
    alone = [pod for pod in pods_beside(claim, memory) if not pod["spec"].get("resourceClaims")]
    if alone and consumers_of(claim) and not is_of_a_pod(claim):
        claim["status"]["allocation"] = ALLOCATION
    yield claim


@lie("WRC-MAT-009", shows="Pod", says="a member without entries must have no ResourceClaim in its status")
def member_without_entries_inherits_those_of_its_group(pod: Object, _memory: Memory) -> Shown:
    if group_of(pod) and not pod["spec"].get("resourceClaims"):
        pod["status"]["resourceClaimStatuses"] = [{"name": "shared", "resourceClaimName": "any"}]
    yield pod


@lie("WRC-MAT-009", shows="Pod", says="must name the claims of its own entries only")
def member_with_other_entries_inherits_those_of_its_group(pod: Object, _memory: Memory) -> Shown:
    if "own" in claim_statuses(pod):
        pod["status"]["resourceClaimStatuses"].append({"name": "unused", "resourceClaimName": "any"})
    yield pod


@lie("WRC-MAT-009", shows="ResourceClaim", says="must be reserved for Pod")
def own_claim_of_a_member_is_reserved_for_its_group(claim: Object, _memory: Memory) -> Shown:
    if is_of_a_pod(claim):
        for consumer in consumers_of(claim):
            consumer |= {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "group", "uid": OTHER_UID}
    yield claim


@lie("WRC-MAT-009", shows="Pod", says="has 2 bound Pods: not so after")
def member_without_entries_must_be_where_the_device_is(pod: Object, _memory: Memory) -> Shown:
    """Only a time-out can tell that something is missing."""
    if group_of(pod) and not pod["spec"].get("resourceClaims"):
        pod["spec"].pop("nodeName", None)
    yield pod


@lie("WRC-MAT-010", shows="Pod", says="are bound, although their PodGroup does not exist")
def one_pod_is_bound_before_its_group(pod: Object, memory: Memory) -> Shown:
    if group_of(pod) and memory.facts.setdefault("early", uid_of(pod)) == uid_of(pod):
        pod["spec"].setdefault("nodeName", "any")
    yield pod


@lie("WRC-MAT-010", shows="ResourceClaim", lingers=True, says="are generated for Pods whose PodGroup does not exist")
def pod_without_its_group_is_treated_as_one_of_none(claim: Object, memory: Memory) -> Shown:
    """The claim of the barrier's Pod is shown as one of the last Pod that waits."""
    waiting = [pod for pod in pods_beside(claim, memory) if group_of(pod)]
    if waiting and is_of_a_pod(claim):
        owners_of(claim)[0]["uid"] = uid_of(waiting[-1])
    yield claim


@lie("WRC-MAT-010", shows="Pod", says="no ResourceClaim can be known, but there are")
def claim_is_recorded_before_the_group_exists(pod: Object, _memory: Memory) -> Shown:
    if group_of(pod):
        pod["status"]["resourceClaimStatuses"] = [{"name": "shared", "resourceClaimName": "any"}]
    yield pod


@lie("WRC-MAT-010", shows="Pod", says="bound Pods: not so after")
def pod_that_came_too_early_waits_for_ever(pod: Object, memory: Memory) -> Shown:
    """Only a time-out can tell that something is missing."""
    if group_of(pod) == "group" and memory.facts.setdefault("early", uid_of(pod)) == uid_of(pod):
        pod["spec"].pop("nodeName", None)
    yield pod


@lie("WRC-MAT-010", shows="ResourceClaim", says="must be reserved for PodGroup group alone")
def early_pod_is_reserved_beside_its_group(claim: Object, _memory: Memory) -> Shown:
    if not is_of_a_pod(claim):
        consumers_of(claim).extend([POD for _ in consumers_of(claim)])
    yield claim


@lie("WRC-MAT-010", shows="Pod", check=TEMPLATE_OR_NAMED, only="[template]", says="members of PodGroup group must use")
def last_early_pod_uses_a_claim_of_its_own(pod: Object, memory: Memory) -> Shown:
    if "shared" in claim_statuses(pod) and memory.facts.setdefault("early", uid_of(pod)) == uid_of(pod):
        claim_statuses(pod)["shared"]["resourceClaimName"] = "its-own"
    yield pod


@lie("WRC-MAT-010", shows="Pod", check=OWN_CLAIMS, says="members of PodGroup group must use")
def statuses_of_an_early_pod_lack_the_claim_of_its_group(pod: Object, memory: Memory) -> Shown:
    if "own" in claim_statuses(pod) and memory.facts.setdefault("early", uid_of(pod)) == uid_of(pod):
        pod["status"]["resourceClaimStatuses"] = [claim_statuses(pod)["own"]]
    yield pod


@lie("WRC-MAT-010", shows="ResourceClaim", check=OWN_CLAIMS, says="must be reserved for Pod")
def own_claim_of_an_early_pod_is_taken_for_its_groups(claim: Object, _memory: Memory) -> Shown:
    if is_of_a_pod(claim):
        for consumer in consumers_of(claim):
            consumer |= {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "group", "uid": OTHER_UID}
    yield claim
