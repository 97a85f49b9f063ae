# SPDX-License-Identifier: Apache-2.0
"""Lies about generated ResourceClaims while PodGroups, Pods, templates and quotas come and go."""

from copy import deepcopy

from tests.lies.generation import CLAIM_NAME_ANNOTATION, POD, entry_of, pods_up_to_now, statuses_of
from tests.lies.generation_names import group_of
from tests.lies.lie import Memory, Object, Shown, lie, name_of, twin, uid_of

ANY_ORDER = "test_order_of_creation_does_not_matter"
TEMPLATE_IS_REPLACED = "test_claims_keep_the_spec_of_the_template_they_were_generated_from"
UP_AND_DOWN = "test_claims_come_and_go_with_their_pod_groups"
SEVERAL_ENTRIES = "test_entries_of_one_template_have_claims_of_their_own"
OTHER_UID = "0b8f4b52-0000-4000-8000-000000000000"


def all_beside(shown: Object, resource: str, memory: Memory) -> list[Object]:
    """Return all objects of a resource, such as ``scheduling.k8s.io/v1beta1/podgroups``, in the same namespace."""
    group_version, _, plural = resource.rpartition("/")
    path = f"/apis/{group_version}/namespaces/{shown['metadata']['namespace']}/{plural}"
    items: list[Object] = memory.truth(path)["items"]
    return items


def pod_groups_beside(shown: Object, memory: Memory) -> int:
    """Return how many PodGroups there are now; ``facts["most"]`` is how many there were at most."""
    count = len(all_beside(shown, "scheduling.k8s.io/v1beta1/podgroups", memory))
    memory.facts["most"] = max(count, memory.facts.get("most", 0))
    return count


def template_is_changed(shown: Object, memory: Memory) -> bool:
    """Tell whether the template that asks for two devices has been replaced by one that asks for three."""
    templates = all_beside(shown, "resource.k8s.io/v1/resourceclaimtemplates", memory)
    requests = [one["spec"]["spec"]["devices"]["requests"][0]["exactly"]["count"] for one in templates]
    return 3 in requests


def of_a_pod(claim: Object, word: str) -> Object:
    """Return a second claim for the same entry, which a Pod controls."""
    generated = twin(claim, word)
    generated["metadata"]["ownerReferences"] = [{**POD, "controller": True}]
    return generated


@lie(
    "WRC-GEN-002",
    shows="PodGroup",
    only="templates]",
    check=ANY_ORDER,
    says="records a ResourceClaim for first and second: not so",
)
def template_that_comes_after_the_pod_group_is_not_noticed(group: Object, _memory: Memory) -> Shown:
    """Only a time-out can tell that something is missing."""
    yield {**group, "status": {}} if name_of(group) == "group" else group


@lie("WRC-GEN-002", shows="PodGroup", check=ANY_ORDER, says="records a ResourceClaim for first and second: not so")
def only_the_first_template_that_comes_is_noticed(group: Object, _memory: Memory) -> Shown:
    if name_of(group) == "group":
        group["status"]["resourceClaimStatuses"] = [
            one for entry, one in statuses_of(group).items() if entry != "first"
        ]
    yield group


@lie(
    "WRC-GEN-002",
    shows="ResourceClaim",
    only="pods-",
    check=ANY_ORDER,
    says="and there must be no other",
)
def pod_that_comes_before_its_pod_group_gets_a_claim_of_its_own(claim: Object, _memory: Memory) -> Shown:
    yield claim
    if entry_of(claim) == "first":
        yield of_a_pod(claim, "pod")


@lie("WRC-GEN-002", shows="Pod", only="[pods-", check=ANY_ORDER, says="has 3 bound Pods: not so after")
def pods_that_came_before_their_pod_group_are_forgotten(pod: Object, _memory: Memory) -> Shown:
    if pod["spec"].get("schedulingGroup"):
        pod["spec"].pop("nodeName", None)
    yield pod


