# SPDX-License-Identifier: Apache-2.0
"""Lies about how ResourceClaims settle after random sequences."""

from tests.lies.lie import Memory, Object, Shown, lie, uid_of

SAYS = "The set of ResourceClaims with their consumers"


@lie("WRC-LIF-015", shows="ResourceClaim", says=SAYS, lingers=True)
def claims_of_gone_pod_groups_linger(claim: Object, _memory: Memory) -> Shown:
    yield claim


@lie("WRC-LIF-015", shows="ResourceClaim", says="not allocated")
def claim_is_reserved_for_a_second_consumer_without_allocation(claim: Object, _memory: Memory) -> Shown:
    """Wrong at the edge only: as long as there is one consumer, allocation and reservation agree."""
    if len(claim.get("status", {}).get("reservedFor", ())) > 1:
        del claim["status"]["allocation"]
    yield claim


@lie("WRC-LIF-015", shows="ResourceClaim", says="allocated for nobody")
def named_claim_keeps_its_allocation_without_a_consumer(claim: Object, memory: Memory) -> Shown:
    """Generated claims are right: they go with their PodGroup, and nobody looks for their allocation."""
    status = claim.setdefault("status", {})
    if "allocation" in status:
        memory.facts[uid_of(claim)] = status["allocation"]
    elif uid_of(claim) in memory.facts and not claim["metadata"].get("ownerReferences"):
        status["allocation"] = memory.facts[uid_of(claim)]
    yield claim
