# SPDX-License-Identifier: Apache-2.0
"""Probes: where Kubernetes is known or expected to fall short of its documentation. Each says how often it did.

They run last. One of them starts a loop in kube-controller-manager and ends it itself, by deleting the PodGroups.
The folder ``reproductions`` shows the confirmed faults with kubectl alone.
"""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import pytest

from conformance.attempts import Attempts
from conformance.names import keeps_a_part_of_both
from fixtures.api import Object
from fixtures.barriers import claim_of_another_pod_group_is_generated
from fixtures.conditions import are_bound, have_length, recorded_claims, records_claims
from fixtures.errors import Undetermined
from fixtures.objects import Claim, Pod, PodGroup, names_by_entry
from fixtures.scenario import Scenario
from fixtures.waiting import BINDING, GENERATION, PROBED_GENERATION, Waited, eventually, poll
from verdicts.requirement import requirement

pytestmark = [pytest.mark.probe, pytest.mark.timeout(180)]

#: PodGroups whose ResourceClaim is deleted.
ATTEMPTS = 10
#: Changes of a list that loses one entry and gets it back.
LOST_AND_BACK = 2
ENTRIES = ("first", "second", "third")
#: Dots at all even, or at all odd places but the first: wherever a name is cut, one of the two is cut behind a dot.
DOTTED = [("a" * start + "a." * length)[: length - 1] + "a" for length in (100, 253) for start in (0, 1)]
#: One name so short beside the other that its proportional share of 57 characters is none.
UNEQUAL = [("a" * 55, "x"), ("a" * 253, "gpu"), ("a", "d" * 55), ("b", "d" * 63)]


@requirement("WRC-GEN-013")
@pytest.mark.parametrize("members", [0, 1], ids=["without-pods", "with-a-pending-pod"])
def test_deleted_claim_is_generated_again(scenario: Scenario, members: int) -> None:
    """Ten PodGroups whose unused claim is deleted by hand get a new one each, and their status names it."""
    groups = _groups(scenario)
    _pending_pods(scenario, groups, members)

    attempts = _delete_claims(scenario, groups)

    eventually(attempts, attempts.succeed, PROBED_GENERATION)


@requirement("WRC-GEN-014")
def test_list_of_claims_stays_whole_after_one_is_generated_again(scenario: Scenario) -> None:
    """Of three claims of a PodGroup the first, second or third is deleted: the list soon names three and stays so."""
    entries = [scenario.from_template(name) for name in ENTRIES]
    groups = [scenario.pod_group(*entries, name=f"without-{name}") for name in ENTRIES]
    for group in groups:
        eventually(group, records_claims(*ENTRIES), GENERATION)
    pods = [scenario.pod(entries[0], group=group) for group in groups]  # they let the controller notice the deletion
    for pod in pods:
        eventually(pod, records_claims("first"), GENERATION)
    lists = [group.claim_names for group in groups]
    since = scenario.timeline.now

    try:
        scenario.delete(*(group.claim(name) for group, name in zip(groups, ENTRIES, strict=True)))
        poll(scenario.claims, have_length(9), PROBED_GENERATION, on_time_out=_not_generated_again)
        scenario.barrier(claim_of_another_pod_group_is_generated)
        unstable = [
            words
            for group, names in zip(groups, lists, strict=True)
            if (words := _unstable(scenario, group, names, since))
        ]
    finally:
        scenario.delete(*pods, *groups)

    assert not unstable, (
        f"after one of three claims was generated again, the PodGroup's list must name all three and stay so, but in "
        f"{len(unstable)} of {len(groups)} PodGroups it does not: {'; '.join(unstable)}"
    )


@requirement("WRC-GEN-015")
def test_pending_pods_follow_the_claim_that_is_generated_again(scenario: Scenario) -> None:
    """Two pending Pods of each of ten PodGroups turn to the claim in place of a deleted one, and are bound with it."""
    groups = _groups(scenario)
    members = _pending_pods(scenario, groups, 2)
    replaced = _delete_claims(scenario, groups)
    poll(replaced, replaced.succeed, GENERATION, on_time_out=_not_generated_again)

    following = Attempts(
        "of pending Pods to follow a new ResourceClaim", [partial(_astray, pod, group) for pod, group in members]
    )
    eventually(following, following.succeed, PROBED_GENERATION)

    scenario.node(devices=ATTEMPTS)
    eventually(scenario.all_of(pod for pod, _ in members), are_bound(len(members)), BINDING)
    unused = [group.name for group in groups if not group.claim("shared").allocation()]
    assert not unused, f"the Pods must be bound with the new claims, but those of {unused} are not allocated"


@requirement("WRC-GEN-019")
def test_a_missing_template_holds_up_its_own_entry_alone(scenario: Scenario) -> None:
    """Of three PodGroups one lacks the template of the first, second or third entry: the others are recorded.

    A Pod of each PodGroup uses these others, and its status must name the same claims.
    """
    sources = {name: scenario.from_template(name) for name in ENTRIES}
    complaints = []
    for missing in ENTRIES:
        entries = {**sources, missing: {"name": missing, "resourceClaimTemplateName": "missing"}}
        group = scenario.pod_group(*entries.values(), name=f"without-{missing}")
        others = [name for name in ENTRIES if name != missing]
        pod = scenario.pod(*(entries[name] for name in others), group=group, name=f"without-{missing}")
        complaints += [partial(_unrecorded, one, group, others) for one in (group, pod)]

    attempts = Attempts("to record the claims of entries whose template exists", complaints)
    eventually(attempts, attempts.succeed, PROBED_GENERATION)


