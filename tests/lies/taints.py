# SPDX-License-Identifier: Apache-2.0
"""Lies about Pods whose device has a taint: who is kept away, who is evicted, and what is left."""

from dataclasses import replace

from tests.lies.lie import Answer, Memory, Object, Shown, false_answer, lie, name_of, uid_of
from tests.lies.reservation import entries_of, pods_beside
from tests.lies.scheduling import forgotten, group_of_pod, is_the_first_seen, members_beside

NEVER = "test_an_unlimited_toleration_prevents_the_eviction"
DELAYED = "test_a_limited_toleration_delays_the_eviction_of_all"
CANCELLED = "test_removing_the_taint_in_time_cancels_the_eviction"
WHEN = "2026-01-01T00:00:00Z"


def spared(pod: Object) -> Object:
    """Return a Pod that is not evicted."""
    pod["metadata"].pop("deletionTimestamp", None)
    conditions = pod["status"].get("conditions", ())
    pod["status"]["conditions"] = [one for one in conditions if one["type"] != "DisruptionTarget"]
    return pod


def a_pod_is_missing(pod: Object, memory: Memory) -> bool:
    """Tell whether fewer Pods exist than at most; Pods that are evicted are soon gone."""
    count = len(pods_beside(pod, memory))
    memory.facts["most"] = max(count, memory.facts.get("most", 0))
    return bool(count < memory.facts["most"])


@lie("WRC-TNT-001", shows="Pod", says="although no claim of PodGroup intolerant tolerates")
def taints_are_ignored_for_one_pod(pod: Object, memory: Memory) -> Shown:
    if group_of_pod(pod) == "intolerant" and is_the_first_seen(pod, memory):
        pod["spec"].setdefault("nodeName", "any-node")
    yield pod


@lie("WRC-TNT-001", shows="Pod", says="although no claim of PodGroup other-effect tolerates")
def toleration_of_another_effect_is_enough(pod: Object, _memory: Memory) -> Shown:
    if group_of_pod(pod) == "other-effect":
        pod["spec"].setdefault("nodeName", "any-node")
    yield pod


@lie("WRC-TNT-001", shows="ResourceClaim", says="the claim of PodGroup other-key does not tolerate")
def tainted_device_is_allocated_for_a_toleration_of_another_key(claim: Object, _memory: Memory) -> Shown:
    if name_of(claim).startswith("other-key"):
        claim["status"] = {"allocation": {"devices": {}}}
    yield claim


@lie("WRC-TNT-001", shows="Pod", says="1 of 2 have a node, and these have none: member-")
def toleration_helps_only_one_of_two_pods(pod: Object, memory: Memory) -> Shown:
    yield forgotten(pod) if group_of_pod(pod) == "tolerant" and is_the_first_seen(pod, memory) else pod


@lie("WRC-TNT-002", shows="Pod", says="20 of 20 are not")
def nobody_is_evicted(pod: Object, _memory: Memory) -> Shown:
    yield spared(pod)


@lie("WRC-TNT-002", shows="Pod", says="1 of 20 are not, such as alone-")
def first_of_the_pods_is_not_evicted(pod: Object, memory: Memory) -> Shown:
    yield spared(pod) if is_the_first_seen(pod, memory) else pod


@lie("WRC-TNT-002", shows="Pod", says="10 of 20 are not, such as member-")
def pods_whose_first_claim_is_not_tainted_are_not_evicted(pod: Object, _memory: Memory) -> Shown:
    yield spared(pod) if pod["spec"]["resourceClaims"][0]["name"] == "first" else pod


@lie("WRC-TNT-002", shows="Pod", says="20 of 20 are not")
def evicted_pods_do_not_say_why(pod: Object, _memory: Memory) -> Shown:
    for condition in pod["status"].get("conditions", ()):
        if condition["type"] == "DisruptionTarget":
            condition["reason"] = "EvictionByEvictionAPI"
    yield pod


@lie("WRC-TNT-003", shows="Pod", says="although they do not use the tainted device")
def member_without_claims_is_evicted_as_well(pod: Object, _memory: Memory) -> Shown:
    if name_of(pod).startswith("without-claims"):
        pod["metadata"]["deletionTimestamp"] = WHEN
    yield pod


@lie("WRC-TNT-003", shows="Pod", says="['with-another-claim-")
def member_with_another_claim_of_the_group_is_evicted(pod: Object, _memory: Memory) -> Shown:
    if name_of(pod).startswith("with-another-claim"):
        pod["metadata"]["deletionTimestamp"] = WHEN
    yield pod


@lie("WRC-TNT-003", shows="Pod", says="['of-a-namesake-")
def member_of_a_group_of_the_same_name_is_evicted(pod: Object, _memory: Memory) -> Shown:
    if name_of(pod).startswith("of-a-namesake"):
        pod["metadata"]["deletionTimestamp"] = WHEN
    yield pod


