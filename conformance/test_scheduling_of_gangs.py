# SPDX-License-Identifier: Apache-2.0
"""SCH: gangs whose Pods share a ResourceClaim are bound as a whole, or leave it untouched."""

import pytest

from conformance.kinds import NAMED_AND_TEMPLATE
from conformance.placement import placement
from conformance.use import assert_used_by
from fixtures.barriers import plain_pod_is_bound
from fixtures.bodies import Placement
from fixtures.conditions import are_bound, is_bound, is_untouched
from fixtures.scenario import Scenario
from fixtures.waiting import BINDING, eventually
from verdicts.requirement import requirement


@requirement("WRC-SCH-002")
@NAMED_AND_TEMPLATE
@pytest.mark.parametrize(("minimum", "count"), [(2, 2), (20, 20), (2, 5)], ids=["2-of-2", "20-of-20", "2-of-5"])
def test_a_gang_that_shares_a_claim_is_bound(scenario: Scenario, kind: str, minimum: int, count: int) -> None:
    """All Pods of a gang are bound with one allocation, and no Pod before there are as many as minCount."""
    scenario.node()
    scenario.node()
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry, min_count=minimum)
    early = scenario.pods(minimum - 1, entry, group=group, name="early")

    late = scenario.pods(count - len(early), entry, group=group, name="late")
    eventually(scenario.all_of([*early, *late]), are_bound(count), BINDING)

    claim = group.claim("shared")
    assert_used_by(group, claim)
    assert len(scenario.claims()) == 1, f"the gang shares one ResourceClaim, but there are {len(scenario.claims())}"
    enough = min((scenario.timeline.of(pod).versions[0] for pod in late), key=lambda version: version.number)
    for pod in early:
        never = scenario.timeline.of(pod).before(enough).never(is_bound)
        assert never, f"{pod} was bound when there were fewer Pods than minCount\n{never}"


@requirement("WRC-SCH-003")
@NAMED_AND_TEMPLATE
@pytest.mark.parametrize("obstacle", ["other-node", "no-room"])
def test_a_gang_that_cannot_be_placed_leaves_nothing_behind(scenario: Scenario, kind: str, obstacle: str) -> None:
    """If one Pod of a gang fits nowhere, because of the device or for lack of room, none is bound and none reserves."""
    first, second = scenario.node(pods=2), scenario.node()
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry, min_count=3)
    pods = scenario.pods(2, entry, group=group, on=Placement(first))
    pods.append(scenario.pod(entry, group=group, on=Placement(second if obstacle == "other-node" else first)))

    scenario.barrier(plain_pod_is_bound)

    for pod in pods:
        never = scenario.timeline.of(pod).never(is_bound)
        assert never, f"{pod} was bound, although its gang cannot be placed as a whole\n{never}"
    untouched = scenario.timeline.of(group.claim("shared")).always(is_untouched)
    assert untouched, f"the gang cannot be placed, so its claim must be untouched\n{untouched}"
    told = placement(group.read(), scenario.cluster.version)
    assert told == ("False", "Unschedulable"), f"the condition of the PodGroup must tell Unschedulable, not {told}"


@requirement("WRC-SCH-004")
@NAMED_AND_TEMPLATE
def test_a_gang_that_is_not_complete_allocates_nothing(scenario: Scenario, kind: str) -> None:
    """Gangs that lack one Pod of 3 and of 20 allocate nothing; with it, all Pods are bound."""
    scenario.node()
    minima = {"few": 3, "many": 20}
    entries = {name: scenario.entry(kind, source=f"{name}-source") for name in minima}
    groups = {name: scenario.pod_group(entries[name], name=name, min_count=count) for name, count in minima.items()}
    pods = {name: scenario.pods(count - 1, entries[name], group=groups[name]) for name, count in minima.items()}

    scenario.barrier(plain_pod_is_bound)
    for name, group in groups.items():
        claim = group.claim("shared")
        untouched = scenario.timeline.of(claim).always(is_untouched)
        assert untouched, f"gang {name} lacks a Pod, so its claim must be untouched\n{untouched}"
        bound = [pod.name for pod in pods[name] if is_bound(pod.read())]
        assert not bound, f"gang {name} lacks a Pod, but {bound} are bound"

    for name, group in groups.items():
        pods[name].append(scenario.pod(entries[name], group=group))
        eventually(scenario.all_of(pods[name]), are_bound(minima[name]), BINDING)
        assert_used_by(group, group.claim("shared"))