@lie("WRC-GEN-002", shows="Pod", check=ANY_ORDER, says="each Pod must point to the claims of its PodGroup")
def third_pod_points_to_another_claim_of_the_second_entry(pod: Object, memory: Memory) -> Shown:
    members = pods_up_to_now(pod, memory) if pod["spec"].get("schedulingGroup") else []
    if uid_of(pod) in members[2:3] and "second" in statuses_of(pod):
        statuses_of(pod)["second"]["resourceClaimName"] += "-second"
    yield pod


@lie("WRC-GEN-002", shows="PodGroup", check=ANY_ORDER, says="the PodGroup's status must name the claims")
def second_entry_is_recorded_with_the_claim_of_the_first(group: Object, _memory: Memory) -> Shown:
    statuses = statuses_of(group)
    if "second" in statuses:
        statuses["second"]["resourceClaimName"] = statuses["first"]["resourceClaimName"]
    yield group


@lie(
    "WRC-GEN-004",
    shows="ResourceClaim",
    check=TEMPLATE_IS_REPLACED,
    says="the claim of PodGroup used must keep the spec of the template",
)
def claims_follow_their_template(claim: Object, memory: Memory) -> Shown:
    if entry_of(claim) == "shared" and template_is_changed(claim, memory):
        claim["spec"]["devices"]["requests"][0]["exactly"]["count"] = 3
    yield claim


@lie(
    "WRC-GEN-004",
    shows="ResourceClaim",
    check=TEMPLATE_IS_REPLACED,
    says="the claim of PodGroup unused must keep the spec of the template",
)
def unallocated_claim_follows_its_template_until_it_is_used(claim: Object, memory: Memory) -> Shown:
    if group_of(claim) == "unused" and template_is_changed(claim, memory):
        claim["spec"]["devices"]["requests"][0]["exactly"]["count"] = 3
    yield claim


@lie(
    "WRC-GEN-004",
    shows="ResourceClaim",
    check=TEMPLATE_IS_REPLACED,
    says="the template of PodGroup unused asked for 2 devices, but 3 are",
)
def unallocated_claim_is_allocated_as_the_new_template_asks(claim: Object, _memory: Memory) -> Shown:
    if group_of(claim) == "unused" and claim.get("status"):
        results = claim["status"]["allocation"]["devices"]["results"]
        results.append({**results[0], "device": "device-7"})
    yield claim


@lie(
    "WRC-GEN-004",
    shows="ResourceClaim",
    check=TEMPLATE_IS_REPLACED,
    says="the allocation must not change with the template",
)
def used_claim_is_allocated_anew(claim: Object, memory: Memory) -> Shown:
    if group_of(claim) == "used" and claim.get("status") and template_is_changed(claim, memory):
        claim["status"]["allocation"]["devices"]["results"][1]["device"] = "device-7"
    yield claim


@lie("WRC-GEN-004", shows="ResourceClaim", check=TEMPLATE_IS_REPLACED, says="must have the template's new spec")
def new_claim_is_generated_from_the_deleted_template(claim: Object, _memory: Memory) -> Shown:
    if group_of(claim) == "later":
        claim["spec"]["devices"]["requests"][0]["exactly"]["count"] = 2
    yield claim


@lie(
    "WRC-GEN-004",
    shows="PodGroup",
    check=TEMPLATE_IS_REPLACED,
    says="PodGroup unused must still use the claim that it had before",
)
def claim_without_consumers_is_replaced_with_its_template(group: Object, memory: Memory) -> Shown:
    if name_of(group) == "unused" and template_is_changed(group, memory):
        statuses_of(group)["shared"]["resourceClaimName"] += "-second"
    yield group


@lie("WRC-GEN-008", shows="ResourceClaim", says="the claims are for ['first', 'second', 'third']")
def fourth_entry_of_one_template_has_no_claim(claim: Object, _memory: Memory) -> Shown:
    if entry_of(claim) != "fourth" or group_of(claim) != "group-5":
        yield claim


@lie("WRC-GEN-008", shows="ResourceClaim", says="the claims are for ['first', 'fourth', 'fourth', 'second']")
def annotation_is_written_into_the_shared_template(claim: Object, _memory: Memory) -> Shown:
    """As when two workers write into one object in memory (kubernetes 141104)."""
    if entry_of(claim) == "third" and group_of(claim) == "group-3":
        claim["metadata"]["annotations"][CLAIM_NAME_ANNOTATION] = "fourth"
    yield claim


