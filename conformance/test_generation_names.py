# SPDX-License-Identifier: Apache-2.0
"""GEN: the names of generated ResourceClaims."""

from conformance.names import LONGEST, is_dns_subdomain, is_whole, keeps_a_part_of_both
from fixtures.bodies import Entry
from fixtures.conditions import is_gone, records_claims
from fixtures.objects import PodGroup, entry_of
from fixtures.scenario import Scenario
from fixtures.waiting import GENERATION, RELEASE, eventually
from verdicts.requirement import requirement

#: Lengths of the names of PodGroup and entry, from the longest that fit as they are to the longest there are.
LENGTHS = [
    (40, 15),
    (40, 16),
    (15, 40),
    (15, 41),
    (54, 1),
    (55, 2),
    (2, 63),
    (30, 63),
    (63, 5),
    (200, 63),
    (253, 5),
    (253, 63),
]


@requirement("WRC-GEN-005")
def test_name_is_that_of_the_pod_group_that_of_the_entry_and_a_random_suffix(scenario: Scenario) -> None:
    """PodGroups and entries of all kinds of names have claims that are named after both, with a random suffix."""
    entries = [scenario.from_template(entry) for entry in ("claim", "0", "with-hyphen-1")]
    groups = [scenario.pod_group(*entries, name=name) for name in ("group", "a", "2-with-hyphen", "with.dot.3")]

    names = [(group.name, entry, name) for group in groups for entry, name in _names(group, entries).items()]

    astray = [name for group, entry, name in names if not is_whole(name, group, entry)]
    assert not astray, f"names must be those of PodGroup and entry, and a random suffix, but there are {astray}"


@requirement("WRC-GEN-005")
def test_pod_group_of_the_same_name_gets_a_claim_of_another_name(scenario: Scenario) -> None:
    """The claim of a PodGroup that is deleted and created again has another random suffix than the first one."""
    entry = scenario.from_template("claim")
    first = scenario.pod_group(entry)
    claim = first.claim("claim")
    scenario.delete(first)
    eventually(claim, is_gone, RELEASE)

    [second] = _names(scenario.pod_group(entry), [entry]).values()

    assert is_whole(second, "group", "claim"), f"the name must be group-claim- and a random suffix, not {second}"
    assert second != claim.name, f"the suffix must be random, but both PodGroups had a ResourceClaim {second}"


@requirement("WRC-GEN-017")
def test_long_names_are_shortened_so_that_a_part_of_both_remains(scenario: Scenario) -> None:
    """However long the names of PodGroup and entry are, the claim's name is valid, short and has a part of both."""
    template = scenario.template()["metadata"]["name"]

    for of_group, of_entry in LENGTHS:
        entry: Entry = {"name": _word("device-", of_entry), "resourceClaimTemplateName": template}
        group = scenario.pod_group(entry, name=_word(f"training-{of_entry}-", of_group))
        [name] = _names(group, [entry]).values()

        lengths = f"names of {of_group} and {of_entry} characters"
        assert is_dns_subdomain(name), f"{lengths} must lead to a valid name, not to {name!r}"
        assert len(name) <= LONGEST, f"{lengths} must lead to at most {LONGEST} characters, not to {name!r}"
        assert keeps_a_part_of_both(name, group.name, entry["name"]), f"{lengths}: {name!r} must keep a part of both"


@requirement("WRC-GEN-017")
def test_names_that_are_shortened_alike_stay_distinct(scenario: Scenario) -> None:
    """PodGroups, and entries of one PodGroup, whose names differ in the last character alone have distinct claims."""
    template = scenario.template()["metadata"]["name"]
    names = [_word("device-", 62) + last for last in "ab"]
    entries: list[Entry] = [{"name": name, "resourceClaimTemplateName": template} for name in names]
    groups = [scenario.pod_group(*entries, name=_word("training-", 99) + last) for last in "ab"]

    generated = [name for group in groups for name in _names(group, entries).values()]

    assert len(set(generated)) == 4, f"two PodGroups of two entries must have four claims, but they have {generated}"


def _names(group: PodGroup, entries: list[Entry]) -> dict[str, str]:
    """Return the names of the PodGroup's generated claims by entry, once all are recorded."""
    eventually(group, records_claims(*(entry["name"] for entry in entries)), GENERATION)
    return {entry_of(claim): claim["metadata"]["name"] for claim in group.generated_claims()}


def _word(syllable: str, length: int) -> str:
    """Return a valid name of ``length`` characters."""
    return (syllable * length)[: length - 1] + "x"
