# SPDX-License-Identifier: Apache-2.0
"""How the binaries of a control plane are obtained."""

import errno
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from fixtures.clusters import binaries
from fixtures.clusters.build import ETCD, kubernetes
from fixtures.clusters.cache import Unavailable
from fixtures.clusters.cluster import COMPONENTS
from fixtures.errors import SetUpFailed
from tests.released import serving, write_binaries, write_release

VERSION = "v1.37.2"
NOBODY_LISTENS = "http://127.0.0.1:1"


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def told():
    """What the user was told, line by line."""
    return []


@pytest.fixture
def obtain(cache, told, monkeypatch):
    """The function under test, for a machine with an empty cache and without a release server."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")

    def with_defaults(version=VERSION, folder=None, release_server=NOBODY_LISTENS, tell=told.append):
        return binaries.obtain(version=version, folder=folder, release_server=release_server, tell=tell, cache=cache)

    return with_defaults


@pytest.fixture
def builds(monkeypatch):
    """What was built, in order; every build succeeds at once."""
    built = []

    def build(module, into, *_):
        built.append(f"{module.name} {module.version}")
        write_binaries(into, module.version, *(command.name for command in module.commands))

    monkeypatch.setattr(binaries, "build", build)
    return built


@pytest.fixture
def build_fails(monkeypatch):
    """A function that lets every build fail half-way with an error."""

    def with_error(error):
        def build(_, into, *__):
            (into / "kube-apiserver").write_text("half of it")
            raise error

        monkeypatch.setattr(binaries, "build", build)

    return with_error


@pytest.fixture
def release_server(tmp_path):
    write_release(tmp_path / "served", VERSION)
    with serving(tmp_path / "served") as url:
        yield url


def test_given_folder_wins_and_its_binary_says_the_version(tmp_path, obtain, builds):
    """BINARIES= is taken as it is, whatever KUBERNETES= says, etcd included."""
    write_binaries(tmp_path, "v1.38.0-alpha.1.7+ab12", *COMPONENTS, "etcd")

    found = obtain(version="latest", folder=tmp_path)

    assert (found.version, found.source) == ("v1.38.0-alpha.1.7+ab12", "folder")
    assert found.paths == {name: tmp_path / name for name in (*COMPONENTS, "etcd")}
    assert builds == []


def test_etcd_is_built_if_the_folder_has_none(tmp_path, cache, obtain, builds):
    """A build of Kubernetes carries no etcd, so that one comes from its own module."""
    write_binaries(tmp_path, VERSION, *COMPONENTS)

    found = obtain(folder=tmp_path)

    assert found.source == "folder"
    assert found.paths["etcd"] == cache / ETCD.entry / "etcd"
    assert builds == ["etcd v3.7.3"]


def test_incomplete_folder_is_refused_by_name(tmp_path, obtain):
    """The message says what is missing and where it was looked for."""
    write_binaries(tmp_path, VERSION, "kube-apiserver")

    with pytest.raises(SetUpFailed, match="has no kube-controller-manager, kube-scheduler") as refused:
        obtain(folder=tmp_path)

    assert str(tmp_path) in str(refused.value)


def test_binary_that_does_not_run_is_refused(tmp_path, obtain):
    """A build for another machine ends the run with its path, not with a traceback."""
    write_binaries(tmp_path, VERSION, *COMPONENTS)
    (tmp_path / "kube-apiserver").write_bytes(b"\x7fELF of another machine")

    with pytest.raises(SetUpFailed, match="kube-apiserver does not run"):
        obtain(folder=tmp_path)


@pytest.mark.parametrize("version", ["v0.0.0-master+$Format:%H$", "v1.35.4"])
def test_folder_without_the_feature_is_refused(tmp_path, obtain, version):
    """The binary's own version decides, and one that a plain `go build` left unset is explained."""
    write_binaries(tmp_path, version, *COMPONENTS)

    with pytest.raises(SetUpFailed, match="is older than") as refused:
        obtain(folder=tmp_path)

    assert f"So says {tmp_path}/kube-apiserver" in str(refused.value)


@pytest.mark.parametrize("version", ["v1.37.2", "1.37.2"])
def test_download_is_kept_for_the_next_run(cache, obtain, builds, release_server, version):
    """The second run has the same binaries without any server; only etcd is ever built besides."""
    first = obtain(version=version, release_server=release_server)
    second = obtain(version=version)

    assert (first.version, first.source) == (VERSION, "release server")
    assert (second.version, second.source, second.paths) == (VERSION, "cache", first.paths)
    assert first.paths["kube-scheduler"] == cache / kubernetes(VERSION).entry / "kube-scheduler"
    assert builds == ["etcd v3.7.3"]


