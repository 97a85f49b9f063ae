# SPDX-License-Identifier: Apache-2.0
"""The provider kind without Docker: what kind is asked for, and what is told when it cannot be had."""

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import pytest_kind
import yaml

from fixtures import session
from fixtures.clusters import kind_image, kind_nodes, providers
from fixtures.clusters.cluster import Cluster
from fixtures.clusters.kind import KindProvider
from fixtures.clusters.kind_cluster import NamedKindCluster
from fixtures.clusters.kind_configuration import configuration, lay_out
from fixtures.clusters.versions import RELEASE_SERVER
from fixtures.errors import SetUpFailed

#: A kind that knows the clusters in $CLUSTERS and writes down what it was asked to do.
FAKE_KIND = """#!/bin/sh
echo "$@" >> {folder}/asked
case "$1 $2" in
  "get clusters") cat {folder}/clusters 2>/dev/null ;;
  "create cluster") {create} ;;
  "export kubeconfig") cp {folder}/good {folder}/home/kubeconfig ;;
  "get nodes") echo one-worker; echo one-control-plane ;;
esac
"""
KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "kind-one",
    "clusters": [{"name": "kind-one", "cluster": {"server": "https://127.0.0.1:1"}}],
    "users": [{"name": "kind-one", "user": {"token": "none"}}],
    "contexts": [{"name": "kind-one", "context": {"cluster": "kind-one", "user": "kind-one"}}],
}


def kind_cluster(folder: Path, *existing: str, create: str = "") -> NamedKindCluster:
    """A cluster named "one" whose kind is a script."""
    script = folder / "kind"
    made = f"echo one >> {folder}/clusters; cp {folder}/good {folder}/home/kubeconfig"
    script.write_text(FAKE_KIND.format(folder=folder, create=create or made))
    script.chmod(0o755)
    (folder / "good").write_text(yaml.safe_dump(KUBECONFIG))
    (folder / "clusters").write_text("".join(f"{name}\n" for name in existing))
    return NamedKindCluster("one", folder / "home", image="node:1", kind_path=script, tell=lambda _: None)


def asked(folder: Path) -> list[str]:
    """What kind was asked to do, without the questions."""
    return [line for line in (folder / "asked").read_text().splitlines() if not line.startswith("get ")]


@pytest.mark.parametrize(
    ("version", "gates", "runtime"),
    [
        ("v1.37.2", {"GenericWorkload", "DRAWorkloadResourceClaims"}, {"scheduling.k8s.io/v1beta1": "true"}),
        (
            "v1.36.3",
            {"GenericWorkload", "GangScheduling", "DRAWorkloadResourceClaims"},
            {"scheduling.k8s.io/v1alpha2": "true"},
        ),
    ],
)
def test_the_feature_is_switched_on(version, gates, runtime):
    """Gates and API versions of the asked version are those of its minor; values of runtimeConfig are strings."""
    wanted = configuration(version, [], Path("/net"), cgroup_v1=False)

    assert wanted["featureGates"] == dict.fromkeys(gates, True)
    assert wanted["runtimeConfig"] == runtime


@pytest.mark.parametrize(("cgroup_v1", "wanted"), [(True, {"failCgroupV1": False}), (False, {})])
def test_cgroup_v1_is_allowed_only_where_the_host_has_it(cgroup_v1, wanted):
    """A kubelet on a host with cgroup v1 must be told not to fail."""
    _, patch = configuration("v1.37.2", [], Path("/net"), cgroup_v1=cgroup_v1)["kubeadmConfigPatches"]

    assert yaml.safe_load(patch) == {"kind": "KubeletConfiguration", "maxPods": 400, **wanted}


def test_metrics_of_the_components_are_reachable():
    """Scheduler and controller-manager serve beyond their node's loopback, at ports that Docker chooses."""
    wanted = configuration("v1.37.2", [], Path("/net"), cgroup_v1=False)
    components = yaml.safe_load(wanted["kubeadmConfigPatches"][0])

    assert {"name": "bind-address", "value": "0.0.0.0"} in components["scheduler"]["extraArgs"]
    assert components["controllerManager"] == components["scheduler"]
    assert components["dns"] == {"disabled": True}
    assert [(one["containerPort"], one["hostPort"]) for one in wanted["nodes"][0]["extraPortMappings"]] == [
        (10257, 0),
        (10259, 0),
    ]