@lie("WRC-GEN-008", shows="PodGroup", says="the status of PodGroup group-5 must name a claim for each entry")
def status_names_the_first_claim_of_a_template_for_all_its_entries(group: Object, _memory: Memory) -> Shown:
    for status in statuses_of(group).values():
        if name_of(group) == "group-5":
            status["resourceClaimName"] = statuses_of(group)["first"]["resourceClaimName"]
    yield group


@lie("WRC-GEN-008", shows="ResourceClaim", says="the claims of PodGroup group-0 must keep the template's annotation")
def annotation_of_the_template_is_kept_in_one_claim_only(claim: Object, _memory: Memory) -> Shown:
    if entry_of(claim) != "first":
        del claim["metadata"]["annotations"]["wrc.example.com/annotation"]
    yield claim


@lie("WRC-GEN-008", shows="Pod", says="a Pod must point to the claim of each of its four entries")
def pod_points_to_one_claim_for_two_entries(pod: Object, _memory: Memory) -> Shown:
    statuses = statuses_of(pod)
    if "fourth" in statuses:
        statuses["fourth"]["resourceClaimName"] = statuses["first"]["resourceClaimName"]
    yield pod


@lie("WRC-GEN-008", shows="ResourceClaim", says="four claims must have four devices")
def claims_of_one_template_share_a_device(claim: Object, memory: Memory) -> Shown:
    if claim.get("status") and entry_of(claim) in {"second", "fourth"}:
        results = claim["status"]["allocation"]["devices"]["results"]
        results[0]["device"] = memory.facts.setdefault("device", results[0]["device"])
    yield claim


@lie(
    "WRC-GEN-009", shows="PodGroup", check=UP_AND_DOWN, says="must control the one ResourceClaim that its status names"
)
def second_pod_group_uses_the_claim_of_the_first(group: Object, memory: Memory) -> Shown:
    statuses = statuses_of(group)
    if statuses and name_of(group) == "group-0":
        memory.facts["first"] = statuses["shared"]["resourceClaimName"]
    if statuses and name_of(group) == "group-1":
        statuses["shared"]["resourceClaimName"] = memory.facts.get("first", "")
    yield group


@lie(
    "WRC-GEN-009",
    shows="ResourceClaim",
    check=UP_AND_DOWN,
    says="two PodGroups of one template must not share a device",
)
def claims_of_two_pod_groups_have_one_device(claim: Object, memory: Memory) -> Shown:
    if claim.get("status"):
        results = claim["status"]["allocation"]["devices"]["results"]
        results[0]["device"] = memory.facts.setdefault("device", results[0]["device"])
    yield claim


@lie(
    "WRC-GEN-009",
    shows="ResourceClaim",
    check=UP_AND_DOWN,
    says="PodGroups must keep their claims when others are added",
)
def claim_is_replaced_when_pod_groups_are_added(claim: Object, memory: Memory) -> Shown:
    if group_of(claim) == "group-2" and pod_groups_beside(claim, memory) == 5:
        claim["metadata"]["uid"] = OTHER_UID
    yield claim


@lie("WRC-GEN-009", shows="ResourceClaim", lingers=True, check=UP_AND_DOWN, says="is gone: not so after")
def claims_stay_when_their_pod_groups_go(claim: Object, _memory: Memory) -> Shown:
    yield claim


@lie(
    "WRC-GEN-009", shows="ResourceClaim", check=UP_AND_DOWN, says="no other may exist, but there are ['group-0-shared-"
)
def second_claim_is_left_behind_when_pod_groups_go(claim: Object, memory: Memory) -> Shown:
    left = pod_groups_beside(claim, memory) == 1 and memory.facts["most"] == 5
    yield claim
    if left:
        yield of_a_pod(claim, "left")


@lie(
    "WRC-GEN-009",
    shows="ResourceClaim",
    check=UP_AND_DOWN,
    says="a PodGroup must keep its claim when others are deleted",
)
def claim_is_replaced_when_other_pod_groups_go(claim: Object, memory: Memory) -> Shown:
    if pod_groups_beside(claim, memory) == 1 and memory.facts["most"] == 5:
        claim["metadata"]["uid"] = OTHER_UID
    yield claim


