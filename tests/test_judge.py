# SPDX-License-Identifier: Apache-2.0
"""The rules by which a requirement, and the whole, is judged."""

import json
from collections.abc import Iterable
from typing import Any

import pytest

from tests.small_run import KNOWN, catalogue, outcome, requirement
from verdicts.catalogue import Level, Requirement
from verdicts.judge import EndedEarly, Judgement, Overall, RequirementVerdict, Whole, judge
from verdicts.outcomes import Outcome, Verdict

BROKEN, OPEN, FINE = Verdict.NON_CONFORMANT, Verdict.UNDETERMINED, Verdict.CONFORMANT
ABSENT, NOT_RUN = Verdict.NOT_APPLICABLE, Verdict.NOT_RUN
NEW, OLD = "v1.37.2", "v1.36.3"
ONE, TWO = "WRC-API-001", "WRC-RES-002"


def judged(*requirements: Requirement, outcomes: Iterable[Outcome] = (), version: str = NEW, **flags: Any) -> Judgement:
    return judge(catalogue(*requirements), outcomes, version, **flags)


def only_row(requirement: Requirement, **run: Any) -> RequirementVerdict:
    (row,) = judged(requirement, **run).requirements
    return row


def two_musts(first: Verdict, second: Verdict, **flags: Any) -> Overall:
    """Judge two MUSTs with these verdicts."""
    outcomes = [outcome(ONE, first, "first fault"), outcome(TWO, second, "second fault")]
    return judged(requirement(ONE), requirement(TWO), outcomes=outcomes, **flags).overall


def test_every_requirement_gets_a_verdict_in_the_order_of_the_catalogue() -> None:
    """A report that leaves requirements out, or moves them about, cannot be compared with another."""
    rows = judged(requirement(TWO), requirement(ONE), outcomes=[outcome(ONE)]).requirements

    assert [(row.requirement.id, row.verdict) for row in rows] == [(TWO, NOT_RUN), (ONE, FINE)]


@pytest.mark.parametrize(
    ("verdicts", "merged"),
    [
        ([FINE, BROKEN, OPEN], BROKEN),
        ([FINE, OPEN, NOT_RUN], OPEN),
        ([FINE, NOT_RUN, ABSENT], NOT_RUN),
        ([FINE, ABSENT], FINE),
        ([ABSENT, ABSENT], ABSENT),
    ],
)
def test_the_worst_outcome_decides_and_gives_the_reason(verdicts: list[Verdict], merged: Verdict) -> None:
    """Several checks of one requirement merge, and the reason is that of the outcome which decided."""
    outcomes = [outcome(ONE, verdict, "" if verdict is FINE else f"{verdict}!\nmore") for verdict in verdicts]

    row = only_row(requirement(ONE), outcomes=outcomes)

    assert row.verdict is merged
    assert row.reason == ("" if merged is FINE else f"{merged}!")
    assert row.outcomes == tuple(outcomes)


def test_a_requirement_of_another_minor_is_not_applicable_whatever_was_seen() -> None:
    """A row that speaks of 1.36 says nothing of 1.37, and does not stand in the way of a conformant whole."""
    old_row = requirement(ONE, versions=("1.36",))
    judgement = judged(old_row, requirement(TWO), outcomes=[outcome(ONE, BROKEN, "fault"), outcome(TWO)])

    assert judgement.requirements[0].verdict is ABSENT
    assert judgement.requirements[0].reason == "applies to 1.36 only"
    assert judgement.overall.words == "conformant: all 1 MUSTs shown"


@pytest.mark.parametrize(
    ("fields", "ended_early", "reason"),
    [
        ({"not_built": "needs a kubelet"}, None, "needs a kubelet"),
        ({}, None, "deselected or interrupted"),
        ({}, EndedEarly(130, "stopped by the user"), "deselected or interrupted"),
        ({}, EndedEarly(11, "no kind on PATH"), "set-up failed"),
        ({}, EndedEarly(12, "DRAWorkloadResourceClaims is off"), "the feature is off"),
    ],
)
def test_a_requirement_without_outcomes_is_not_run_for_a_reason(
    fields: dict[str, Any], ended_early: EndedEarly | None, reason: str
) -> None:
    """Nothing is silently missing from a report."""
    row = only_row(requirement(ONE, **fields), ended_early=ended_early)

    assert (row.verdict, row.reason) == (NOT_RUN, reason)


