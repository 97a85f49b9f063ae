# SPDX-License-Identifier: Apache-2.0
"""From pytest's reports to verdicts: what each check showed, collected from all workers, judged at the end."""

import random
import shlex
import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import allure
import pytest

from fixtures import invariants
from fixtures.errors import SetUpFailed
from fixtures.scenario import Scenario
from fixtures.session import CLUSTER, Session
from verdicts import allure_report, catalogue, document, evidence, redaction, selection, terminal
from verdicts.judge import INTERRUPTED_EXIT, EndedEarly, Judgement, judge
from verdicts.outcomes import Outcome, Verdict, merge
from verdicts.selection import requirements_of, requirements_of_node


class Recorder:
    """Says of each check, in the process that ran it, what it showed; the report carries it to the controller."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Select and order the checks, alike in all workers: slow ones first, so that none is last alone."""
        chosen = selection.choose(items, catalogue.load(), config)
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = sorted(chosen, key=lambda item: item.get_closest_marker("slow") is None)
        seed = config.getoption("--wrc-shuffle")
        if seed is not None:
            random.Random(seed).shuffle(items)  # noqa: S311  an order, not a secret

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Label the check in Allure: areas are suites, requirements and their sources are labels and links."""
        rows = catalogue.load()
        for requirement in (rows[one] for one in requirements_of(item)):
            allure.dynamic.parent_suite(rows.areas[requirement.area])
            allure.dynamic.suite(requirement.id)
            allure.dynamic.label("requirement", requirement.id)
            allure.dynamic.label("level", requirement.level)
            allure.dynamic.link(requirement.link, name=f"{requirement.id}: {requirement.source}")
        allure.dynamic.parameter("Kubernetes", item.config.stash[CLUSTER].version)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> None:
        """Say in Allure what is checked; allure-pytest sets title and description itself at the end of the set-up."""
        words = item.name.removeprefix("test_").replace("_", " ")
        allure.dynamic.title(f"{', '.join(requirements_of(item))}: {words}")
        rows = [catalogue.load()[one] for one in requirements_of(item)]
        statements = [f"**{row.id}** ({row.level}): {row.statement}" for row in rows]
        allure.dynamic.description("\n\n".join([_sentence(item), *statements]))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self,
        item: pytest.Item,
        call: pytest.CallInfo[None],
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach what the phase showed to its report."""
        report = yield
        outcomes = [*_outcomes(item, call, report)]
        if call.when == "call":
            item.user_properties += [(one.requirement, str(one.verdict)) for one in outcomes]
            scenario = item.funcargs.get("scenario")  # type: ignore[attr-defined]
            if isinstance(scenario, Scenario):
                outcomes = _with_timeline(item, outcomes, scenario)
        report.wrc_outcomes = [one.as_json() for one in outcomes]  # type: ignore[attr-defined]
        return report


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
        return report.outcome, "", ""

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Show the check as being in flight."""
        if self._progress:
            self._progress.started(nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the outcomes of one phase of a check, and tell of the check after its last phase."""
        found = [self._not_after_a_death(Outcome.from_json(one)) for one in getattr(report, "wrc_outcomes", ())]
        if report.when not in {"setup", "call", "teardown"}:  # xdist's report of a crashed worker
            found = _undetermined([report.nodeid], "The worker process that ran the check crashed")
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

    def pytest_wrc_no_verdict(self, error: SetUpFailed) -> None:
        """Write the document of a run that could not begin."""
        self._judgement = judge(self._catalogue, (), "", ended_early=EndedEarly(error.exit_code, str(error)))
        self._write(self._judgement)

    def pytest_terminal_summary(self) -> None:
        """Tell the verdicts."""
        if self._judgement:
            report = self._page or self._config.option.wrc_report / "verdicts.json"
            told = terminal.summary(self._judgement, self._catalogue.areas, report)
            terminal.console(sys.stdout).print(told)

    def _finish(self, session: pytest.Session) -> None:
        early = None
        if session.exitstatus == pytest.ExitCode.INTERRUPTED and not self._run.deaths:
            early = EndedEarly(INTERRUPTED_EXIT, "The run was interrupted before its end.")
        self._judgement = judge(
            self._catalogue,
            self._all_outcomes(early),
            self._config.stash[CLUSTER].version,
            accept_known=self._config.getoption("--wrc-accept-known"),
            ended_early=early,
        )
        self._write(self._judgement)
        if self._uncollected:
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
        elif session.exitstatus in {0, 1, 2}:
            session.exitstatus = self._judgement.overall.exit_code

    def _all_outcomes(self, early: EndedEarly | None) -> list[Outcome]:
        known = [outcome for outcomes in self._outcomes.values() for outcome in outcomes]
        known += _panics(self._run.panics) if known else []
        if self._run.deaths and not early:
            how = "; ".join(f"{name} {end}" for name, end in self._run.deaths.items())
            known += _undetermined(
                [one for one in self._checks if one not in self._outcomes], f"The run ended early: {how}"
            )
        return known

    def _write(self, judgement: Judgement) -> None:
        folder: Path = self._config.option.wrc_report
        folder.mkdir(parents=True, exist_ok=True)
        written = document.build(judgement, self._about_run(), self._about_cluster())
        document.write(written, folder / "verdicts.json")
        results = folder / "allure-results"
        if results.is_dir():
            allure_report.prepare(results, written)
            redaction.redact_folder(folder)
            self._page = allure_report.generate(results, folder / "report.html", _say)
        _point_latest_to(folder)

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
            verdict = merge(one.verdict for one in outcomes)
            self._progress.finished(report.nodeid, requirements, verdict, seconds)

    def _not_after_a_death(self, outcome: Outcome) -> Outcome:
        """A violation that is seen while a component is dead says nothing about the cluster."""
        deaths = self._run.provider.deaths() if self._run.provider else {}
        if not deaths or outcome.verdict is not Verdict.NON_CONFORMANT:
            return outcome
        how = "; ".join(f"{name} {end}" for name, end in deaths.items())
        return replace(outcome, verdict=Verdict.UNDETERMINED, message=f"{how} during the run. {outcome.message}")


