# SPDX-License-Identifier: Apache-2.0
"""Lies about the ResourceClaims that are generated from a ResourceClaimTemplate, and the statuses naming them."""

from copy import deepcopy

from tests.lies.lie import Memory, Object, Shown, lie, name_of, twin, uid_of

ONE_ENTRY = "test_one_claim_is_generated_for_the_whole_group_before_any_pod"
FOUR_ENTRIES = "test_each_entry_has_a_claim_of_its_own"

CLAIM_NAME_ANNOTATION = "resource.kubernetes.io/pod-claim-name"
FINALIZER = "resource.kubernetes.io/delete-protection"
POD = {"apiVersion": "v1", "kind": "Pod", "name": "somebody", "uid": "0b8f4b52-0000-4000-8000-000000000000"}


def entry_of(claim: Object) -> str:
    """Return the entry that a claim was generated for; empty for a named claim."""
    return str(claim["metadata"].get("annotations", {}).get(CLAIM_NAME_ANNOTATION, ""))


def statuses_of(shown: Object) -> dict[str, Object]:
    """Return ``status.resourceClaimStatuses`` by entry; the values may be changed in place."""
    return {one["name"]: one for one in shown.get("status", {}).get("resourceClaimStatuses", ())}


def pods_up_to_now(shown: Object, memory: Memory) -> list[str]:
    """Return the uids of the Pods shown so far in order, with ``shown`` if that is a Pod."""
    pods: list[str] = memory.facts.setdefault("pods", [])
    if shown["kind"] == "Pod" and uid_of(shown) not in pods:
        pods.append(uid_of(shown))
    return pods


@lie("WRC-GEN-001", shows="ResourceClaim", check=ONE_ENTRY, says="one generated ResourceClaim, but it controls")
def two_claims_are_generated(claim: Object, _memory: Memory) -> Shown:
    yield claim
    yield twin(claim, "second")


@lie("WRC-GEN-001", shows="ResourceClaim", check=ONE_ENTRY, says="one generated ResourceClaim, but it controls")
def second_claim_is_generated_later(claim: Object, memory: Memory) -> Shown:
    """It comes when the controller has generated a claim for another PodGroup."""
    first = memory.facts.setdefault("first", deepcopy(claim))
    yield claim
    if uid_of(claim) != uid_of(first):
        yield twin(first, "second")


@lie("WRC-GEN-001", shows="ResourceClaim", check=ONE_ENTRY, says="no other may exist")
def claim_without_an_owner_is_left_behind(claim: Object, _memory: Memory) -> Shown:
    orphan = twin(claim, "orphan")
    del orphan["metadata"]["ownerReferences"]
    yield claim
    yield orphan


@lie("WRC-GEN-001", shows="ResourceClaim PodGroup", check=ONE_ENTRY, says="records a ResourceClaim for shared: not")
def nothing_is_generated_before_the_first_pod(shown: Object, _memory: Memory) -> Shown:
    """Only a time-out can tell that something is missing."""
    if shown["kind"] == "PodGroup":
        yield {**shown, "status": {}}


@lie("WRC-GEN-001", shows="ResourceClaim", check=ONE_ENTRY, says="but does not exist")
def recorded_claim_does_not_exist(_claim: Object, _memory: Memory) -> Shown:
    return []


@lie("WRC-GEN-001", shows="ResourceClaim", check=ONE_ENTRY, says="no Pod exists, so the claim must be untouched")
def claim_is_generated_with_an_allocation(claim: Object, _memory: Memory) -> Shown:
    yield {**claim, "status": {"allocation": {"devices": {}}}}


@lie("WRC-GEN-001", shows="ResourceClaim", check=ONE_ENTRY, says="no Pod exists, so the claim must be untouched")
def claim_is_generated_with_a_finalizer(claim: Object, _memory: Memory) -> Shown:
    claim["metadata"]["finalizers"] = [FINALIZER]
    yield claim


@lie("WRC-GEN-001", shows="ResourceClaim PodGroup", check=FOUR_ENTRIES, says="the ResourceClaims are for ['first']")
def all_entries_share_one_claim(shown: Object, _memory: Memory) -> Shown:
    statuses = statuses_of(shown)
    for status in statuses.values():
        status["resourceClaimName"] = statuses.get("first", status)["resourceClaimName"]
    if shown["kind"] == "PodGroup" or entry_of(shown) not in {"second", "third", "fourth"}:
        yield shown


@lie("WRC-GEN-001", shows="ResourceClaim", check=FOUR_ENTRIES, says="['first', 'fourth', 'fourth',")
def fourth_entry_gets_two_claims(claim: Object, _memory: Memory) -> Shown:
    yield claim
    if entry_of(claim) == "fourth":
        yield twin(claim, "second")


