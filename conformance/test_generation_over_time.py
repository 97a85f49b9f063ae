# SPDX-License-Identifier: Apache-2.0
"""GEN: generated ResourceClaims while PodGroups, Pods, templates and quotas come and go in any order."""

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pytest

from fixtures.api import Object
from fixtures.barriers import claim_of_another_pod_group_is_generated
from fixtures.bodies import Entry
from fixtures.conditions import are_bound, is_being_deleted, is_bound, is_gone, records_claims
from fixtures.errors import Undetermined
from fixtures.objects import PodGroup, controller_of, entry_of, names_by_entry
from fixtures.scenario import Scenario
from fixtures.waiting import BACK_OFF, BINDING, GENERATION, NOTICE, RELEASE, REMOVAL, Waited, eventually, poll
from verdicts.requirement import requirement

#: A PodGroup that waits for its template, a Pod that waits for its PodGroup, and both.
ORDERS = ["group-pods-templates", "pods-group-templates", "group-templates-pods", "pods-templates-group"]
#: Attempts in vain, after which the controller waits for 20 s: it doubles its first pause of 5 ms each time.
FAILURES = 13


@requirement("WRC-GEN-002")
@pytest.mark.parametrize("order", ORDERS)
def test_order_of_creation_does_not_matter(scenario: Scenario, order: str) -> None:
    """In whatever order PodGroup, Pods and two templates come, each entry has one claim and the Pods are bound."""
    scenario.node()
    names = ["first", "second"]
    entries: list[Entry] = [{"name": one, "resourceClaimTemplateName": f"{one}-template"} for one in names]
    create: dict[str, Callable[[], Any]] = {
        "group": lambda: scenario.pod_group(*entries),
        "pods": lambda: scenario.pods(3, *entries, group="group"),
        "templates": lambda: [scenario.template(f"{one}-template") for one in reversed(names)],
    }
    *early, last = order.split("-")
    made: dict[str, Any] = {what: create[what]() for what in early}
    scenario.barrier(claim_of_another_pod_group_is_generated)

    made[last] = create[last]()

    group, pods = made["group"], made["pods"]
    eventually(group, records_claims(*names), GENERATION)
    eventually(scenario.all_of(pods), are_bound(3), BINDING)
    owners = sorted((entry_of(one), controller_of(one)) for one in scenario.claims() if entry_of(one) in names)
    assert owners == [(one, group.uid) for one in names], (
        f"the PodGroup must control one claim for each of {names}, and there must be no other, but there are {owners}"
    )
    expected = names_by_entry(group.generated_claims())
    assert group.claim_names == expected, "the PodGroup's status must name the claims that were generated for it"
    assert [pod.claim_names for pod in pods] == [expected] * 3, "each Pod must point to the claims of its PodGroup"


@requirement("WRC-GEN-002")
def test_a_template_that_comes_late_is_noticed_at_once(scenario: Scenario) -> None:
    """However long a PodGroup has waited, its claim is generated when the template comes, not at a distant attempt."""
    group = scenario.pod_group({"name": "late", "resourceClaimTemplateName": "late-template"})
    with contextlib.suppress(Undetermined):  # a controller that makes no attempts in vain is as good
        poll(_Reports(scenario, group), tell_of_many_failures, BACK_OFF, on_time_out=_no_back_off)

    scenario.template("late-template")

    eventually(group, records_claims("late"), NOTICE)


