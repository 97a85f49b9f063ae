# SPDX-License-Identifier: Apache-2.0
"""The session of lies (``--wrc-lies``): every check runs against every lie told about it, and must turn red.

It writes ``lies.json``; the tests of the suite assert on it. A lie is *noticed* if the check came out as
non-conformant, for the lie's own requirement, with a message that contains what the lie demands of it. One that heals
must make the check conformant instead.
"""

import json
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fixtures import waiting
from fixtures.clusters.cluster import Cluster
from fixtures.own_control_plane import StartAs
from fixtures.session import CLUSTER, View
from tests.lies.choosing import Pair, enough
from tests.lies.lie import Lie, all_lies, by_name
from tests.lies.proxy import LyingProxy
from verdicts import catalogue, terminal
from verdicts.outcomes import Outcome, Verdict
from verdicts.selection import requirements_of

#: A lie is either seen at once or by a time-out; there is no slow cluster to be patient with.
TIME_SCALE = 0.2
#: A kubelet tries again after a minute where it may be refused at first.
TIME_SCALE_OF_KUBELETS = 0.6
QUIET_SECONDS = 0.3
#: Begins the parameter of a check that names the lie.
MARK = "lie:"


def pytest_sessionstart(session: pytest.Session) -> None:
    """Be less patient than with a cluster that tells the truth; only kubelets take the time they take."""
    cluster = session.config.stash.get(CLUSTER, None)
    waiting.PACE.time_scale *= TIME_SCALE_OF_KUBELETS if cluster and cluster.real_nodes else TIME_SCALE
    waiting.PACE.quiet_seconds = QUIET_SECONDS


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a check once for each lie about one of its requirements, or aimed at it by name."""
    requirements = {mark.args[0] for mark in metafunc.definition.iter_markers("requirement")}
    name = metafunc.function.__name__
    lies = [lie for lie in all_lies().values() if lie.check == name or lie.requirement in requirements]
    metafunc.parametrize("lie", lies, indirect=True, ids=[f"{MARK}{lie.name}" for lie in lies])


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out the checks without a lie or without a kubelet to show it, and those that their lie does not aim at."""
    items[:] = [
        item
        for item in items
        if _has_what_it_needs(item) and any(lie.aims_at(truthful_id(item.nodeid)) for lie in _lies_of(item))
    ]
    if items and items[0].config.getoption("--wrc-lies-once"):
        items[:] = [items[place] for place in enough([_pair(item) for item in items])]


@pytest.fixture
def lie(request: pytest.FixtureRequest) -> Lie:
    """The lie that is told while the check runs."""
    told: Lie = request.param
    return told


@pytest.fixture(scope="session")
def lying_proxy(cluster: Cluster) -> Iterator[LyingProxy]:
    """A lying proxy between this process and the API server."""
    with LyingProxy(cluster.kubeconfig) as proxy:
        yield proxy


@pytest.fixture
def proxy(request: pytest.FixtureRequest, cluster: Cluster, ground: Cluster) -> Iterator[LyingProxy]:
    """The lying proxy before the cluster that the check is about."""
    if ground is cluster:
        yield request.getfixturevalue("lying_proxy")
    else:
        with LyingProxy(ground.kubeconfig) as of_its_own:
            yield of_its_own


@pytest.fixture
def start_as(lie: Lie) -> StartAs:
    """What the components of a control plane of the check's own are started with: the lie."""
    return lie.start_as


@pytest.fixture
def view(lie: Lie, proxy: LyingProxy) -> View:
    """What the check sees: the lie. Standing invariants are muted, except for their own lies."""
    kubeconfig = proxy.kubeconfig(lie.name, secrets.token_hex(4))
    invariants = (lie.requirement,) if lie.requirement.startswith("WRC-INV") else ()
    facts: dict[str, Any] = {}
    return View(kubeconfig, invariants, lie.faults, retell=lambda metrics: lie.count(metrics, facts))


def _has_what_it_needs(item: pytest.Item) -> bool:
    needs = {need for one in requirements_of(item) for need in catalogue.load()[one].needs}
    cluster = item.config.stash.get(CLUSTER, None)  # there is none when the lies are only listed
    return "kubelet" not in needs or cluster is None or bool(cluster.real_nodes)


