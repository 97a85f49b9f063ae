# SPDX-License-Identifier: Apache-2.0
"""API: which ``spec.resourceClaims`` a PodGroup may have, and that they stay as they are."""

from collections.abc import Sequence
from functools import partial

import pytest

from conformance.claim_lists import (
    VALID_LISTS,
    WRONG_NAMES,
    WRONG_NUMBERS,
    WRONG_SOURCES,
    InvalidList,
    from_template,
    named,
)
from conformance.refusals import INVALID, accepted, assert_create_invalid, assert_invalid
from fixtures.api import Object
from fixtures.bodies import Bodies, Entry
from fixtures.conditions import POD_GROUP_FINALIZER, are_bound
from fixtures.objects import controller_of, entry_of
from fixtures.scenario import Scenario
from fixtures.waiting import BINDING, eventually
from verdicts.requirement import requirement

#: A finalizer that clients may set; the garbage collector takes it away at the end.
ORPHAN = "orphan"


@requirement("WRC-API-001")
@pytest.mark.parametrize("entries", VALID_LISTS.values(), ids=VALID_LISTS)
def test_entries_are_accepted_and_returned_unchanged(scenario: Scenario, entries: Sequence[Entry]) -> None:
    """Named and template entries, alone and mixed, come back as they were sent: in the answer, by get and by list."""
    body = _body(scenario, entries)

    created = accepted(f"A PodGroup with {list(entries)}", partial(scenario.api.create, body))

    read = scenario.api.find("PodGroup", scenario.namespace, "group")
    assert read is not None, "the PodGroup was accepted, but was not stored"
    [listed] = scenario.api.list("PodGroup", scenario.namespace)
    for how, group in {"the answer": created, "get": read, "list": listed}.items():
        returned = {field: group["spec"].get(field) for field in body["spec"]}
        assert returned == body["spec"], f"what was sent must come back unchanged, but {how} shows {returned}"


@requirement("WRC-API-002")
def test_an_entry_has_exactly_one_source(scenario: Scenario) -> None:
    """An entry with neither or both sources is refused where it stands, and no PodGroup is stored."""
    _assert_all_refused(scenario, WRONG_SOURCES)


@requirement("WRC-API-003")
def test_names_in_entries_are_dns_names(scenario: Scenario) -> None:
    """An entry name that is no DNS label and a source that is no DNS subdomain are refused; the longest are not."""
    _assert_all_refused(scenario, WRONG_NAMES)

    longest = _body(scenario, VALID_LISTS["longest"])
    created = accepted("A PodGroup with the longest names", partial(scenario.api.create, longest))
    assert created["spec"].get("resourceClaims") == longest["spec"]["resourceClaims"], (
        "the longest names must be returned as they were sent"
    )


@requirement("WRC-API-004")
def test_entry_names_are_unique_and_four_at_most(scenario: Scenario) -> None:
    """Two entries of one name and five entries are refused; four are accepted, and all of them are kept."""
    _assert_all_refused(scenario, WRONG_NUMBERS)

    four = _body(scenario, VALID_LISTS["mixed"])
    created = accepted("A PodGroup with four entries", partial(scenario.api.create, four))
    assert created["spec"].get("resourceClaims") == four["spec"]["resourceClaims"], "all four entries must be kept"


@requirement("WRC-API-005")
def test_entries_cannot_be_changed(scenario: Scenario) -> None:
    """No entry can be added, changed or removed, while a label of the same PodGroup can."""
    first, second = named("first"), from_template("second")
    original = accepted("A PodGroup", partial(scenario.api.create, _body(scenario, (first, second))))
    changes = {
        "adding an entry": [first, second, named("third")],
        "changing the ResourceClaim of the first": [named("first", "other"), second],
        "changing the template of the second": [first, from_template("second", "other")],
        "changing the kind of the second": [first, named("second")],
        "renaming the second": [first, from_template("other")],
        "removing the first": [second],
        "removing the second": [first],
        "removing all": None,
    }

    for what, entries in changes.items():
        _assert_immutable(scenario, what, original, entries)
    addition: Object = {"spec": {"resourceClaims": [named("third")]}}
    assert_invalid(
        "adding an entry by server-side apply",
        partial(scenario.api.apply, "PodGroup", scenario.namespace, "group", addition),
        INVALID,
        "spec.resourceClaims",
    )
    label = {"metadata": {"labels": {"wrc.example.com/changed": "yes"}}}
    changed = accepted("a label", partial(scenario.api.patch, "PodGroup", scenario.namespace, "group", label))
    assert changed["spec"] == original["spec"], "a new label must leave the spec as it was"


