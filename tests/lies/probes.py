# SPDX-License-Identifier: Apache-2.0
"""Lies about what the probes look for. Most probes are red on every Kubernetes so far, so these lies heal.

A lie that heals all attempts must turn the probe green; one that leaves out the last must leave it red.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace

from tests.lies.generation import statuses_of
from tests.lies.generation_names import group_of
from tests.lies.generation_over_time import OTHER_UID, all_beside
from tests.lies.lie import Answer, Memory, Object, Shown, false_answer, lie, name_of, uid_of

WITHOUT_PODS, WITH_A_POD = "[without-pods]", "[with-a-pending-pod]"


def again(claim: Object) -> Object:
    """Return a claim of the same name with another uid."""
    generated = deepcopy(claim)
    generated["metadata"]["uid"] = f"{uid_of(claim)[:-4]}0000"
    return generated


def with_those_seen_before(answer: Answer, memory: Memory, is_generated_again: Callable[[Object], bool]) -> Answer:
    """List the claims that were seen by their names before; those that are gone are there again, or are not."""
    if answer.method == "GET" and answer.name and answer.status == 200:
        memory.facts[answer.name] = answer.body
    if answer.method != "GET" or "items" not in answer.body or not memory.facts:
        return answer
    living = {name_of(one) for one in answer.body["items"] or []}
    shown = [
        one if name_of(one) in living else again(one)
        for one in memory.facts.values()
        if name_of(one) in living or is_generated_again(one)
    ]
    return replace(answer, body={**answer.body, "items": shown})


@false_answer("WRC-GEN-013", to="resourceclaims", only=WITHOUT_PODS, heals=True)
def all_deleted_claims_are_generated_again(answer: Answer, memory: Memory) -> Answer:
    return with_those_seen_before(answer, memory, lambda _: True)


@false_answer("WRC-GEN-013", to="resourceclaims", only=WITHOUT_PODS, says="1 of 10 did not: PodGroup group-9 has no")
def nine_of_ten_deleted_claims_are_generated_again(answer: Answer, memory: Memory) -> Answer:
    return with_those_seen_before(answer, memory, lambda claim: group_of(claim) != "group-9")


@lie(
    "WRC-GEN-013", shows="ResourceClaim", only=WITH_A_POD, says="1 of 10 did not: PodGroup group-9 has no ResourceClaim"
)
def claim_of_the_last_pod_group_is_not_generated_again(claim: Object, memory: Memory) -> Shown:
    first = memory.facts.setdefault(group_of(claim), uid_of(claim))
    if group_of(claim) != "group-9" or uid_of(claim) == first:
        yield claim


@lie("WRC-GEN-013", shows="PodGroup", only=WITH_A_POD, says="10 of 10 did not: the status of PodGroup group-0 names")
def status_names_the_deleted_claim_for_ever(group: Object, memory: Memory) -> Shown:
    for status in statuses_of(group).values():
        status["resourceClaimName"] = memory.facts.setdefault(name_of(group), status["resourceClaimName"])
    yield group


def with_a_whole_list(group: Object, memory: Memory) -> Object:
    """Return a PodGroup whose status keeps the entries that it had, as that of a Pod does (kubernetes 138408)."""
    statuses = memory.facts.setdefault(name_of(group), {})
    statuses |= statuses_of(group)
    return {**group, "status": {"resourceClaimStatuses": [*statuses.values()]}}


@lie("WRC-GEN-014", shows="PodGroup", heals=True)
def all_lists_are_whole(group: Object, memory: Memory) -> Shown:
    yield with_a_whole_list(group, memory)


@lie("WRC-GEN-014", shows="PodGroup", says="in 1 of 3 PodGroups it does not: PodGroup without-third changed its list")
def list_alternates_where_the_third_claim_was_deleted(group: Object, memory: Memory) -> Shown:
    yield group if name_of(group) == "without-third" else with_a_whole_list(group, memory)


@lie("WRC-GEN-014", shows="PodGroup", says="in 1 of 3 PodGroups it does not: PodGroup without-second names")
def list_goes_without_the_second_claim_for_good(group: Object, memory: Memory) -> Shown:
    whole = with_a_whole_list(group, memory)
    second = deepcopy(statuses_of(whole).get("second", {}))
    if second and name_of(group) == "without-second" and memory.facts.setdefault("second", second) != second:
        whole["status"]["resourceClaimStatuses"].remove(second)
    yield whole


def following(pod: Object, memory: Memory) -> Object:
    """Return a member that names the claims of its PodGroup as it is now, and has a node."""
    name = pod["spec"]["schedulingGroup"]["podGroupName"]
    groups = all_beside(pod, "scheduling.k8s.io/v1beta1/podgroups", memory)
    [group] = [one for one in groups if name_of(one) == name]
    pod["status"]["resourceClaimStatuses"] = group.get("status", {}).get("resourceClaimStatuses", [])
    pod["spec"]["nodeName"] = "node"
    return pod


@lie("WRC-GEN-015", shows="Pod ResourceClaim", heals=True)
def all_pods_follow(shown: Object, memory: Memory) -> Shown:
    if shown["kind"] == "ResourceClaim":
        shown["status"] = {"allocation": {"devices": {}}}
    yield following(shown, memory) if shown["kind"] == "Pod" else shown


@lie("WRC-GEN-015", shows="Pod", says="10 of 20 did not: Pod member-")
def first_pod_of_each_pod_group_follows(pod: Object, memory: Memory) -> Shown:
    group = pod["spec"]["schedulingGroup"]["podGroupName"]
    first = memory.facts.setdefault(group, uid_of(pod))
    yield following(pod, memory) if uid_of(pod) == first else pod


@lie("WRC-GEN-015", shows="Pod ResourceClaim", says="those of ['group-9'] are not allocated")
def pods_of_the_last_pod_group_are_bound_without_devices(shown: Object, memory: Memory) -> Shown:
    if shown["kind"] == "ResourceClaim" and group_of(shown) != "group-9":
        shown["status"] = {"allocation": {"devices": {}}}
    yield following(shown, memory) if shown["kind"] == "Pod" else shown


@lie("WRC-GEN-015", shows="Pod", says="has 20 bound Pods: not so after")
def pods_follow_and_are_never_bound(pod: Object, memory: Memory) -> Shown:
    pod = following(pod, memory)
    del pod["spec"]["nodeName"]
    yield pod


def well_named(answer: Answer, memory: Memory, is_well_named: Callable[[Object], bool]) -> Answer:
    """Answer a list of claims with one well-named claim for each of some PodGroups, and the truth for the others."""
    if answer.method != "GET" or "items" not in answer.body:
        return answer
    path = answer.path.replace("resource.k8s.io/v1/", "scheduling.k8s.io/v1beta1/").replace(
        "resourceclaims", "podgroups"
    )
    groups = {name_of(one): one for one in memory.truth(path)["items"]}
    real = [one for one in answer.body["items"] or [] if not is_well_named(groups[group_of(one)])]
    healed = [claim_for(group) for group in groups.values() if is_well_named(group)]
    return replace(answer, body={**answer.body, "items": real + healed})


def claim_for(group: Object) -> Object:
    """Return a generated claim whose name keeps a part of those of the PodGroup and of its entry."""
    entry = group["spec"]["resourceClaims"][0]["name"]
    metadata = {
        "name": f"{name_of(group)[:39]}-{entry[:9]}-abcde",
        "uid": OTHER_UID,
        "annotations": {"resource.kubernetes.io/pod-claim-name": entry},
        "ownerReferences": [{"kind": "PodGroup", "name": name_of(group), "uid": uid_of(group), "controller": True}],
    }
    return {"metadata": metadata, "spec": {}}


@false_answer("WRC-GEN-018", to="resourceclaims", heals=True)
def all_names_are_good(answer: Answer, memory: Memory) -> Answer:
    return well_named(answer, memory, lambda _: True)


@false_answer(
    "WRC-GEN-018", to="resourceclaims", says="2 of 8 did not: PodGroup a.a.a.a.a... (100 characters) with entry"
)
def names_are_good_unless_they_are_cut_behind_a_dot(answer: Answer, memory: Memory) -> Answer:
    return well_named(answer, memory, lambda group: "." not in name_of(group))


@false_answer("WRC-GEN-018", to="resourceclaims", says="which must keep a part of both")
def names_are_good_unless_the_entry_is_short(answer: Answer, memory: Memory) -> Answer:
    return well_named(answer, memory, lambda group: len(group["spec"]["resourceClaims"][0]["name"]) > 3)


@false_answer(
    "WRC-GEN-018", to="resourceclaims", says="2 of 8 did not: PodGroup a with entry ddddddddd... (55 characters)"
)
def names_are_good_unless_the_pod_group_has_one_character(answer: Answer, memory: Memory) -> Answer:
    return well_named(answer, memory, lambda group: len(name_of(group)) > 1)
