# SPDX-License-Identifier: Apache-2.0
"""Lies about which ResourceClaim of a user becomes that of a PodGroup."""

from tests.lies.lie import Memory, Object, Shown, lie, name_of, twin, uid_of

ADOPTED = "test_a_claim_with_owner_and_annotation_is_adopted"
IGNORED = "test_a_claim_without_owner_or_annotation_is_not_adopted"
NAMED = "resourceClaimName"


def names(claim: str) -> Object:
    """Return a status in which the entry has this ResourceClaim."""
    return {"resourceClaimStatuses": [{"name": "shared", NAMED: claim}]}


def adopts(group: Object, name: str, *, at_once: bool = True) -> Shown:
    """Show the PodGroup of this name with the forged ResourceClaim, ``at_once`` or in place of the generated one."""
    if name_of(group) == name and (at_once or group["status"].get("resourceClaimStatuses")):
        group["status"] = names(f"{name}-shared")
    yield group


@lie(
    "WRC-SEC-006",
    shows="PodGroup",
    check=ADOPTED,
    says="the forged claim must be adopted, not {'shared': 'group-shared-",
)
def forged_claim_is_not_adopted(group: Object, _memory: Memory) -> Shown:
    if name_of(group) == "group":
        group["status"] = names("group-shared-abcde")
    yield group


@lie("WRC-SEC-006", shows="PodGroup", check=ADOPTED, says="records a ResourceClaim for shared: not so after")
def forged_claim_is_adopted_but_not_recorded(group: Object, _memory: Memory) -> Shown:
    """Only a time-out can tell that something is missing."""
    yield {**group, "status": {}} if name_of(group) == "group" else group


@lie("WRC-SEC-006", shows="ResourceClaim", check=ADOPTED, says="nothing may be generated beside the adopted claim")
def proper_claim_is_generated_beside_the_adopted(claim: Object, _memory: Memory) -> Shown:
    yield claim
    if name_of(claim) == "forged" and claim["status"].get("allocation"):
        yield twin(claim, "proper")


@lie("WRC-SEC-006", shows="ResourceClaim", check=ADOPTED, says="nothing may be generated beside the adopted claim")
def adopted_claim_loses_its_owner(claim: Object, _memory: Memory) -> Shown:
    if name_of(claim) == "forged" and claim["status"].get("allocation"):
        del claim["metadata"]["ownerReferences"]
    yield claim


@lie("WRC-SEC-006", shows="Pod", check=ADOPTED, says="the Pod must use the adopted claim, not")
def pod_uses_another_claim_than_the_adopted(pod: Object, _memory: Memory) -> Shown:
    if pod["status"].get("resourceClaimStatuses"):
        pod["status"] |= names("member-shared-abcde")
    yield pod


@lie("WRC-SEC-006", shows="ResourceClaim", check=ADOPTED, says="must be reserved for the PodGroup alone")
def adopted_claim_is_reserved_for_the_pod(claim: Object, _memory: Memory) -> Shown:
    for consumer in claim["status"].get("reservedFor", ()) if name_of(claim) == "forged" else ():
        consumer |= {"resource": "pods", "name": "member"}
    yield claim


@lie("WRC-SEC-006", shows="PodGroup", check=IGNORED, says="the forged claim no-annotation was adopted")
def owner_alone_is_enough(group: Object, _memory: Memory) -> Shown:
    return adopts(group, "no-annotation")


@lie("WRC-SEC-006", shows="PodGroup", check=IGNORED, says="the forged claim another-entry was adopted")
def entry_of_the_annotation_does_not_matter(group: Object, _memory: Memory) -> Shown:
    return adopts(group, "another-entry")


@lie("WRC-SEC-006", shows="PodGroup", check=IGNORED, says="the forged claim no-owner was adopted")
def annotation_alone_is_enough(group: Object, _memory: Memory) -> Shown:
    return adopts(group, "no-owner")


@lie("WRC-SEC-006", shows="PodGroup", check=IGNORED, says="the forged claim no-controller was adopted after all")
def owner_need_not_be_the_controller(group: Object, _memory: Memory) -> Shown:
    """The forged claim is found once the template is there."""
    return adopts(group, "no-controller", at_once=False)


@lie("WRC-SEC-006", shows="PodGroup", check=IGNORED, says="the forged claim of-the-predecessor was adopted")
def owner_is_known_by_its_name(group: Object, _memory: Memory) -> Shown:
    return adopts(group, "of-the-predecessor")


@lie("WRC-SEC-006", shows="ResourceClaim", check=IGNORED, says="PodGroup of-another must have one generated claim")
def last_but_one_pod_group_gets_a_second_claim(claim: Object, _memory: Memory) -> Shown:
    yield claim
    if uid_of(claim) and name_of(claim).startswith("of-another-shared-"):
        yield twin(claim, "second")
