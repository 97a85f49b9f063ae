# SPDX-License-Identifier: Apache-2.0
"""Lies about many ResourceClaims that are generated at once: one of hundreds is wrong, or for a moment."""

from tests.lies.generation import CLAIM_NAME_ANNOTATION, entry_of, statuses_of
from tests.lies.generation_names import group_of
from tests.lies.lie import Memory, Object, Shown, lie, name_of, twin

GROUPS = "test_a_burst_of_groups_has_one_claim_for_each_entry"
PODS = "test_a_burst_of_pods_has_one_claim_for_each_entry"


def is_for(claim: Object, owner: str, entry: str) -> bool:
    """Tell whether the claim was generated for an entry of the PodGroup or Pod whose name ends so."""
    return entry_of(claim) == entry and group_of(claim).endswith(owner)


@lie("WRC-GEN-009", shows="ResourceClaim", check=GROUPS, says="1 of 400 entries have not had exactly one Res")
def one_of_many_entries_gets_a_second_claim(claim: Object, _memory: Memory) -> Shown:
    yield claim
    if is_for(claim, "group-37", "third"):
        yield twin(claim, "second")


@lie("WRC-GEN-009", shows="ResourceClaim", check=GROUPS, says="group-30 third: 0; group-30 fourth: 2")
def two_workers_write_into_one_annotation(claim: Object, _memory: Memory) -> Shown:
    """As when they write into one object in memory (kubernetes 141104)."""
    if is_for(claim, "group-30", "third"):
        claim["metadata"]["annotations"][CLAIM_NAME_ANNOTATION] = "fourth"
    yield claim


@lie("WRC-GEN-009", shows="ResourceClaim", check=GROUPS, says="1 of 400 claims lack the annotation of their template")
def one_of_many_claims_loses_the_annotation_of_the_template(claim: Object, _memory: Memory) -> Shown:
    if is_for(claim, "group-49", "first"):
        claim["metadata"]["annotations"] = {CLAIM_NAME_ANNOTATION: "first"}
    yield claim


@lie("WRC-GEN-009", shows="PodGroup", check=GROUPS, says="1 are not, such as group-49 fourth")
def last_of_many_entries_is_never_recorded(group: Object, _memory: Memory) -> Shown:
    """Only a time-out can tell that something is missing."""
    if name_of(group) == "group-49" and statuses_of(group):
        group["status"]["resourceClaimStatuses"].remove(statuses_of(group)["fourth"])
    yield group


@lie("WRC-MAT-007", shows="ResourceClaim", check=PODS, says="1 of 400 entries have not had exactly one ResourceClaim")
def one_entry_of_many_pods_gets_a_second_claim(claim: Object, _memory: Memory) -> Shown:
    """As when the controller forgets what it has just created (kubernetes 140217)."""
    yield claim
    if is_for(claim, "-37", "second"):
        yield twin(claim, "second")


@lie("WRC-MAT-007", shows="Pod", check=PODS, says="1 of 400 entries were recorded with more than one claim")
def one_of_many_pods_turns_to_another_claim(pod: Object, _memory: Memory) -> Shown:
    """It does so when the scheduler tries the Pod, which it can only after the claim is recorded."""
    if name_of(pod).endswith("-37") and statuses_of(pod) and not pod["status"].get("conditions"):
        statuses_of(pod)["second"]["resourceClaimName"] += "-first"
    yield pod