def test_each_worker_mounts_folders_of_its_own(tmp_path):
    """A DRA driver on this machine reaches each kubelet through folders that are there before kind starts."""
    written = yaml.safe_load(lay_out(tmp_path, "v1.37.2", 2, cgroup_v1=False).read_text())

    control_plane, *workers = written["nodes"]
    mounts = [{one["containerPath"]: one["hostPath"] for one in worker["extraMounts"]} for worker in workers]
    assert control_plane["role"] == "control-plane"
    assert [one["/var/lib/kubelet/plugins_registry"] for one in mounts] == [
        str(tmp_path / "n0" / "registry"),
        str(tmp_path / "n1" / "registry"),
    ]
    assert all(Path(place).is_dir() for one in mounts for place in one.values())
    assert (tmp_path / "network" / "10-wrc.conflist").is_file()


def test_a_new_cluster_is_created_with_its_nodes_kept_on_failure(tmp_path):
    """kind gets name, image, configuration and kubeconfig; nodes of a failed start stay, for their logs."""
    cluster = kind_cluster(tmp_path)
    cluster.create("kind.yaml")

    kubeconfig = tmp_path / "home" / "kubeconfig"
    assert asked(tmp_path) == [
        f"create cluster --name=one --kubeconfig={kubeconfig} --retain --image=node:1 --config=kind.yaml"
    ]
    assert cluster.nodes() == ["one-control-plane", "one-worker"]


def test_an_existing_cluster_is_connected_to(tmp_path):
    """Its kubeconfig may never have been on this machine: kind writes it again."""
    kind_cluster(tmp_path, "one").create("kind.yaml")

    assert asked(tmp_path) == [f"export kubeconfig --name=one --kubeconfig={tmp_path / 'home' / 'kubeconfig'}"]


def test_pytest_kind_leaves_nothing_in_the_working_directory(tmp_path, monkeypatch):
    """A run may be started from any folder."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    kind_cluster(tmp_path)

    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize(
    ("folder", "wanted"), [("/tmp", "/tmp"), (f"/{'a' * 38}", f"/{'a' * 38}"), (f"/{'a' * 39}", "/tmp")]
)
def test_sockets_of_a_node_have_short_paths(folder, wanted):
    """Where the folder for temporary files has a long path, as on some systems, the nodes' folders are elsewhere."""
    assert providers._short(folder) == wanted


def shadowed_fixture(cluster: Cluster) -> Any:
    """What the fixture kind_cluster gives on a cluster."""
    return session.kind_cluster._get_wrapped_function()(cluster)


def test_the_fixture_of_pytest_kind_connects_to_the_cluster_of_the_run(tmp_path):
    """Checks get pytest-kind's own class, on the cluster that exists; nothing is created or deleted."""
    running = kind_cluster(tmp_path, "one")
    known = {"name": "one", "home": str(running.home), "kind": str(running.kind_path)}
    cluster = Cluster("kind", "v1.37.2", "v1beta1", KUBECONFIG, kind=known)

    assert shadowed_fixture(cluster).kubeconfig_path == tmp_path / "home" / "kubeconfig"
    assert isinstance(shadowed_fixture(cluster), pytest_kind.KindCluster)
    assert {line.split(" --")[0] for line in asked(tmp_path)} == {"export kubeconfig"}


def test_the_fixture_of_pytest_kind_does_not_apply_elsewhere():
    """On a cluster of another provider a check that wants kind's commands is not applicable."""
    with pytest.raises(pytest.skip.Exception, match=r"not a kind cluster \(local\)"):
        shadowed_fixture(Cluster("local", "v1.37.2", "v1beta1", KUBECONFIG))


def test_a_cluster_of_somebody_else_is_not_used(tmp_path):
    """A name that is taken is an error that says how to use, avoid or remove that cluster; nothing is deleted."""
    provider = KindProvider(kind_cluster(tmp_path, "one"), "v1.37.2", "busybox", tell=lambda _: None)

    with pytest.raises(SetUpFailed, match=r"KEEP=1, choose another --cluster-name, or remove it: kind delete cluster"):
        provider.start()
    assert provider.stop() == []
    assert asked(tmp_path) == []