@requirement("WRC-GEN-004")
def test_claims_keep_the_spec_of_the_template_they_were_generated_from(scenario: Scenario) -> None:
    """A template that is deleted and created again with another spec changes no claim, used or not, but new ones."""
    scenario.node(devices=8)
    template = scenario.template(devices=2)
    entry: Entry = {"name": "shared", "resourceClaimTemplateName": template["metadata"]["name"]}
    used, unused = scenario.pod_group(entry, name="used"), scenario.pod_group(entry, name="unused")
    eventually(scenario.pod(entry, group=used), is_bound, BINDING)
    claims = {group: group.claim("shared") for group in (used, unused)}
    devices = claims[used].devices()

    scenario.delete_template(template["metadata"]["name"])
    changed = scenario.template(devices=3)
    later = scenario.pod_group(entry, name="later").claim("shared").read()
    scenario.barrier(claim_of_another_pod_group_is_generated)
    members = [scenario.pod(entry, group=group) for group in claims]
    eventually(scenario.all_of(members), are_bound(2), BINDING)

    assert later["spec"] == changed["spec"]["spec"], "a claim that is generated now must have the template's new spec"
    for group, claim in claims.items():
        assert group.claim_names == {"shared": claim.name}, f"{group} must still use the claim that it had before"
        specs = [version.body["spec"] for version in scenario.timeline.of(claim)] + [claim.read()["spec"]]
        assert all(one == template["spec"]["spec"] for one in specs), (
            f"the claim of {group} must keep the spec of the template that it was generated from, but had {specs[-1]}"
        )
        count = len(claim.devices())
        assert count == 2, f"the template of {group} asked for 2 devices, but {count} are allocated"
    assert claims[used].devices() == devices, "the allocation must not change with the template"


@requirement("WRC-GEN-004")
def test_nobody_misses_the_template_of_a_claim(scenario: Scenario) -> None:
    """When its template is deleted for good, waiting and later members are bound with the claim of their PodGroup."""
    entry = scenario.from_template()
    group = scenario.pod_group(entry)
    claim = group.claim("shared")
    waiting = scenario.pods(2, entry, group=group)

    scenario.delete_template(entry["resourceClaimTemplateName"])
    scenario.node()
    pods = [*waiting, *scenario.pods(2, entry, group=group)]
    eventually(scenario.all_of(pods), are_bound(4), BINDING)

    names = [one["metadata"]["name"] for one in scenario.claims()]
    assert names == [claim.name], f"{claim} must stay the only one when its template is gone, but there are {names}"
    astray = {pod.name: recorded for pod in pods if (recorded := pod.claim_names) != {"shared": claim.name}}
    assert not astray, f"every member must use {claim}, but these do not: {astray}"


@requirement("WRC-GEN-009")
def test_claims_come_and_go_with_their_pod_groups(scenario: Scenario) -> None:
    """One template serves 3, then 5, then 1 and again 2 PodGroups, and each has a claim and devices of its own."""
    scenario.node(devices=6)
    entry = scenario.from_template()
    three = [scenario.pod_group(entry, name=f"group-{index}") for index in range(3)]
    pods = [scenario.pod(entry, group=group) for group in three[:2]]
    eventually(scenario.all_of(pods), are_bound(2), BINDING)
    claims = _claims_of(scenario, three)
    used = [group.claim("shared") for group in three[:2]]
    assert used[0].devices() != used[1].devices(), "two PodGroups of one template must not share a device"

    more = [scenario.pod_group(entry, name=f"group-{index}") for index in (3, 4)]
    of_five = _claims_of(scenario, [*three, *more])
    assert claims.items() <= of_five.items(), "PodGroups must keep their claims when others are added"

    going = [*three[1:], *more]
    leaving = [group.claim("shared") for group in going]
    scenario.delete(pods[1], *going)
    for claim in leaving:
        eventually(claim, is_gone, RELEASE)
    of_one = _claims_of(scenario, three[:1])
    assert of_one.items() <= claims.items(), "a PodGroup must keep its claim when others are deleted"

    again = scenario.pod_group(entry, name="group-1")
    of_two = _claims_of(scenario, [three[0], again])
    assert of_two[again.name] != claims[again.name], "a PodGroup that is created again must get a claim of its own"
    assert of_one.items() <= of_two.items(), "a PodGroup must keep its claim when another one is created again"