def test_an_outcome_for_an_unknown_requirement_is_refused() -> None:
    """A misspelt id would otherwise lose a violation."""
    with pytest.raises(ValueError, match="WRC-API-999, which the catalogue lacks"):
        judged(requirement(ONE), outcomes=[outcome("WRC-API-999")])


@pytest.mark.parametrize(
    ("first", "second", "words", "exit_code"),
    [
        (FINE, FINE, "conformant: all 2 MUSTs shown", 0),
        (FINE, ABSENT, "partial: 1 of 2 MUSTs shown, none violated", 0),
        (FINE, NOT_RUN, "partial: 1 of 2 MUSTs shown, none violated", 0),
        (FINE, OPEN, "undetermined: 1 of 2 MUSTs undetermined, none violated", 10),
        (FINE, BROKEN, "non-conformant: 1 of 2 MUSTs violated", 1),
        (OPEN, BROKEN, "non-conformant: 1 of 2 MUSTs violated; 1 undetermined", 1),
    ],
)
def test_the_whole_follows_from_the_musts(first: Verdict, second: Verdict, words: str, exit_code: int) -> None:
    """A violation outweighs all, then the undetermined; conformant is only what was shown entirely."""
    overall = two_musts(first, second)

    assert (overall.words, overall.exit_code) == (words, exit_code)
    assert overall.verdict == words.partition(":")[0]


@pytest.mark.parametrize("row", [{"level": Level.SHOULD}, {"level": Level.OBSERVED}, {"probe": True}])
@pytest.mark.parametrize("verdict", [BROKEN, OPEN, NOT_RUN])
def test_what_is_no_must_never_decides(row: dict[str, Any], verdict: Verdict) -> None:
    """Advice, observations and probes are listed, and the whole does not depend on them."""
    outcomes = [outcome(ONE, verdict, "fault"), outcome(TWO)]
    judgement = judged(requirement(ONE, **row), requirement(TWO), outcomes=outcomes)

    assert judgement.requirements[0].verdict is verdict
    assert (judgement.overall.verdict, judgement.overall.exit_code) == (Whole.CONFORMANT, 0)


def test_nothing_to_show_is_not_conformant() -> None:
    """A catalogue without a MUST for this version proves nothing."""
    assert judged(requirement(ONE, Level.SHOULD), outcomes=[outcome(ONE)]).overall.verdict is Whole.PARTIAL


def test_the_musts_are_counted() -> None:
    """The numbers of the report add up to all MUSTs of the version."""
    verdicts = {"WRC-API-001": FINE, "WRC-API-002": BROKEN, "WRC-API-003": OPEN, "WRC-API-004": ABSENT}
    rows = [requirement(identity) for identity in (*verdicts, "WRC-API-005")]
    musts = judged(*rows, outcomes=[outcome(*one) for one in verdicts.items()]).overall.musts

    assert (musts.total, musts.shown, musts.violated, musts.undetermined, musts.not_shown) == (5, 1, 1, 1, 2)


@pytest.mark.parametrize("version", [OLD, "v1.36.3+vendor.1"])
def test_a_known_deviation_labels_a_violation_and_does_not_excuse_it(version: str) -> None:
    """A release with a known fault is non-conformant, and the reader is spared the search for the report."""
    judgement = judged(
        requirement(ONE, known_deviations=(KNOWN,)), outcomes=[outcome(ONE, BROKEN, "fault")], version=version
    )

    assert judgement.requirements[0].verdict is BROKEN
    assert judgement.requirements[0].known_deviation == KNOWN
    assert judgement.requirements[0].is_known
    assert judgement.overall.words == "non-conformant: 1 of 1 MUSTs violated, all of them known deviations"
    assert judgement.overall.exit_code == 1


