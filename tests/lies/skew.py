# SPDX-License-Identifier: Apache-2.0
"""Lies about components that have the gate off while others have it on."""

from conformance.gates import CLAIMS
from fixtures.clusters.local import Gates
from tests.lies.generation import entry_of, statuses_of
from tests.lies.lie import Memory, Object, Shown, false_start, lie, name_of, twin, uid_of

NOBODY: Object = {"resource": "pods", "name": "somebody", "uid": "0b8f4b52-0000-4000-8000-000000000000"}


@false_start("WRC-SKW-001", says="there must be no new claim for the matching entry", only="new-group")
def controller_generates_for_the_group_without_the_gate(_component: str, _gates: Gates) -> Gates:
    return {CLAIMS: True}


@lie("WRC-SKW-001", shows="Pod ResourceClaim", says="there must be no new claim for the matching entry")
def controller_generates_for_one_of_the_pods_without_the_gate(shown: Object, memory: Memory) -> Shown:
    """The claim of the plain Pod of the barrier looks as if it were for the entry, and owned by the last member."""
    if shown["kind"] == "Pod" and name_of(shown).endswith("-2"):
        memory.facts["owner"] = uid_of(shown)
    if entry_of(shown).startswith("barrier-") and "owner" in memory.facts:
        shown["metadata"]["annotations"]["resource.kubernetes.io/pod-claim-name"] = "shared"
        shown["metadata"]["ownerReferences"][0]["uid"] = memory.facts["owner"]
    yield shown


@lie("WRC-SKW-001", shows="ResourceClaim", says="must have its one claim once the gate is on, not")
def group_gets_two_claims_once_the_gate_is_on(claim: Object, _memory: Memory) -> Shown:
    yield claim
    if "allocation" in claim.get("status", {}) and entry_of(claim) == "shared":
        yield twin(claim, "second")


@lie("WRC-SKW-002", shows="ResourceClaim", says="for the matching entry, but claims are owned by")
def first_pod_alone_gets_a_claim_without_the_gate(claim: Object, _memory: Memory) -> Shown:
    """The claim of the plain Pod of the barrier looks as if it were for the entry."""
    if entry_of(claim).startswith("barrier-"):
        claim["metadata"]["annotations"]["resource.kubernetes.io/pod-claim-name"] = "shared"
    yield claim


@lie("WRC-SKW-003", shows="Pod", says="records a ResourceClaim for own: not so")
def all_entries_of_grouped_pods_wait_for_the_gate(pod: Object, _memory: Memory) -> Shown:
    """Only a time-out can tell that something is missing."""
    if name_of(pod).startswith("other-"):
        pod["status"].pop("resourceClaimStatuses", None)
    yield pod


@lie("WRC-SKW-003", shows="Pod", says="must wait as a whole while the gate is off, but has {'own'")
def entry_of_its_own_is_recorded_although_the_other_waits(pod: Object, _memory: Memory) -> Shown:
    if name_of(pod).startswith("mixed-") and not statuses_of(pod):
        pod["status"]["resourceClaimStatuses"] = [{"name": "own", "resourceClaimName": f"{name_of(pod)}-own"}]
    yield pod


@false_start("WRC-SKW-004", says="while it knows no PodGroups, it must generate 0 claims, not for")
def controller_knows_pod_groups_although_their_gate_is_off(_component: str, _gates: Gates) -> Gates:
    return {}


@lie("WRC-SKW-004", shows="Pod ResourceClaim", says="while it knows no PodGroups, it must generate 0 claims, not for")
def second_grouped_pod_gets_a_claim_without_pod_groups(shown: Object, memory: Memory) -> Shown:
    """The claim of the plain Pod of the barrier looks as if it were for the entry, and owned by the second Pod."""
    if shown["kind"] == "Pod" and name_of(shown).endswith("-1"):
        memory.facts["owner"] = uid_of(shown)
    if entry_of(shown).startswith("barrier-") and "owner" in memory.facts:
        shown["metadata"]["annotations"]["resource.kubernetes.io/pod-claim-name"] = "own"
        shown["metadata"]["ownerReferences"][0]["uid"] = memory.facts["owner"]
    yield shown


@false_start("WRC-SKW-005", only="named", says="must keep allocation and reservation while the gate is off, but has")
def reservation_of_a_dead_group_goes_although_the_gate_is_off(_component: str, _gates: Gates) -> Gates:
    return {}


@lie(
    "WRC-SKW-005", shows="Pod ResourceClaim", says="must keep allocation and reservation while the gate is off, but has"
)
def reservation_becomes_one_of_a_pod_while_the_gate_is_off(shown: Object, memory: Memory) -> Shown:
    """The change hangs on the Pod of the barrier."""
    if shown["kind"] == "Pod" and name_of(shown).startswith("barrier-"):
        memory.facts["off"] = True
    if "off" in memory.facts and "shared" in name_of(shown) and shown.get("status", {}).get("reservedFor"):
        shown["status"]["reservedFor"] = [NOBODY]
    yield shown


@lie("WRC-SKW-005", shows="ResourceClaim", only="named", says="is untouched: not so after")
def leftover_reservation_is_not_cleaned_up_once_the_gate_is_on(claim: Object, memory: Memory) -> Shown:
    if name_of(claim) == "shared-claim":
        reserved = claim.get("status", {}).get("reservedFor") or memory.facts.get("reserved", [])
        memory.facts["reserved"] = reserved
        claim["status"] = {**claim.get("status", {}), "reservedFor": reserved}
    yield claim


