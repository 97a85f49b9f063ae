# SPDX-License-Identifier: Apache-2.0
"""Runs that are cut off: a component dies, or somebody wants them to end. They end in order and leave nothing."""

import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fixtures.clusters.belongings import CORE_KINDS, SIMULATED_NODE_KINDS, Belongings
from fixtures.clusters.cluster import APISERVER, CONTROLLER_MANAGER, SCHEDULER
from fixtures.clusters.local import ETCD
from tests.running import Run, soon

#: Quick checks, which come first, and more long ones than any of these runs lives for.
QUICK, LONG = "WRC-ALC-002", "WRC-MAT-005"
CHECKS = (f"--wrc-checks={QUICK},WRC-GEN-001,WRC-MAT-003,WRC-MAT-004,{LONG}", "--wrc-soak")
#: Seconds in which a run has ended, with its report, when five of them do so on two cores.
ENDED_SECONDS = 60
SIDE_BY_SIDE = ("-n", "2")
#: Lines of a whole run with few checks.
MOST_LINES = 90

Start = Callable[..., Run]


@pytest.fixture(scope="module")
def start(kubernetes, tmp_path_factory) -> Start:
    """Start a run without Node on its PATH, so that it makes no page."""
    folder = tmp_path_factory.mktemp("runs")
    for command in ("sh", "cat", "rm", "sleep"):
        (folder / "bin").mkdir(exist_ok=True)
        (folder / "bin" / command).symlink_to(str(shutil.which(command)))

    def start(name: str, *options: str) -> Run:
        return Run(folder / name, *options, environment={"PATH": str(folder / "bin")})

    return start


def reach_the_middle(run: Run) -> None:
    """Wait until both quick checks have ended, so that a long one is in flight."""
    run.wait_for(f"conformant      {QUICK}  test_the_first_bound_pod_has_its_claim_ready[template]")


def ended(run: Run, exit_code: int) -> dict[str, Any]:
    """Return the verdicts of a run that must have ended in order, with nothing left."""
    assert run.exit_code() == exit_code, run.output
    assert "Traceback" not in run.output
    assert "KeyboardInterrupt" not in run.output
    assert len(run.output.splitlines()) < MOST_LINES
    assert run.left_behind() == []
    verdicts = run.verdicts()
    assert verdicts["overall"]["exit_code"] == exit_code
    return verdicts


def row_of(verdicts: dict[str, Any], requirement: str) -> dict[str, Any]:
    rows: dict[str, dict[str, Any]] = {row["id"]: row for row in verdicts["requirements"]}
    return rows[requirement]


KILLED = {APISERVER: (), CONTROLLER_MANAGER: (), SCHEDULER: SIDE_BY_SIDE, ETCD: SIDE_BY_SIDE}


def test_a_component_is_killed(start):
    """What a killed component kept from being seen is undetermined, by its name and signal; the rest stands."""
    runs = {component: start(f"without-{component}", *CHECKS, *options) for component, options in KILLED.items()}
    for run in runs.values():
        reach_the_middle(run)
    began = time.monotonic()
    for component, run in runs.items():
        run.send_signal(signal.SIGKILL, f"/{component} --")

    for component, run in runs.items():
        verdicts = ended(run, 10)
        assert time.monotonic() - began < ENDED_SECONDS
        assert verdicts["overall"]["verdict"] == "undetermined"
        assert row_of(verdicts, QUICK)["verdict"] == "conformant"
        for requirement in (LONG, "WRC-INV-005"):
            assert row_of(verdicts, requirement)["verdict"] == "undetermined"
            assert row_of(verdicts, requirement)["reason"].startswith(f"{component} killed by SIGKILL")
        assert f"{LONG}  MUST  {component} killed by SIGKILL" in run.output


PANICKING = """#!/bin/sh
{binary} "$@" &
trap 'kill -9 $!; printf "panic: boom\\n\\ngoroutine 1 [running]:\\n" >&2; exit 2' USR1
wait
"""


@pytest.fixture
def panicking_scheduler(kubernetes, tmp_path: Path) -> Path:
    """A build of Kubernetes whose kube-scheduler panics on SIGUSR1."""
    for name, path in kubernetes.paths.items():
        (tmp_path / name).symlink_to(path)
    script = tmp_path / SCHEDULER
    script.unlink()
    script.write_text(PANICKING.format(binary=kubernetes.paths[SCHEDULER]))
    script.chmod(0o755)
    return tmp_path