@lie("WRC-TNT-004", shows="Pod", check=NEVER, says="although their claim tolerates the taint without limit")
def unlimited_toleration_of_a_shared_claim_does_not_count(pod: Object, memory: Memory) -> Shown:
    """The last of the Pods is evicted; it goes as the canary of the barrier does."""
    if group_of_pod(pod) and is_the_first_seen(pod, memory):
        pod["metadata"]["deletionTimestamp"] = WHEN
    yield pod


# Red on v1.37.2, for the controller wants the effect NoExecute by name; the first lie heals it.
@false_answer("WRC-TNT-008", to="pods", heals=True)
def toleration_of_all_effects_counts(answer: Answer, memory: Memory) -> Answer:
    """Pods that are gone are found as they were when they were created."""
    if answer.method == "POST" and answer.status == 201:
        memory.facts[answer.body["metadata"]["name"]] = answer.body
    is_evicted = answer.method == "GET" and answer.name.startswith("member-") and answer.status == 404
    return replace(answer, status=200, body=memory.facts[answer.name]) if is_evicted else answer


@lie("WRC-TNT-008", shows="Pod", says="although their claim tolerates the taint with every effect")
def pods_of_such_a_toleration_are_evicted(pod: Object, _memory: Memory) -> Shown:
    if group_of_pod(pod):
        pod["metadata"]["deletionTimestamp"] = WHEN
    yield pod


@lie("WRC-TNT-004", shows="Pod", check=DELAYED, says="but Pod member-")
def one_of_the_pods_is_evicted_at_once(pod: Object, memory: Memory) -> Shown:
    if is_the_first_seen(pod, memory) and pod["spec"].get("nodeName"):
        pod["metadata"]["deletionTimestamp"] = WHEN
    yield pod


@lie("WRC-TNT-004", shows="Pod", check=DELAYED, lingers=True, says="is gone: not so after")
def pods_are_never_evicted_after_a_limited_toleration(pod: Object, _memory: Memory) -> Shown:
    yield spared(pod)


@lie("WRC-TNT-004", shows="Pod", check=CANCELLED, says="although the taint was removed while their claim still")
def eviction_of_one_pod_is_not_cancelled(pod: Object, memory: Memory) -> Shown:
    if group_of_pod(pod) and is_the_first_seen(pod, memory):
        pod["metadata"]["deletionTimestamp"] = WHEN
    yield pod


@lie("WRC-TNT-005", shows="ResourceClaim", says="the allocation changed, although only Pods were evicted")
def eviction_takes_the_allocation_along(claim: Object, memory: Memory) -> Shown:
    if "allocation" in claim["status"] and not members_beside(claim, "group", memory):
        del claim["status"]["allocation"]
    yield claim


@lie("WRC-TNT-005", shows="ResourceClaim", says="the reservation for the PodGroup is gone, although only Pods were")
def claim_is_not_reserved_for_its_group(claim: Object, _memory: Memory) -> Shown:
    entries_of(claim).clear()
    yield claim


@lie("WRC-TNT-005", shows="ResourceClaim", only="[named]", says="is untouched: not so after")
def tainted_device_is_never_released(claim: Object, memory: Memory) -> Shown:
    claim["status"] = memory.facts.setdefault("status", claim["status"]) if entries_of(claim) else claim["status"]
    memory.facts.setdefault(uid_of(claim), claim["status"])
    yield claim if entries_of(claim) or "status" not in memory.facts else {**claim, "status": memory.facts["status"]}


# Predicted to be red, for taints of allocated devices are not looked at again; the first lie heals it.
@lie("WRC-TNT-006", shows="Pod", heals=True)
def replacement_waits_until_the_taint_goes(pod: Object, _memory: Memory) -> Shown:
    yield forgotten(pod) if name_of(pod).startswith("replacement") else pod


@lie("WRC-TNT-006", shows="Pod", says="the replacement was bound on the tainted device")
def replacement_is_bound_from_the_beginning(pod: Object, _memory: Memory) -> Shown:
    if name_of(pod).startswith("replacement"):
        pod["spec"].setdefault("nodeName", "any-node")
    yield pod


@lie("WRC-TNT-007", shows="Pod", says="although they have no node")
def member_without_a_node_is_evicted(pod: Object, _memory: Memory) -> Shown:
    if name_of(pod).startswith("early"):
        pod["metadata"]["deletionTimestamp"] = WHEN
    yield pod


@lie("WRC-TNT-007", shows="Pod", says="['late-")
def member_that_comes_after_the_taint_is_evicted(pod: Object, _memory: Memory) -> Shown:
    if not name_of(pod).startswith("late"):
        yield pod
