# SPDX-License-Identifier: Apache-2.0
"""Proof that the checks can fail: every lie is noticed, and every check has a lie."""

import json
from typing import Any

import pytest

from tests.running import Run, collected_checks
from verdicts import catalogue


@pytest.fixture(scope="module")
def lies(kubernetes, tell, tmp_path_factory) -> list[dict[str, Any]]:
    """The reckoning of the session of lies: one row for each check and lie; `make lies` tells all of them to all.

    What was not noticed is told once more: on a busy machine a canary or a limit comes first, or a short-lived state
    passes between two looks. A check that cannot fail does not notice it the second time either.
    """
    tell("\nEvery check against every lie about it")
    rows = _session(tell, tmp_path_factory.mktemp("lies") / "report")
    again = {row["lie"] for row in rows if not row["noticed"]}
    if again:
        tell("\nOnce more, what was not noticed")
        second = _session(tell, tmp_path_factory.mktemp("again") / "report", "-k", " or ".join(sorted(again)))
        rows = [*second, *(row for row in rows if row["lie"] not in again)]
    return rows


def _session(tell, report, *options: str) -> list[dict[str, Any]]:
    """Run a session of lies and return its rows."""
    run = Run(report, "-n", "8", "--wrc-lies", "--wrc-lies-once", *options)
    run.exit_code()
    tell(run.output)
    rows: list[dict[str, Any]] = json.loads((run.report / "lies.json").read_text())
    return rows


@pytest.fixture(scope="module")
def all_checks() -> dict[str, list[str]]:
    """The node id of each check with its requirements."""
    return collected_checks()


@pytest.fixture(scope="module")
def checks(all_checks) -> dict[str, list[str]]:
    """Those that need no kubelet; the lies of the others are told in test_kind_cluster.py."""
    needy = {row.id for row in catalogue.load() if "kubelet" in row.needs}
    return {check: ids for check, ids in all_checks.items() if not needy & set(ids)}


def test_every_lie_is_noticed(lies):
    """Each check against each lie is non-conformant for the lie's requirement, and its message names the fault."""
    missed = [
        f"{row['lie']} in {row['check']}: {row['verdict']}: {row['message'][:200]}"
        for row in lies
        if not row["noticed"]
    ]

    assert missed == []


def test_every_check_has_a_lie(lies, checks):
    """A check that no lie turns red is a defect: each parametrisation has been seen failing."""
    proven = {row["check"] for row in lies if row["noticed"]}

    assert sorted(checks.keys() - proven) == []


def test_every_requirement_with_a_check_has_a_lie_of_its_own(lies, checks):
    """The lie that turns a check red is about the very requirement that the check is to prove."""
    claimed = {requirement for requirements in checks.values() for requirement in requirements}

    assert sorted(claimed - {row["requirement"] for row in lies if row["noticed"]}) == []


def test_every_requirement_has_a_check_or_a_reason(all_checks):
    """An ID without a check says in the catalogue why; standing invariants and panics are judged in every run."""
    claimed = {requirement for requirements in all_checks.values() for requirement in requirements}

    assert [
        one.id for one in catalogue.load() if one.id not in claimed and not one.not_built and one.area != "INV"
    ] == []
    assert [one.id for one in catalogue.load() if one.id in claimed and one.not_built] == []


def test_every_check_names_known_requirements(all_checks):
    """No check names a requirement that the catalogue does not have."""
    claimed = {requirement for requirements in all_checks.values() for requirement in requirements}

    assert sorted(one for one in claimed if one not in catalogue.load()) == []
