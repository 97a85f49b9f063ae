# SPDX-License-Identifier: Apache-2.0
"""The provider ``existing`` on a real control plane, with the rights of ``manifests/rbac.yaml`` alone."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from tenacity import Retrying, stop_after_delay, wait_fixed

from fixtures.api import Api, Object
from fixtures.clusters import preflight, rights
from fixtures.clusters.existing import ExistingCluster
from fixtures.clusters.local import ControlPlane
from fixtures.conditions import is_bound
from fixtures.devices.nodes import LEASE_NAMESPACE
from fixtures.errors import SetUpFailed
from fixtures.kinds import Kind
from fixtures.manifests import FOLDER
from fixtures.scenario import RUN_LABEL, Scenario
from fixtures.waiting import BINDING, eventually

NAMESPACE = "wrc-conformance"
RBAC = "rbac.authorization.k8s.io"
FULL, CORE, NONE = NAMESPACE, "core-only", "powerless"
LABELLED = ("Namespace", "Node", "DeviceClass", "ResourceSlice", "ResourceClaim", "Pod", "PodGroup")
CLUSTER_SCOPED = ("Namespace", "ClusterRole", "ClusterRoleBinding")
Login = Callable[[str], Path]
Connect = Callable[..., ExistingCluster]


@pytest.fixture(scope="module")
def admin(control_plane: ControlPlane) -> Iterator[Api]:
    with control_plane.cluster().api("test") as api:
        yield api


@pytest.fixture(scope="module")
def login(control_plane: ControlPlane, admin: Api, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Login]:
    """Apply the manifest; return the kubeconfig of a ServiceAccount with all, the core, or no rights."""
    documents = [*yaml.safe_load_all((FOLDER / "rbac.yaml").read_text()), *core_only(), account(NONE)]
    with ExitStack() as removal:
        for document in documents:
            apply(admin, document)
            removal.callback(admin.request, "DELETE", path_of(document))
        folder = tmp_path_factory.mktemp("kubeconfigs")
        files = {name: kubeconfig_of(admin, control_plane, name, folder) for name in (FULL, CORE, NONE)}
        wait_until_granted(control_plane, files[FULL], simulated_nodes=True)
        wait_until_granted(control_plane, files[CORE], simulated_nodes=False)
        yield files.__getitem__


def core_only() -> list[Object]:
    subject = {"kind": "ServiceAccount", "name": CORE, "namespace": NAMESPACE}
    role = {"apiGroup": RBAC, "kind": "ClusterRole", "name": NAMESPACE}
    binding = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": CORE}}
    return [account(CORE), {**binding, "roleRef": role, "subjects": [subject]}]


def account(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": NAMESPACE}}


def path_of(document: Object) -> str:
    kind, metadata = document["kind"], document["metadata"]
    plural = f"{kind.lower()}s"
    return Kind(kind, document["apiVersion"], plural, kind not in CLUSTER_SCOPED).path(
        metadata.get("namespace", ""), metadata["name"]
    )


def apply(admin: Api, document: Object) -> None:
    """Do what ``kubectl apply --server-side`` does."""
    admin.request("PATCH", path_of(document), document, query={"fieldManager": "test"},
                  content_type="application/apply-patch+yaml")  # fmt: skip


def kubeconfig_of(admin: Api, control_plane: ControlPlane, name: str, folder: Path) -> Path:
    path = f"{path_of(account(name))}/token"
    token = admin.request("POST", path, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"})
    return write_kubeconfig(control_plane, folder / name, {"token": token["status"]["token"]})


def write_kubeconfig(control_plane: ControlPlane, file: Path, user: Object) -> Path:
    content = control_plane.cluster().kubeconfig
    file.write_text(yaml.safe_dump(content | {"users": [{"name": "admin", "user": user}]}))
    return file


def wait_until_granted(control_plane: ControlPlane, file: Path, *, simulated_nodes: bool) -> None:
    """The authorizer learns of a new binding from a watch."""
    cluster = control_plane.cluster()
    with cluster.api(kubeconfig=yaml.safe_load(file.read_text())) as api:
        for attempt in Retrying(stop=stop_after_delay(10), wait=wait_fixed(0.1), reraise=True):
            with attempt:
                assert rights.missing(api, rights.needed(simulated_nodes=simulated_nodes)) == []


@pytest.fixture
def run() -> str:
    return secrets.token_hex(4)


@pytest.fixture
def connect(run: str) -> Connect:
    def connect(file: Path, *, simulated_nodes: bool = True) -> ExistingCluster:
        return ExistingCluster(file, "admin", run, simulated_nodes=simulated_nodes, tell=print)

    return connect


@pytest.fixture
def foreign(admin: Api) -> Iterator[list[tuple[str, str]]]:
    """A namespace and a DeviceClass of somebody else, and a namespace of another run."""
    names = [("Namespace", "somebody"), ("DeviceClass", "gpu.example.com"), ("Namespace", "wrc-other-run")]
    labels: list[Object] = [{}, {}, {RUN_LABEL: "other"}]
    for (kind, name), label in zip(names, labels, strict=True):
        admin.create({"kind": kind, "metadata": {"name": name, "labels": label}, "spec": {}})
    yield names
    for kind, name in names:
        admin.delete(kind, "", name)


def left_of(admin: Api, run: str) -> list[str]:
    """Return all that carries the label of the run."""
    places = [*((kind, "") for kind in LABELLED), ("Lease", LEASE_NAMESPACE)]
    found = [(kind, admin.list(kind, namespace, labels=f"{RUN_LABEL}={run}")) for kind, namespace in places]
    return [f"{kind} {one['metadata']['name']}" for kind, objects in found for one in objects]


def use_everything(scenario: Scenario) -> None:
    """Do with the API what checks do: a shared claim, named and generated, and writes of all statuses."""
    scenario.node()
    entries = scenario.named("one"), scenario.from_template("two")
    group = scenario.pod_group(*entries)
    pod = scenario.pod(*entries, group=group)
    eventually(pod, is_bound, BINDING)
    claim = group.claim("one")
    assert claim.reserved_for() == [group.reference()]
    stranger = {"apiGroup": "example.com", "resource": "strangers", "name": "one", "uid": "one"}
    change_status(scenario, claim, {"reservedFor": [group.reference(), stranger]})
    change_status(scenario, claim, {"reservedFor": [group.reference()]})
    change_status(scenario, group, {"conditions": []})
    change_status(scenario, pod, {"phase": "Succeeded"})
    scenario.timeline.catch_up()


def change_status(scenario: Scenario, handle: Any, status: Object) -> None:
    scenario.api.patch(handle.kind, scenario.namespace, handle.name, {"status": status}, subresource="status")


def test_the_manifest_grants_what_a_run_needs(login: Login, connect: Connect, admin: Api, run: str) -> None:
    """Preflight and a scenario with all kinds of objects work under the rights of the manifest alone."""
    provider = connect(login(FULL))
    cluster = preflight.examine(provider.start(), run, print)
    scenario = Scenario(cluster, run, "test")
    try:
        scenario.begin()
        use_everything(scenario)
    finally:
        scenario.end()

    assert provider.stop() == []

    assert left_of(admin, run) == []
    assert cluster.about["effective_feature_gates"]["kube-apiserver"]["DRAWorkloadResourceClaims"] is True
    assert cluster.about["kubernetes"]["kube-apiserver"] == cluster.version


def test_core_rights_do_without_simulated_nodes(login: Login, connect: Connect, admin: Api, run: str) -> None:
    """Who does not agree to simulated Nodes needs to grant nothing on Nodes, Leases and ResourceSlices."""
    provider = connect(login(CORE), simulated_nodes=False)
    preflight.examine(provider.start(), run, print)

    assert provider.stop() == []

    assert left_of(admin, run) == []


def test_rights_on_nodes_are_missed_at_once(login: Login, connect: Connect, admin: Api, run: str) -> None:
    """With the core rights alone, simulated Nodes are refused with the list of what is missing."""
    with pytest.raises(SetUpFailed) as refused:
        connect(login(CORE)).start()

    message = str(refused.value)
    assert f"User system:serviceaccount:{NAMESPACE}:{CORE} on context admin lacks rights" in message
    assert "  - nodes: create, list, patch, delete\n" in message
    assert "  - leases.coordination.k8s.io in namespace kube-node-lease: create, list, patch, delete\n" in message
    assert "podgroups" not in message
    assert "leave out --wrc-simulated-nodes" in message
    assert left_of(admin, run) == []


def test_no_rights(login: Login, connect: Connect) -> None:
    """A user without any right learns of all of them at once."""
    with pytest.raises(SetUpFailed, match=r"podgroups\.scheduling\.k8s\.io: create, get, list, watch, patch"):
        connect(login(NONE)).start()


def test_an_abandoned_run_is_removed_and_nothing_else(
    login: Login, connect: Connect, admin: Api, run: str, foreign: list[tuple[str, str]]
) -> None:
    """What a check could not remove itself goes at the end of the run; objects of others stay."""
    provider = connect(login(FULL))
    scenario = Scenario(provider.start(), run, "test")
    try:
        scenario.begin()
        use_everything(scenario)

        assert provider.stop() == []
    finally:
        scenario.end()

    assert left_of(admin, run) == []
    for kind, name in foreign:
        found = admin.find(kind, "", name)
        assert found is not None
        assert "deletionTimestamp" not in found["metadata"]


def test_what_a_finalizer_holds_is_told(
    login: Login, connect: Connect, admin: Api, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An object that somebody's finalizer holds is reported, and the finalizer stays."""
    monkeypatch.setattr("fixtures.waiting.PACE.time_scale", 0.02)
    provider = connect(login(FULL))
    provider.start()
    name = f"wrc-{run}.wrc.example.com"
    metadata = {"name": name, "labels": {RUN_LABEL: run}, "finalizers": ["example.com/hold"]}
    admin.create({"kind": "DeviceClass", "metadata": metadata, "spec": {}})

    assert provider.stop() == [f"DeviceClass {name}: still Terminating: finalizers example.com/hold"]

    admin.patch("DeviceClass", "", name, {"metadata": {"finalizers": None}})
    assert left_of(admin, run) == []


def test_expired_client_certificate(control_plane: ControlPlane, connect: Connect, tmp_path: Path) -> None:
    """A client certificate that has expired is named as the reason, with its end."""
    authority = control_plane._layout.authority._ca
    leaf = authority.issue_cert(common_name="late", not_after=datetime(2020, 2, 3, 4, 5, tzinfo=UTC))
    leaf.cert_chain_pems[0].write_to_path(str(tmp_path / "late.pem"))
    leaf.private_key_pem.write_to_path(str(tmp_path / "late-key.pem"))
    user = {"client-certificate": "late.pem", "client-key": "late-key.pem"}

    with pytest.raises(SetUpFailed, match="the client certificate expired on 2020-02-03 at 04:05 UTC"):
        connect(write_kubeconfig(control_plane, tmp_path / "kubeconfig", user)).start()


def test_no_credentials(control_plane: ControlPlane, connect: Connect, tmp_path: Path) -> None:
    """A user without credentials is system:anonymous to the API server, and is told so."""
    with pytest.raises(SetUpFailed, match="system:anonymous"):
        connect(write_kubeconfig(control_plane, tmp_path / "kubeconfig", {})).start()