@lie("WRC-GEN-001", shows="PodGroup", check=FOUR_ENTRIES, says="must name for each entry")
def third_entry_is_recorded_with_the_claim_of_the_first(group: Object, _memory: Memory) -> Shown:
    statuses = statuses_of(group)
    if "third" in statuses:
        statuses["third"]["resourceClaimName"] = statuses["first"]["resourceClaimName"]
    yield group


@lie("WRC-GEN-001", shows="ResourceClaim", check=FOUR_ENTRIES, says="those for ['fourth'] are not")
def fourth_claim_is_generated_with_a_finalizer(claim: Object, _memory: Memory) -> Shown:
    if entry_of(claim) == "fourth":
        claim["metadata"]["finalizers"] = [FINALIZER]
    yield claim


@lie("WRC-GEN-003", shows="ResourceClaim", says="must control the claim for 'plain', and be its only owner")
def generated_claim_has_no_owner(claim: Object, _memory: Memory) -> Shown:
    del claim["metadata"]["ownerReferences"]
    yield claim


@lie("WRC-GEN-003", shows="ResourceClaim", says="must control the claim for 'plain'")
def owner_is_no_controller(claim: Object, _memory: Memory) -> Shown:
    del claim["metadata"]["ownerReferences"][0]["controller"]
    yield claim


@lie("WRC-GEN-003", shows="ResourceClaim", says="must control the claim for 'annotated'")
def owner_of_the_second_claim_has_another_uid(claim: Object, _memory: Memory) -> Shown:
    if entry_of(claim) == "annotated":
        claim["metadata"]["ownerReferences"][0]["uid"] = POD["uid"]
    yield claim


@lie("WRC-GEN-003", shows="ResourceClaim", says="must control the claim for 'plain'")
def owner_has_an_api_version_that_is_not_served(claim: Object, _memory: Memory) -> Shown:
    claim["metadata"]["ownerReferences"][0]["apiVersion"] = "scheduling.k8s.io/v1alpha1"
    yield claim


@lie("WRC-GEN-003", shows="ResourceClaim", says="and be its only owner")
def first_pod_becomes_a_second_owner(claim: Object, _memory: Memory) -> Shown:
    if "allocation" in claim["status"]:
        claim["metadata"]["ownerReferences"].append(POD)
    yield claim


@lie("WRC-GEN-003", shows="ResourceClaim", says="must name the PodGroup's entry 'plain'")
def claim_does_not_name_its_entry(claim: Object, _memory: Memory) -> Shown:
    del claim["metadata"]["annotations"][CLAIM_NAME_ANNOTATION]
    yield claim


@lie("WRC-GEN-003", shows="ResourceClaim", says="must name the PodGroup's entry 'annotated'")
def annotation_of_the_template_wins(claim: Object, _memory: Memory) -> Shown:
    if entry_of(claim) == "annotated":
        claim["metadata"]["annotations"][CLAIM_NAME_ANNOTATION] = "of-the-template"
    yield claim


@lie("WRC-GEN-003", shows="ResourceClaim", says="must name the PodGroup's entry 'annotated'")
def second_claim_has_the_annotation_of_the_first(claim: Object, _memory: Memory) -> Shown:
    """As if both were made from one object in memory (kubernetes 141104)."""
    claim["metadata"]["annotations"][CLAIM_NAME_ANNOTATION] = "plain"
    yield claim


@lie("WRC-GEN-016", shows="ResourceClaim", says="the claim for 'first' must have its template's labels")
def labels_are_not_copied(claim: Object, _memory: Memory) -> Shown:
    del claim["metadata"]["labels"]
    yield claim


@lie("WRC-GEN-016", shows="ResourceClaim", says="the claim for 'first' must have its template's annotations")
def annotations_are_not_copied(claim: Object, _memory: Memory) -> Shown:
    claim["metadata"]["annotations"] = {CLAIM_NAME_ANNOTATION: entry_of(claim)}
    yield claim


@lie("WRC-GEN-016", shows="ResourceClaim", says="the claim for 'second' must have its template's labels")
def all_claims_have_the_labels_of_the_first_template(claim: Object, _memory: Memory) -> Shown:
    claim["metadata"]["labels"] = dict.fromkeys(claim["metadata"]["labels"], "first")
    yield claim


@lie("WRC-GEN-016", shows="ResourceClaim", says="the claim for 'first' must have its template's labels")
def labels_of_the_pod_group_are_copied_too(claim: Object, _memory: Memory) -> Shown:
    claim["metadata"]["labels"]["wrc.example.com/run"] = "of-the-group"
    yield claim