def test_a_node_that_is_never_ready_is_named(tmp_path, monkeypatch):
    """The message has what the kubelet says of its node, and where the logs are."""
    monkeypatch.setattr("fixtures.clusters.kind.READY_SECONDS", 0.1)
    conditions = [{"type": "Ready", "status": "False", "message": "container runtime network not ready"}]
    node = {"metadata": {"name": "one-worker"}, "status": {"conditions": conditions}}
    provider = KindProvider(kind_cluster(tmp_path), "v1.37.2", "busybox", tell=lambda _: None)

    api: Any = SimpleNamespace(list=lambda *_where: [node])

    with pytest.raises(SetUpFailed) as failure:
        provider._wait_until_ready(api, 3)
    assert "1 of 3 nodes have registered. one-worker: container runtime network not ready" in str(failure.value)
    assert "The folder logs of the report has the logs of its nodes" in str(failure.value)


def test_a_failed_creation_says_what_kind_said_and_is_cleaned_up(tmp_path, monkeypatch):
    """The message ends with a command to try without the suite; what was half made is deleted."""
    monkeypatch.setattr("fixtures.clusters.kind.docker", lambda *_: "2")
    broken = kind_cluster(tmp_path, create="echo 'ERROR: could not find a log line' >&2; exit 1")
    provider = KindProvider(broken, "v1.37.2", "busybox", tell=lambda _: None)

    with pytest.raises(SetUpFailed, match=r"could not find a log line[\s\S]*create cluster --image node:1"):
        provider.start()
    assert provider.stop() == []
    assert asked(tmp_path)[-1].startswith("delete cluster --name=one")
    assert not (tmp_path / "home").exists()


def test_a_kept_cluster_is_told_of_and_not_deleted(tmp_path):
    """With KEEP=1 the end of a run says how to remove the cluster."""
    provider = KindProvider(kind_cluster(tmp_path, "one"), "v1.37.2", "busybox", keep=True, tell=lambda _: None)

    [left] = provider.stop()
    assert left == "The kind cluster one, as KEEP=1 asks. Remove it with: kind delete cluster --name one"


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("kindest/node:v1.37.0", ("kindest/node:v1.37.0", kind_image.PUBLISHED_POD_IMAGE)),
        ("wrc-conformance/node:v1.37.2-1", ("wrc-conformance/node:v1.37.2-1", kind_image.POD_IMAGE)),
    ],
)
def test_a_given_image_wins(given, wanted):
    """Pods run the image that lies in the nodes of that image, or can be pulled there."""
    image = kind_image.choose_image(given, "v1.37.2", None, RELEASE_SERVER, lambda _: None)

    assert (image.nodes, image.pods) == wanted


def test_an_image_is_built_where_none_can_be_pulled(monkeypatch):
    """Where the registry is closed, the node image is made on this machine, and the user is told."""
    told: list[str] = []
    monkeypatch.setattr(kind_image, "has_image", lambda _: False)
    monkeypatch.setattr(kind_image, "node_image", lambda version, _tell, **options: f"{version} {options}")

    def no_registry(*_, **__):
        raise subprocess.CalledProcessError(1, "docker")

    monkeypatch.setattr(subprocess, "run", no_registry)
    image = kind_image.choose_image("", "v1.37.2", None, "https://mirror.example.com", told.append)

    built = "v1.37.2 {'own_build': None, 'release_server': 'https://mirror.example.com'}"
    assert (image.nodes, image.pods) == (built, kind_image.POD_IMAGE)
    assert told == ["kindest/node:v1.37.2 cannot be pulled: using a node image that is built on this machine"]


def test_panics_are_found_behind_what_the_runtime_writes(monkeypatch):
    """A Go panic of a component that was restarted stands in its old log, each line with a prefix."""
    line = "2026-11-29T20:00:00.1Z stderr F "
    log = f"{line}I1129 all is well\n{line}panic: runtime error\n{line}goroutine 1 [running]:\n"
    monkeypatch.setattr(kind_nodes, "docker", lambda *_arguments: log if "scheduler" in _arguments[-1] else "")

    assert kind_nodes.panics_of("one-control-plane", ["one-worker"]) == {
        "kube-scheduler": "panic: runtime error\ngoroutine 1 [running]:"
    }