@requirement("WRC-GEN-011")
def test_pod_group_that_is_being_deleted_gets_no_claim(scenario: Scenario) -> None:
    """A template that comes after the deletion of a PodGroup, which a Pod still holds, is for other PodGroups only."""
    entry: Entry = {"name": "late", "resourceClaimTemplateName": "late-template"}
    going, staying = scenario.pod_group(entry, name="going"), scenario.pod_group(entry, name="staying")
    scenario.pod(entry, group=going)
    scenario.delete(going)
    eventually(going, is_being_deleted, REMOVAL)

    scenario.template("late-template")
    scenario.pod(entry, group=going)

    def the_other_pod_group_gets_its_claim(_: Scenario) -> None:
        staying.claim("late")

    scenario.barrier(the_other_pod_group_gets_its_claim)
    assert not going.claim_names, f"the deleted PodGroup must not be given a claim, but it names {going.claim_names}"
    generated = [one.body for one in scenario.timeline.versions("ResourceClaim")]
    owners = {controller_of(one) for one in generated}
    assert owners == {staying.uid}, (
        f"only the other PodGroup may get a ResourceClaim, but there were {sorted({_words(one) for one in generated})}"
    )


@requirement("WRC-GEN-012")
@pytest.mark.parametrize("allowed", [0, 1])
def test_generation_that_a_quota_stopped_succeeds_once_it_is_raised(scenario: Scenario, allowed: int) -> None:
    """A quota with room for none or one of two claims is reported on the PodGroup, and delays them but no more."""
    scenario.limit_claims(allowed)
    group = scenario.pod_group(scenario.from_template("first"), scenario.from_template("second"))
    scenario.neighbour().barrier(claim_of_another_pod_group_is_generated)
    early = {one["metadata"]["uid"] for one in group.generated_claims()}

    scenario.limit_claims(10)

    eventually(group, records_claims("first", "second"), GENERATION)
    generated = group.generated_claims()
    entries = sorted(map(entry_of, generated))
    assert entries == ["first", "second"], f"each of the two entries must have one claim, but there are {entries}"
    kept = early <= {one["metadata"]["uid"] for one in generated}
    assert kept, "a claim that was generated before the quota was met must not be replaced"
    eventually(_Reports(scenario, group), name_the_quota, GENERATION)


@dataclass(frozen=True)
class _Reports:
    """The Warning events about generation that are recorded on a PodGroup."""

    scenario: Scenario
    group: PodGroup

    def __call__(self) -> list[Object]:
        return [
            one
            for one in self.scenario.api.list("Event", self.scenario.namespace)
            if one["involvedObject"].get("uid") == self.group.uid
            and (one["type"], one["reason"]) == ("Warning", "FailedResourceClaimCreation")
        ]

    def __str__(self) -> str:
        return f"The FailedResourceClaimCreation events on {self.group}"


def tell_of_many_failures(events: list[Object]) -> bool:
    """The events say that generation failed so often."""
    return sum(one.get("count") or 1 for one in events) >= FAILURES


def _no_back_off(waited: Waited) -> Exception:
    return Undetermined(f"The controller does not try again and again.\n{waited.last_state()}")


def name_the_quota(events: list[Object]) -> bool:
    """At least one event says that a quota was exceeded."""
    return any("quota" in one["message"] for one in events)


def _claims_of(scenario: Scenario, groups: Iterable[PodGroup]) -> dict[str, str]:
    """Assert that these PodGroups control one claim each, and there is no other; return its uid by PodGroup."""
    claims = {group.name: group.claim("shared").uid for group in groups}
    owners = {one["metadata"]["uid"]: controller_of(one) for one in scenario.claims()}
    expected = {claims[group.name]: group.uid for group in groups}
    assert owners == expected, (
        f"each of the PodGroups {sorted(claims)} must control the one ResourceClaim that its status names, and no "
        f"other may exist, but there are {sorted(map(_words, scenario.claims()))}"
    )
    return claims


def _words(claim: Object) -> str:
    owners = ", ".join(f"{one['kind']} {one['name']}" for one in claim["metadata"].get("ownerReferences", ()))
    return f"{claim['metadata']['name']} of {owners or 'nobody'}"
