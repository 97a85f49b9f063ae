# SPDX-License-Identifier: Apache-2.0
"""Lies about templates that come late, go, or are missing."""

from copy import deepcopy
from dataclasses import replace

from tests.lies.generation import CLAIM_NAME_ANNOTATION, pods_up_to_now, statuses_of
from tests.lies.generation_over_time import OTHER_UID, all_beside
from tests.lies.lie import Answer, Memory, Object, Shown, false_answer, lie, name_of, twin, uid_of

LATE = "test_a_template_that_comes_late_is_noticed_at_once"
GONE = "test_nobody_misses_the_template_of_a_claim"


@lie("WRC-GEN-002", shows="PodGroup", check=LATE, says="records a ResourceClaim for late: not so after")
def template_is_looked_for_once(group: Object, _memory: Memory) -> Shown:
    """Only a time-out can tell that something is missing."""
    yield {**group, "status": {}} if name_of(group) == "group" else group


@lie("WRC-GEN-002", shows="Event PodGroup", check=LATE, says="records a ResourceClaim for late: not so after")
def template_is_noticed_at_the_next_attempt_only(shown: Object, memory: Memory) -> Shown:
    """All is well while attempts are frequent (kubernetes 135835)."""
    if shown["kind"] == "Event" and shown["reason"] == "FailedResourceClaimCreation":
        memory.facts["failures"] = shown["count"]
    is_far_off = memory.facts.get("failures", 0) > 8
    yield {**shown, "status": {}} if is_far_off and name_of(shown) == "group" else shown


@lie("WRC-GEN-004", shows="Pod", check=GONE, says="2 of 4 have a node, and these have none: member-")
def members_that_come_after_the_template_is_gone_wait(pod: Object, memory: Memory) -> Shown:
    if uid_of(pod) in pods_up_to_now(pod, memory)[2:]:
        pod["spec"].pop("nodeName", None)
    yield pod


@lie("WRC-GEN-004", shows="Pod", check=GONE, says="every member must use ResourceClaim group-shared-")
def last_member_names_another_claim(pod: Object, memory: Memory) -> Shown:
    if uid_of(pod) in pods_up_to_now(pod, memory)[3:] and statuses_of(pod):
        statuses_of(pod)["shared"]["resourceClaimName"] += "-second"
    yield pod


@lie("WRC-GEN-004", shows="ResourceClaim", check=GONE, says="must stay the only one when its template is gone")
def second_claim_comes_when_the_first_is_used(claim: Object, _memory: Memory) -> Shown:
    yield claim
    if claim.get("status", {}).get("allocation"):
        yield twin(claim, "second")


def templates_of(owner: Object) -> dict[str, str]:
    """Return the template of each entry of a PodGroup or Pod, but for the one that is missing."""
    entries = {one["name"]: one["resourceClaimTemplateName"] for one in owner["spec"]["resourceClaims"]}
    return {entry: template for entry, template in entries.items() if template != "missing"}


def claim_for(group: Object, entry: str) -> Object:
    """Return a claim that is generated for an entry of a PodGroup."""
    owner = {"kind": "PodGroup", "name": name_of(group), "uid": uid_of(group), "controller": True}
    annotations = {CLAIM_NAME_ANNOTATION: entry}
    name = f"{name_of(group)}-{entry}"
    return {"metadata": {"name": name, "uid": OTHER_UID, "annotations": annotations, "ownerReferences": [owner]}}


def all_recorded(answer: Answer, memory: Memory, *kinds: str) -> Answer:
    """Answer as a controller does that goes on after a missing template, and records the claims of these resources."""
    if answer.method != "GET" or answer.status != 200:
        return answer
    body = deepcopy(answer.body)
    if answer.resource == "resourceclaims" and "items" in body:
        example = {"metadata": {"namespace": answer.path.split("/")[-2]}}
        groups = all_beside(example, "scheduling.k8s.io/v1beta1/podgroups", memory)
        body["items"] = [claim_for(group, entry) for group in groups for entry in templates_of(group)]
    elif answer.name and answer.resource in kinds:
        group = body["spec"].get("schedulingGroup", {}).get("podGroupName", answer.name)
        statuses = [{"name": one, "resourceClaimName": f"{group}-{one}"} for one in templates_of(body)]
        body.setdefault("status", {})["resourceClaimStatuses"] = statuses
    return replace(answer, body=body)


# On v1.37.2 and v1.36.3 this probe is red, so the first lie heals it.
@false_answer("WRC-GEN-019", to="resourceclaims podgroups pods", heals=True)
def controller_goes_on_after_a_missing_template(answer: Answer, memory: Memory) -> Answer:
    return all_recorded(answer, memory, "podgroups", "pods")


@false_answer(
    "WRC-GEN-019", to="resourceclaims podgroups pods", says="3 of 6 did not: the status of Pod without-first-"
)
def missing_template_holds_up_pods_alone(answer: Answer, memory: Memory) -> Answer:
    return all_recorded(answer, memory, "podgroups")


@false_answer(
    "WRC-GEN-019",
    to="resourceclaims podgroups pods",
    says="1 of 6 did not: the status of PodGroup without-third names []",
)
def claims_before_the_missing_template_are_not_recorded(answer: Answer, memory: Memory) -> Answer:
    return answer if answer.name == "without-third" else all_recorded(answer, memory, "podgroups", "pods")
