# SPDX-License-Identifier: Apache-2.0
"""The release server, as a small one on loopback plays it."""

import pytest

from fixtures.clusters.cache import Unavailable, system
from fixtures.clusters.cluster import COMPONENTS
from fixtures.clusters.download import download
from fixtures.errors import SetUpFailed
from tests.released import serving, write_release

VERSION = "v1.37.2"


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def into(tmp_path):
    folder = tmp_path / "into"
    folder.mkdir()
    return folder


def test_components_arrive_whole_and_executable(tmp_path, into):
    """The three components are what the server has, and can be started."""
    served = write_release(tmp_path, VERSION)

    with serving(tmp_path) as server:
        download(VERSION, f"{server}/", into, print)

    assert {file.name: file.read_bytes() for file in into.iterdir()} == {
        name: (served / name).read_bytes() for name in COMPONENTS
    }
    assert all(file.stat().st_mode & 0o111 for file in into.iterdir())


def test_progress_is_told_in_whole_tenths(tmp_path, into, monkeypatch):
    """Each tenth is told once, however many pieces the file comes in."""
    monkeypatch.setattr("fixtures.clusters.download.CHUNK", 1)
    write_release(tmp_path, VERSION)
    told = []

    with serving(tmp_path) as server:
        download(VERSION, server, into, told.append)

    assert told == [f"Downloading {name}: {tenth}0 %" for name in COMPONENTS for tenth in range(1, 11)]


def test_checksum_may_name_its_file(tmp_path, into):
    """A mirror may publish what sha256sum prints."""
    served = write_release(tmp_path, VERSION)
    checksum = served / "kube-scheduler.sha256"
    checksum.write_text(f"{checksum.read_text()}  kube-scheduler\n")

    with serving(tmp_path) as server:
        download(VERSION, server, into, print)

    assert (into / "kube-scheduler").exists()


@pytest.mark.parametrize("checksum", ["0" * 64, "", "<html>log in first</html>"])
def test_wrong_checksum_is_an_error_with_both_sums(tmp_path, into, checksum):
    """Whatever else the server says in place of the checksum, the file is not used."""
    served = write_release(tmp_path, VERSION)
    (served / "kube-apiserver.sha256").write_text(checksum)

    with serving(tmp_path) as server, pytest.raises(SetUpFailed, match="wrong checksum") as refused:
        download(VERSION, server, into, print)

    assert f"expected SHA-256 {checksum or '(nothing)'}" in str(refused.value)


def test_missing_version_is_said_with_its_address(tmp_path, into):
    """The address can be tried in a browser."""
    with serving(tmp_path) as server, pytest.raises(Unavailable) as missing:
        download("v1.37.99", server, into, print)

    assert f"{server}/release/v1.37.99/bin/{'/'.join(system())}/kube-apiserver.sha256 answered 404" in str(
        missing.value
    )


@pytest.mark.parametrize("server", ["http://127.0.0.1:1", "dl.k8s.invalid", ""])
def test_server_out_of_reach_closes_this_way(into, server):
    """Neither a refused connection nor an address that is none stops a run that can build instead."""
    with pytest.raises(Unavailable):
        download(VERSION, server, into, print)


def test_download_goes_through_the_proxy_of_the_environment(tmp_path, into, monkeypatch):
    """Behind a firewall the proxy that go uses serves the download too."""
    write_release(tmp_path / "http:" / "dl.k8s.invalid", VERSION)  # a proxy is asked for whole addresses

    with serving(tmp_path) as proxy:
        monkeypatch.setenv("http_proxy", proxy)
        download(VERSION, "http://dl.k8s.invalid", into, print)

    assert sorted(file.name for file in into.iterdir()) == sorted(COMPONENTS)
