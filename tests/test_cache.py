# SPDX-License-Identifier: Apache-2.0
"""The folder where binaries are kept from run to run."""

from pathlib import Path

import pytest

from fixtures.clusters import cache as caching
from fixtures.clusters.cache import MIB, clean, default_cache, fill, writing
from fixtures.errors import SetUpFailed


def test_cache_lies_where_the_desktop_rules_say(monkeypatch):
    """XDG_CACHE_HOME moves the cache; unset or empty, it lies in ~/.cache."""
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert default_cache() == Path("/home/somebody/.cache/wrc-conformance")

    monkeypatch.setenv("XDG_CACHE_HOME", "/large")
    assert default_cache() == Path("/large/wrc-conformance")


@pytest.mark.parametrize(
    ("machine", "named_by_go"),
    [("x86_64", "amd64"), ("aarch64", "arm64"), ("arm64", "arm64"), ("s390x", "s390x")],
)
def test_architectures_have_the_names_of_go(monkeypatch, machine, named_by_go):
    """The release server and go call the machine by the same name, Python by another."""
    monkeypatch.setattr(caching.platform, "machine", lambda: machine)
    assert caching.system()[1] == named_by_go


def test_leftovers_of_a_killed_run_do_not_get_into_an_entry(tmp_path):
    """What a killed run left half-done is removed before the entry is made anew."""
    entry = tmp_path / "kubernetes" / "v1.37.2"
    leftover = tmp_path / "kubernetes" / "v1.37.2.partial"
    leftover.mkdir(parents=True)
    (leftover / "kube-apiserver").write_text("half of it")

    fill(entry, lambda into: (into / "kube-scheduler").write_text("whole"))

    assert [path.name for path in entry.iterdir()] == ["kube-scheduler"]
    assert not leftover.exists()


def test_interrupted_filling_leaves_no_trace(tmp_path):
    """Ctrl-C in the middle of a build removes what was made so far."""

    def interrupted(into):
        (into / "kube-apiserver").write_text("half of it")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fill(tmp_path / "kubernetes" / "v1.37.2", interrupted)

    assert list((tmp_path / "kubernetes").iterdir()) == []


def test_cache_that_cannot_be_written_is_explained(tmp_path):
    """A file where the cache should be ends the run with the way to put it elsewhere."""
    (tmp_path / "file").write_text("")

    with (
        pytest.raises(SetUpFailed, match="cannot be written: Not a directory") as refused,
        writing(tmp_path / "file" / "cache", print),
    ):
        pass

    assert "XDG_CACHE_HOME=" in str(refused.value)


def test_clean_tells_what_each_entry_frees(tmp_path):
    """Every entry is removed and listed with its size; Go's own cache is said to stay."""
    for name, size in (("kubernetes/v1.37.2-linux-amd64-0a1b2c3d", 3 * MIB), ("go/linux-amd64", 2 * MIB)):
        entry = tmp_path / name
        entry.mkdir(parents=True)
        (entry / "binary").write_bytes(bytes(size))
    told = []

    clean(tmp_path, told.append)

    assert told[:2] == ["     2 MiB  go/linux-amd64", "     3 MiB  kubernetes/v1.37.2-linux-amd64-0a1b2c3d"]
    assert "Go's own caches are yours" in told[2]
    assert list(tmp_path.glob("*/*")) == []


def test_clean_of_an_empty_cache_does_nothing(tmp_path):
    """There is nothing to free before the first run, and that is no error."""
    told = []

    clean(tmp_path / "never-made", told.append)

    assert told == [f"{tmp_path}/never-made is empty: there is nothing to free"]
    assert list(tmp_path.iterdir()) == []
