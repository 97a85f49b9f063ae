# SPDX-License-Identifier: Apache-2.0
"""Whole runs of the suite in a process of their own, as a user starts them."""

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tenacity import Retrying, stop_after_delay, wait_fixed

from verdicts import document
from verdicts.selection import requirements_of_node

ROOT = Path(__file__).parent.parent
#: Seconds after which a run is ended; each run of the suite's own tests takes far less.
PATIENCE = 2400
#: Seconds until something that a run is about to do must have happened.
SOON = 90
#: The variable by which every process of a run is known, whatever became of its parent.
MARKER = "WRC_TEST_RUN"


class Run:
    """A run of ``pytest conformance``; its output goes to a file, and is read from there."""

    def __init__(self, report: Path, *options: str, environment: Mapping[str, str] | None = None) -> None:
        self.report = report
        self.temporary = Path(tempfile.mkdtemp(prefix="wrc-run-"))  # short: the paths of sockets are limited
        self.report.mkdir(parents=True, exist_ok=True)
        self._log = report / "output.txt"
        self._marker = secrets.token_hex(8)
        provider = [] if any("--wrc-provider" in one for one in options) else ["--wrc-provider=local"]
        command = [sys.executable, "-m", "pytest", "conformance", f"--wrc-report={report}", *provider, *options]
        own = {MARKER: self._marker, "TMPDIR": str(self.temporary)}
        with self._log.open("wb") as output:
            self._child = subprocess.Popen(
                command,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, **own, **(environment or {})},
                start_new_session=True,
            )

    def __del__(self) -> None:
        """Kill a run that a failed test has left; everything that it started dies with it."""
        self._child.kill()
        self._child.wait()
        shutil.rmtree(self.temporary, ignore_errors=True)

    @property
    def output(self) -> str:
        """What the run has printed so far."""
        return self._log.read_text(errors="replace")

    @property
    def pid(self) -> int:
        """The process ID of the run, which is also its process group."""
        return self._child.pid

    def verdicts(self) -> dict[str, Any]:
        """Return the document that the run has written; reading it validates it."""
        return document.read(self.report / "verdicts.json")

    def wait_for(self, words: str) -> None:
        """Wait until the run has printed ``words``."""
        soon(lambda: words in self.output, lambda: f"{words!r} is not in\n{self.output}")

    def processes(self, words: str = "") -> dict[int, str]:
        """Return the living processes of the run whose command line has ``words``, by their process IDs."""
        found = {}
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has ended by now
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                if f"{MARKER}={self._marker}".encode() in (folder / "environ").read_bytes() and words in command:
                    found[int(folder.name)] = command
        return found

    def send_signal(self, number: signal.Signals, words: str) -> None:
        """Send a signal to the one process of the run whose command line has ``words``."""
        found = self.processes(words)
        assert len(found) == 1, f"{found}\n{self.output}"
        [pid] = found
        os.kill(pid, number)

    def interrupt(self) -> None:
        """Press Ctrl-C: the signal goes to the whole process group, as from a terminal."""
        os.killpg(self.pid, signal.SIGINT)

    def terminate(self) -> None:
        """End the run as a CI system does, by a signal to the one process that it started."""
        self._child.terminate()

    def kill(self) -> None:
        """Kill the one process that was started, as the kernel does when memory is short."""
        self._child.kill()

    def exit_code(self) -> int:
        """Wait for the end of the run and return its exit code."""
        try:
            return self._child.wait(PATIENCE)
        except BaseException:
            os.killpg(self.pid, signal.SIGKILL)
            raise

    def left_behind(self) -> list[str]:
        """Return what is left of the run on this machine: processes, and the folder of its control plane."""
        return [*self.processes().values(), *map(str, self.temporary.glob("wrc-control-plane-*"))]


def soon(condition: Callable[[], object], otherwise: Callable[[], str] = str) -> None:
    """Wait until ``condition`` is true; ``otherwise`` says what is so if it does not become true."""
    for attempt in Retrying(wait=wait_fixed(0.05), stop=stop_after_delay(SOON), reraise=True):
        with attempt:
            assert condition(), otherwise()


def collected_checks() -> dict[str, list[str]]:
    """Return the node id of each check with its requirements, without a cluster."""
    command = [sys.executable, "-m", "pytest", "conformance", "--collect-only", "-q"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=PATIENCE)
    checks = [line for line in listed.stdout.splitlines() if "::" in line]
    return {check: requirements_of_node(check) for check in checks}
