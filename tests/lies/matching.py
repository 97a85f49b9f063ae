# SPDX-License-Identifier: Apache-2.0
"""Lies about which entries of a Pod are its PodGroup's, and which are the Pod's own."""

from tests.lies.lie import Memory, Object, Shown, lie, name_of, uid_of

WITHOUT_A_GROUP = "test_pods_without_a_group_do_not_share"
OTHER_UID = "0b8f4b52-0000-4000-8000-000000000000"
FINALIZER = "resource.kubernetes.io/delete-protection"
POD = {"resource": "pods", "name": "somebody", "uid": OTHER_UID}
ALLOCATION = {"devices": {"results": [{"driver": "any", "pool": "any", "device": "any", "request": "any"}]}}


def consumers_of(claim: Object) -> list[Object]:
    """Return ``status.reservedFor``, to be changed in place; empty if there is none."""
    consumers: list[Object] = claim["status"].get("reservedFor", [])
    return consumers


def owners_of(claim: Object) -> list[Object]:
    """Return the owner references, to be changed in place; empty for a named claim."""
    owners: list[Object] = claim["metadata"].get("ownerReferences", [])
    return owners


def is_of_a_pod(shown: Object) -> bool:
    """Tell whether this is a claim that was generated for a Pod."""
    return [owner["kind"] for owner in owners_of(shown)] == ["Pod"]


def is_of_the_group(shown: Object) -> bool:
    """Tell whether this is a claim that was generated for the PodGroup of the check, which is named "group"."""
    return [owner["name"] for owner in owners_of(shown)] == ["group"]


def group_of(shown: Object, memory: Memory) -> Object:
    """Return the entry of ``reservedFor`` for the PodGroup of the check, which is the first one shown."""
    if shown["kind"] == "PodGroup":
        reference = {"resource": "podgroups", "name": name_of(shown), "uid": uid_of(shown)}
        memory.facts.setdefault("group", {"apiGroup": "scheduling.k8s.io", **reference})
    group: Object = memory.facts.get("group", {})
    return group


def record_claim_of_group(shown: Object, memory: Memory) -> None:
    """Let a Pod's status name the claim of the PodGroup that has shown one first."""
    for status in shown.get("status", {}).get("resourceClaimStatuses", ()):
        if shown["kind"] == "PodGroup":
            memory.facts.setdefault("claim", status["resourceClaimName"])
        else:
            status["resourceClaimName"] = memory.facts.get("claim", status["resourceClaimName"])


@lie("WRC-MAT-001", shows="ResourceClaim", says="reservedFor must hold the PodGroup alone")
def equal_named_entry_is_reserved_for_the_pod(claim: Object, _memory: Memory) -> Shown:
    consumers_of(claim)[:] = [POD for _ in consumers_of(claim)]
    yield claim


@lie("WRC-MAT-001", shows="ResourceClaim", says="reservedFor must hold the PodGroup alone")
def equal_named_entry_is_reserved_for_pod_and_group(claim: Object, _memory: Memory) -> Shown:
    consumers_of(claim).extend([POD for _ in consumers_of(claim)])
    yield claim


@lie("WRC-MAT-001", shows="ResourceClaim", says="reservedFor must hold the PodGroup alone")
def equal_named_entry_is_reserved_for_another_group_of_that_name(claim: Object, _memory: Memory) -> Shown:
    for consumer in consumers_of(claim):
        consumer["uid"] = OTHER_UID
    yield claim


@lie("WRC-MAT-001", shows="ResourceClaim", says="the ResourceClaim of its entry is not allocated")
def second_named_entry_of_the_group_is_ignored(claim: Object, _memory: Memory) -> Shown:
    if name_of(claim) == "shared-claim":
        claim["status"] = {}
    yield claim


@lie("WRC-MAT-002", shows="Pod", says="the Pod's status must name the claim of its PodGroup")
def pod_is_bound_without_a_recorded_claim(pod: Object, _memory: Memory) -> Shown:
    pod["status"].pop("resourceClaimStatuses", None)
    yield pod


@lie("WRC-MAT-002", shows="PodGroup Pod", says="the Pod's status must name the claim of its PodGroup")
def pod_is_recorded_with_the_claim_of_another_entry(shown: Object, memory: Memory) -> Shown:
    for status in shown["status"].get("resourceClaimStatuses", ()):
        if status["name"] == "other":
            memory.facts["other"] = status["resourceClaimName"]
        elif shown["kind"] == "Pod":
            status["resourceClaimName"] = memory.facts.get("other", "")
    yield shown


@lie("WRC-MAT-002", shows="ResourceClaim", says="the PodGroup must control the claim that its Pod uses")
def pod_controls_the_claim_of_its_group(claim: Object, _memory: Memory) -> Shown:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "somebody", "uid": OTHER_UID, "controller": True}
    claim["metadata"]["ownerReferences"] = [owner]
    yield claim


