# SPDX-License-Identifier: Apache-2.0
"""Whole runs of the suite in a process of their own, as a user starts them."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from verdicts.selection import requirements_of_node

ROOT = Path(__file__).parent.parent
#: Seconds after which a run is ended; each run of the suite's own tests takes far less.
PATIENCE = 600


class Run:
    """A run of ``pytest conformance``; its output goes to a file, and is read from there."""

    def __init__(self, report: Path, *options: str, environment: Mapping[str, str] | None = None) -> None:
        self.report = report
        report.mkdir(parents=True, exist_ok=True)
        self._log = report / "output.txt"
        command = [sys.executable, "-m", "pytest", "conformance", f"--wrc-report={report}", *options]
        with self._log.open("wb") as output:
            self._child = subprocess.Popen(
                command,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
            )

    @property
    def output(self) -> str:
        """What the run has printed so far."""
        return self._log.read_text(errors="replace")

    @property
    def pid(self) -> int:
        """The process ID of the run, which is also its process group."""
        return self._child.pid

    def interrupt(self) -> None:
        """Press Ctrl-C: the signal goes to the whole process group, as from a terminal."""
        os.killpg(self.pid, signal.SIGINT)

    def terminate(self) -> None:
        """End the run as a CI system does, by a signal to the one process that it started."""
        self._child.terminate()

    def exit_code(self) -> int:
        """Wait for the end of the run and return its exit code."""
        try:
            return self._child.wait(PATIENCE)
        except BaseException:
            os.killpg(self.pid, signal.SIGKILL)
            raise


def collected_checks() -> dict[str, list[str]]:
    """Return the node id of each check with its requirements, without a cluster."""
    command = [sys.executable, "-m", "pytest", "conformance", "--collect-only", "-q"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=PATIENCE)
    checks = [line for line in listed.stdout.splitlines() if "::" in line]
    return {check: requirements_of_node(check) for check in checks}
