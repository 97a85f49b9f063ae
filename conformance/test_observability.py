# SPDX-License-Identifier: Apache-2.0
"""OBS: what can be seen of ResourceClaims that Pods share, in events, conditions and the API alone."""

from dataclasses import dataclass

import pytest

from conformance.kinds import NAMED_AND_TEMPLATE
from conformance.placement import placement
from fixtures.api import Object
from fixtures.barriers import plain_pod_is_bound
from fixtures.bodies import Entry, Placement
from fixtures.clusters.versions import row_for
from fixtures.conditions import are_bound, is_bound, records_claims
from fixtures.objects import Claim, Handle, Pod, claim_named, controller_of
from fixtures.scenario import Scenario
from fixtures.waiting import BINDING, GENERATION, Condition, eventually
from verdicts.requirement import requirement

#: The reason of the event that tells of a ResourceClaim which cannot be generated.
REASON = "FailedResourceClaimCreation"


@dataclass(frozen=True)
class Complaints:
    """The events about one object that tell of a ResourceClaim which cannot be generated."""

    subject: Handle

    def __call__(self) -> list[Object]:
        """Return the events so far."""
        events = self.subject.api.list("Event", self.subject.namespace)
        return [one for one in events if (one["reason"], one["involvedObject"]["uid"]) == (REASON, self.subject.uid)]

    def __str__(self) -> str:
        return f"The list of events {REASON} of {self.subject}"


@requirement("WRC-OBS-001")
@pytest.mark.parametrize("side", ["PodGroup", "Pod"])
def test_an_event_tells_which_claim_cannot_be_generated(scenario: Scenario, side: str) -> None:
    """A Warning on the PodGroup, or on the Pod if the entry is its own, names entry and missing template."""
    healthy, missing = scenario.from_template("healthy"), _from_no_template("faulty")
    if side == "PodGroup":
        faulty: Handle = scenario.pod_group(healthy, missing)
        sound: Handle = scenario.pod_group(healthy, name="sound")
    else:
        group = scenario.pod_group(healthy)
        faulty, sound = scenario.pod(healthy, missing, group=group), scenario.pod(healthy, group=group)

    eventually(sound, records_claims("healthy"), GENERATION)
    events = eventually(Complaints(faulty), is_not_empty, GENERATION)

    for event in events:
        assert event["type"] == "Warning", f"the event must be a Warning, not {event['type']}"
        kind = event["involvedObject"]["kind"]
        assert kind == side, f"the event must be about the {side}, not about a {kind}"
        for word in ("faulty", "no-such-template"):
            assert word in event["message"], f"the event must name {word}, but says: {event['message']}"
    assert not Complaints(sound)(), f"{sound} has nothing to complain of, but there is an event {REASON}"


@requirement("WRC-OBS-004")
@NAMED_AND_TEMPLATE
def test_the_api_tells_which_claims_of_a_pod_are_those_of_its_group(scenario: Scenario, kind: str) -> None:
    """Of three claims of a Pod, and of a Pod without PodGroup, the API shows which ones are those of the PodGroup."""
    scenario.node(devices=5)
    entries = [scenario.entry(kind, name) for name in ("one", "two")]
    own = scenario.entry(kind, "own")
    group = scenario.pod_group(*entries)
    member, plain = scenario.pod(*entries, own, group=group), scenario.pod(scenario.entry(kind, "plain"))
    eventually(scenario.all_of([member, plain]), are_bound(2), BINDING)

    found = {name: used_for(member, name) for name in ("one", "two", "own")} | {"plain": used_for(plain, "plain")}

    wanted = {"one": [group.reference()], "two": [group.reference()]}
    wanted |= {"own": [member.reference()], "plain": [plain.reference()]}
    assert found == wanted, f"reservedFor must tell whose claim an entry uses: {wanted}, not {found}"
    if kind == "template":
        owners = {name: controller_of(used_by(member, name).read()) for name in ("one", "two", "own")}
        expected = {"one": group.uid, "two": group.uid, "own": member.uid}
        assert owners == expected, f"the owner must tell whose claim an entry uses: {expected}, not {owners}"


@requirement("WRC-OBS-005")
@NAMED_AND_TEMPLATE
@pytest.mark.parametrize("minimum", [0, 2], ids=["basic", "gang"])
def test_a_condition_tells_whether_a_group_was_scheduled(scenario: Scenario, kind: str, minimum: int) -> None:
    """It is False while devices are missing, then True; on 1.37 it stays so when another member finds no place."""
    node = scenario.node(devices=0)
    entry = scenario.entry(kind)
    group = scenario.pod_group(entry, min_count=minimum)
    pods = scenario.pods(2, entry, group=group)
    eventually(group, _tells(scenario, "False", "Unschedulable"), BINDING)

    scenario.devices.publish(node, 3)
    eventually(scenario.all_of(pods), are_bound(1), BINDING)
    is_scheduled = _tells(scenario, "True", "Scheduled")
    eventually(group, is_scheduled, BINDING)

    if row_for(scenario.cluster.version).scheduled_condition_is_final:
        late = scenario.pod(entry, group=group, on=Placement("no-such-node"), name="late")
        scenario.barrier(plain_pod_is_bound)
        assert not is_bound(late.read()), "the late member is bound to a Node that does not exist"
        kept = scenario.timeline.of(group).keeps(is_scheduled)
        assert kept, f"the condition fell back when a late member found no place\n{kept}"


def is_not_empty(state: list[Object]) -> bool:
    """There is at least one of them."""
    return bool(state)


def used_by(pod: Pod, entry: str) -> Claim:
    """Return the ResourceClaim that an entry of a Pod uses, from what the API shows of the Pod alone."""
    state = pod.read()
    [named] = [one.get("resourceClaimName") for one in state["spec"]["resourceClaims"] if one["name"] == entry]
    return claim_named(pod.api, pod.namespace, named or pod.claim_names[entry])


def used_for(pod: Pod, entry: str) -> list[Object]:
    """Return for whom the ResourceClaim that an entry of a Pod uses is reserved."""
    return used_by(pod, entry).reserved_for()


def _from_no_template(entry: str) -> Entry:
    """Return an entry that names a template which does not exist."""
    return {"name": entry, "resourceClaimTemplateName": "no-such-template"}


def _tells(scenario: Scenario, status: str, reason: str) -> Condition:
    """Return the condition that a PodGroup tells this status and reason of its scheduling."""

    def tells(group: Object) -> bool:
        return placement(group, scenario.cluster.version) == (status, reason)

    tells.__name__ = f"tells_{status}_and_{reason}_of_its_scheduling"
    return tells