@lie("WRC-GEN-016", shows="ResourceClaim", says="the claim for 'second' must not set blockOwnerDeletion")
def second_claim_blocks_the_deletion_of_its_owner(claim: Object, _memory: Memory) -> Shown:
    if entry_of(claim) == "second":
        claim["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] = True
    yield claim


@lie("WRC-GEN-006", shows="PodGroup", says="the PodGroup's status must name")
def pod_group_status_lists_named_entries_too(group: Object, _memory: Memory) -> Shown:
    if statuses_of(group):
        named = [entry for entry in group["spec"]["resourceClaims"] if "resourceClaimName" in entry]
        group["status"]["resourceClaimStatuses"] += named
    yield group


@lie("WRC-GEN-006", shows="Pod", says="the Pod's status must name")
def pod_status_lists_its_last_named_entry_too(pod: Object, _memory: Memory) -> Shown:
    if statuses_of(pod):
        last = {"name": "named-b", "resourceClaimName": "named-b-claim"}
        pod["status"]["resourceClaimStatuses"].append(last)
    yield pod


@lie("WRC-GEN-006", shows="Pod", says="the Pod's status must name")
def pod_status_lacks_the_second_template_entry(pod: Object, _memory: Memory) -> Shown:
    first = [status for entry, status in statuses_of(pod).items() if entry == "template-a"]
    pod["status"]["resourceClaimStatuses"] = first
    yield pod


@lie("WRC-GEN-006", shows="PodGroup", says="a ResourceClaim for template-a and template-b: not")
def pod_group_status_lacks_the_second_template_entry(group: Object, _memory: Memory) -> Shown:
    """Only a time-out can tell that something is missing."""
    first = [status for entry, status in statuses_of(group).items() if entry == "template-a"]
    yield {**group, "status": {"resourceClaimStatuses": first}}


@lie("WRC-GEN-006", shows="PodGroup", says="the PodGroup's status must name")
def pod_group_status_swaps_the_claims(group: Object, _memory: Memory) -> Shown:
    statuses = statuses_of(group)
    if len(statuses) == 2:
        a, b = statuses["template-a"], statuses["template-b"]
        a["resourceClaimName"], b["resourceClaimName"] = b["resourceClaimName"], a["resourceClaimName"]
    yield group


@lie("WRC-GEN-006", shows="ResourceClaim", says="there are claims for ['named-a', 'template-a', 'template-b']")
def claim_is_generated_for_a_named_entry(claim: Object, _memory: Memory) -> Shown:
    yield claim
    if entry_of(claim) == "template-a":
        generated = twin(claim, "named")
        generated["metadata"]["annotations"][CLAIM_NAME_ANNOTATION] = "named-a"
        yield generated


@lie("WRC-GEN-006", shows="ResourceClaim", says="there are claims for ['template-a', 'template-b', 'template-b']")
def second_template_entry_gets_two_claims(claim: Object, _memory: Memory) -> Shown:
    yield claim
    if entry_of(claim) == "template-b":
        yield twin(claim, "second")


@lie("WRC-GEN-007", shows="Pod", says="but these do not: {")
def each_pod_is_recorded_with_a_claim_of_its_own(pod: Object, _memory: Memory) -> Shown:
    for status in statuses_of(pod).values():
        status["resourceClaimName"] = f"{name_of(pod)}-shared"
    yield pod


@lie("WRC-GEN-007", shows="Pod", says="but these do not: {")
def third_pod_is_recorded_with_another_claim(pod: Object, memory: Memory) -> Shown:
    if uid_of(pod) in pods_up_to_now(pod, memory)[2:3]:
        for status in statuses_of(pod).values():
            status["resourceClaimName"] += "-second"
    yield pod


@lie("WRC-GEN-007", shows="Pod ResourceClaim", says="no other may exist")
def third_pod_leads_to_a_second_claim_of_the_group(shown: Object, memory: Memory) -> Shown:
    """It is generated some time after, when another PodGroup gets its claim."""
    pods = pods_up_to_now(shown, memory)
    yield shown
    if shown["kind"] == "ResourceClaim":
        first = memory.facts.setdefault("first", deepcopy(shown))
        if uid_of(shown) != uid_of(first) and len(pods) > 2:
            yield twin(first, "second")


@lie("WRC-GEN-007", shows="ResourceClaim", says="no other may exist")
def claim_that_nobody_uses_is_generated_for_a_pod(claim: Object, _memory: Memory) -> Shown:
    yield claim
    if "allocation" in claim["status"]:
        unused = twin(claim, "unused")
        unused["status"] = {}
        unused["metadata"]["ownerReferences"] = [{**POD, "controller": True}]
        yield unused


@lie("WRC-GEN-007", shows="Pod PodGroup", says="the PodGroup's status must still name its ResourceClaim")
def pod_group_status_names_another_claim_from_the_third_pod_on(shown: Object, memory: Memory) -> Shown:
    if len(pods_up_to_now(shown, memory)) > 2 and name_of(shown) == "group":
        for status in statuses_of(shown).values():
            status["resourceClaimName"] += "-second"
    yield shown
