# SPDX-License-Identifier: Apache-2.0
"""The build from Go modules, with a go that only pretends to build."""

import json
import re
from dataclasses import replace

import pytest

from fixtures.clusters.build import (
    ETCD,
    build,
    built,
    dra_test_driver,
    kubernetes,
    kubernetes_node,
    source,
    workspace,
)
from fixtures.clusters.cache import Unavailable
from fixtures.clusters.cluster import COMPONENTS

ITS_OWN = {
    "Go": "1.26.0",
    "Godebug": [{"Key": "default", "Value": "go1.26"}],
    "Replace": [
        {"Old": {"Path": "k8s.io/api"}, "New": {"Path": "./staging/src/k8s.io/api"}},
        {"Old": {"Path": "k8s.io/kubelet"}, "New": {"Path": "./staging/src/k8s.io/kubelet"}},
    ],
}
#: Writes down how it is called, copies the workspace for us to see, and "builds" the file after -o.
PRETENDER = """#!/bin/sh
echo "CGO_ENABLED=$CGO_ENABLED GOWORK=$GOWORK GOFLAGS=$GOFLAGS go $*" >> {folder}/calls
case "$1 $2" in
"mod download") echo '{{"Dir": "{folder}"}}';;
"list -m") echo '{{"GoMod": "{folder}/module.mod"}}';;
"env GOVERSION") echo go1.26.8;;
"mod edit") cat {folder}/module.json;;
"mod tidy") cp go.mod tools.go {folder};;
build*) while [ "$1" != -o ]; do shift; done; {building};;
esac
"""


@pytest.fixture
def pretender(tmp_path, monkeypatch):
    """A function that puts a go on PATH which only pretends; it returns the folder with what that one saw."""
    folder = tmp_path / "go"
    folder.mkdir()
    (folder / "module.mod").write_text("module k8s.io/kubernetes\n\ngo 1.26.0\n")
    (folder / "module.json").write_text(json.dumps(ITS_OWN))
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    def builds(building='echo "$3" > "$2"'):
        (folder / "go").write_text(PRETENDER.format(folder=folder, building=building))
        (folder / "go").chmod(0o755)
        return folder

    return builds


@pytest.fixture
def into(tmp_path):
    folder = tmp_path / "into"
    folder.mkdir()
    return folder


@pytest.mark.parametrize(
    ("version", "staging"),
    [("v1.37.2", "v0.37.2"), ("v1.36.0", "v0.36.0"), ("v1.38.0-alpha.1", "v0.38.0-alpha.1")],
)
def test_staging_modules_are_replaced_by_their_published_version(version, staging):
    """The go and godebug lines are the module's own, and every staging module gets the matching version."""
    assert workspace(kubernetes(version), ITS_OWN).splitlines() == [
        "module wrc.local/build",
        "go 1.26.0",
        "godebug default=go1.26",
        f"require k8s.io/kubernetes {version}",
        f"replace k8s.io/api => k8s.io/api {staging}",
        f"replace k8s.io/kubelet => k8s.io/kubelet {staging}",
    ]


def test_module_that_replaces_nothing_needs_no_more_than_itself():
    """A go.mod without replace and godebug lines is printed with null in their place."""
    assert workspace(ETCD, {"Go": "1.26.0", "Godebug": None, "Replace": None}) == (
        "module wrc.local/build\ngo 1.26.0\nrequire go.etcd.io/etcd/server/v3 v3.7.3\n"
    )


def test_entry_of_the_cache_changes_with_the_build_options():
    """A binary that was built otherwise is another one."""
    module = kubernetes("v1.37.2")
    other = replace(module, linker_flags="-s")

    assert re.fullmatch(r"kubernetes/v1\.37\.2-[a-z]+-[a-z0-9_]+-[0-9a-f]{8}", str(module.entry))
    assert module.entry != other.entry
    assert module.entry == kubernetes("v1.37.2").entry


def test_every_command_is_built_statically_and_knows_its_version(pretender, tmp_path, into):
    """The user's own settings of go do not reach the build; nothing but the binaries remains."""
    saw = pretender()

    build(kubernetes("v1.37.2"), into, tmp_path, print)

    built = {file.name: file.read_text().strip() for file in into.iterdir()}
    assert built == {name: f"k8s.io/kubernetes/cmd/{name}" for name in COMPONENTS}
    builds = [call for call in (saw / "calls").read_text().splitlines() if " go build " in call]
    assert len(builds) == 3
    for call in builds:
        assert call.startswith("CGO_ENABLED=0 GOWORK=off GOFLAGS=-mod=mod go build -trimpath -ldflags -s -w -X ")
        assert "version.gitVersion=v1.37.2 " in call
        assert "version.gitMajor=1 " in call
        assert "version.gitMinor=37 " in call


