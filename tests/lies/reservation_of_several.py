# SPDX-License-Identifier: Apache-2.0
"""Lies about which of several entries in ``status.reservedFor`` go, and which stay."""

from tests.lies.lie import Answer, Memory, Object, Shown, false_answer, lie, name_of, uid_of
from tests.lies.lifecycle import not_found
from tests.lies.named_claims_in_use import lost_consumers
from tests.lies.reservation import POD, entries_of, is_finished, pods_beside

UNKNOWN = "test_entries_of_unknown_kinds_block_deallocation"
OTHER_UID = "test_entries_with_another_uid_are_removed"
#: Begins the uids of entries that are no Pods and no PodGroups.
STRANGER, IMPOSTORS = "stranger-", ("older-instance", "younger-instance")


def is_of_a_group(entry: Object) -> bool:
    """Tell whether an entry stands for a PodGroup."""
    return bool(entry["resource"] == "podgroups" and entry["apiGroup"] == "scheduling.k8s.io")


def keep_only(claim: Object, entries: list[Object]) -> Object:
    """Return the claim with these entries."""
    return {**claim, "status": {**claim.get("status", {}), "reservedFor": entries}}


@lie("WRC-RES-007", shows="ResourceClaim", says="is not reserved for pods/behind-")
def entry_of_a_deleted_pod_behind_the_group_stays(claim: Object, memory: Memory) -> Shown:
    """Only a time-out can tell that something stays."""
    lost = [one for one in lost_consumers(claim, memory) if one["name"].startswith("behind")]
    yield keep_only(claim, entries_of(claim) + lost)


@lie("WRC-RES-007", shows="ResourceClaim", says="both Pods are gone, so the PodGroup must be left alone")
def entry_of_the_group_goes_with_the_pod_before_it(claim: Object, memory: Memory) -> Shown:
    yield keep_only(claim, [] if lost_consumers(claim, memory) else entries_of(claim))


@lie("WRC-RES-007", shows="ResourceClaim", says="is not reserved for podgroups/group: not so")
def entry_of_the_group_stays_while_a_pod_uses_the_claim(claim: Object, memory: Memory) -> Shown:
    """Only a time-out can tell that something stays."""
    lost = [one for one in lost_consumers(claim, memory) if is_of_a_group(one)]
    yield keep_only(claim, lost + entries_of(claim))


@lie("WRC-RES-007", shows="ResourceClaim", says="the PodGroup is gone, so the last Pod must be left alone")
def entry_of_the_last_pod_goes_with_the_group(claim: Object, memory: Memory) -> Shown:
    group_is_gone = any(is_of_a_group(one) for one in lost_consumers(claim, memory))
    yield keep_only(claim, [] if group_is_gone else entries_of(claim))


@lie("WRC-RES-007", shows="ResourceClaim", says="the allocation changed, although a Pod still uses it")
def device_goes_with_the_group_although_a_pod_uses_it(claim: Object, memory: Memory) -> Shown:
    if any(is_of_a_group(one) for one in lost_consumers(claim, memory)) and entries_of(claim):
        claim["status"]["allocation"]["devices"]["results"][0]["device"] = "device-2"
    yield claim


@lie("WRC-RES-007", shows="ResourceClaim", says="for a moment, the ResourceClaim was without allocation")
def allocation_is_missing_while_the_entry_of_the_group_goes(claim: Object, memory: Memory) -> Shown:
    """Only the watch shows it: each later look at the same version tells the truth."""
    told = memory.facts.setdefault("told", set())
    group_is_gone = any(is_of_a_group(one) for one in lost_consumers(claim, memory))
    if group_is_gone and entries_of(claim) and not told:
        told.add(claim["metadata"]["resourceVersion"])
        claim["status"].pop("allocation", None)
    yield claim


@lie("WRC-RES-008", check=UNKNOWN, shows="ResourceClaim", says="the entries of unknown kinds must stay")
def entries_of_unknown_kinds_go_with_the_group(claim: Object, memory: Memory) -> Shown:
    yield keep_only(claim, [] if lost_consumers(claim, memory) else entries_of(claim))


@lie("WRC-RES-008", check=UNKNOWN, shows="ResourceClaim", says="the entries of unknown kinds must stay")
def podgroup_of_a_foreign_api_group_goes_with_the_group(claim: Object, memory: Memory) -> Shown:
    gone = any(is_of_a_group(one) for one in lost_consumers(claim, memory))
    yield keep_only(claim, [one for one in entries_of(claim) if not (gone and one["resource"] == "podgroups")])