def test_a_known_deviation_that_is_no_longer_seen_is_reported() -> None:
    """A catalogue that excuses what is healed is out of date."""
    deviating = requirement(ONE, known_deviations=(KNOWN,))

    assert only_row(deviating, outcomes=[outcome(ONE)], version=OLD).no_longer_seen
    assert not only_row(deviating, outcomes=[outcome(ONE, BROKEN, "fault")], version=OLD).no_longer_seen
    assert not only_row(deviating, outcomes=[outcome(ONE)], version=NEW).no_longer_seen


@pytest.mark.parametrize(
    ("second", "ending", "exit_code"),
    [
        (FINE, "1 of 2 MUSTs violated, all of them known deviations and accepted", 0),
        (OPEN, "1 of 2 MUSTs violated, all of them known deviations and accepted; 1 undetermined", 10),
        (BROKEN, "2 of 2 MUSTs violated, 1 known", 1),
    ],
)
def test_accepted_known_deviations_change_the_exit_code_and_nothing_else(
    second: Verdict, ending: str, exit_code: int
) -> None:
    """Who accepts the known still hears of every new violation and of every open question."""
    rows = [requirement(ONE, known_deviations=(KNOWN,)), requirement(TWO)]
    outcomes = [outcome(ONE, BROKEN, "fault"), outcome(TWO, second, "fault")]
    overall = judged(*rows, outcomes=outcomes, version=OLD, accept_known=True).overall

    assert (overall.words, overall.exit_code) == (f"non-conformant: {ending}", exit_code)


def test_a_newer_minor_is_judged_with_the_newest_rows_and_marked() -> None:
    """A new Kubernetes must not be conformant merely because the suite has no rows for it."""
    rows = [requirement(ONE, versions=("1.37",)), requirement(TWO, versions=("1.36",))]
    judgement = judged(*rows, outcomes=[outcome(ONE)], version="v1.38.0-alpha.1")

    assert [row.verdict for row in judgement.requirements] == [FINE, ABSENT]
    assert judgement.overall.words == (
        "conformant: all 1 MUSTs shown (Kubernetes v1.38.0-alpha.1 is unknown to this suite)"
    )


@pytest.mark.parametrize(
    ("ended_early", "words"),
    [
        (EndedEarly(11, "no kind on PATH\ninstall it"), "no verdict: set-up failed"),
        (EndedEarly(12, "a gate is off"), "no verdict: the feature is off"),
        (EndedEarly(130, "stopped by the user"), "no verdict: interrupted"),
        (EndedEarly(3, "pytest broke\nTraceback"), "no verdict: pytest broke"),
    ],
)
def test_a_run_that_ended_early_has_no_verdict(ended_early: EndedEarly, words: str) -> None:
    """What was shown until then is not the whole, however green; the exit code says what happened."""
    overall = judged(requirement(ONE), outcomes=[outcome(ONE)], ended_early=ended_early).overall

    assert (overall.verdict, overall.words) == (Whole.NO_VERDICT, words)
    assert (overall.exit_code, overall.reason) == (ended_early.exit_code, ended_early.reason)


def test_a_run_without_a_cluster_is_told_all_the_same() -> None:
    """Where no cluster has answered, there is no version, and still every requirement is listed."""
    judgement = judged(requirement(ONE), version="", ended_early=EndedEarly(11, "etcd did not start"))

    assert judgement.requirements[0].reason == "set-up failed"
    assert judgement.overall.words == "no verdict: set-up failed"


def test_an_interrupted_run_still_tells_the_violation_it_has_shown() -> None:
    """An impatient reader loses the verdict, not the finding."""
    overall = two_musts(BROKEN, NOT_RUN, ended_early=EndedEarly(130, "stopped by the user"))

    assert overall.words == "no verdict: interrupted; until then 1 of 2 MUSTs violated"
    assert overall.exit_code == 130


def test_an_outcome_crosses_a_process_boundary_as_plain_json() -> None:
    """What a worker sends is what the controller judges, and the transport knows plain types only."""
    sent = outcome(ONE, BROKEN, "fault", seconds=1.5, lie="second-claim", evidence=("evidence/a.yaml",))
    plain = sent.as_json()

    assert type(plain["verdict"]) is str
    assert Outcome.from_json(json.loads(json.dumps(plain))) == sent
