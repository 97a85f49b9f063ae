# SPDX-License-Identifier: Apache-2.0
"""GEN: many ResourceClaims that are generated at the same moment, by all workers of the controller.

Reports: kubernetes 140217 (one Pod got two claims) and 141104 (workers wrote into one map of annotations).
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import pytest

from fixtures.api import Object
from fixtures.barriers import claim_of_another_pod_group_is_generated
from fixtures.conditions import recorded_claims
from fixtures.objects import Handle, controller_of, entry_of
from fixtures.scenario import Scenario
from fixtures.waiting import GENERATION_OF_MANY, NotYet, eventually
from verdicts.requirement import requirement

#: PodGroups, or Pods, that wait for one template; with 50 of them, v1.36.3 does not show its fault in each run.
OWNERS, OWNERS_SOAK = 100, 500
ENTRIES = ("first", "second", "third", "fourth")
ANNOTATION = "wrc.example.com/annotation"
FROM_LATE = [{"name": one, "resourceClaimTemplateName": "late"} for one in ENTRIES]


@requirement("WRC-GEN-009")
def test_a_burst_of_groups_has_one_claim_for_each_entry(scenario: Scenario, pytestconfig: pytest.Config) -> None:
    """The template for the four entries of 100 PodGroups comes: each gets one claim, only one ever, and keeps it."""
    count = OWNERS_SOAK if pytestconfig.getoption("--wrc-soak") else OWNERS
    groups = [scenario.pod_group(*FROM_LATE, name=f"group-{index}") for index in range(count)]

    _assert_one_claim_for_each_entry(scenario, groups)


@requirement("WRC-MAT-007")
def test_a_burst_of_pods_has_one_claim_for_each_entry(scenario: Scenario, pytestconfig: pytest.Config) -> None:
    """The template for the four entries of 100 Pods of no PodGroup comes: each entry gets one claim, only one ever."""
    pods = scenario.pods(OWNERS_SOAK if pytestconfig.getoption("--wrc-soak") else OWNERS, *FROM_LATE)

    _assert_one_claim_for_each_entry(scenario, pods)


@dataclass(frozen=True)
class Waiting:
    """The entries of PodGroups or Pods for which no ResourceClaim is recorded."""

    scenario: Scenario
    owners: Collection[Handle]

    def __call__(self) -> list[str]:
        """Return what is missing now, one owner and entry each."""
        [kind] = {one.kind for one in self.owners}
        uids = {one.uid for one in self.owners}
        present = [
            one for one in self.scenario.api.list(kind, self.scenario.namespace) if one["metadata"]["uid"] in uids
        ]
        return [f"{one['metadata']['name']} {entry}" for one in present for entry in _missing(one)]

    def __str__(self) -> str:
        return f"The set of {len(self.owners) * len(ENTRIES)} entries"


def are_all_recorded(missing: list[str]) -> bool:
    """No entry is left without a ResourceClaim."""
    if missing:
        raise NotYet(f"{len(missing)} are not, such as {', '.join(missing[:3])}")
    return True


def _missing(owner: Object) -> list[str]:
    return [entry for entry in ENTRIES if entry not in recorded_claims(owner)]


def _assert_one_claim_for_each_entry(scenario: Scenario, owners: Collection[Handle]) -> None:
    """Create the template that all owners wait for, and assert that each entry has one claim, and never had another."""
    scenario.template("late", annotations={ANNOTATION: "of-the-template"})
    eventually(Waiting(scenario, owners), are_all_recorded, GENERATION_OF_MANY)
    scenario.barrier(claim_of_another_pod_group_is_generated)

    names = {one.uid: one.name for one in owners}
    generated = {
        one.uid: one.body for one in scenario.timeline.versions("ResourceClaim") if controller_of(one.body) in names
    }
    total = len(names) * len(ENTRIES)
    found = Counter((names[controller_of(one)], entry_of(one)) for one in generated.values())
    wrong = {
        (name, entry): found[name, entry] for name in names.values() for entry in ENTRIES if found[name, entry] != 1
    }
    assert not wrong, f"{len(wrong)} of {total} entries have not had exactly one ResourceClaim: {_some(wrong)}"
    changed = {name: claims for name, claims in _recorded(scenario, names).items() if len(claims) > 1}
    assert not changed, f"{len(changed)} of {total} entries were recorded with more than one claim: {_some(changed)}"
    lost = [one["metadata"]["name"] for one in generated.values() if ANNOTATION not in one["metadata"]["annotations"]]
    assert not lost, f"{len(lost)} of {total} claims lack the annotation of their template: {lost[:5]}"


def _recorded(scenario: Scenario, names: dict[str, str]) -> dict[tuple[str, str], set[str]]:
    """Return all names of claims that were ever recorded for each entry of the owners."""
    recorded: dict[tuple[str, str], set[str]] = {}
    for version in scenario.timeline.versions():
        if version.uid in names:
            for entry, claim in recorded_claims(version.body).items():
                recorded.setdefault((version.name, entry), set()).add(claim)
    return recorded


def _some(wrong: Mapping[tuple[str, str], object]) -> str:
    return "; ".join(f"{name} {entry}: {what}" for (name, entry), what in list(wrong.items())[:5])