def _pair(item: pytest.Item) -> Pair:
    """A check that starts a control plane of its own takes so long that one lie about each requirement must do."""
    check, lie = truthful_id(item.nodeid), lie_in(item.nodeid)
    is_slow = "control_plane" in item.fixturenames  # type: ignore[attr-defined]
    return Pair(check.partition("[")[0], check, lie.requirement if is_slow else lie.name)


def truthful_id(node_id: str) -> str:
    """Return the node id that the check has in an honest run: without the lie among its parameters."""
    check, parameters = _split(node_id)
    rest = "-".join(one for one in parameters if not one.startswith(MARK))
    return f"{check}[{rest}]" if rest else check


def lie_in(node_id: str) -> Lie:
    """Return the lie among the parameters of a check."""
    [name] = [one.removeprefix(MARK) for one in _split(node_id)[1] if one.startswith(MARK)]
    return by_name(name)


class Reckoning:
    """Collects, in the controller process, which lies were noticed, and writes ``lies.json``."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._progress: terminal.Progress | None = None
        self._seen: dict[str, list[Outcome]] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Without xdist: learn how many there are."""
        self._expect(len(session.items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """With xdist: learn from the workers how many there are."""
        self._expect(len(ids))

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str]:
        """Keep pytest's dots and letters away: a line is told per lie."""
        counts = report.when == "call" or not report.passed
        return report.outcome if counts else "", "", ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the outcomes of one phase, and tell of the lie after the last phase."""
        outcomes = [Outcome.from_json(one) for one in getattr(report, "wrc_outcomes", ())]
        self._seen.setdefault(report.nodeid, []).extend(outcomes)
        if report.when == "teardown" and self._progress:
            row = _row(report.nodeid, self._seen[report.nodeid])
            self._progress.finished(report.nodeid, [row["requirement"]], Verdict(row["verdict"]), row["seconds"])

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        """Write the reckoning; the exit code says whether all lies were noticed."""
        yield
        rows = [_row(node_id, outcomes) for node_id, outcomes in sorted(self._seen.items())]
        folder: Path = self._config.option.wrc_report
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "lies.json").write_text(json.dumps(rows, indent=2))
        if session.exitstatus in {0, 1}:
            session.exitstatus = int(not all(row["noticed"] for row in rows))

    def pytest_terminal_summary(self) -> None:
        """Tell which lies were not noticed."""
        rows = [_row(node_id, outcomes) for node_id, outcomes in sorted(self._seen.items())]
        missed = [row for row in rows if not row["noticed"]]
        sys.stdout.write(f"\n{len(rows) - len(missed)} of {len(rows)} lies noticed\n")
        for row in missed:
            sys.stdout.write(
                f"  {row['lie']} in {row['check']}: {row['verdict']}: {row['message'][:300]}\n"
                f"    wanted: {row['wanted']} for {row['requirement']}, with {row['says']!r}\n"
            )

    def _expect(self, total: int) -> None:
        self._progress = self._progress or terminal.Progress(total, sys.stdout)


def _row(node_id: str, outcomes: list[Outcome]) -> dict[str, Any]:
    lie = lie_in(node_id)
    of_requirement = [one for one in outcomes if one.requirement == lie.requirement]
    wanted = Verdict.CONFORMANT if lie.heals else Verdict.NON_CONFORMANT
    shown = next((one for one in of_requirement if one.verdict is Verdict.NON_CONFORMANT), None)
    outcome = shown or next(iter(of_requirement or outcomes), Outcome(lie.requirement, node_id, Verdict.NOT_RUN))
    return {
        "check": truthful_id(node_id),
        "lie": lie.name,
        "requirement": lie.requirement,
        "wanted": str(wanted),
        "says": lie.says,
        "verdict": str(outcome.verdict),
        "message": outcome.message,
        "seconds": round(outcome.seconds, 2),
        "noticed": outcome.verdict is wanted and lie.says in outcome.message,
    }


def _split(node_id: str) -> tuple[str, list[str]]:
    check, _, parameters = node_id.partition("[")
    return check, parameters.removesuffix("]").split("-")


def _lies_of(item: pytest.Item) -> list[Lie]:
    """Return the lie that the check runs against; pytest stands in with something else where there is none."""
    lie = item.callspec.params.get("lie")  # type: ignore[attr-defined]
    return [lie] if isinstance(lie, Lie) else []
