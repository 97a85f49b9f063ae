# SPDX-License-Identifier: Apache-2.0
"""LIF: PodGroups that follow each other fast, under one name or side by side."""

import random
from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import pytest

from conformance.kinds import NAMED_AND_TEMPLATE
from fixtures.api import Object
from fixtures.barriers import claim_of_another_pod_group_is_generated
from fixtures.conditions import (
    are_bound,
    is_also_reserved_for,
    is_bound,
    is_gone,
    is_not_reserved_for,
    is_untouched,
    recorded_claims,
)
from fixtures.objects import Claim, Pod, PodGroup, controller_of
from fixtures.scenario import Scenario
from fixtures.timeline import is_empty
from fixtures.waiting import BINDING, RELEASE, REMOVAL, Condition, eventually
from verdicts.requirement import requirement

#: PodGroups that have the same name one after the other; soak takes more of them.
INSTANCES, INSTANCES_SOAK = 6, 20
#: PodGroups that come and go in a normal run and in soak, and the most that there are at a time.
CYCLES, CYCLES_SOAK, AT_ONCE = 30, 100, 10
#: Fewer devices than PodGroups at a time, so that some Pods have to wait until others go.
DEVICES = 4


@requirement("WRC-LIF-007")
@NAMED_AND_TEMPLATE
def test_a_group_of_the_same_name_is_a_new_consumer(scenario: Scenario, kind: str, pytestconfig: pytest.Config) -> None:
    """Each of several PodGroups of one name gets a reservation and a generated claim of its own, as do its Pods."""
    scenario.node(devices=8)
    entry = scenario.entry(kind)
    earlier: list[tuple[PodGroup, Claim]] = []
    for instance in range(INSTANCES_SOAK if pytestconfig.getoption("--wrc-soak") else INSTANCES):
        early = scenario.pods(2, entry, group="group") if instance % 2 else []
        group = scenario.pod_group(entry)
        pods = [*early, *scenario.pods(2, entry, group=group)]
        eventually(scenario.all_of(pods), are_bound(len(pods)), BINDING)

        claim = group.claim("shared")
        for gone, _ in earlier:
            eventually(claim, is_not_reserved_for(gone.reference()), RELEASE)
        assert claim.reserved_for() == [group.reference()], "reservedFor must hold the new PodGroup alone"
        assert claim.devices(), "the Pods of the new PodGroup are bound, but their ResourceClaim is not allocated"
        if kind == "template":
            assert controller_of(claim.read()) == group.uid, "the claim must belong to the new PodGroup by its uid"
            _assert_never_named(scenario, [group, *pods], {one.name for _, one in earlier})
        earlier.append((group, claim))
        scenario.delete(*pods, group)
        eventually(group, is_gone, REMOVAL)

    for _, old in earlier:
        eventually(old, is_gone if kind == "template" else is_untouched, RELEASE)


@requirement("WRC-LIF-016")
@pytest.mark.probe
@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_finished_pods_of_an_earlier_group_reserve_nothing(scenario: Scenario, phase: str) -> None:
    """Finished Pods of a PodGroup make no reservation for the next one of its name, of which no Pod is scheduled."""
    scenario.node()
    entry = scenario.named()
    other, group = scenario.pod_group(entry, name="other"), scenario.pod_group(entry)
    keeper, *pods = [scenario.pod(entry, group=other), *scenario.pods(2, entry, group=group)]
    eventually(scenario.all_of([keeper, *pods]), are_bound(3), BINDING)
    claim = group.claim("shared")
    scenario.finish(*pods, phase=phase)
    scenario.delete(group)
    eventually(group, is_gone, REMOVAL)
    eventually(claim, is_not_reserved_for(group.reference()), RELEASE)

    again = scenario.pod_group(entry)
    scenario.barrier(claim_of_another_pod_group_is_generated)

    never = scenario.timeline.of(claim).never(is_also_reserved_for(again.reference()))
    assert never, f"no Pod of the new PodGroup is scheduled, but the claim was reserved for it\n{never}"
    assert claim.reserved_for() == [other.reference()], "the claim must stay reserved for the other PodGroup alone"


@requirement("WRC-LIF-009")
def test_rapid_churn_leaves_nothing_behind(scenario: Scenario, pytestconfig: pytest.Config) -> None:
    """PodGroups go at all stages while others come; Pods are bound still, nothing is left, and all devices are free."""
    scenario.node(devices=DEVICES)
    entries = [scenario.named("named"), scenario.from_template("generated")]
    soak = pytestconfig.getoption("--wrc-soak")
    chance = random.Random(None if soak else 0)  # noqa: S311  not a secret
    living: deque[tuple[PodGroup, list[Pod]]] = deque()
    for cycle in range(CYCLES_SOAK if soak else CYCLES):
        group = scenario.pod_group(*entries, name=f"group-{cycle}")
        living.append((group, scenario.pods(2, *entries, group=group)))
        _delete_all_but(scenario, living, chance.randint(1, AT_ONCE - 1), chance)

    _delete_all_but(scenario, living, 1, chance)
    eventually(scenario.all_of(living[0][1]), are_bound(2), BINDING)
    _delete_all_but(scenario, living, 0, chance)
    left = Leftovers(scenario)
    eventually(left, is_empty, REMOVAL)
    claim = scenario.claim("all-devices", DEVICES)
    eventually(scenario.pod({"name": "own", "resourceClaimName": claim.name}), is_bound, BINDING)


@dataclass(frozen=True)
class Leftovers:
    """The PodGroups, generated ResourceClaims and used named ones of a scenario, in words."""

    scenario: Scenario

    def __call__(self) -> list[str]:
        """Return what there is now."""
        groups = [one["metadata"]["name"] for one in self.scenario.api.list("PodGroup", self.scenario.namespace)]
        claims = [one for one in self.scenario.claims() if controller_of(one) or not is_untouched(one)]
        return [
            *(f"PodGroup {name}" for name in groups),
            *(f"ResourceClaim {one['metadata']['name']}" for one in claims),
        ]

    def __str__(self) -> str:
        return "What is left of the PodGroups and ResourceClaims"


def _delete_all_but(
    scenario: Scenario, living: deque[tuple[PodGroup, list[Pod]]], count: int, chance: random.Random
) -> None:
    """Delete the oldest PodGroups and their Pods, the one or the other first."""
    while len(living) > count:
        group, pods = living.popleft()
        scenario.delete(*chance.choice([[group, *pods], [*pods, group]]))


def _assert_never_named(scenario: Scenario, objects: Iterable[PodGroup | Pod], claims: Collection[str]) -> None:
    """Assert that no object's status named one of these claims, not even for a moment."""
    for one in objects:
        never = scenario.timeline.of(one).never(names_a_claim_of_an_earlier_group(claims))
        assert never, f"{one} named a ResourceClaim of an earlier PodGroup of this name\n{never}"


def names_a_claim_of_an_earlier_group(claims: Collection[str]) -> Condition:
    """The status names one of these ResourceClaims."""

    def names_a_claim_of_an_earlier_group(state: Object) -> bool:
        return any(name in claims for name in recorded_claims(state).values())

    return names_a_claim_of_an_earlier_group
