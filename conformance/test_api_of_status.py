# SPDX-License-Identifier: Apache-2.0
"""API: who may write the status of a PodGroup, and which ``status.resourceClaimStatuses`` are valid."""

from collections.abc import Mapping, Sequence
from functools import partial

from conformance.claim_lists import SUBDOMAIN, from_template, named
from conformance.refusals import DUPLICATE, INVALID, TOO_MANY, accepted, assert_invalid
from fixtures.api import Object
from fixtures.bodies import Bodies
from fixtures.objects import PodGroup
from fixtures.scenario import Scenario
from verdicts.requirement import requirement

#: Entries whose ResourceClaims and templates do not exist, so that no controller writes a status.
ENTRIES = (named("first"), from_template("second"), named("third"), from_template("fourth"))

Statuses = Sequence[Mapping[str, str]]


@requirement("WRC-API-007")
def test_status_cannot_be_set_on_create(scenario: Scenario) -> None:
    """A PodGroup that is created with claim statuses and a condition, for all of its entries or one, has none."""
    for number, entries in enumerate((ENTRIES, ENTRIES[1:2])):
        body = Bodies(scenario.namespace, scenario.driver).pod_group(f"group-{number}", entries)
        body["status"] = _forged(*(entry["name"] for entry in entries))

        created = accepted("A PodGroup with a status", partial(scenario.api.create, body))

        read = scenario.api.find("PodGroup", scenario.namespace, f"group-{number}")
        for how, group in {"the answer": created, "get": read or {}}.items():
            assert not group.get("status"), f"a PodGroup is created without status, but {how} shows {group['status']}"


@requirement("WRC-API-007")
def test_status_is_written_through_its_subresource_alone(scenario: Scenario) -> None:
    """A status in a change of the PodGroup is ignored; so are labels and entries in a change of its status."""
    group = scenario.pod_group(*ENTRIES)
    label = {"metadata": {"labels": {"wrc.example.com/changed": "yes"}}}

    accepted("a change with a status", partial(_patch, group, {**label, "status": _forged("first", "second")}))

    changed = group.read()
    assert not changed.get("status"), f"the main resource must ignore the status, but it is now {changed['status']}"
    assert changed["metadata"]["labels"].get("wrc.example.com/changed") == "yes", "the label must be changed"
    removal = {"metadata": {"labels": None}, "spec": {"resourceClaims": []}, "status": _forged("first", "fourth")}
    accepted("a change of podgroups/status", partial(_patch, group, removal, subresource="status"))
    written = group.read()
    assert group.claim_names == {"first": "forged", "fourth": "forged"}, "podgroups/status must write the status"
    assert written["spec"] == changed["spec"], "podgroups/status must ignore the spec"
    assert written["metadata"]["labels"] == changed["metadata"]["labels"], "podgroups/status must ignore labels"


@requirement("WRC-API-008")
def test_claim_statuses_name_entries_once_and_claims_rightly(scenario: Scenario) -> None:
    """Statuses of no entry, of bad names, twice for one entry, or more than four are refused; four are written."""
    group = scenario.pod_group(*ENTRIES)
    four = [_status(entry["name"], SUBDOMAIN) for entry in ENTRIES]
    invalid: dict[str, tuple[Statuses, str, str]] = {
        "a status of no entry": ([_status("unknown")], INVALID, "[0].name"),
        "a fourth status, named as a claim": ([*four[:3], _status("some-claim")], INVALID, "[3].name"),
        "a status without name": ([{"resourceClaimName": "some-claim"}], INVALID, "[0].name"),
        "the claim name ../x": ([_status("first", "../x")], INVALID, "[0].resourceClaimName"),
        "the fourth claim name UPPER": ([*four[:3], _status("fourth", "UPPER")], INVALID, "[3].resourceClaimName"),
        "an empty claim name": ([four[0], _status("second", "")], INVALID, "[1].resourceClaimName"),
        "a claim name of 254": ([_status("second", SUBDOMAIN + "s")], INVALID, "[0].resourceClaimName"),
        "two statuses of one entry": ([four[0], _status("first", "other")], DUPLICATE, "[1]"),
        "a fourth status for the second": ([*four[:3], four[1]], DUPLICATE, "[3]"),
        "five statuses": ([*four, four[0]], TOO_MANY, ""),
    }

    _assert_written(group, four[1:2])
    for what, (statuses, reason, at) in invalid.items():
        _assert_refused(group, what, statuses, reason, f"status.resourceClaimStatuses{at}")
        assert group.claim_names == {"second": SUBDOMAIN}, f"{what} was refused, but the status is changed"
    _assert_written(group, four)
    _assert_written(group, [{"name": "fourth"}])


def _assert_refused(group: PodGroup, what: str, statuses: Statuses, reason: str, field: str) -> None:
    change: Object = {"status": {"resourceClaimStatuses": statuses}}
    assert_invalid(what, partial(_patch, group, change, subresource="status"), reason, field)


def _assert_written(group: PodGroup, statuses: Statuses) -> None:
    change: Object = {"status": {"resourceClaimStatuses": statuses}}
    written = accepted(f"The statuses {statuses}", partial(_patch, group, change, subresource="status"))
    for state in (written, group.read()):
        kept = state.get("status", {}).get("resourceClaimStatuses")
        assert kept == list(statuses), f"the statuses {statuses} must be kept, but there are {kept}"


def _patch(group: PodGroup, change: Object, subresource: str = "") -> Object:
    return group.api.patch("PodGroup", group.namespace, group.name, change, subresource=subresource)


def _status(name: str, claim: str = "some-claim") -> Mapping[str, str]:
    return {"name": name, "resourceClaimName": claim}


def _forged(*entries: str) -> Object:
    """Return a status with a ResourceClaim for each entry, and a condition."""
    condition = {
        "type": "wrc.example.com/Forged",
        "status": "True",
        "reason": "Forged",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    return {"resourceClaimStatuses": [_status(entry, "forged") for entry in entries], "conditions": [condition]}