@lie("WRC-MAT-002", shows="ResourceClaim", says="the PodGroup must control the claim that its Pod uses")
def pod_group_owns_the_used_claim_without_controlling_it(claim: Object, _memory: Memory) -> Shown:
    for owner in owners_of(claim):
        owner["controller"] = False
    yield claim


@lie("WRC-MAT-002", shows="ResourceClaim", says="reservedFor must hold the PodGroup alone")
def equal_template_entry_is_reserved_for_the_pod(claim: Object, _memory: Memory) -> Shown:
    consumers_of(claim)[:] = [POD for _ in consumers_of(claim)]
    yield claim


@lie("WRC-MAT-002", shows="ResourceClaim", says="reservedFor must hold the PodGroup alone")
def equal_template_entry_is_reserved_for_pod_and_group(claim: Object, _memory: Memory) -> Shown:
    consumers_of(claim).extend([POD for _ in consumers_of(claim)])
    yield claim


@lie("WRC-MAT-002", shows="ResourceClaim", says="the ResourceClaim of its entry is not allocated")
def equal_template_entry_is_not_allocated(claim: Object, _memory: Memory) -> Shown:
    claim["status"].pop("allocation", None)
    yield claim


@lie("WRC-MAT-003", shows="PodGroup Pod", says="must be owned by this Pod alone")
def equal_template_makes_a_match(shown: Object, memory: Memory) -> Shown:
    record_claim_of_group(shown, memory)
    yield shown


@lie("WRC-MAT-003", shows="PodGroup ResourceClaim", says="must be reserved for Pod")
def renamed_entry_is_reserved_for_the_group(shown: Object, memory: Memory) -> Shown:
    group = group_of(shown, memory)
    if is_of_a_pod(shown):
        consumers_of(shown)[:] = [group for _ in consumers_of(shown)]
    yield shown


@lie("WRC-MAT-003", shows="PodGroup ResourceClaim", says="must be reserved for Pod")
def renamed_entry_is_reserved_for_pod_and_group(shown: Object, memory: Memory) -> Shown:
    group = group_of(shown, memory)
    if is_of_a_pod(shown):
        consumers_of(shown).extend([group for _ in consumers_of(shown)])
    yield shown


@lie("WRC-MAT-003", shows="ResourceClaim", says="must be owned by this Pod alone")
def pod_group_owns_the_claim_of_a_renamed_entry_too(claim: Object, _memory: Memory) -> Shown:
    if is_of_a_pod(claim):
        owners_of(claim).append({**owners_of(claim)[0], "kind": "PodGroup", "name": "group", "uid": OTHER_UID})
    yield claim


@lie("WRC-MAT-003", shows="ResourceClaim", says="is not allocated")
def claim_of_a_renamed_entry_is_not_allocated(claim: Object, _memory: Memory) -> Shown:
    claim["status"].pop("allocation", None)
    yield claim


@lie("WRC-MAT-003", shows="ResourceClaim", says="so it must be untouched")
def claim_of_the_group_is_allocated_beside_a_renamed_entry(claim: Object, _memory: Memory) -> Shown:
    if is_of_the_group(claim):
        claim["status"]["allocation"] = ALLOCATION
    yield claim


@lie("WRC-MAT-003", shows="ResourceClaim", says="so it must be untouched")
def claim_of_the_group_gets_a_finalizer_beside_a_renamed_entry(claim: Object, _memory: Memory) -> Shown:
    if is_of_the_group(claim):
        claim["metadata"]["finalizers"] = [FINALIZER]
    yield claim


@lie("WRC-MAT-004", shows="PodGroup Pod", says="must be owned by this Pod alone")
def equal_name_makes_a_match(shown: Object, memory: Memory) -> Shown:
    record_claim_of_group(shown, memory)
    yield shown


@lie("WRC-MAT-004", shows="ResourceClaim", says="the Pod's claim must come from the Pod's template")
def own_claim_is_made_from_the_template_of_the_group(claim: Object, _memory: Memory) -> Shown:
    claim["spec"]["devices"]["requests"][0]["exactly"]["count"] = 1
    yield claim


@lie("WRC-MAT-004", shows="PodGroup ResourceClaim", says="must be reserved for Pod")
def entry_with_another_template_is_reserved_for_pod_and_group(shown: Object, memory: Memory) -> Shown:
    group = group_of(shown, memory)
    if is_of_a_pod(shown):
        consumers_of(shown).extend([group for _ in consumers_of(shown)])
    yield shown


@lie("WRC-MAT-004", shows="ResourceClaim", says="must be reserved for Pod")
def entry_with_another_template_is_reserved_for_another_pod_of_that_name(claim: Object, _memory: Memory) -> Shown:
    for consumer in consumers_of(claim):
        consumer["uid"] = OTHER_UID
    yield claim


@lie("WRC-MAT-004", shows="PodGroup ResourceClaim", says="so it must be untouched")
def claim_of_the_group_is_used_beside_an_entry_with_another_template(shown: Object, memory: Memory) -> Shown:
    group = group_of(shown, memory)
    if is_of_the_group(shown):
        shown["status"] = {"allocation": ALLOCATION, "reservedFor": [group]}
    yield shown