@requirement("WRC-GEN-018")
def test_all_valid_names_lead_to_a_claim_that_keeps_a_part_of_both(scenario: Scenario) -> None:
    """PodGroups with dots wherever their name is cut, and very unequal names, have claims with a part of both names."""
    template = scenario.template()["metadata"]["name"]
    named = [
        (scenario.pod_group({"name": entry, "resourceClaimTemplateName": template}, name=group), entry)
        for group, entry in (*((group, "device") for group in DOTTED), *UNEQUAL)
    ]

    attempts = Attempts("to name a ResourceClaim", [partial(_badly_named, group, entry) for group, entry in named])

    eventually(attempts, attempts.succeed, PROBED_GENERATION)


def _groups(scenario: Scenario) -> list[PodGroup]:
    """Return ten PodGroups of one template, whose claim is generated and recorded."""
    entry = scenario.from_template()
    groups = [scenario.pod_group(entry, name=f"group-{index}") for index in range(ATTEMPTS)]
    for group in groups:
        eventually(group, records_claims("shared"), GENERATION)
    return groups


def _pending_pods(scenario: Scenario, groups: Sequence[PodGroup], count: int) -> list[tuple[Pod, PodGroup]]:
    """Return ``count`` new members of each PodGroup, with it; their claim is recorded, and there is no Node."""
    entry = {"name": "shared", "resourceClaimTemplateName": "shared-template"}
    members = [(scenario.pod(entry, group=group), group) for group in groups for _ in range(count)]
    for pod, _ in members:
        eventually(pod, records_claims("shared"), GENERATION)
    return members


def _delete_claims(scenario: Scenario, groups: Sequence[PodGroup]) -> Attempts:
    """Delete the generated claim of each PodGroup, and return the attempts to have it replaced."""
    claims = [group.claim("shared") for group in groups]
    scenario.delete(*claims)
    complaints = [partial(_not_replaced, group, claim) for group, claim in zip(groups, claims, strict=True)]
    return Attempts("to have a deleted ResourceClaim generated again", complaints)


def _not_replaced(group: PodGroup, deleted: Claim) -> str:
    """Return what is missing until another claim is in the place of the deleted one."""
    others = [one for one in group.generated_claims("shared") if one["metadata"]["uid"] != deleted.uid]
    if not others:
        return f"{group} has no ResourceClaim in the place of {deleted.name}"
    names = group.claim_names
    return "" if names == names_by_entry(others) else f"the status of {group} names {names}, not {_names(others)}"


def _not_generated_again(waited: Waited) -> Exception:
    return Undetermined(
        f"No new ResourceClaim came in the place of a deleted one (WRC-GEN-013).\n{waited.last_state()}"
    )


def _unstable(scenario: Scenario, group: PodGroup, names: dict[str, str], since: float) -> str:
    """Return what is wrong with the list of a PodGroup, which was ``names`` before a claim was deleted."""
    lists = [recorded_claims(one.body) for one in scenario.timeline.of(group) if one.at >= since]
    changes = sum(before != after for before, after in pairwise([names, *lists]))
    if changes > LOST_AND_BACK:
        return f"{group} changed its list {changes} times in {scenario.timeline.now - since:.1f} s"
    generated = group.generated_claims()
    if group.claim_names != names_by_entry(generated):
        return f"{group} names {group.claim_names}, not {_names(generated)}"
    return ""


def _unrecorded(one: Pod | PodGroup, group: PodGroup, entries: Sequence[str]) -> str:
    """Return what is wrong with the list of a Pod or PodGroup, which must name the claims of these entries."""
    generated = names_by_entry(group.generated_claims())
    if sorted(generated) != sorted(entries):
        return f"{group} has claims for {sorted(generated)}, not for {list(entries)}"
    return "" if one.claim_names == generated else f"the status of {one} names {sorted(one.claim_names)}"


def _astray(pod: Pod, group: PodGroup) -> str:
    """Return which claim a Pod names, unless it is that of its PodGroup."""
    names, expected = pod.claim_names, group.claim_names
    return "" if names == expected else f"{pod} names {names}, its PodGroup {expected}"


def _badly_named(group: PodGroup, entry: str) -> str:
    """Return what is wrong with the name of the claim of a PodGroup's only entry."""
    subject = f"PodGroup {_brief(group.name)} with entry {_brief(entry)}"
    names = _names(group.generated_claims(entry))
    if not names:
        return f"{subject} has no ResourceClaim"
    astray = [name for name in names if not keeps_a_part_of_both(name, group.name, entry)]
    return f"{subject} has {astray}, which must keep a part of both" if astray else ""


def _names(claims: Sequence[Object]) -> list[str]:
    return [one["metadata"]["name"] for one in claims]


def _brief(name: str) -> str:
    return name if len(name) < 10 else f"{name[:9]}... ({len(name)} characters)"
