# SPDX-License-Identifier: Apache-2.0
"""Where the kind command comes from."""

import pytest

from fixtures.clusters import kind_binary as module
from fixtures.clusters.cache import Unavailable
from fixtures.clusters.kind_binary import KIND, kind_binary
from fixtures.errors import SetUpFailed


@pytest.fixture
def path(tmp_path, monkeypatch):
    """The only folder on PATH."""
    made = tmp_path / "path"
    made.mkdir()
    monkeypatch.setenv("PATH", str(made))
    return made


@pytest.fixture
def cache(tmp_path):
    """A cache that holds the built kind."""
    entry = tmp_path / "cache" / KIND.entry
    entry.mkdir(parents=True)
    (entry / "kind").write_text("built")
    return tmp_path / "cache"


@pytest.fixture
def no_module(monkeypatch):
    """Go modules are out of reach."""

    def built(*_):
        raise Unavailable("there is no go")

    monkeypatch.setattr(module, "built", built)


def write_kind(path, says):
    (path / "kind").write_text(f"#!/bin/sh\n{says}\n")
    (path / "kind").chmod(0o755)


@pytest.mark.parametrize("version", ["0.32.0", "v0.33.0", "0.40.1-alpha+1", "1.0.0"])
def test_new_enough_kind_on_path_is_taken(path, cache, version):
    """What the user has installed comes first."""
    write_kind(path, f"echo {version}")
    told = []

    assert kind_binary(told.append, cache) == path / "kind"
    assert told == []


def test_old_kind_on_path_is_told_and_passed_over(path, cache):
    """One line says why another kind is used."""
    write_kind(path, "echo 0.27.0")
    told = []

    assert kind_binary(told.append, cache) == cache / KIND.entry / "kind"
    assert told == [f"{path}/kind is version 0.27, older than 0.32: taking kind v0.33.0 instead"]


@pytest.mark.parametrize("says", ["exit 1", "echo development"])
def test_kind_that_does_not_say_its_version_is_passed_over(path, cache, says):
    """What cannot be read counts as too old."""
    write_kind(path, says)

    assert kind_binary(print, cache) == cache / KIND.entry / "kind"


def test_kind_is_built_where_there_is_none(path, cache):
    """The cache holds what was built before."""
    assert kind_binary(print, cache).read_text() == "built"


def test_without_kind_the_next_step_is_told(path, tmp_path, no_module):
    """Why it cannot be built, and which version to install."""
    with pytest.raises(SetUpFailed, match=r"there is no go\nInstall kind 0\.32 or newer, or choose PROVIDER=local"):
        kind_binary(print, tmp_path)


def test_download_is_left_to_the_caller_where_it_is_allowed(path, tmp_path, no_module):
    """pytest-kind downloads to the path that it is given, if nothing is there and the folder is."""
    place = kind_binary(print, tmp_path, allow_download=True)

    assert not place.exists()
    assert place.parent.is_dir()