@requirement("WRC-API-005")
def test_entries_cannot_be_added_to_none(scenario: Scenario) -> None:
    """A PodGroup that was created without entries stays without."""
    original = accepted("A PodGroup without entries", partial(scenario.api.create, _body(scenario, ())))

    _assert_immutable(scenario, "adding a first entry", original, [named("first")])


@requirement("WRC-API-006")
def test_entries_may_name_what_does_not_exist_yet_and_twice(scenario: Scenario) -> None:
    """Pairs of entries name one missing ResourceClaim and one missing template; once both exist, Pods are bound."""
    scenario.node(devices=4)
    entries = [named("first"), named("second"), from_template("third"), from_template("fourth")]
    body = _body(scenario, entries)
    created = accepted("A PodGroup whose references do not exist", partial(scenario.api.create, body))
    assert created["spec"].get("resourceClaims") == entries, "entries whose references do not exist must be kept"

    scenario.claim("some-claim")
    scenario.template("some-template")
    pods = scenario.pods(2, entries[1], *entries[2:], group="group")
    eventually(scenario.all_of(pods), are_bound(2), BINDING)

    uid = created["metadata"]["uid"]
    generated = sorted(entry_of(claim) for claim in scenario.claims() if controller_of(claim) == uid)
    assert generated == ["fourth", "third"], (
        f"each of two entries of one template must have a ResourceClaim of its own, but there are {generated}"
    )


@requirement("WRC-API-014")
@pytest.mark.parametrize("entries", [(), VALID_LISTS["mixed"]], ids=["without-claims", "with-claims"])
def test_every_pod_group_is_protected(scenario: Scenario, entries: Sequence[Entry]) -> None:
    """A new PodGroup has the protection finalizer once, whether the client set it or not, beside the client's own."""
    for number, sent in enumerate(([], [POD_GROUP_FINALIZER], [ORPHAN], [POD_GROUP_FINALIZER, ORPHAN])):
        body = _body(scenario, entries, name=f"group-{number}")
        body["metadata"]["finalizers"] = sent

        created = scenario.api.create(body)

        read = scenario.api.find("PodGroup", scenario.namespace, f"group-{number}")
        for how, group in {"the answer": created, "get": read or {"metadata": {}}}.items():
            finalizers = sorted(group["metadata"].get("finalizers", ()))
            assert finalizers == sorted({*sent, POD_GROUP_FINALIZER}), (
                f"a PodGroup that was sent with the finalizers {sent} must have these and the protection finalizer, "
                f"each once, but {how} shows {finalizers}"
            )


def _body(scenario: Scenario, entries: Sequence[Entry], name: str = "group") -> Object:
    return Bodies(scenario.namespace, scenario.driver).pod_group(name, entries)


def _assert_all_refused(scenario: Scenario, lists: Sequence[InvalidList]) -> None:
    for invalid in lists:
        body = _body(scenario, invalid.entries)
        field = f"spec.resourceClaims{invalid.at}"
        assert_create_invalid(f"A PodGroup with {invalid.fault}", scenario.api, body, invalid.reason, field)


def _assert_immutable(scenario: Scenario, what: str, original: Object, entries: Sequence[Entry] | None) -> None:
    """Assert that the list of entries cannot be replaced by this one, and that nothing of the spec has changed."""
    change: Object = {"spec": {"resourceClaims": entries}}
    assert_invalid(
        what,
        partial(scenario.api.patch, "PodGroup", scenario.namespace, "group", change),
        INVALID,
        "spec.resourceClaims",
    )
    stored = scenario.api.find("PodGroup", scenario.namespace, "group")
    assert stored is not None, f"{what} was refused, but the PodGroup is gone"
    assert stored["spec"] == original["spec"], f"{what} was refused, but the spec is changed: {stored['spec']}"