@lie(
    "WRC-GEN-009",
    shows="ResourceClaim",
    check=UP_AND_DOWN,
    says="a PodGroup that is created again must get a claim of its own",
)
def pod_group_that_is_created_again_gets_its_old_claim(claim: Object, memory: Memory) -> Shown:
    if group_of(claim) == "group-1":
        claim["metadata"]["uid"] = memory.facts.setdefault("uid", uid_of(claim))
    yield claim


@lie(
    "WRC-GEN-009",
    shows="ResourceClaim",
    check=UP_AND_DOWN,
    says="a PodGroup must keep its claim when another one is created again",
)
def claim_is_replaced_when_another_pod_group_is_created_again(claim: Object, memory: Memory) -> Shown:
    again = pod_groups_beside(claim, memory) == 2 and memory.facts["most"] == 5
    if again and group_of(claim) == "group-0":
        claim["metadata"]["uid"] = OTHER_UID
    yield claim


@lie("WRC-GEN-011", shows="ResourceClaim", says="only the other PodGroup may get a ResourceClaim")
def claim_is_generated_for_a_pod_group_that_is_being_deleted(claim: Object, _memory: Memory) -> Shown:
    yield claim
    generated = twin(claim, "going")
    generated["metadata"]["ownerReferences"][0] |= {"name": "going", "uid": OTHER_UID}
    yield generated


@lie("WRC-GEN-011", shows="ResourceClaim", says="-late of Pod somebody']")
def member_that_comes_late_gets_a_claim_of_its_own(claim: Object, _memory: Memory) -> Shown:
    yield claim
    yield of_a_pod(claim, "late")


@lie("WRC-GEN-011", shows="PodGroup", says="the deleted PodGroup must not be given a claim, but it names")
def pod_group_that_is_being_deleted_is_given_the_claim_of_another(group: Object, memory: Memory) -> Shown:
    if name_of(group) == "staying":
        memory.facts["status"] = deepcopy(group.get("status", {}))
    if name_of(group) == "going":
        group["status"] = memory.facts.get("status", {})
    yield group


@lie("WRC-GEN-012", shows="PodGroup", says="records a ResourceClaim for first and second: not so after")
def failure_for_a_quota_is_final(group: Object, _memory: Memory) -> Shown:
    """Only a time-out can tell that something is missing."""
    yield {**group, "status": {}} if name_of(group) == "group" else group


@lie("WRC-GEN-012", shows="PodGroup", says="records a ResourceClaim for first and second: not so after")
def entry_that_failed_is_skipped_for_ever(group: Object, _memory: Memory) -> Shown:
    if name_of(group) == "group":
        first = [status for entry, status in statuses_of(group).items() if entry == "first"]
        group["status"]["resourceClaimStatuses"] = first
    yield group


@lie("WRC-GEN-012", shows="ResourceClaim", only="[1]", says="before the quota was met must not be replaced")
def each_attempt_generates_all_claims_anew(claim: Object, memory: Memory) -> Shown:
    if len(all_beside(claim, "resource.k8s.io/v1/resourceclaims", memory)) == 2:
        claim["metadata"]["uid"] = OTHER_UID
    yield claim


@lie("WRC-GEN-012", shows="ResourceClaim", says="must have one claim, but there are ['first', 'second', 'second']")
def two_attempts_lead_to_two_claims(claim: Object, _memory: Memory) -> Shown:
    yield claim
    if entry_of(claim) == "second":
        yield twin(claim, "second")


@lie("WRC-GEN-012", shows="Event", says="events on PodGroup group name the quota: not so after")
def failure_is_reported_on_another_object(event: Object, _memory: Memory) -> Shown:
    event["involvedObject"]["uid"] = OTHER_UID
    yield event


@lie("WRC-GEN-012", shows="Event", says="events on PodGroup group name the quota: not so after")
def failure_is_reported_without_its_cause(event: Object, _memory: Memory) -> Shown:
    yield {**event, "message": "ResourceClaim could not be created"}