def test_a_component_panics(start, panicking_scheduler):
    """A Go panic is a violation, whatever else could be seen; the report has the top of its stack."""
    run = start("panic", *CHECKS, f"--wrc-binaries={panicking_scheduler}")
    reach_the_middle(run)
    run.send_signal(signal.SIGUSR1, f"{panicking_scheduler}/{SCHEDULER}")

    verdicts = ended(run, 1)

    assert verdicts["overall"]["verdict"] == "non-conformant"
    row = row_of(verdicts, "WRC-INV-005")
    assert row["verdict"] == "non-conformant"
    assert row["reason"] == "kube-scheduler ended with a Go panic: panic: boom"
    assert row["checks"][0]["message"].endswith("panic: boom\n\ngoroutine 1 [running]:")
    assert row_of(verdicts, LONG)["verdict"] == "undetermined"
    assert row_of(verdicts, LONG)["reason"].startswith("kube-scheduler exited with code 2")


def interrupted(run: Run) -> dict[str, Any]:
    """Return the verdicts of a run that was interrupted during its checks."""
    verdicts = ended(run, 130)
    assert verdicts["overall"]["verdict"] == "no verdict"
    assert verdicts["overall"]["words"] == "no verdict: interrupted"
    assert row_of(verdicts, QUICK)["verdict"] == "conformant"
    assert row_of(verdicts, LONG)["verdict"] == "not run"
    assert row_of(verdicts, LONG)["reason"] == "interrupted"
    return verdicts


def test_interrupted_during_the_checks(start):
    """Ctrl-C, once or several times, and the signal of a CI system end a run with what is known until then."""
    runs = {
        "twice": start("twice", *CHECKS),
        "again-in-the-end": start("again-in-the-end", *CHECKS, *SIDE_BY_SIDE),
        "terminated": start("terminated", *CHECKS, *SIDE_BY_SIDE),
    }
    for run in runs.values():
        reach_the_middle(run)
    runs["terminated"].terminate()
    runs["twice"].interrupt()
    runs["twice"].interrupt()
    runs["again-in-the-end"].interrupt()
    runs["again-in-the-end"].wait_for("Interrupted (SIGINT): ending the run, which takes some seconds")
    runs["again-in-the-end"].interrupt()

    for run in runs.values():
        interrupted(run)
    assert "Interrupted: SIGINT" in runs["twice"].output
    assert "Interrupted: SIGTERM" in runs["terminated"].output


def test_interrupted_before_the_checks(start):
    """While Kubernetes starts, one sentence says that nothing was checked."""
    run = start("early", *CHECKS)
    run.wait_for("Starting Kubernetes")
    soon(lambda: run.processes(f"/{APISERVER} --feature-gates"))
    run.interrupt()

    verdicts = ended(run, 130)

    assert run.output.endswith("on loopback\nExit: Interrupted before the first check.\n")
    assert verdicts["overall"]["words"] == "no verdict: interrupted"
    assert row_of(verdicts, QUICK)["verdict"] == "not run"


def test_interrupted_in_the_end(kubernetes, tmp_path):
    """Once all checks are over, Ctrl-C no longer changes anything: the verdict is there."""
    run = Run(tmp_path / "late", f"--wrc-checks={QUICK}")
    soon((run.report / "verdicts.json").exists)
    run.interrupt()

    verdicts = ended(run, 0)

    assert verdicts["overall"]["verdict"] == "partial"
    assert row_of(verdicts, QUICK)["verdict"] == "conformant"


def test_killed(start):
    """A run that is killed takes its workers, the control plane and its folder along."""
    run = start("killed", *CHECKS, *SIDE_BY_SIDE)
    reach_the_middle(run)
    began = time.monotonic()
    run.kill()

    assert run.exit_code() == -signal.SIGKILL
    soon(lambda: run.left_behind() == [], lambda: f"left: {run.left_behind()}")
    assert time.monotonic() - began < 10


def test_an_interrupted_run_leaves_nothing_on_an_existing_cluster(control_plane, start):
    """What checks in flight have created is removed before the run ends, also when they ran side by side."""
    kubeconfig = control_plane.folder / "admin.kubeconfig"
    existing = ("--wrc-provider=existing", f"--wrc-kubeconfig={kubeconfig}", "--wrc-context=admin")
    run = start("existing", *existing, "--wrc-simulated-nodes", *CHECKS, *SIDE_BY_SIDE)
    reach_the_middle(run)
    run.interrupt()

    verdicts = interrupted(run)

    with control_plane.cluster().api("test") as api:
        assert Belongings(api, verdicts["run"]["id"], CORE_KINDS + SIMULATED_NODE_KINDS)() == []
    assert verdicts["cluster"]["leftovers"] == []


def test_two_runs_side_by_side(start):
    """Runs at the same time on the same machine do not meet."""
    runs = [start(name, f"--wrc-checks={QUICK}") for name in ("left", "right")]

    for run in runs:
        assert row_of(ended(run, 0), QUICK)["verdict"] == "conformant"