@lie("WRC-RES-008", check=UNKNOWN, shows="ResourceClaim", says="the entries of unknown kinds must stay")
def pod_of_a_foreign_api_group_goes_with_the_pod(claim: Object, memory: Memory) -> Shown:
    gone = any(is_of_a_group(one) for one in lost_consumers(claim, memory))
    yield keep_only(claim, [one for one in entries_of(claim) if not (gone and one["resource"] == "pods")])


@lie("WRC-RES-008", check=UNKNOWN, shows="ResourceClaim", says="although consumers of unknown kinds use it")
def allocation_goes_although_strangers_use_it(claim: Object, memory: Memory) -> Shown:
    if any(is_of_a_group(one) for one in lost_consumers(claim, memory)):
        claim["status"].pop("allocation", None)
    yield claim


@false_answer("WRC-RES-008", to="resourceclaims", check=UNKNOWN, says="is gone, although consumers of unknown kinds")
def claim_goes_although_strangers_use_it(answer: Answer, memory: Memory) -> Answer:
    """Nobody has looked yet, when the PodGroup is gone, whether the claim is there too."""
    found = answer.method == "GET" and answer.name and answer.status == 200
    if not found or not any(one["uid"].startswith(STRANGER) for one in entries_of(answer.body)):
        return answer
    looks = memory.facts["looks"] = memory.facts.get("looks", 0) + (
        not any(map(is_of_a_group, entries_of(answer.body)))
    )
    return not_found(answer) if looks > 1 else answer


@lie("WRC-RES-008", check=OTHER_UID, shows="ResourceClaim", says="is not reserved for podgroups/group: not so")
def impostor_behind_the_group_stays(claim: Object, memory: Memory) -> Shown:
    """Only a time-out can tell that something stays."""
    lost = [one for one in lost_consumers(claim, memory) if one["uid"] == IMPOSTORS[1]]
    yield keep_only(claim, entries_of(claim) + lost)


@lie("WRC-RES-008", check=OTHER_UID, shows="ResourceClaim", says="must be removed, and no other entry")
def group_goes_with_those_of_its_name(claim: Object, memory: Memory) -> Shown:
    gone = lost_consumers(claim, memory)
    yield keep_only(claim, [one for one in entries_of(claim) if not (gone and is_of_a_group(one))])


@lie("WRC-RES-008", check=OTHER_UID, shows="ResourceClaim", says="must be removed, and no other entry")
def stranger_goes_with_the_impostors(claim: Object, memory: Memory) -> Shown:
    gone = lost_consumers(claim, memory)
    yield keep_only(claim, [one for one in entries_of(claim) if not (gone and one["uid"].startswith(STRANGER))])


@lie("WRC-RES-008", check=OTHER_UID, shows="ResourceClaim", says="although the PodGroup still uses it")
def allocation_goes_with_the_impostors(claim: Object, memory: Memory) -> Shown:
    if lost_consumers(claim, memory):
        claim["status"].pop("allocation", None)
    yield claim


def finished_pods(claim: Object, memory: Memory) -> dict[str, str]:
    """Return the names of the two Pods that finish by their uids; they are soon known, for the claim changes often."""
    finished: dict[str, str] = memory.facts.setdefault("finished", {})
    if len(finished) < len(("before", "behind")):
        finished |= {uid_of(pod): name_of(pod) for pod in pods_beside(claim, memory) if is_finished(pod)}
    return finished


def without_finished_pods(claim: Object, memory: Memory, but: str = "-") -> Object:
    """Return the claim without entries of Pods that have finished, except for those whose name begins with ``but``."""
    gone = [uid for uid, name in finished_pods(claim, memory).items() if not name.startswith(but)]
    return keep_only(claim, [one for one in entries_of(claim) if one["uid"] not in gone])


# The check of WRC-RES-009 is red on every Kubernetes so far, so the first lie heals.
@lie("WRC-RES-009", shows="ResourceClaim", heals=True)
def no_entry_of_a_finished_pod_comes_back(claim: Object, memory: Memory) -> Shown:
    yield without_finished_pods(claim, memory)


@lie("WRC-RES-009", shows="ResourceClaim", says="the finished Pod behind-")
def only_the_entry_behind_the_group_comes_back(claim: Object, memory: Memory) -> Shown:
    yield without_finished_pods(claim, memory, but="behind")


@lie("WRC-RES-009", shows="ResourceClaim", says="both Pods have finished, so the PodGroup must be left alone")
def entry_of_the_group_goes_with_those_of_finished_pods(claim: Object, memory: Memory) -> Shown:
    healed = without_finished_pods(claim, memory)
    if finished_pods(claim, memory) and len(entries_of(healed)) == 1:
        entries_of(healed)[:] = [POD]
    yield healed
