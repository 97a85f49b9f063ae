# SPDX-License-Identifier: Apache-2.0
"""The docker command: what the user is told when it does not work."""

import time

import pytest

from fixtures.clusters import docker as module
from fixtures.clusters.docker import docker, docker_works, has_image, load_image
from fixtures.errors import SetUpFailed


@pytest.fixture
def path(tmp_path, monkeypatch):
    """The first folder on PATH; there is no docker in the others."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/nowhere")
    return tmp_path


def write_docker(path, script):
    file = path / "docker"
    file.write_text(f"#!/bin/bash\n{script}\n")
    file.chmod(0o755)


def test_answer_is_what_docker_wrote(path):
    """Standard output without the line's end; what docker says beside it is not part of the answer."""
    write_docker(path, 'echo "$1-$2"; echo beside >&2')

    assert docker("image", "ls") == "image-ls"


def test_missing_docker_is_told_with_what_to_install(path):
    """Without docker on PATH the next step is to install it, or to do without."""
    with pytest.raises(SetUpFailed, match=r"no docker on PATH[\s\S]*docker\.io[\s\S]*PROVIDER=local"):
        docker("version")


@pytest.mark.parametrize(
    ("docker_says", "we_say"),
    [
        ("Cannot connect to the Docker daemon at unix:///x.sock. Is the docker daemon running?", "No Docker daemon"),
        ("failed to connect to the docker API at unix:///x.sock", "No Docker daemon"),
        (
            "permission denied while trying to connect to the Docker daemon socket at unix:///x.sock",
            "You may not use the Docker daemon",
        ),
        ("write /data/layer.tar: no space left on device", "The disk is full"),
        ("Error: No such image: x", "docker inspect … x failed"),
    ],
)
def test_failure_is_told_with_its_cause(path, docker_says, we_say):
    """The first line says what is wrong, then come docker's own words, and at last the next step."""
    write_docker(path, f"echo '{docker_says}' >&2; exit 1")

    with pytest.raises(SetUpFailed) as failed:
        docker("inspect", "x")

    first, said, advice = str(failed.value).splitlines()
    assert first.startswith(we_say)
    assert said == docker_says
    assert advice.endswith(".") or "DOCKER_HOST=" in advice


def test_long_failure_is_cut(path):
    """A message fits on one screen, and keeps the end of what docker wrote."""
    write_docker(path, "for line in {1..100}; do echo $line; done; exit 1")

    with pytest.raises(SetUpFailed) as failed:
        docker("build")

    lines = str(failed.value).splitlines()
    assert len(lines) == 17
    assert lines[-2] == "100"


@pytest.mark.parametrize(("script", "works"), [("exit 0", True), ("exit 1", False)])
def test_docker_works_if_the_daemon_answers(path, script, works):
    """`docker version` succeeds only when client and daemon speak with each other."""
    write_docker(path, script)

    assert docker_works() is works


def test_docker_does_not_work_without_the_command(path):
    """No docker on PATH is no error where it is only asked for."""
    assert docker_works() is False


def test_daemon_that_hangs_does_not_work(path, monkeypatch):
    """The question is answered in time whatever the daemon does."""
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.2)
    write_docker(path, "exec /bin/sleep 20")
    started = time.monotonic()

    assert docker_works() is False
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(("listed", "found"), [("echo 0123456789ab", True), ("true", False)])
def test_image_is_there_if_docker_lists_it(path, listed, found):
    """An image that is not there is an empty list, no failure."""
    write_docker(path, listed)

    assert has_image("wrc-conformance/node:v1.37.2-01234567") is found


def test_image_is_loaded_from_its_file(path, tmp_path):
    """The file is given by name, so that docker itself reads it."""
    write_docker(path, f'echo "$*" > {tmp_path}/call')

    load_image(tmp_path / "image.tar")

    assert (tmp_path / "call").read_text() == f"load --quiet --input {tmp_path}/image.tar\n"