@lie("WRC-SKW-006", shows="ResourceClaim", says="a cycle of the gate must not touch the reservation")
def pods_are_reserved_beside_the_group(claim: Object, _memory: Memory) -> Shown:
    if claim.get("status", {}).get("reservedFor") and "shared" in name_of(claim):
        claim["status"]["reservedFor"].append(NOBODY)
    yield claim


@lie("WRC-SKW-006", shows="Pod ResourceClaim", says="there must be no ResourceClaim for PodGroup group but")
def second_claim_appears_while_the_gate_is_off(shown: Object, _memory: Memory) -> Shown:
    """The claim of the plain Pod of the second barrier looks as if it were for the entry."""
    if entry_of(shown).startswith("barrier-"):
        shown["metadata"]["annotations"]["resource.kubernetes.io/pod-claim-name"] = "shared"
    yield shown


@lie("WRC-SKW-006", shows="Pod ResourceClaim", says="a new member must share")
def new_member_gets_another_device_after_the_cycle(shown: Object, memory: Memory) -> Shown:
    if shown["kind"] == "Pod" and name_of(shown).startswith("member-"):
        memory.facts.setdefault("members", set()).add(uid_of(shown))
    results = shown.get("status", {}).get("allocation", {}).get("devices", {}).get("results", ())
    for one in results:
        if len(memory.facts.get("members", ())) > 3 and "shared" in name_of(shown):
            one["device"] = "another"
    yield shown


@false_start("WRC-SKW-007", says="with the gate off in kube-scheduler, the used claim must be reserved for ['podgroups")
def scheduler_reserves_for_groups_although_the_gate_is_off(_component: str, _gates: Gates) -> Gates:
    return {}


@lie("WRC-SKW-007", shows="ResourceClaim", says="the used claim must be reserved for ['podgroups/group'")
def reservation_of_the_group_is_replaced_by_the_first_pod(claim: Object, _memory: Memory) -> Shown:
    reserved = claim.get("status", {}).get("reservedFor", [])
    if len(reserved) > 1 and reserved[0]["resource"] == "podgroups":
        reserved.pop(0)
    yield claim


@lie("WRC-SKW-007", shows="ResourceClaim", says="the fresh claim must be reserved for ['pods/")
def second_pod_of_a_fresh_claim_is_not_reserved_for(claim: Object, _memory: Memory) -> Shown:
    if name_of(claim) == "fresh-claim" and claim.get("status", {}).get("reservedFor"):
        claim["status"]["reservedFor"] = claim["status"]["reservedFor"][:1]
    yield claim


@false_start("WRC-SKW-008", says="no member may be evicted through its PodGroup, but")
def members_are_evicted_although_the_gate_is_off(_component: str, _gates: Gates) -> Gates:
    return {}


@lie("WRC-SKW-008", shows="Pod", says="no member may be evicted through its PodGroup, but ['member-")
def second_member_is_evicted_although_the_gate_is_off(pod: Object, memory: Memory) -> Shown:
    """It is marked when the Pod of the barrier is."""
    if name_of(pod).startswith("barrier-") and pod["metadata"].get("deletionTimestamp"):
        memory.facts["evicting"] = pod["metadata"]["deletionTimestamp"]
    if "evicting" in memory.facts and name_of(pod).startswith("member-") and name_of(pod).endswith("-1"):
        pod["metadata"]["deletionTimestamp"] = memory.facts["evicting"]
    yield pod


@lie("WRC-SKW-010", shows="ResourceClaim", says="is untouched: not so after")
def claim_is_not_released_when_the_last_pod_goes(claim: Object, _memory: Memory) -> Shown:
    """Only a time-out can tell that something is missing."""
    if "shared" in name_of(claim):
        claim.setdefault("status", {}).setdefault("allocation", {"devices": {}})
    yield claim


@lie("WRC-SKW-010", shows="ResourceClaim", says="alone: not so after")
def entry_of_the_first_pod_that_goes_is_kept(claim: Object, _memory: Memory) -> Shown:
    reserved = claim.get("status", {}).get("reservedFor", [])
    if reserved and reserved[0]["resource"] == "pods" and "shared" in name_of(claim):
        reserved.insert(0, NOBODY)
    yield claim


@false_start("WRC-SKW-011", says="a Pod must not be bound with a claim that it does not own")
def scheduler_uses_claims_of_groups_although_the_gate_is_off(_component: str, _gates: Gates) -> Gates:
    return {}


@lie("WRC-SKW-011", shows="Pod ResourceClaim", only="fresh", says="must stay as it was, but its status is")
def fresh_claim_is_allocated_for_a_pod_that_waits(shown: Object, memory: Memory) -> Shown:
    """The change hangs on the Pod of the barrier."""
    if shown["kind"] == "Pod" and name_of(shown).startswith("barrier-"):
        memory.facts["off"] = True
    if "off" in memory.facts and entry_of(shown) == "shared":
        shown["status"] = {"allocation": {"devices": {}}}
    yield shown


@lie("WRC-SKW-011", shows="Pod ResourceClaim", only="used", says="must stay as it was, but its status is")
def used_claim_is_reserved_for_a_pod_that_waits(shown: Object, memory: Memory) -> Shown:
    """The change hangs on the Pod of the barrier."""
    if shown["kind"] == "Pod" and name_of(shown).startswith("barrier-"):
        memory.facts["off"] = True
    if "off" in memory.facts and entry_of(shown) == "shared":
        shown["status"]["reservedFor"].append(NOBODY)
    yield shown
