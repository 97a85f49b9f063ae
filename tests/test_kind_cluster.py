# SPDX-License-Identifier: Apache-2.0
"""The provider kind for real: kubelets, the reference driver and every lie about them, on one cluster for all tests."""

import json
import secrets
from collections.abc import Callable, Iterator

import pytest

from fixtures.clusters.docker import docker, docker_works
from fixtures.clusters.kind_binary import kind_binary
from fixtures.clusters.kind_cluster import NamedKindCluster
from fixtures.clusters.node_image.image import node_image
from fixtures.clusters.versions import DEFAULT_KUBERNETES
from fixtures.errors import SetUpFailed
from tests.running import Run, collected_checks
from verdicts import catalogue

pytestmark = pytest.mark.cluster

#: What a control plane alone can show is proven elsewhere; a few such rows show that kind makes no difference.
CONTROL_PLANE = ("WRC-GEN-001", "WRC-MAT-005", "WRC-RES-002", "WRC-RES-006", "WRC-LIF-001", "WRC-LIF-003")

Start = Callable[..., Run]


@pytest.fixture(scope="module")
def image(tell) -> str:
    """A node image; it is built if none is there and this machine can."""
    if not docker_works():
        pytest.skip("Docker does not work here: `docker version` says why")
    try:
        return node_image(DEFAULT_KUBERNETES, tell)
    except SetUpFailed as error:
        pytest.skip(f"there is no node image: {error}")


@pytest.fixture(scope="module")
def start(image, tmp_path_factory) -> Iterator[Start]:
    """Starts runs that all use one kind cluster, which is deleted in the end."""
    name = f"wrc-test-{secrets.token_hex(3)}"
    home = tmp_path_factory.mktemp("kind")

    def run(*options: str) -> Run:
        own = ("--wrc-provider=kind", f"--kind-image={image}", f"--cluster-name={name}")
        return Run(tmp_path_factory.mktemp("run") / "report", "-n", "4", *own, *options)

    yield run
    NamedKindCluster(name, home, kind_path=kind_binary(print)).delete()


@pytest.fixture(scope="module")
def honest_run(start, tell) -> Run:
    """A run that creates the cluster and keeps it."""
    run: Run = start("--wrc-keep", f"--wrc-checks=KUB,{','.join(CONTROL_PLANE)}")
    run.exit_code()
    tell(f"\n{run.output}")
    return run


@pytest.fixture(scope="module")
def kubelet_checks() -> set[str]:
    """The checks that need a kubelet."""
    needy = {row.id for row in catalogue.load() if "kubelet" in row.needs}
    return {check for check, requirements in collected_checks().items() if needy & set(requirements)}


def test_what_needs_a_kubelet_is_shown(honest_run):
    """Every row of the area KUB that has a check is conformant on real kubelets, and so are rows of the others."""
    rows = {row["id"]: row for row in honest_run.verdicts()["requirements"]}
    asked = [row.id for row in catalogue.load() if row.area == "KUB" and not row.not_built] + list(CONTROL_PLANE)

    assert {name: (rows[name]["verdict"], rows[name]["reason"]) for name in asked} == dict.fromkeys(
        asked, ("conformant", "")
    )


def test_the_report_says_what_ran(honest_run, image):
    """Image, container runtime, kind and the kubelets' version are in the document."""
    cluster = honest_run.verdicts()["cluster"]

    assert cluster["provider"] == "kind"
    assert cluster["node_image"] == image
    assert cluster["kubernetes"]["kubelet"] == DEFAULT_KUBERNETES
    assert cluster["nodes"] == "3 with a kubelet each"
    assert set(cluster["effective_feature_gates"]) == {"kube-apiserver", "kube-controller-manager", "kube-scheduler"}
    assert cluster["container_runtime"].startswith("containerd://")


def test_a_kept_cluster_is_told_of(honest_run):
    """With KEEP=1 the end of a run says how to remove the cluster."""
    [left] = honest_run.verdicts()["cluster"]["leftovers"]

    assert "Remove it with: kind delete cluster --name wrc-test-" in left


@pytest.mark.foreign
def test_a_foreign_driver_passes_the_same_checks(honest_run, start, tell):
    """With Kubernetes' own test driver all rows about kubelets are conformant but the one for which a driver fails."""
    run = start("--wrc-keep", "--wrc-driver=upstream", "--wrc-checks=KUB")
    run.exit_code()
    tell(f"\n{run.output}")
    rows = {row["id"]: row["verdict"] for row in run.verdicts()["requirements"]}
    asked = [row.id for row in catalogue.load() if row.area == "KUB" and not row.not_built]

    wanted = {**dict.fromkeys(asked, "conformant"), "WRC-KUB-010": "not applicable"}
    assert {name: rows[name] for name in asked} == wanted
    assert run.verdicts()["cluster"]["driver"] == "the test driver of Kubernetes itself"


def test_every_lie_about_a_kubelet_or_driver_is_noticed(honest_run, start, tell, kubelet_checks):
    """On the same cluster each wrong driver, and each kubelet that calls it wrongly, turns its check red."""
    run = start("--wrc-keep", "--wrc-lies", "--wrc-lies-once", "--wrc-checks=KUB")
    run.exit_code()
    tell(f"\n{run.output}")
    rows = json.loads((run.report / "lies.json").read_text())

    assert [f"{row['lie']} in {row['check']}: {row['message'][:200]}" for row in rows if not row["noticed"]] == []
    assert kubelet_checks - {row["check"] for row in rows} == set()


def test_a_cluster_that_exists_is_used_only_with_consent(honest_run, start):
    """Without KEEP=1 a name that is taken is an error of set-up, and that cluster stays."""
    run = start("--wrc-checks=WRC-GEN-001")

    assert run.exit_code() == 11
    assert "Use it with KEEP=1, choose another --cluster-name, or remove it" in run.output
    assert docker("ps", "--quiet", "--filter", "name=wrc-test-") != ""


def test_interruption_during_creation_leaves_nothing(image, tmp_path):
    """Ctrl-C while kind creates its nodes: the containers go, and so does the run's folder."""
    name = f"wrc-cut-{secrets.token_hex(3)}"
    run = Run(tmp_path / "report", "--wrc-provider=kind", f"--kind-image={image}", f"--cluster-name={name}")
    run.wait_for("Creating the kind cluster")
    run.interrupt()

    assert run.exit_code() == 130
    assert docker("ps", "--all", "--quiet", "--filter", f"name={name}") == ""
    assert list(run.temporary.glob("wrc-kind-*")) == []
    assert run.left_behind() == []
