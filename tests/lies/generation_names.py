# SPDX-License-Identifier: Apache-2.0
"""Lies about the names of generated ResourceClaims."""

from tests.lies.generation import entry_of
from tests.lies.lie import Memory, Object, Shown, lie, name_of, uid_of

OF_BOTH = "test_name_is_that_of_the_pod_group_that_of_the_entry_and_a_random_suffix"
OF_THE_SAME_GROUP = "test_pod_group_of_the_same_name_gets_a_claim_of_another_name"
LONG = "test_long_names_are_shortened_so_that_a_part_of_both_remains"
ALIKE = "test_names_that_are_shortened_alike_stay_distinct"


def group_of(claim: Object) -> str:
    """Return the name of the PodGroup that owns a generated claim."""
    return str(claim["metadata"]["ownerReferences"][0]["name"])


def renamed(claim: Object, name: str) -> Object:
    """Return the claim under another name."""
    claim["metadata"]["name"] = name
    return claim


@lie("WRC-GEN-005", shows="ResourceClaim", check=OF_BOTH, says="names must be those of PodGroup and entry")
def claim_is_named_after_its_entry_alone(claim: Object, _memory: Memory) -> Shown:
    yield renamed(claim, f"{entry_of(claim)}-{name_of(claim)[-5:]}")


@lie("WRC-GEN-005", shows="ResourceClaim", check=OF_BOTH, says="but there are ['group-0', 'group-claim'")
def name_has_no_suffix(claim: Object, _memory: Memory) -> Shown:
    yield renamed(claim, f"{group_of(claim)}-{entry_of(claim)}")


@lie("WRC-GEN-005", shows="ResourceClaim", check=OF_BOTH, says="but there are ['with-dot-3-0-")
def dot_in_the_name_of_the_pod_group_becomes_a_hyphen(claim: Object, _memory: Memory) -> Shown:
    yield renamed(claim, name_of(claim).replace(".", "-"))


@lie("WRC-GEN-005", shows="ResourceClaim", check=OF_BOTH, says="but there are ['group-with-")
def name_of_the_entry_is_cut_at_its_hyphen(claim: Object, _memory: Memory) -> Shown:
    yield renamed(claim, name_of(claim).replace("-with-hyphen-1-", "-with-"))


@lie("WRC-GEN-005", shows="ResourceClaim", check=OF_THE_SAME_GROUP, says="the suffix must be random")
def second_pod_group_of_a_name_has_a_claim_of_the_same_name(claim: Object, memory: Memory) -> Shown:
    yield renamed(claim, memory.facts.setdefault("first", name_of(claim)))


@lie("WRC-GEN-005", shows="ResourceClaim", check=OF_THE_SAME_GROUP, says="the name must be group-claim- and a random")
def claim_of_the_second_pod_group_of_a_name_is_numbered(claim: Object, memory: Memory) -> Shown:
    first = memory.facts.setdefault("first", uid_of(claim))
    yield claim if uid_of(claim) == first else renamed(claim, "group-2-claim")


@lie("WRC-GEN-017", shows="ResourceClaim", check=LONG, says="names of 63 and 5 characters: 'training-5-")
def api_server_cuts_the_name_of_the_entry_off(claim: Object, _memory: Memory) -> Shown:
    """As it does with a ``generateName`` that is too long."""
    yield renamed(claim, f"{group_of(claim)}-{entry_of(claim)}-"[:58] + "abcde")


@lie("WRC-GEN-017", shows="ResourceClaim", check=LONG, says="names of 40 and 16 characters: '")
def name_of_the_pod_group_is_left_out_when_it_is_long(claim: Object, _memory: Memory) -> Shown:
    long = len(group_of(claim)) + len(entry_of(claim)) > 55
    yield renamed(claim, f"{entry_of(claim)[:50]}-abcde") if long else claim


@lie("WRC-GEN-017", shows="ResourceClaim", check=LONG, says="253 and 63 characters must lead to at most 63")
def only_the_longest_names_lead_to_one_that_is_too_long(claim: Object, _memory: Memory) -> Shown:
    longest = len(group_of(claim)) + len(entry_of(claim)) == 316
    yield renamed(claim, f"{group_of(claim)[:40]}-{entry_of(claim)[:17]}-abcde") if longest else claim


@lie("WRC-GEN-017", shows="ResourceClaim", check=LONG, says="253 and 5 characters must lead to a valid name")
def name_begins_with_a_hyphen(claim: Object, _memory: Memory) -> Shown:
    short = (len(group_of(claim)), len(entry_of(claim))) == (253, 5)
    yield renamed(claim, f"-{name_of(claim)[1:]}") if short else claim


@lie("WRC-GEN-017", shows="ResourceClaim", check=ALIKE, says="must have four claims, but they have")
def second_entry_of_the_second_pod_group_has_no_claim(claim: Object, _memory: Memory) -> Shown:
    """As if the claim of a name that is shortened alike were taken for its own."""
    if not (group_of(claim).endswith("b") and entry_of(claim).endswith("b")):
        yield claim
