# SPDX-License-Identifier: Apache-2.0
"""Says of each check, in the process that ran it, what it showed."""

import random
from collections.abc import Generator, Iterable, Iterator
from dataclasses import replace

import allure
import pytest

from fixtures import invariants
from fixtures.own_control_plane import OwnControlPlane
from fixtures.scenario import Scenario
from fixtures.session import CLUSTER
from verdicts import catalogue, evidence, selection
from verdicts.outcomes import Outcome, Verdict
from verdicts.selection import requirements_of

#: Verdicts that somebody will want to look into.
WRONG = (Verdict.NON_CONFORMANT, Verdict.UNDETERMINED)


class Recorder:
    """Selects the checks, and lets their reports carry what they showed to the controller process."""

    def __init__(self, config: pytest.Config) -> None:
        selection.hand_over_expression(config, catalogue.load())

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Select and order the checks, alike in all workers."""
        chosen = selection.choose(items, catalogue.load(), config)
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        seed = config.getoption("--wrc-shuffle")
        if seed is not None:
            random.Random(seed).shuffle(chosen)  # noqa: S311  an order, not a secret
        items[:] = sorted(chosen, key=_place)

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
            control_plane = item.funcargs.get("control_plane")  # type: ignore[attr-defined]
            if isinstance(control_plane, OwnControlPlane):
                outcomes = _with_deaths(item, outcomes, control_plane)
        report.wrc_outcomes = [one.as_json() for one in outcomes]  # type: ignore[attr-defined]
        return report


def _place(item: pytest.Item) -> int:
    """Return where a check stands: slow ones first, those that run alone last, and of them the probes."""
    places = {"slow": -1, "alone": 1, "probe": 2}
    return next((place for marker, place in places.items() if item.get_closest_marker(marker)), 0)


def _sentence(item: pytest.Item) -> str:
    return (item.function.__doc__ or "").strip()  # type: ignore[attr-defined]


def _outcomes(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> Iterator[Outcome]:
    verdict, message = _verdict(call)
    if call.when == "call" or verdict is not Verdict.CONFORMANT:
        for one in requirements_of(item):
            yield Outcome(one, item.nodeid, verdict, message, report.duration, _lie_of(item))


def _with_timeline(item: pytest.Item, outcomes: list[Outcome], scenario: Scenario) -> list[Outcome]:
    """Judge standing invariants on the timeline of the check's scenario, and keep the timeline as evidence."""
    judged = _judged(item, item.funcargs["view"].invariants)  # type: ignore[attr-defined]
    found = [replace(one, lie=_lie_of(item)) for one in invariants.judge(scenario.timeline, judged, item.nodeid)]
    kept = evidence.keep_evidence(item.config, item.name, scenario.timeline)
    return [replace(one, evidence=kept) for one in (*outcomes, *found)]


def _judged(item: pytest.Item, wanted: Iterable[str]) -> list[str]:
    """Return the invariants that can be judged: not what the check breaks on purpose, and none on a broken history."""
    control_plane = item.funcargs.get("control_plane")  # type: ignore[attr-defined]
    if isinstance(control_plane, OwnControlPlane) and control_plane.has_lost_watches:
        return []
    broken_on_purpose = {mark.args[0] for mark in item.iter_markers("breaks_invariant")}
    return [one for one in wanted if one not in broken_on_purpose]


def _with_deaths(item: pytest.Item, outcomes: list[Outcome], control_plane: OwnControlPlane) -> list[Outcome]:
    """Judge how the components of the check's own control plane fared; keep their logs if something went wrong.

    A violation that is seen while a component is dead says nothing about the cluster.
    """
    if any(one.verdict in WRONG for one in outcomes) and not _lie_of(item):
        control_plane.keep_logs(item.config.option.wrc_report / "logs" / evidence.folder_of(item.name))
    died = "; ".join(f"{name} {how}" for name, how in control_plane.deaths.items())
    if died:
        outcomes = [_in_doubt(one, f"{died} during the check") for one in outcomes]
    panics = [f"{name} ended with a Go panic: {panic}" for name, panic in control_plane.panics.items()]
    found = [Outcome(invariants.NO_PANIC, item.nodeid, Verdict.NON_CONFORMANT, panic) for panic in panics]
    return outcomes + found


def _in_doubt(outcome: Outcome, why: str) -> Outcome:
    if outcome.verdict is not Verdict.NON_CONFORMANT:
        return outcome
    return replace(outcome, verdict=Verdict.UNDETERMINED, message=f"{why}: {outcome.message}")


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