def _sentence(item: pytest.Item) -> str:
    return (item.function.__doc__ or "").strip()  # type: ignore[attr-defined]


def _outcomes(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> Iterator[Outcome]:
    verdict, message = _verdict(call)
    if call.when == "call" or verdict is not Verdict.CONFORMANT:
        for one in requirements_of(item):
            yield Outcome(one, item.nodeid, verdict, message, report.duration, _lie_of(item))


def _with_timeline(item: pytest.Item, outcomes: list[Outcome], scenario: Scenario) -> list[Outcome]:
    """Judge standing invariants on the timeline of the check's scenario, and keep the timeline as evidence."""
    broken_on_purpose = {mark.args[0] for mark in item.iter_markers("breaks_invariant")}
    judged = [one for one in item.funcargs["view"].invariants if one not in broken_on_purpose]  # type: ignore[attr-defined]
    found = [replace(one, lie=_lie_of(item)) for one in invariants.judge(scenario.timeline, judged, item.nodeid)]
    kept = evidence.keep_evidence(item.config, item.name, scenario.timeline)
    return [replace(one, evidence=kept) for one in (*outcomes, *found)]


def _lie_of(item: pytest.Item) -> str:
    """Return the name of the lie that is told while the check runs, empty in an honest run."""
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    return parameters["lie"].name if "lie" in parameters else ""


def _verdict(call: pytest.CallInfo[None]) -> tuple[Verdict, str]:
    if call.excinfo is None:
        return Verdict.CONFORMANT, ""
    error = call.excinfo.value
    if isinstance(error, pytest.skip.Exception):
        return Verdict.NOT_APPLICABLE, str(error)
    if isinstance(error, AssertionError):
        return Verdict.NON_CONFORMANT, str(error) or "an assertion without a message"
    return Verdict.UNDETERMINED, f"{type(error).__name__}: {error}"


def _undetermined(checks: Iterable[str], message: str) -> list[Outcome]:
    return [
        Outcome(requirement, check, Verdict.UNDETERMINED, message)
        for check in checks
        for requirement in requirements_of_node(check)
    ]


def _panics(panics: dict[str, str] | None) -> list[Outcome]:
    """Return the outcome of the invariant on panics; None means that components cannot be seen."""
    if panics is None:
        unseen = "the provider does not see the processes of the control plane"
        return [Outcome(invariants.NO_PANIC, "end of the run", Verdict.NOT_APPLICABLE, unseen)]
    found = [
        Outcome(invariants.NO_PANIC, "end of the run", Verdict.NON_CONFORMANT, f"{name} ended with a Go panic: {line}")
        for name, line in panics.items()
    ]
    return found or [Outcome(invariants.NO_PANIC, "end of the run", Verdict.CONFORMANT)]


def _point_latest_to(folder: Path) -> None:
    """Let ``latest`` beside the report folder point to it, where the file system can."""
    latest = folder.parent / "latest"
    with suppress(OSError):
        latest.unlink(missing_ok=True)
        latest.symlink_to(folder.name)


def _say(words: str) -> None:
    sys.stdout.write(f"{words}\n")
