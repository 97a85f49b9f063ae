# SPDX-License-Identifier: Apache-2.0
"""Lies that break the standing invariants, told while a check runs that does not ask for it."""

from tests.lies.lie import Memory, Object, Shown, lie, twin
from tests.lies.reservation import MOST, POD, entries_of

ONE_POD = "test_the_entry_is_the_reference_to_the_pod_group"
TWENTY_PODS = "test_reservation_stays_one_entry_however_many_pods"
FULL_CLAIM = "test_reserved_for_holds_256_entries_and_no_more"
CLAIM_WITHOUT_ROOM = "test_pods_without_a_group_cannot_share_beyond_256"
DELETED_PODS = "test_claim_outlives_the_pods_of_its_group"


@lie("WRC-INV-001", shows="ResourceClaim", check=ONE_POD, says="is allocated to ResourceClaims")
def claim_has_a_twin_on_its_device(claim: Object, _memory: Memory) -> Shown:
    yield claim
    if entries_of(claim):
        yield twin(claim, "second")


@lie("WRC-INV-001", shows="ResourceClaim", check=DELETED_PODS, says="is allocated to ResourceClaims")
def device_of_the_group_is_lent_to_a_pod_for_a_moment(claim: Object, memory: Memory) -> Shown:
    for result in claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results") or ():
        result["device"] = memory.facts.setdefault("device of the group", result["device"])
    yield claim


@lie("WRC-INV-002", shows="ResourceClaim", check=TWENTY_PODS, only="[template]", says="two generated ResourceClaims")
def group_has_two_generated_claims(claim: Object, _memory: Memory) -> Shown:
    yield claim
    yield twin(claim, "second")


@lie("WRC-INV-002", shows="ResourceClaim", check=TWENTY_PODS, only="[template]", says="two generated ResourceClaims")
def group_has_two_generated_claims_until_one_is_used(claim: Object, _memory: Memory) -> Shown:
    yield claim
    if not entries_of(claim):
        yield twin(claim, "second")


@lie("WRC-INV-003", shows="Pod", check=ONE_POD, says="is bound to Node elsewhere")
def pod_is_bound_where_its_device_is_not(pod: Object, _memory: Memory) -> Shown:
    if pod["spec"].get("nodeName"):
        pod["spec"]["nodeName"] = "elsewhere"
    yield pod


@lie("WRC-INV-003", shows="Pod", check=TWENTY_PODS, says="is bound to Node elsewhere")
def third_pod_is_bound_where_its_device_is_not(pod: Object, memory: Memory) -> Shown:
    bound = memory.facts.setdefault("bound", {})
    if pod["spec"].get("nodeName") and bound.setdefault(pod["metadata"]["uid"], len(bound)) == 2:
        pod["spec"]["nodeName"] = "elsewhere"
    yield pod


@lie("WRC-INV-003", shows="ResourceClaim", check=FULL_CLAIM, says="is allocated on elsewhere only")
def allocation_moves_away_from_a_bound_pod(claim: Object, _memory: Memory) -> Shown:
    if len(entries_of(claim)) == MOST:
        [term] = claim["status"]["allocation"]["nodeSelector"]["nodeSelectorTerms"]
        term["matchFields"][0]["values"] = ["elsewhere"]
    yield claim


@lie("WRC-INV-004", shows="ResourceClaim", check=FULL_CLAIM, says="has 257 entries in reservedFor")
def full_claim_has_one_entry_too_many(claim: Object, _memory: Memory) -> Shown:
    if len(entries_of(claim)) == MOST:
        entries_of(claim).append(POD)
    yield claim


@lie(
    "WRC-INV-004",
    shows="ResourceClaim",
    check=CLAIM_WITHOUT_ROOM,
    lingers=True,
    says="is still reserved for Pod barrier-",
)
def claim_stays_reserved_for_a_deleted_pod(claim: Object, memory: Memory) -> Shown:
    """The Pod is that of the barrier, and the claim was generated for it alone."""
    seen: list[Object] = memory.facts.setdefault(claim["metadata"]["uid"], [])
    seen[:] = entries_of(claim) or seen
    yield {**claim, "status": {**claim.get("status", {}), "reservedFor": seen}}
