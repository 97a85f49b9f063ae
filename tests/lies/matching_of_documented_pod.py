# SPDX-License-Identifier: Apache-2.0
"""Lies about the documented Pod, whose entries are partly its own, and about another name for a group's claim."""

from tests.lies.lie import Memory, Object, Shown, lie, name_of, uid_of
from tests.lies.matching import OTHER_UID, POD, consumers_of, is_of_a_pod, is_of_the_group, owners_of
from tests.lies.reservation import pods_beside

GROUP = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "group", "uid": OTHER_UID}


def is_second_pod(pod: Object, memory: Memory) -> bool:
    """Tell whether this is a Pod, and not the first one that was shown."""
    return bool(memory.facts.setdefault("first", uid_of(pod)) != uid_of(pod))


@lie("WRC-MAT-006", shows="ResourceClaim", says="pod-claim-claim is no match: it must be reserved for both Pods")
def one_match_pulls_the_own_named_claim_to_the_group(claim: Object, _memory: Memory) -> Shown:
    if name_of(claim) == "pod-claim-claim" and consumers_of(claim):
        claim["status"]["reservedFor"] = [GROUP]
    yield claim


@lie("WRC-MAT-006", shows="ResourceClaim", says="pod-claim-claim is no match: it must be reserved for both Pods")
def own_named_claim_is_reserved_for_the_first_pod_only(claim: Object, _memory: Memory) -> Shown:
    if name_of(claim) == "pod-claim-claim":
        del consumers_of(claim)[1:]
    yield claim


@lie("WRC-MAT-006", shows="ResourceClaim", says="must be reserved for Pod")
def one_match_pulls_the_own_generated_claim_to_the_group(claim: Object, _memory: Memory) -> Shown:
    if is_of_a_pod(claim) and consumers_of(claim):
        claim["status"]["reservedFor"] = [GROUP]
    yield claim


@lie("WRC-MAT-006", shows="ResourceClaim", says="pg-claim-claim must be reserved for the PodGroup alone")
def one_own_entry_pulls_the_named_claim_of_the_group_to_the_pod(claim: Object, _memory: Memory) -> Shown:
    if name_of(claim) == "pg-claim-claim":
        consumers_of(claim).extend([POD for _ in consumers_of(claim)])
    yield claim


@lie("WRC-MAT-006", shows="ResourceClaim", says="must be reserved for the PodGroup alone")
def second_pod_is_reserved_in_the_generated_claim_of_the_group(claim: Object, memory: Memory) -> Shown:
    if is_of_the_group(claim) and consumers_of(claim) and len(pods_beside(claim, memory)) == 2:
        consumers_of(claim).append(POD)
    yield claim


@lie("WRC-MAT-006", shows="ResourceClaim", says="the PodGroup must control the claim of its template entry")
def first_pod_controls_the_claim_of_the_group(claim: Object, _memory: Memory) -> Shown:
    if is_of_the_group(claim):
        owners_of(claim)[0]["uid"] = OTHER_UID
    yield claim


@lie("WRC-MAT-006", shows="Pod", says="must name the claims of both template entries")
def statuses_of_the_second_pod_lack_the_claim_of_the_group(pod: Object, memory: Memory) -> Shown:
    statuses = pod["status"].get("resourceClaimStatuses", ())
    if is_second_pod(pod, memory):
        pod["status"]["resourceClaimStatuses"] = [one for one in statuses if one["name"] == "pod-claim-template"]
    yield pod


@lie("WRC-MAT-006", shows="Pod", says="must name the claims of both template entries")
def statuses_list_a_named_entry_too(pod: Object, _memory: Memory) -> Shown:
    if pod["status"].get("resourceClaimStatuses"):
        pod["status"]["resourceClaimStatuses"].append({"name": "pod-claim", "resourceClaimName": "pod-claim-claim"})
    yield pod


@lie("WRC-MAT-006", shows="Pod", says="must be owned by this Pod alone")
def second_pod_uses_the_own_claim_of_the_first(pod: Object, memory: Memory) -> Shown:
    for status in pod["status"].get("resourceClaimStatuses", ()):
        if status["name"] == "pod-claim-template":
            status["resourceClaimName"] = memory.facts.setdefault("own", status["resourceClaimName"])
    yield pod


@lie("WRC-MAT-006", shows="ResourceClaim", says="pg-claim-claim is used by both Pods, but is not allocated")
def named_claim_of_the_group_is_forgotten(claim: Object, _memory: Memory) -> Shown:
    if name_of(claim) == "pg-claim-claim":
        claim["status"] = {}
    yield claim


# Red on v1.36.3 and v1.37.2, whose check of a reservation accepts the PodGroup by its name.
@lie("WRC-MAT-011", shows="ResourceClaim", heals=True)
def pod_is_reserved_under_the_other_name(claim: Object, memory: Memory) -> Shown:
    consumers_of(claim).extend(references_to_others(claim, memory))
    yield claim


@lie("WRC-MAT-011", shows="ResourceClaim", says="so reservedFor must hold the PodGroup and then this Pod")
def pod_of_the_other_name_takes_the_place_of_its_group(claim: Object, memory: Memory) -> Shown:
    claim["status"]["reservedFor"] = references_to_others(claim, memory) or consumers_of(claim)
    yield claim


def references_to_others(claim: Object, memory: Memory) -> list[Object]:
    """Return the entries in ``reservedFor`` for the Pods that name the claim as "alias"."""
    others = [
        pod for pod in pods_beside(claim, memory) if pod["spec"].get("resourceClaims", [{}])[0].get("name") == "alias"
    ]
    return [{"resource": "pods", "name": name_of(pod), "uid": uid_of(pod)} for pod in others]
