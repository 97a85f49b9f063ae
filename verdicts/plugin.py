# SPDX-License-Identifier: Apache-2.0
"""From pytest's reports to verdicts: what each check showed, collected from all workers, judged at the end."""

import shlex
import sys
from collections.abc import Generator, Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from fixtures import invariants
from fixtures.session import CLUSTER, Session
from verdicts import allure_report, catalogue, document, redaction, selection, terminal
from verdicts.judge import INTERRUPTED_EXIT, EndedEarly, Judgement, judge
from verdicts.outcomes import Outcome, Verdict, merge
from verdicts.selection import requirements_of_node

#: What pytest says of a run that came to no verdict: our exit code, and why.
_ENDED_EARLY: dict[int, EndedEarly] = {
    pytest.ExitCode.INTERRUPTED: EndedEarly(INTERRUPTED_EXIT, "The run was interrupted before its end."),
    pytest.ExitCode.INTERNAL_ERROR: EndedEarly(3, "A fault of the suite ended the run; it is shown above."),
    pytest.ExitCode.USAGE_ERROR: EndedEarly(4, "The options make no sense to pytest; its message says why."),
    pytest.ExitCode.NO_TESTS_COLLECTED: EndedEarly(5, "No check was selected. `make plan` lists those there are."),
}


class Judge:
    """Collects outcomes in the controller process; at the end judges them, and writes and tells the verdicts."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._started = datetime.now(UTC)
        self._catalogue = catalogue.load()
        self._checks: list[str] = []
        self._outcomes: dict[str, list[Outcome]] = {}
        self._progress: terminal.Progress | None = None
        self._judgement: Judgement | None = None
        self._page: Path | None = None
        self._uncollected = False
        selection.prepare(config, self._catalogue)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Without xdist: learn which checks there are."""
        self._expect([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """With xdist: learn from the workers which checks there are."""
        self._expect(ids)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Show a fault of the suite itself, which leaves checks uncollected."""
        if report.failed:
            self._uncollected = True
            _say(str(report.longrepr))

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str]:
        """Keep pytest's dots and letters away: a line is told per check."""
        counts = report.when == "call" or not report.passed
        return report.outcome if counts else "", "", ""

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Show the check as being in flight."""
        if self._progress:
            self._progress.started(nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the outcomes of one phase of a check, and tell of the check after its last phase."""
        found = [self._not_after_a_death(Outcome.from_json(one)) for one in getattr(report, "wrc_outcomes", ())]
        if report.when not in {"setup", "call", "teardown"}:  # xdist's report of a crashed worker
            found = _alike([report.nodeid], Verdict.UNDETERMINED, "The worker process that ran the check crashed")
        self._outcomes.setdefault(report.nodeid, []).extend(found)
        if report.when not in {"setup", "call"}:
            self._tell(report)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None]:
        """Judge once the cluster has ended and all result files are written, then set the exit code."""
        try:
            yield
        finally:
            if self._progress:
                self._progress.end()
            if not self._config.option.collectonly and CLUSTER in self._config.stash:
                self._finish(session)

    def pytest_wrc_no_verdict(self, exit_code: int, reason: str) -> None:
        """Write the document of a run that could not begin."""
        self._write(judge(self._catalogue, (), "", ended_early=EndedEarly(exit_code, reason)))
        redaction.redact_folder(self._config.option.wrc_report)

    def pytest_terminal_summary(self) -> None:
        """Tell the verdicts, and what the run could not or should not remove."""
        if self._judgement and self._outcomes:
            report = self._page or self._config.option.wrc_report / "verdicts.json"
            told = terminal.summary(self._judgement, self._catalogue.areas, report)
            terminal.console(sys.stdout).print(told)
        elif self._judgement:
            _say(self._judgement.overall.words)
        for one in self._run.leftovers:
            _say(f"Left behind: {one}")

    def _finish(self, session: pytest.Session) -> None:
        early = self._ended_early(session.exitstatus)
        self._judgement = judge(
            self._catalogue,
            self._all_outcomes(early),
            self._config.stash[CLUSTER].version,
            accept_known=self._config.getoption("--wrc-accept-known"),
            ended_early=early,
        )
        session.exitstatus = self._judgement.overall.exit_code
        self._report(self._write(self._judgement), with_page=not early)

    def _ended_early(self, exit_status: int) -> EndedEarly | None:
        """Return why there is no verdict. A death is no such reason: it leaves its checks undetermined."""
        if exit_status == pytest.ExitCode.INTERRUPTED and self._run.how_components_died():
            return None
        return _ENDED_EARLY.get(pytest.ExitCode.INTERNAL_ERROR if self._uncollected else exit_status)

    def _all_outcomes(self, early: EndedEarly | None) -> list[Outcome]:
        """Return what the checks showed, what they were kept from showing, and how the components ended."""
        known = [outcome for outcomes in self._outcomes.values() for outcome in outcomes]
        unheard = [check for check in self._checks if not self._outcomes.get(check)]
        died = self._run.how_components_died()
        if early:
            known += _alike(unheard, Verdict.NOT_RUN, early.words)
        elif died:
            known = [_with_reason(outcome, f"{died} during the run") for outcome in known]
            known += _alike(unheard, Verdict.UNDETERMINED, f"{died}, which ended the run early")
        return known + _ends(self._run.panics, died) if known or died else []

    def _write(self, judgement: Judgement) -> document.Document:
        folder: Path = self._config.option.wrc_report
        folder.mkdir(parents=True, exist_ok=True)
        written = document.build(judgement, self._about_run(), self._about_cluster())
        document.write(written, folder / "verdicts.json")
        _point_latest_to(folder)
        return written

    def _report(self, written: document.Document, *, with_page: bool) -> None:
        """Make the results of Allure presentable; who interrupts a run does not want to wait for the page."""
        folder: Path = self._config.option.wrc_report
        results = folder / "allure-results"
        if results.is_dir():
            allure_report.prepare(results, written)
            redaction.redact_folder(folder)
            self._page = allure_report.generate(results, folder / "report.html", _say) if with_page else None

    def _about_run(self) -> document.Run:
        option = self._config.option
        return document.Run(
            id=self._run.run,
            started=self._started,
            finished=datetime.now(UTC),
            selection=option.wrc_checks,
            command_line=shlex.join(["pytest", *self._config.invocation_params.args]),
            jobs=getattr(option, "numprocesses", None) or 1,
        )

    def _about_cluster(self) -> dict[str, Any]:
        cluster = self._config.stash.get(CLUSTER, None)
        if cluster is None:
            return {}
        return {
            "provider": cluster.provider,
            "context": cluster.context,
            "version": cluster.version,
            **cluster.about,
            "leftovers": self._run.leftovers,
        }

    @property
    def _run(self) -> Session:
        run: Session = self._config.pluginmanager.get_plugin("wrc-session")  # type: ignore[assignment]
        return run

    def _expect(self, checks: list[str]) -> None:
        if not self._progress:
            self._checks = list(checks)
            self._progress = terminal.Progress(len(checks), sys.stdout)

    def _tell(self, report: pytest.TestReport) -> None:
        outcomes = self._outcomes[report.nodeid]
        seconds = max((one.seconds for one in outcomes), default=0.0)
        requirements = list(dict.fromkeys(one.requirement for one in outcomes if one.seconds)) or ["-"]
        if self._progress:
            shown = [one for one in outcomes if one.seconds or one.verdict is not Verdict.CONFORMANT]
            verdict = merge(one.verdict for one in shown or outcomes)
            self._progress.finished(report.nodeid, requirements, verdict, seconds)

    def _not_after_a_death(self, outcome: Outcome) -> Outcome:
        """A violation that is seen while a component is dead says nothing about the cluster."""
        is_in_doubt = outcome.verdict is Verdict.NON_CONFORMANT and self._run.how_components_died()
        return replace(outcome, verdict=Verdict.UNDETERMINED) if is_in_doubt else outcome


def _alike(checks: Iterable[str], verdict: Verdict, message: str) -> list[Outcome]:
    return [
        Outcome(requirement, check, verdict, message) for check in checks for requirement in requirements_of_node(check)
    ]


def _with_reason(outcome: Outcome, reason: str) -> Outcome:
    """Let the message of an undetermined outcome begin with what most likely stood in the way."""
    if outcome.verdict is not Verdict.UNDETERMINED:
        return outcome
    return replace(outcome, message=f"{reason}. {outcome.message}")


def _ends(panics: dict[str, str] | None, died: str) -> list[Outcome]:
    """Return the outcomes of the invariant on panics; ``panics`` is None if no component can be seen to end."""

    def outcome(verdict: Verdict, message: str = "") -> Outcome:
        return Outcome(invariants.NO_PANIC, "end of the run", verdict, message)

    if panics is None:
        return [outcome(Verdict.NOT_APPLICABLE, "the provider does not see the processes of the control plane")]
    found = [
        outcome(Verdict.NON_CONFORMANT, f"{name} ended with a Go panic: {panic}") for name, panic in panics.items()
    ]
    return found or [outcome(Verdict.UNDETERMINED, died) if died else outcome(Verdict.CONFORMANT)]


def _point_latest_to(folder: Path) -> None:
    """Let ``latest`` beside the report folder point to it, where the file system can."""
    latest = folder.parent / "latest"
    with suppress(OSError):
        latest.unlink(missing_ok=True)
        latest.symlink_to(folder.name)


def _say(words: str) -> None:
    sys.stdout.write(f"{words}\n")