def test_workspace_needs_the_commands(pretender, tmp_path, into):
    """`go mod tidy` sees a source file that imports each command, and so keeps what they need."""
    saw = pretender()

    build(ETCD, into, tmp_path, print)

    assert (saw / "tools.go").read_text().splitlines()[-1] == 'import _ "go.etcd.io/etcd/server/v3"'
    assert "require go.etcd.io/etcd/server/v3 v3.7.3\n" in (saw / "go.mod").read_text()


def test_module_with_c_parts_and_tags_is_built_with_them(pretender, tmp_path, into):
    """The C compiler is used where a module needs it, and its tags are part of what the cache's entry is called."""
    saw = pretender()
    module = replace(ETCD, needs_c=True, tags=("seccomp", "netgo"))

    build(module, into, tmp_path, print)

    assert (
        "CGO_ENABLED=1 GOWORK=off GOFLAGS=-mod=mod go build -trimpath -tags seccomp,netgo -ldflags -s -w -o"
        in (saw / "calls").read_text()
    )
    assert len({module.entry, ETCD.entry, replace(ETCD, needs_c=True).entry}) == 3


@pytest.mark.parametrize(
    ("module", "commands"),
    [
        (kubernetes_node("v1.37.2"), {"kubelet", "kubeadm", "kubectl"}),
        (dra_test_driver("v1.37.2"), {"test-driver"}),
    ],
)
def test_pieces_of_a_node_are_kept_apart_from_the_control_plane(module, commands):
    """Each has an entry of its own in the cache, so none is built for somebody who does not need it."""
    assert {command.name for command in module.commands} == commands
    assert module.replaced_by == "v0.37.2"
    assert " " not in str(module.entry)
    assert module.entry.parent != kubernetes("v1.37.2").entry.parent


def test_built_commands_are_taken_from_the_cache(pretender, tmp_path):
    """The second time nothing is built, and nothing is told."""
    saw = pretender()
    told = []

    first = built(ETCD, tmp_path / "cache", print)
    calls = (saw / "calls").read_text()
    second = built(ETCD, tmp_path / "cache", told.append)

    assert first == second == tmp_path / "cache" / ETCD.entry
    assert [file.name for file in first.iterdir()] == ["etcd"]
    assert (saw / "calls").read_text() == calls
    assert told == []


def test_failed_build_leaves_nothing_in_the_cache(pretender, tmp_path):
    """The next run must not take half of a build for the whole."""
    pretender(building="exit 1")

    with pytest.raises(Unavailable):
        built(ETCD, tmp_path / "cache", print)

    assert not list((tmp_path / "cache" / "etcd").iterdir())


def test_sources_are_where_go_keeps_them(pretender, tmp_path):
    """Go says into which folder it put the module."""
    saw = pretender()

    assert source(ETCD, tmp_path / "cache", print) == saw
    assert "go mod download -json go.etcd.io/etcd/server/v3@v3.7.3" in (saw / "calls").read_text()


def test_each_step_is_told_with_how_long_it_takes(pretender, tmp_path, into):
    """Before a step: what, how far, how long it usually takes; after it: how long it took."""
    pretender()
    told = []

    build(kubernetes("v1.37.2"), into, tmp_path, told.append)

    assert told[::2] == [
        f"Kubernetes v1.37.2 from Go modules, {step} s on 2 cores"
        for step in (
            "1 of 4: fetching the sources; the first time it usually takes 20",
            "2 of 4: building kube-apiserver; the first time it usually takes 390",
            "3 of 4: building kube-controller-manager; the first time it usually takes 130",
            "4 of 4: building kube-scheduler; the first time it usually takes 10",
        )
    ]
    assert all(re.fullmatch(r" +done after \d+ s", line) for line in told[1::2])


def test_failed_build_shows_what_go_said(pretender, tmp_path, into):
    """The error names the command and ends with go's last lines."""
    pretender(building="echo undefined: something >&2; exit 1")

    with pytest.raises(Unavailable) as failed:
        build(kubernetes("v1.37.2"), into, tmp_path, print)

    heading, *lines = str(failed.value).splitlines()
    assert heading == "go build … k8s.io/kubernetes/cmd/kube-apiserver failed:"
    assert lines == ["undefined: something"]
