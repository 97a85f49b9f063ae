# SPDX-License-Identifier: Apache-2.0
"""Lies about when the ResourceClaim of a PodGroup is allocated, and whether it then stays as it is."""

from tests.lies.lie import Memory, Object, Shown, lie, twin, uid_of

FINALIZER = "resource.kubernetes.io/delete-protection"
OTHER_UID = "0b8f4b52-0000-4000-8000-000000000000"


def pods_up_to_now(shown: Object, memory: Memory) -> int:
    """Return the number of Pods shown so far, with ``shown`` if that is a Pod."""
    pods: set[str] = memory.facts.setdefault("pods", set())
    if shown["kind"] == "Pod":
        pods.add(uid_of(shown))
    return len(pods)


@lie("WRC-ALC-001", shows="ResourceClaim", says="no Pod uses the claim, so it must be untouched")
def claim_is_allocated_from_the_beginning(claim: Object, _memory: Memory) -> Shown:
    claim["status"]["allocation"] = {"devices": {}}
    yield claim


@lie("WRC-ALC-001", shows="ResourceClaim", only="[named]", says="no Pod uses the claim, so it must be untouched")
def named_claim_gets_a_finalizer_without_a_pod(claim: Object, _memory: Memory) -> Shown:
    claim["metadata"]["finalizers"] = [FINALIZER]
    yield claim


@lie("WRC-ALC-001", shows="ResourceClaim", only="[template]", says="no Pod uses the claim, so it must be untouched")
def generated_claim_is_reserved_without_a_pod(claim: Object, _memory: Memory) -> Shown:
    """The reservation comes with the generation, the allocation not yet."""
    for owner in claim["metadata"]["ownerReferences"]:
        consumer = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": owner["name"]}
        claim["status"].setdefault("reservedFor", [{**consumer, "uid": owner["uid"]}])
    yield claim


@lie("WRC-ALC-002", shows="Pod", says="the Pod was bound before the claim had its finalizer")
def pod_is_bound_before_its_claim_is_ready(pod: Object, _memory: Memory) -> Shown:
    """It has a node from the beginning; the claim follows."""
    pod["spec"].setdefault("nodeName", "any")
    yield pod


@lie("WRC-ALC-002", shows="ResourceClaim", says="the Pod was bound before the claim had its finalizer")
def claim_of_a_bound_pod_has_no_finalizer(claim: Object, _memory: Memory) -> Shown:
    claim["metadata"].pop("finalizers", None)
    yield claim


@lie("WRC-ALC-002", shows="ResourceClaim", says="the Pod was bound before its claim was allocated")
def claim_of_a_bound_pod_is_not_allocated(claim: Object, _memory: Memory) -> Shown:
    claim["status"].pop("allocation", None)
    yield claim


@lie("WRC-ALC-002", shows="ResourceClaim", only="[template]", says="before its claim was reserved")
def generated_claim_of_a_bound_pod_is_not_reserved(claim: Object, _memory: Memory) -> Shown:
    claim["status"].pop("reservedFor", None)
    yield claim


@lie("WRC-ALC-002", shows="ResourceClaim", only="[named]", says="before its claim was reserved for the PodGroup")
def named_claim_is_reserved_for_the_first_pod(claim: Object, _memory: Memory) -> Shown:
    for consumer in claim["status"].get("reservedFor", ()):
        del consumer["apiGroup"]
        consumer |= {"resource": "pods", "name": "member", "uid": OTHER_UID}
    yield claim


@lie("WRC-ALC-003", shows="Pod ResourceClaim", says="the allocation changed when more Pods came")
def second_pod_moves_the_allocation(shown: Object, memory: Memory) -> Shown:
    if pods_up_to_now(shown, memory) > 1 and shown["kind"] == "ResourceClaim":
        shown["status"]["allocation"]["devices"]["results"][0]["device"] = "any"
    yield shown


@lie("WRC-ALC-003", shows="Pod ResourceClaim", says="the allocation changed when more Pods came")
def sixth_pod_adds_a_device_to_the_allocation(shown: Object, memory: Memory) -> Shown:
    """Up to the fifth Pod, everything is right."""
    if pods_up_to_now(shown, memory) > 5 and shown["kind"] == "ResourceClaim":
        shown["status"]["allocation"]["devices"]["results"] *= 2
    yield shown


@lie("WRC-ALC-003", shows="ResourceClaim", says="the first Pod is bound, but the claim is not allocated")
def claim_is_never_allocated(claim: Object, _memory: Memory) -> Shown:
    claim["status"].pop("allocation", None)
    yield claim


@lie("WRC-ALC-003", shows="Pod ResourceClaim", only="[template]", says="all Pods must use the one ResourceClaim")
def third_pod_leads_to_a_second_generated_claim(shown: Object, memory: Memory) -> Shown:
    yield shown
    if pods_up_to_now(shown, memory) > 2 and shown["kind"] == "ResourceClaim":
        yield twin(shown, "second")


@lie("WRC-ALC-003", shows="Pod ResourceClaim", only="[named]", says="all Pods must use the one ResourceClaim")
def named_claim_is_replaced_for_the_third_pod(shown: Object, memory: Memory) -> Shown:
    if pods_up_to_now(shown, memory) > 2 and shown["kind"] == "ResourceClaim":
        shown["metadata"]["uid"] = OTHER_UID
    yield shown
