# SPDX-License-Identifier: Apache-2.0
"""What a person reads while the suite runs, and at its end."""

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.small_run import AREAS, KNOWN, catalogue, outcome, requirement
from verdicts.catalogue import Level
from verdicts.judge import EndedEarly, judge
from verdicts.outcomes import Outcome, Verdict
from verdicts.terminal import Progress, console, summary

CHECK = "conformance/test_reservation.py::test_reservation_stays_one_entry[20]"
LONG = "the claim lists " + "worker-1, " * 20 + "and nothing else was expected"
ROWS = catalogue(
    requirement("WRC-API-001"),
    requirement("WRC-API-002", Level.SHOULD),
    requirement("WRC-RES-001", known_deviations=(KNOWN,)),
    requirement("WRC-RES-002"),
    requirement("WRC-RES-003", known_deviations=(KNOWN,)),
    requirement("WRC-NOD-001", probe=True),
)
OUTCOMES = (
    outcome("WRC-API-001"),
    outcome("WRC-API-002", Verdict.NON_CONFORMANT, "no condition was set\nlast state: ..."),
    outcome("WRC-RES-001", Verdict.NON_CONFORMANT, LONG),
    outcome("WRC-RES-002", Verdict.UNDETERMINED, "the watch lost events"),
    outcome("WRC-RES-003"),
    outcome("WRC-NOD-001", Verdict.UNDETERMINED, "no kubelet answered"),
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def terminal_of_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)


def told(stream: io.StringIO, outcomes: Iterable[Outcome] = OUTCOMES, **flags: Any) -> list[str]:
    """Return the lines of the summary on ``stream``, without what pads them."""
    judgement = judge(ROWS, outcomes, "v1.36.3", **flags)
    console(stream).print(summary(judgement, AREAS, Path("reports/run/index.html")))
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def section(lines: list[str], title: str) -> list[str]:
    """Return the lines below ``title``, up to the next empty one."""
    below = lines[lines.index(title) + 1 :]
    return below[: below.index("")]


def test_the_table_counts_every_area() -> None:
    """One look says where the cluster is weak; a zero does not catch the eye."""
    rows = {line.split()[0]: line.split()[-5:] for line in told(io.StringIO()) if line}

    assert rows["API"] == ["1", "1", "-", "-", "-"]
    assert rows["Reservation"] == ["1", "1", "1", "-", "-"]
    assert rows["Node"] == ["-", "-", "1", "-", "-"]
    assert rows["Total"] == ["2", "2", "2", "-", "-"]


def test_the_whole_is_said_in_words_and_the_report_is_named() -> None:
    """The verdict is a line of its own, and the last line says what to open."""
    lines = told(io.StringIO())

    assert "non-conformant: 1 of 4 MUSTs violated, all of them known deviations; 1 undetermined" in lines
    assert lines[-1] == "Report: reports/run/index.html"


def test_each_violation_is_told_with_its_cause_and_what_is_known_of_it() -> None:
    """What decides comes first, only the first line of a message is shown; a long one is wrapped."""
    first, *more = section(told(io.StringIO()), "Non-conformant")

    assert first.startswith("  WRC-RES-001  MUST    the claim lists worker-1,")
    assert "nothing else was expected" in " ".join(more)
    assert [line.strip() for line in more[-3:-1]] == [f"known deviation: {KNOWN.sentence}", KNOWN.link]
    assert more[-1] == "  WRC-API-002  SHOULD  no condition was set"


def test_what_is_undetermined_is_told_with_its_cause() -> None:
    """A probe is marked, since it does not decide."""
    assert section(told(io.StringIO()), "Undetermined") == [
        "  WRC-RES-002  MUST         the watch lost events",
        "  WRC-NOD-001  MUST, probe  no kubelet answered",
    ]


def test_a_known_deviation_that_is_healed_is_told() -> None:
    """Somebody should take it out of the catalogue."""
    healed = section(told(io.StringIO()), "Known deviations no longer seen")

    assert healed[0] == f"  WRC-RES-003  MUST  known deviation: {KNOWN.sentence}"


def test_a_good_run_has_no_empty_sections() -> None:
    """Nothing wrong, nothing listed."""
    lines = told(io.StringIO(), [outcome("WRC-API-001")])

    assert "Non-conformant" not in lines
    assert "Undetermined" not in lines


def test_a_run_that_ended_early_says_why() -> None:
    """The whole reason is shown: it ends with what to do next."""
    lines = told(io.StringIO(), [], ended_early=EndedEarly(11, "kind is not on PATH.\nInstall it."))

    assert "no verdict: set-up failed" in lines
    assert lines[lines.index("  kind is not on PATH.") + 1] == "  Install it."


def test_a_log_gets_plain_text_and_a_terminal_gets_colours() -> None:
    """Colour codes in a log of CI are noise."""
    told(log := io.StringIO())
    told(terminal := Terminal())

    assert "\x1b" not in log.getvalue()
    assert "\x1b[" in terminal.getvalue()


def test_a_finished_check_is_one_line_of_a_log() -> None:
    """The lines of a log stand in columns, and no check in flight disturbs them."""
    progress = Progress(40, log := io.StringIO())
    progress.started(CHECK)
    progress.finished(CHECK, ["WRC-RES-002"], Verdict.CONFORMANT, 3.21)
    progress.finished("a.py::test_" + "x" * 120, ["WRC-API-001", "WRC-API-002"], Verdict.NOT_APPLICABLE, 0)
    progress.end()

    assert log.getvalue() == (
        "[ 1/40] conformant      WRC-RES-002  test_reservation_stays_one_entry[20]  3.2 s\n"
        f"[ 2/40] not applicable  WRC-API-001, WRC-API-002  test_{'x' * 120}  0.0 s\n"
    )


def last_line(terminal: Terminal) -> str:
    """Return what a terminal shows in its last line: what was written since it was last erased, in colour."""
    return terminal.getvalue().rpartition("\x1b[2K")[2]


def test_a_terminal_shows_the_checks_in_flight_in_its_last_line() -> None:
    """Who waits sees what is waited for; the line fits, and is gone at the end."""
    progress = Progress(2, terminal := Terminal())
    progress.started(CHECK)
    progress.started("conformance/test_api.py::test_other")
    assert "running: test_reservation_stays_one_entry[20], test_other" in last_line(terminal)

    progress.finished(CHECK, ["WRC-RES-002"], Verdict.CONFORMANT, 3.2)
    assert last_line(terminal).splitlines()[0].startswith("[1/2] ")
    assert "running: test_other" in last_line(terminal).splitlines()[1]

    progress.started("conformance/test_api.py::test_" + "x" * 200)
    assert len(last_line(terminal).replace("\x1b[90m", "").replace("\x1b[0m", "")) == 79

    progress.end()
    assert last_line(terminal) == ""