def test_wrong_checksum_ends_the_run(tmp_path, cache, obtain, builds, release_server):
    """A file that was changed on its way is thrown away; building instead would hide it."""
    folder = write_release(tmp_path / "served", VERSION)
    (folder / "kube-scheduler.sha256").write_text("0" * 64)

    with pytest.raises(SetUpFailed, match="kube-scheduler has a wrong checksum"):
        obtain(release_server=release_server)

    assert builds == []
    assert list(cache.glob("kubernetes/*")) == []


def test_version_that_the_server_lacks_is_built(obtain, builds, told, release_server):
    """404 is no error as long as another way is open, and the user hears why it takes longer."""
    found = obtain(version="v1.37.3", release_server=release_server)

    assert (found.version, found.source) == ("v1.37.3", "Go modules")
    assert builds == ["Kubernetes v1.37.3", "etcd v3.7.3"]
    assert any("release server" in line and "404" in line for line in told)


def test_unreachable_server_does_not_stop_a_build(obtain, builds):
    """A machine without the release server builds, and builds only once."""
    assert obtain().source == "Go modules"
    assert obtain().source == "cache"
    assert builds == ["Kubernetes v1.37.2", "etcd v3.7.3"]


def test_version_that_exists_nowhere_lists_every_way(cache, obtain, build_fails, release_server):
    """One message has each way with its reason, and what can be done."""
    build_fails(Unavailable("k8s.io/kubernetes@v1.37.99: not found"))

    with pytest.raises(SetUpFailed) as refused:
        obtain(version="v1.37.99", release_server=release_server)

    heading, *ways, advice = str(refused.value).splitlines()
    assert heading == "Kubernetes v1.37.99 cannot be had:"
    assert ways[0].startswith(f"- cache: there is no {cache}/kubernetes/v1.37.99-")
    assert ways[1].startswith(f"- release server: {release_server}/release/v1.37.99/")
    assert ways[2] == "- Go modules: k8s.io/kubernetes@v1.37.99: not found"
    assert "KUBERNETES=" in advice
    assert "BINARIES=" in advice


@pytest.mark.parametrize("version", ["latest", "1.37", "v1.37.x", "", "../v1.37.2", "v1.37.2/.."])
def test_what_is_no_version_is_refused(obtain, version):
    """Nothing is fetched for a word that names no release; an example is given."""
    with pytest.raises(SetUpFailed, match=r"is no Kubernetes version.*KUBERNETES=v1\.37\.2"):
        obtain(version=version)


def test_version_before_the_feature_is_refused(obtain):
    """Workload ResourceClaims began in 1.36."""
    with pytest.raises(SetUpFailed, match=r"v1\.35\.4 is older than 1\.36"):
        obtain(version="1.35.4")


def test_full_disk_says_how_much_room_is_needed(cache, obtain, build_fails):
    """The message names the folder, what is free, what is needed and two ways out; nothing is left behind."""
    build_fails(OSError(errno.ENOSPC, "write /cache/go-build/12: no space left on device"))

    with pytest.raises(SetUpFailed, match="about 5 GiB are needed") as refused:
        obtain()

    message = str(refused.value)
    assert "write /cache/go-build/12: no space left on device" in message
    assert f"{cache} has " in message
    assert "XDG_CACHE_HOME" in message
    assert "make clean-cache" in message
    assert list(cache.glob("kubernetes/*")) == []


def test_failed_build_leaves_nothing_and_can_be_repeated(cache, obtain, build_fails, request):
    """Half an entry is never taken for a whole one."""
    build_fails(Unavailable("no network"))
    with pytest.raises(SetUpFailed):
        obtain()
    assert list(cache.glob("kubernetes/*")) == []

    request.getfixturevalue("builds")
    assert obtain().source == "Go modules"


def test_two_runs_at_once_build_once(obtain, monkeypatch):
    """The second run waits for the first one's build, is told so, and takes it from the cache."""
    building, waiting = Event(), Event()
    built = []

    def build(module, into, *_):
        built.append(module.name)
        building.set()
        assert waiting.wait(timeout=10)
        write_binaries(into, module.version, *(command.name for command in module.commands))

    def tell(line):
        if line.startswith("Another run is filling the cache"):
            waiting.set()

    monkeypatch.setattr(binaries, "build", build)
    with ThreadPoolExecutor() as runs:
        first = runs.submit(obtain, tell=tell)
        assert building.wait(timeout=10)
        second = runs.submit(obtain, tell=tell)

    assert (first.result().source, second.result().source) == ("Go modules", "cache")
    assert sorted(built) == ["Kubernetes", "etcd"]
