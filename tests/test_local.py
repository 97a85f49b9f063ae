# SPDX-License-Identifier: Apache-2.0
"""A control plane on loopback that does not come up at once, or not at all."""

import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures.clusters import processes
from fixtures.clusters.binaries import Binaries
from fixtures.clusters.cluster import APISERVER, SCHEDULER
from fixtures.clusters.local import ETCD, ControlPlane
from fixtures.errors import SetUpFailed

#: In which order the ports of a control plane are chosen.
PORTS = ("etcd", "etcd_peer", "apiserver", "controller_manager", "scheduler")


@pytest.fixture
def taken() -> Iterator[int]:
    """A loopback port that somebody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch) -> Path:
    """The folder that takes the folders of control planes."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def with_command(binaries: Binaries, folder: Path, component: str, script: str) -> Binaries:
    """Return the binaries with a shell script in the place of a component."""
    (folder / component).write_text(f"#!/bin/sh\n{script}\n")
    (folder / component).chmod(0o755)
    return replace(binaries, paths={**binaries.paths, component: folder / component})


def test_other_ports_are_tried_when_one_is_taken(kubernetes, taken, temporary, monkeypatch):
    """Another program may be quicker to take a port, of whatever component, and the next attempt succeeds."""
    attempts = [["etcd"], ["scheduler"], []]
    chosen = iter([taken if port in those_taken else 0 for those_taken in attempts for port in PORTS])
    monkeypatch.setattr("fixtures.clusters.local.free_port", lambda: next(chosen) or processes.free_port())
    told = []
    plane = ControlPlane(kubernetes, tell=told.append)

    cluster = plane.start()

    with cluster.api("test") as api:
        assert api.text("GET", "/readyz") == "ok"
    assert told == ["Another program took a port of the control plane first; trying other ports"] * 2
    assert list(temporary.iterdir()) == [plane.folder]
    plane.stop()
    assert list(temporary.iterdir()) == []


def test_ports_that_are_always_taken(kubernetes, taken, temporary, monkeypatch):
    """After three attempts the message shows what the component said of its port; nothing is left."""
    monkeypatch.setattr("fixtures.clusters.local.free_port", lambda: taken)
    told = []
    plane = ControlPlane(kubernetes, tell=told.append)

    with pytest.raises(SetUpFailed, match="etcd exited with code 1 while the control plane was starting") as refused:
        plane.start()

    assert "address already in use" in str(refused.value)
    assert len(told) == 2
    assert plane.deaths() == {}
    assert list(temporary.iterdir()) == []


def test_a_component_that_ends_at_once(kubernetes, tmp_path, temporary):
    """The message names the component, how it ended, what it said last, and where to look."""
    broken = with_command(kubernetes, tmp_path, SCHEDULER, "echo unknown flag: --frobnicate >&2; exit 3")

    with pytest.raises(SetUpFailed) as refused:
        ControlPlane(broken).start()

    assert str(refused.value) == (
        "kube-scheduler exited with code 3 while the control plane was starting. Its last lines:\n"
        "unknown flag: --frobnicate\n"
        "Look for the first error above. If you gave BINARIES=, check that all components are of one build."
    )
    assert list(temporary.iterdir()) == []


def test_a_component_that_is_never_ready(kubernetes, tmp_path, temporary, monkeypatch):
    """Who waits in vain is told for what; kube-apiserver is never ready without etcd."""
    monkeypatch.setattr("fixtures.clusters.local.READY_SECONDS", 1)
    idle = with_command(kubernetes, tmp_path, ETCD, "exec sleep 600")

    with pytest.raises(SetUpFailed, match=rf"{APISERVER} is not ready after 1 s .* while the control plane was start"):
        ControlPlane(idle).start()

    assert list(temporary.iterdir()) == []


def test_a_binary_that_cannot_be_executed(kubernetes, tmp_path, temporary):
    """A file that is no program for this machine is named."""
    sealed = with_command(kubernetes, tmp_path, SCHEDULER, "")
    (tmp_path / SCHEDULER).chmod(0o644)

    with pytest.raises(SetUpFailed, match=rf"cannot be started on this machine: .*Permission denied: '{tmp_path}/kube"):
        ControlPlane(sealed).start()

    assert list(temporary.iterdir()) == []
