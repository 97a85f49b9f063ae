# SPDX-License-Identifier: Apache-2.0
"""Child processes: how their end is told, that a Go panic is seen, and that nothing outlives the run."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tenacity import Retrying, retry_if_result, stop_after_delay, wait_fixed

from fixtures.clusters import processes
from fixtures.clusters.processes import Process, free_port, start_sweeper
from fixtures.invariants import NO_PANIC
from verdicts import plugin
from verdicts.outcomes import Outcome, Verdict

ROOT = Path(__file__).parent.parent
PANIC = """
echo 'I1129 starting' >&2
echo 'panic: runtime error: invalid memory address or nil pointer dereference' >&2
echo '[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x1]' >&2
echo >&2
echo 'goroutine 1 [running]:' >&2
exit 2
"""
FATAL = "echo 'fatal error: concurrent map iteration and map write' >&2; exit 2"
EXIT = "echo 'error: unknown flag; do not panic: see --help' >&2; exit 3"
#: What a run does that is killed: it starts a component and a sweeper, says so, and goes on.
RUN = """
import sys, threading
from pathlib import Path
from fixtures.clusters.processes import Process, start_sweeper
folder = Path(sys.argv[1])
start_sweeper(folder)
print(Process("etcd", ["sleep", "60"], folder / "etcd.log", {"PATH": sys.argv[2]}).pid, flush=True)
threading.Event().wait(60)
"""

Start = Callable[[str], Process]


@pytest.fixture
def start(tmp_path) -> Iterator[Start]:
    """Starts a shell script as a component; it ends with the test."""
    started: list[Process] = []

    def shell(script: str) -> Process:
        started.append(Process("etcd", ["sh", "-c", script], tmp_path / "etcd.log", os.environ))
        return started[-1]

    yield shell
    for process in started:
        process.kill()


def wait_while(condition: Callable[[], bool]) -> None:
    """Wait until the condition no longer holds, five seconds at most."""
    Retrying(retry=retry_if_result(bool), stop=stop_after_delay(5), wait=wait_fixed(0.01))(condition)


def ended(process: Process) -> Process:
    wait_while(process.is_alive)
    return process


def is_running(pid: int) -> bool:
    """Tell whether the process exists and is more than an entry that nobody has collected yet."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


@pytest.mark.parametrize(
    ("script", "words"), [("exit 0", "exited with code 0"), (EXIT, "exited with code 3"), (PANIC, "exited with code 2")]
)
def test_an_exit_is_told_with_its_code(start, script, words):
    """Whoever reads the report sees how a component ended."""
    assert ended(start(script)).end() == words


def test_a_signal_is_told_by_its_name(start):
    """Killed, for instance by the kernel for want of memory, is another end than an exit."""
    process = start("kill -KILL $$")

    assert ended(process).end() == "killed by SIGKILL"
    assert process.panic() == ""


def test_a_living_component_has_no_end(start):
    """While it runs there is nothing to tell, whatever its log says."""
    process = start("echo 'panic: a word in the log'; exec sleep 60")
    wait_while(lambda: "panic" not in process.last_lines(1))

    assert (process.is_alive(), process.end(), process.panic()) == (True, "", "")


@pytest.mark.parametrize(
    ("script", "first", "last"),
    [
        (PANIC, "panic: runtime error: invalid memory address or nil pointer dereference", "goroutine 1 [running]:"),
        (FATAL, "fatal error: concurrent map iteration and map write", "fatal error: concurrent map iteration and map"),
    ],
    ids=["panic", "fatal error"],
)
def test_a_go_panic_is_told_with_its_stack(start, script, first, last):
    """It begins with a line as the Go runtime begins it; what the component logged before is left out."""
    told = ended(start(script)).panic().splitlines()

    assert told[0] == first
    assert told[-1].startswith(last)


@pytest.mark.parametrize(
    "script", [EXIT, "echo 'fatal error: runtime: out of memory'; exit 2", "echo 'observed a panic: nil'; exit 1"]
)
def test_another_end_is_no_panic(start, script):
    """Neither an ordinary exit, nor memory that ran out, nor a word in the log breaks the invariant."""
    assert ended(start(script)).panic() == ""


def test_the_last_lines_are_those_of_the_log(start):
    """Standard output and standard error are one log."""
    process = ended(start("echo one; echo two >&2; echo three"))

    assert process.last_lines(2) == "two\nthree"


def test_a_component_is_gone_after_stop(start, monkeypatch):
    """SIGTERM is enough for most; one that does not listen is killed."""
    monkeypatch.setattr(processes, "STOP_SECONDS", 0.1)
    polite = start("exec sleep 60")
    deaf = start("trap '' TERM; echo deaf; exec sleep 60")
    wait_while(lambda: "deaf" not in deaf.last_lines(1))

    polite.stop()
    deaf.stop()

    assert (polite.end(), deaf.end()) == ("killed by SIGTERM", "killed by SIGKILL")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux kills a child with its parent")
def test_nothing_outlives_a_run_that_is_killed(tmp_path):
    """After kill -9 of the run, its components end and its folder is removed."""
    folder = tmp_path / "run"
    folder.mkdir()
    command = [sys.executable, "-c", RUN, str(folder), os.environ["PATH"]]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as run:
        component = int(run.stdout.readline())  # type: ignore[union-attr]
        assert is_running(component)
        assert (folder / "etcd.log").exists()

        run.send_signal(signal.SIGKILL)

    wait_while(lambda: is_running(component))
    wait_while(folder.exists)


def test_the_folder_stays_while_the_run_lives(tmp_path):
    """The sweeper waits for the end of its standard input, and not for anything else."""
    (tmp_path / "etcd.log").touch()
    sweeper = start_sweeper(tmp_path)

    with pytest.raises(subprocess.TimeoutExpired):
        sweeper.wait(0.1)
    assert (tmp_path / "etcd.log").exists()

    sweeper.communicate()
    assert not tmp_path.exists()


def test_a_free_port_can_be_listened_on():
    """The port is on loopback, and nobody has it."""
    with socket.create_server(("127.0.0.1", free_port())) as server:
        assert server.getsockname()[0] == "127.0.0.1"


@pytest.mark.parametrize(
    ("panics", "died", "outcomes"),
    [
        ({}, "", [(Verdict.CONFORMANT, "")]),
        ({}, "etcd killed by SIGKILL", [(Verdict.UNDETERMINED, "etcd killed by SIGKILL")]),
        (None, "", [(Verdict.NOT_APPLICABLE, "the provider does not see the processes of the control plane")]),
        (
            {"kube-scheduler": "panic: nil map", "etcd": "fatal error: stack overflow"},
            "kube-scheduler exited with code 2",
            [
                (Verdict.NON_CONFORMANT, "kube-scheduler ended with a Go panic: panic: nil map"),
                (Verdict.NON_CONFORMANT, "etcd ended with a Go panic: fatal error: stack overflow"),
            ],
        ),
    ],
    ids=["none", "killed", "unseen", "two"],
)
def test_a_panic_breaks_the_invariant(panics: dict[str, str] | None, died: str, outcomes: Any):
    """Each Go panic is a violation, any other death leaves it open; unseen components are not applicable."""
    found: list[Outcome] = plugin._ends(panics, died)

    assert [(one.verdict, one.message) for one in found] == outcomes
    assert {one.requirement for one in found} == {NO_PANIC}