@lie("WRC-MAT-005", shows="PodGroup ResourceClaim", says="it must be reserved for the Pod alone")
def entry_with_another_source_is_reserved_for_the_group(shown: Object, memory: Memory) -> Shown:
    group = group_of(shown, memory)
    if shown["kind"] == "ResourceClaim":
        consumers_of(shown)[:] = [group for _ in consumers_of(shown)]
    yield shown


@lie(
    "WRC-MAT-005",
    shows="PodGroup ResourceClaim",
    only="[named-template]",
    says="it must be reserved for the Pod alone",
)
def template_of_a_pod_matches_any_named_claim(shown: Object, memory: Memory) -> Shown:
    """The claim is then reserved for both."""
    group = group_of(shown, memory)
    if is_of_a_pod(shown):
        consumers_of(shown).extend([group for _ in consumers_of(shown)])
    yield shown


@lie("WRC-MAT-005", shows="PodGroup ResourceClaim", only="[template-named]", says="is reserved for its PodGroup")
def named_claim_of_a_pod_makes_the_group_reserve_its_own(shown: Object, memory: Memory) -> Shown:
    group = group_of(shown, memory)
    if is_of_the_group(shown):
        shown["status"] = {"allocation": ALLOCATION, "reservedFor": [group]}
    yield shown


@lie("WRC-MAT-005", shows="PodGroup ResourceClaim", only="[named-named]", says="is reserved for its PodGroup")
def all_named_claims_are_taken_for_equal(shown: Object, memory: Memory) -> Shown:
    """The Pod's claim is reserved for the Pod, and the PodGroup's for the PodGroup."""
    group = group_of(shown, memory)
    if name_of(shown) == "one":
        shown["status"] = {"allocation": ALLOCATION, "reservedFor": [group]}
    yield shown


@lie("WRC-MAT-005", shows="ResourceClaim", says="so it must be untouched")
def claim_of_the_group_gets_a_finalizer_beside_another_source(claim: Object, _memory: Memory) -> Shown:
    if "allocation" not in claim["status"]:
        claim["metadata"]["finalizers"] = [FINALIZER]
    yield claim


@lie("WRC-MAT-005", shows="ResourceClaim", says="is bound, but the ResourceClaim of its entry is not allocated")
def entry_with_another_source_is_not_allocated(claim: Object, _memory: Memory) -> Shown:
    claim["status"] = {}
    yield claim


@lie("WRC-MAT-007", shows="PodGroup Pod", check=WITHOUT_A_GROUP, says="must be owned by this Pod alone")
def pods_without_a_group_use_the_claim_of_a_group(shown: Object, memory: Memory) -> Shown:
    record_claim_of_group(shown, memory)
    yield shown


@lie("WRC-MAT-007", shows="Pod", check=WITHOUT_A_GROUP, says="must be owned by this Pod alone")
def pods_without_a_group_share_the_claim_of_the_first(pod: Object, memory: Memory) -> Shown:
    if "schedulingGroup" not in pod["spec"]:
        for status in pod["status"].get("resourceClaimStatuses", ()):
            status["resourceClaimName"] = memory.facts.setdefault("first", status["resourceClaimName"])
    yield pod


@lie("WRC-MAT-007", shows="PodGroup ResourceClaim", check=WITHOUT_A_GROUP, says="must be reserved for Pod")
def claim_of_the_second_pod_is_reserved_for_the_group_too(shown: Object, memory: Memory) -> Shown:
    group = group_of(shown, memory)
    if is_of_a_pod(shown) and uid_of(shown) != memory.facts.setdefault("first", uid_of(shown)):
        consumers_of(shown).extend([group for _ in consumers_of(shown)])
    yield shown


@lie("WRC-MAT-007", shows="ResourceClaim", check=WITHOUT_A_GROUP, says="must use three devices")
def all_claims_get_the_device_of_the_first(claim: Object, memory: Memory) -> Shown:
    for result in claim["status"].get("allocation", {}).get("devices", {}).get("results", ()):
        result["device"] = memory.facts.setdefault("device", result["device"])
    yield claim


@lie("WRC-MAT-007", shows="ResourceClaim", check=WITHOUT_A_GROUP, says="must use three devices")
def pods_without_a_group_share_a_device(claim: Object, memory: Memory) -> Shown:
    if is_of_a_pod(claim) and "allocation" in claim["status"]:
        [result] = claim["status"]["allocation"]["devices"]["results"]
        result["device"] = memory.facts.setdefault("device", result["device"])
    yield claim


@lie("WRC-MAT-007", shows="ResourceClaim", check=WITHOUT_A_GROUP, says="each of the three claims needs one device")
def claim_of_the_group_gets_a_device_for_each_member(claim: Object, _memory: Memory) -> Shown:
    if is_of_the_group(claim) and "allocation" in claim["status"]:
        claim["status"]["allocation"]["devices"]["results"] *= 2
    yield claim
