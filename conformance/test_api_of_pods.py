# SPDX-License-Identifier: Apache-2.0
"""API: how a Pod names its PodGroup, and its own claims."""

from functools import partial

from conformance.claim_lists import SUBDOMAIN, from_template, named
from conformance.refusals import DUPLICATE, INVALID, accepted, assert_create_invalid, refused
from fixtures.api import Object
from fixtures.barriers import plain_pod_is_bound
from fixtures.bodies import Bodies, Entry
from fixtures.conditions import are_bound, is_bound
from fixtures.scenario import ANYWHERE, Scenario
from fixtures.waiting import BINDING, eventually
from verdicts.requirement import requirement

#: The name of a PodGroup, in a Pod.
FIELD = "spec.schedulingGroup.podGroupName"
#: The Pod of the documentation: entries that match, that differ in the name or in the source, and one of its own.
DOCUMENTED = (
    named("pg-claim", "my-pg-claim"),
    from_template("pg-claim-template", "my-pg-template"),
    named("pod-claim", "my-pod-claim"),
    from_template("pod-claim-template", "my-pod-template"),
)


@requirement("WRC-API-012")
def test_the_name_of_a_pod_group_is_valid(scenario: Scenario) -> None:
    """A schedulingGroup without name, and a name that is no DNS subdomain, are refused; the longest name is kept."""
    for name in (None, "", ".foo_bar", "UPPER", "other/group", SUBDOMAIN + "s"):
        body = _pod(scenario, "pod")
        body["spec"]["schedulingGroup"] = {} if name is None else {"podGroupName": name}
        assert_create_invalid(f"A Pod of the PodGroup {name!r}", scenario.api, body, INVALID, FIELD)

    longest = _pod(scenario, "pod", group=SUBDOMAIN)
    created = accepted("A Pod of a PodGroup with the longest name", partial(scenario.api.create, longest))
    assert created["spec"].get("schedulingGroup") == {"podGroupName": SUBDOMAIN}, "the PodGroup's name must be kept"


@requirement("WRC-API-012")
def test_the_pod_group_of_a_pod_cannot_be_changed(scenario: Scenario) -> None:
    """A Pod can neither change to another PodGroup, nor leave the one it has, nor enter one, bound or not."""
    scenario.node()
    scenario.pod_group(name="group")
    scenario.pod_group(name="other")
    pods = [scenario.pod(group="group"), scenario.pod(), scenario.pod(group="missing")]
    eventually(scenario.all_of(pods[:2]), are_bound(2), BINDING)

    for pod in pods:
        original = pod.read()["spec"].get("schedulingGroup")
        for group in ({"podGroupName": "other"}, None if original else {"podGroupName": "group"}):
            change: Object = {"spec": {"schedulingGroup": group}}
            what = f"changing the PodGroup of a Pod from {original} to {group}"
            refused(what, partial(pod.api.patch, "Pod", pod.namespace, pod.name, change), 422)
            stored = pod.read()["spec"].get("schedulingGroup")
            assert stored == original, f"{what} was refused, but it is now {stored}"


@requirement("WRC-API-012")
def test_a_pod_may_name_a_pod_group_of_its_own_namespace_that_comes_later(scenario: Scenario) -> None:
    """A PodGroup of the same name elsewhere is none of its own: the Pods wait for theirs, and use its claim."""
    scenario.node()
    entry = scenario.from_template()
    neighbour = scenario.neighbour()
    foreign = neighbour.pod_group(neighbour.from_template())
    pods = scenario.pods(3, entry, group="group")
    scenario.barrier(plain_pod_is_bound)

    bound = [pod.name for pod in pods if is_bound(pod.read())]
    assert not bound, f"{bound} are bound, although only another namespace has a PodGroup of the name they give"
    group = scenario.pod_group(entry)
    eventually(scenario.all_of(pods), are_bound(3), BINDING)
    consumers = group.claim("shared").reserved_for()
    assert consumers == [group.reference()], f"the claim must be reserved for the Pods' own PodGroup, not {consumers}"
    elsewhere = foreign.claim("shared").reserved_for()
    assert not elsewhere, f"the PodGroup of another namespace has no Pods, but its claim is reserved for {elsewhere}"


@requirement("WRC-API-013")
def test_names_of_claims_in_a_pod_are_unique(scenario: Scenario) -> None:
    """A Pod with two entries of one name, such as the one of the KEP, is refused; the documented one is kept whole."""
    kep = (*DOCUMENTED[:3], from_template("pg-claim-template", "my-pod-template"))
    same = from_template("same")
    duplicates: dict[str, tuple[tuple[Entry, ...], int]] = {
        "the Pod of the KEP": (kep, 3),
        "a Pod with two equal entries": ((same, same), 1),
        "a Pod with two kinds of one name": ((same, named("same")), 1),
    }
    for what, (entries, index) in duplicates.items():
        for group in ("", "group"):
            field = f"spec.resourceClaims[{index}].name"
            body = _pod(scenario, "pod", *entries, group=group)
            assert_create_invalid(f"{what}, PodGroup {group!r},", scenario.api, body, DUPLICATE, field)

    created = accepted(
        "The documented Pod", partial(scenario.api.create, _pod(scenario, "pod", *DOCUMENTED, group="g"))
    )
    kept = created["spec"].get("resourceClaims")
    assert kept == list(DOCUMENTED), f"the four claims of the documented Pod must be kept, but there are {kept}"


def _pod(scenario: Scenario, name: str, *entries: Entry, group: str = "") -> Object:
    return Bodies(scenario.namespace, scenario.driver).pod(name, entries, group, ANYWHERE)
