# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the suite's own tests: a real control plane, and whole runs of the suite."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fixtures.clusters.binaries import Binaries, obtain
from fixtures.clusters.cluster import Cluster
from fixtures.clusters.local import ControlPlane
from fixtures.clusters.versions import DEFAULT_KUBERNETES, RELEASE_SERVER

Tell = Callable[[str], None]


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker that `make check` leaves out."""
    config.addinivalue_line("markers", "mutant: builds a wrong Kubernetes, so it is run by `make mutants` alone")
    config.addinivalue_line("markers", "foreign: runs another DRA driver, so it is run by `make foreign-driver` alone")
    config.addinivalue_line("markers", "cluster: needs a control plane, so it is not part of `make check`")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a control plane."""
    for item in items:
        if isinstance(item, pytest.Function) and "kubernetes" in item.fixturenames:
            item.add_marker("cluster")


@pytest.fixture(scope="session")
def tell(request: pytest.FixtureRequest) -> Tell:
    """Write a line to the terminal at once, past pytest's capture: long steps must not look like hanging."""
    reporter: Any = request.config.pluginmanager.get_plugin("terminalreporter")
    capture: Any = request.config.pluginmanager.get_plugin("capturemanager")

    def line(words: str) -> None:
        with capture.global_and_fixture_disabled():
            reporter.write_line(words)

    return line


@pytest.fixture(scope="session")
def kubernetes(tell: Tell) -> Binaries:
    """The binaries of the default version: from the cache, downloaded or built."""
    return obtain(version=DEFAULT_KUBERNETES, folder=None, release_server=RELEASE_SERVER, tell=tell)


@pytest.fixture(scope="session")
def control_plane(kubernetes: Binaries) -> Iterator[ControlPlane]:
    """A control plane for all tests of the session; a test that harms one starts its own."""
    plane = ControlPlane(kubernetes)
    plane.start()
    yield plane
    plane.stop()


@pytest.fixture
def cluster(control_plane: ControlPlane) -> Cluster:
    """How to reach the control plane."""
    return control_plane.cluster()
