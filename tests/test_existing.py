# SPDX-License-Identifier: Apache-2.0
"""The provider ``existing`` before a small API server of our own: what it refuses, asks for and tells."""

import base64
import json
import ssl
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import trustme
import yaml

from fixtures.api import Api, ApiError, Object, Unreachable
from fixtures.clusters import belongings, rights
from fixtures.clusters.belongings import Belongings
from fixtures.clusters.cluster import Cluster
from fixtures.clusters.existing import ExistingCluster
from fixtures.clusters.kubeconfig import read_context
from fixtures.clusters.processes import free_port
from fixtures.errors import SetUpFailed
from fixtures.waiting import Limit
from tests.small_api_server import ApiServer

AUTHORITY = trustme.CA()
STRANGER = trustme.CA()
ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
SELF_REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
LONG_AGO = datetime(2020, 2, 3, 4, 5, tzinfo=UTC)
TOKEN = "a-secret-token"
Start = Callable[..., Cluster]


class Cloud(ApiServer):
    """An API server that knows its version and who asks, and grants every right except ``denied``."""

    def __init__(self) -> None:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        AUTHORITY.issue_cert("127.0.0.1").configure_cert(tls)
        super().__init__(tls)
        self.denied: set[tuple[str, str]] = set()
        self.asked: list[Object] = []
        self.canned["GET", "/version"] = 200, {"gitVersion": "v1.37.2"}
        self.canned["POST", SELF_REVIEWS] = 201, {"status": {"userInfo": {"username": "jane"}}}
        self.canned["GET", "/api/v1/nodes"] = 200, {"items": [], "metadata": {}}

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, Object | bytes]:
        if path != ACCESS_REVIEWS:
            return super().answer(method, path, body)
        attributes = json.loads(body)["spec"]["resourceAttributes"]
        self.asked.append(attributes)
        denied = (attributes["verb"], attributes["resource"]) in self.denied
        return 201, {"status": {"allowed": not denied}}


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    with Cloud() as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "kubeconfig"


def document(port: int, user: Object | None = None, authority: trustme.CA = AUTHORITY) -> Object:
    """Return a kubeconfig with two contexts; ``prod`` leads to the port on loopback."""
    data = base64.b64encode(authority.cert_pem.bytes()).decode()
    server = f"https://someone:password@127.0.0.1:{port}"
    return {
        "current-context": "prod",
        "clusters": [
            {"name": "one", "cluster": {"server": server, "certificate-authority-data": data}},
            {"name": "two", "cluster": {"server": "https://two.example.com"}},
        ],
        "users": [{"name": "jane", "user": {"token": TOKEN} if user is None else user}],
        "contexts": [
            {"name": "prod", "context": {"cluster": "one", "user": "jane"}},
            {"name": "other", "context": {"cluster": "two", "user": "jane"}},
        ],
    }


@pytest.fixture
def start(cloud: Cloud, file: Path) -> Start:
    def start(*, user: Object | None = None, authority: trustme.CA = AUTHORITY, port: int = 0,
              simulated_nodes: bool = True, tell: Callable[[str], None] = print) -> Cluster:  # fmt: skip
        file.write_text(yaml.safe_dump(document(port or cloud.server_port, user, authority)))
        return ExistingCluster(file, "prod", "run1", simulated_nodes=simulated_nodes, tell=tell).start()

    return start


def refusal(file: Path, context: str = "prod") -> str:
    """Return the message with which the provider refuses to begin; it fits one screen."""
    with pytest.raises(SetUpFailed) as refused:
        ExistingCluster(file, context, "run1", simulated_nodes=True, tell=print).start()
    return one_screen(refused)


def one_screen(refused: pytest.ExceptionInfo[SetUpFailed]) -> str:
    message = str(refused.value)
    assert len(message.splitlines()) <= 24
    assert TOKEN not in message
    assert "password" not in message
    return message


def test_no_context_is_ever_assumed(file: Path) -> None:
    """Without a named context, the message lists the contexts and says how to name one."""
    file.write_text(yaml.safe_dump(document(1)))

    message = refusal(file, context="")

    assert "  - prod\n  - other\n" in message
    assert "CONTEXT=" in message
    assert "--wrc-context" in message


def test_unknown_context(file: Path) -> None:
    """A context that is not there is named beside those that are."""
    file.write_text(yaml.safe_dump(document(1)))

    assert "no context 'produ'" in refusal(file, context="produ")


def test_many_contexts_still_fit_a_screen(file: Path) -> None:
    """Of hundreds of contexts the first are listed, and the others counted."""
    contexts = [{"name": f"c{number}", "context": {"cluster": "one"}} for number in range(200)]
    file.write_text(yaml.safe_dump(document(1) | {"contexts": contexts}))

    assert "... and 185 more" in refusal(file, context="")


def test_missing_file(file: Path) -> None:
    """A file that is not there, such as a list of files, is named with the option that names it."""
    message = refusal(Path(f"{file}:{file}"))

    assert f"There is no kubeconfig {file}:{file}" in message
    assert "--wrc-kubeconfig" in message


def test_unreadable_file(tmp_path: Path) -> None:
    """A folder cannot be read as a kubeconfig."""
    assert "cannot be read" in refusal(tmp_path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"users:\n- token: {TOKEN}\n  : : [", "no YAML, at line 3"),
        ("- a list", "no kubeconfig"),
        ("contexts: [1]", "malformed"),
        ("contexts: [{name: prod, context: {cluster: gone}}]", "malformed"),
        (yaml.safe_dump(document(1) | {"users": []}), "malformed"),
        (yaml.safe_dump(document(1)).replace("https://someone", "someone"), "malformed"),
    ],
)
def test_malformed_file(file: Path, text: str, expected: str) -> None:
    """What is wrong with a kubeconfig is said without showing what stands there."""
    file.write_text(text)

    assert expected in refusal(file)


def test_server_that_does_not_answer(start: Start) -> None:
    """An unreachable server is named, with a kubectl command to try."""
    port = free_port()

    with pytest.raises(SetUpFailed) as refused:
        start(port=port)

    message = one_screen(refused)
    assert f"API server 127.0.0.1:{port} of context prod does not answer" in message
    assert "--context prod auth whoami" in message


def test_server_of_another_authority(start: Start) -> None:
    """A certificate that the kubeconfig does not vouch for is no matter of reachability."""
    with pytest.raises(SetUpFailed, match="do not trust each other"):
        start(authority=STRANGER)


def test_server_that_is_something_else(start: Start, cloud: Cloud) -> None:
    """A page of a proxy is not taken for an API server."""
    cloud.canned["GET", "/version"] = 200, b"<html>Log in</html>"

    with pytest.raises(SetUpFailed, match="not as an API server"):
        start()


def expired_certificate() -> Object:
    leaf = AUTHORITY.issue_cert(common_name="jane", not_after=LONG_AGO)
    certificate, key = leaf.cert_chain_pems[0].bytes(), leaf.private_key_pem.bytes()
    return {"client-certificate-data": base64.b64encode(certificate).decode(),
            "client-key-data": base64.b64encode(key).decode()}  # fmt: skip


def json_web_token(claims: Object) -> Object:
    part = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return {"token": f"e30.{part}.c2ln"}


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        (expired_certificate(), "the client certificate expired on 2020-02-03 at 04:05 UTC"),
        (json_web_token({"exp": LONG_AGO.timestamp()}), "the token expired on 2020-02-03 at 04:05 UTC"),
        (json_web_token({"exp": 4e9}), "they have expired, were revoked, or are for another cluster"),
        ({"token": TOKEN}, "they have expired, were revoked, or are for another cluster"),
    ],
)
def test_refused_credentials(start: Start, cloud: Cloud, user: Object, expected: str) -> None:
    """An answer of 401 is explained by the end of the credentials, where they tell it."""
    cloud.canned["GET", "/version"] = 401, {"reason": "Unauthorized", "message": "Unauthorized"}

    with pytest.raises(SetUpFailed) as refused:
        start(user=user)

    assert expected in one_screen(refused)


def test_no_credentials(start: Start, cloud: Cloud) -> None:
    """Who comes as system:anonymous has no credentials."""
    cloud.canned["POST", SELF_REVIEWS] = 403, {"message": 'User "system:anonymous" cannot create resource'}

    with pytest.raises(SetUpFailed, match="has no credentials"):
        start(user={})


def test_credentials_that_cannot_be_read(start: Start) -> None:
    """A client certificate whose file is gone is no surprise in the middle of the run."""
    with pytest.raises(SetUpFailed, match=r"cannot be read: File does not exist: .*gone\.pem"):
        start(user={"client-certificate": "gone.pem", "client-key": "gone.pem"})


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("no-such-plugin", "No such file or directory: 'no-such-plugin'"),
        (sys.executable, "exec: process returned 3. Log in first"),
    ],
)
def test_plugin_without_credentials(start: Start, command: str, expected: str) -> None:
    """A plugin that is missing or fails is shown with its complaint and the hint of the kubeconfig."""
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": command,
        "args": ["-c", "import sys; print('Log in first', file=sys.stderr); sys.exit(3)"],
        "installHint": "Get the plugin from your administrator.",
    }

    with pytest.raises(SetUpFailed) as refused:
        start(user={"exec": plugin})

    message = one_screen(refused)
    assert expected in message
    assert "Get the plugin from your administrator." in message


def test_too_old(start: Start, cloud: Cloud) -> None:
    """A cluster from before PodGroups is refused."""
    cloud.canned["GET", "/version"] = 200, {"gitVersion": "v1.35.9-gke.1"}

    with pytest.raises(SetUpFailed, match=r"v1\.35\.9-gke\.1 is older than 1\.36"):
        start()


@pytest.mark.parametrize(
    ("version", "scheduling_version", "is_known"),
    [("v1.36.3+vendor", "v1alpha2", True), ("v1.37.2", "v1beta1", True), ("v1.39.0", "v1beta1", False)],
)
def test_versions(start: Start, cloud: Cloud, version: str, scheduling_version: str, is_known: bool) -> None:
    """The version of the API server decides which API is spoken."""
    cloud.canned["GET", "/version"] = 200, {"gitVersion": version}

    cluster = start()

    assert (cluster.version, cluster.scheduling_version) == (version, scheduling_version)
    assert cluster.about["known_to_this_suite"] is is_known


def test_cluster(start: Start, cloud: Cloud) -> None:
    """The cluster outlives the run, is plain data for the workers, and the report learns no credentials."""
    kubelets = [{"status": {"nodeInfo": {"kubeletVersion": version}}} for version in ("v1.37.1", "", "v1.36.3")]
    cloud.canned["GET", "/api/v1/nodes"] = 200, {"items": kubelets, "metadata": {"remainingItemCount": 4}}

    cluster = start(simulated_nodes=False)

    assert (cluster.provider, cluster.context) == ("existing", "prod")
    assert (cluster.disposable, cluster.simulated_nodes) == (False, False)
    assert list(cluster.metrics) == ["kube-apiserver"]
    assert Cluster.from_json(json.loads(json.dumps(cluster.as_json()))) == cluster
    assert cluster.about == {
        "server": f"127.0.0.1:{cloud.server_port}",
        "kubernetes": {"kube-apiserver": "v1.37.2", "kubelet": "v1.36.3, v1.37.1"},
        "known_to_this_suite": True,
        "nodes": "7 before the run",
    }


def test_nodes_that_may_not_be_seen(start: Start, cloud: Cloud) -> None:
    """Nodes are described only as far as we may look at them."""
    cloud.canned["GET", "/api/v1/nodes"] = 403, {"reason": "Forbidden"}

    assert start(simulated_nodes=False).about["nodes"] == "unknown (Forbidden)"


def test_only_the_named_context_leaves_the_file(start: Start, file: Path) -> None:
    """The cluster carries one context, and the file stays as it is."""
    cluster = start()

    assert cluster.kubeconfig["current-context"] == "prod"
    assert [len(cluster.kubeconfig[section]) for section in ("contexts", "clusters", "users")] == [1, 1, 1]
    assert "two.example.com" not in json.dumps(cluster.kubeconfig)
    assert yaml.safe_load(file.read_text())["contexts"][1]["name"] == "other"


def test_paths_are_those_of_the_kubeconfig(file: Path) -> None:
    """Relative paths are meant from the folder of the kubeconfig; a bare command is looked up on PATH."""
    user = {"client-certificate": "certs/jane.pem", "client-key": "/keys/jane.pem",
            "exec": {"command": "./bin/plugin"}}  # fmt: skip
    content = document(1, user)
    content["clusters"][0]["cluster"] = {"server": "https://one", "certificate-authority": "ca.pem"}
    file.write_text(yaml.safe_dump(content))

    context = read_context(file, "prod")

    assert context.cluster["certificate-authority"] == f"{file.parent}/ca.pem"
    assert context.user["client-certificate"] == f"{file.parent}/certs/jane.pem"
    assert context.user["client-key"] == "/keys/jane.pem"
    assert context.user["exec"]["command"] == f"{file.parent}/bin/plugin"
    content["users"][0]["user"] = {"exec": {"command": "plugin"}}
    file.write_text(yaml.safe_dump(content))
    assert read_context(file, "prod").user["exec"]["command"] == "plugin"


@pytest.mark.parametrize("simulated_nodes", [True, False])
def test_rights_are_asked_for_up_front(start: Start, cloud: Cloud, simulated_nodes: bool) -> None:
    """Rights on Nodes are asked for only with simulated Nodes; Leases only where those of Nodes are."""
    start(simulated_nodes=simulated_nodes)

    asked = {(one["verb"], one["resource"], one["subresource"], one["namespace"]) for one in cloud.asked}
    assert ("patch", "resourceclaims", "binding", "") in asked
    assert ("create", "namespaces", "", "") in asked
    assert (("create", "nodes", "", "") in asked) is simulated_nodes
    assert (("patch", "leases", "", "kube-node-lease") in asked) is simulated_nodes


def test_missing_rights_are_listed_at_once(start: Start, cloud: Cloud) -> None:
    """The message names the user and every missing right, and says who can grant them."""
    cloud.denied = {("create", "namespaces"), ("delete", "namespaces"), ("watch", "podgroups")}

    with pytest.raises(SetUpFailed) as refused:
        start()

    message = one_screen(refused)
    assert "User jane on context prod" in message
    assert "  - namespaces: create, delete\n" in message
    assert "  - podgroups.scheduling.k8s.io: watch\n" in message
    assert "kubectl apply -f manifests/rbac.yaml" in message
    assert "--wrc-simulated-nodes" not in message


def test_no_right_at_all_still_fits_a_screen(start: Start, cloud: Cloud) -> None:
    """Even if every right is missing, the message is one screen."""
    cloud.denied = {(right.verb, right.resource.partition("/")[0]) for right in rights.needed(simulated_nodes=True)}

    with pytest.raises(SetUpFailed) as refused:
        start()

    assert "leases.coordination.k8s.io in namespace kube-node-lease" in one_screen(refused)


def test_missing_rights_on_nodes_have_a_way_out(start: Start, cloud: Cloud) -> None:
    """Who may do all but simulate Nodes can run without them."""
    cloud.denied = {("create", "nodes")}

    with pytest.raises(SetUpFailed, match="leave out --wrc-simulated-nodes"):
        start()


@pytest.mark.parametrize("simulated_nodes", [True, False])
def test_what_will_be_created_is_told_beforehand(start: Start, cloud: Cloud, simulated_nodes: bool) -> None:
    """Before anything is created, the user reads where and what, and how it is marked."""
    told: list[str] = []

    start(simulated_nodes=simulated_nodes, tell=told.append)

    [words] = told
    assert f"On context prod (server 127.0.0.1:{cloud.server_port}) this run creates" in words
    assert "wrc.example.com/run=run1" in words
    assert ("Nodes wrc-*" in words) is simulated_nodes
    assert {path for method, path, *_ in cloud.requests if method != "GET"} == {ACCESS_REVIEWS, SELF_REVIEWS}


def test_nothing_is_known_of_components() -> None:
    """Of somebody else's components, no death is seen, and nobody can say that none panicked."""
    provider = ExistingCluster(Path("kubeconfig"), "prod", "run1", simulated_nodes=True, tell=print)

    assert (provider.deaths(), provider.panics(), provider.stop()) == ({}, None, [])


def test_cleanup_of_a_server_that_is_gone(cloud: Cloud, file: Path) -> None:
    """If the server no longer answers, the user learns how to clean up by hand."""
    file.write_text(yaml.safe_dump(document(cloud.server_port)))
    provider = ExistingCluster(file, "prod", "run1", simulated_nodes=True, tell=print)
    provider.start()
    cloud.canned["GET", "/api/v1/namespaces"] = 401, {"reason": "Unauthorized"}

    [leftover] = provider.stop()

    assert "401 Unauthorized" in leftover
    assert (
        f"kubectl --kubeconfig {file} --context prod delete namespaces,deviceclasses,nodes,resourceslices " in leftover
    )
    assert "delete leases -l wrc.example.com/run=run1" in leftover


class Shelf:
    """Objects of several kinds behind the methods of Api that the removal uses; ``held`` ones do not go."""

    def __init__(self, *objects: Object, held: frozenset[str] = frozenset()) -> None:
        self.objects = list(objects)
        self.held = held
        self.deleted: list[tuple[str, str]] = []
        self.refused: dict[str, ApiError] = {}
        self.unreachable_after_deletes = False

    def list(self, kind: str, _namespace: str, *, labels: str) -> list[Object]:
        if self.unreachable_after_deletes and self.deleted:
            raise Unreachable("no answer")
        key, _, value = labels.partition("=")
        return [one for one in self.objects
                if one["kind"] == kind and one["metadata"]["labels"].get(key) == value]  # fmt: skip

    def delete(self, kind: str, _namespace: str, name: str) -> None:
        if name in self.refused:
            raise self.refused[name]
        self.deleted.append((kind, name))
        if name not in self.held:
            self.objects = [one for one in self.objects if one["metadata"]["name"] != name]

    def delete_all(self, kind: str, namespace: str) -> None:
        self.deleted.append((kind, f"all of {namespace}"))


def thing(kind: str, name: str, run: str = "run1", **more: Any) -> Object:
    metadata = {"name": name, "uid": f"uid of {name}", "labels": {"wrc.example.com/run": run}}
    return {"kind": kind, "metadata": metadata | more.pop("metadata", {}), **more}


def remove(shelf: Any) -> list[str]:
    api: Api = shelf
    return Belongings(api, "run1", ("Namespace", "DeviceClass", "Node")).remove()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(belongings, "CLEANUP", Limit(0.1, "kube-controller-manager", "all is gone"))


def test_only_what_carries_the_label_goes() -> None:
    """Objects of others and of other runs stay; in a namespace, Pods go before PodGroups."""
    foreign = [thing("Namespace", "wrc-theirs", run="run2"), thing("DeviceClass", "gpu", run="")]
    shelf = Shelf(thing("Namespace", "wrc-1"), thing("DeviceClass", "wrc-1.example.com"), *foreign)

    assert remove(shelf) == []

    assert shelf.objects == foreign
    assert shelf.deleted == [
        ("Pod", "all of wrc-1"),
        ("PodGroup", "all of wrc-1"),
        ("Namespace", "wrc-1"),
        ("DeviceClass", "wrc-1.example.com"),
    ]


@pytest.mark.usefixtures("impatient")
def test_what_does_not_go_is_told_with_its_reason() -> None:
    """Finalizers are not stripped; what they hold is reported with the reason that the cluster gives."""
    conditions = [
        {"type": "NamespaceDeletionContentFailure", "status": "False", "message": "All content deleted"},
        {"type": "NamespaceFinalizersRemaining", "status": "True", "message": "example.com/hold in 1 Pod"},
    ]
    deleting = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    shelf = Shelf(
        thing("Namespace", "wrc-1", metadata=deleting, status={"conditions": conditions}),
        thing("Node", "wrc-1-node-0", metadata={**deleting, "finalizers": ["example.com/hold"]}),
        thing("Node", "wrc-1-node-1"),
        held=frozenset({"wrc-1", "wrc-1-node-0"}),
    )

    assert remove(shelf) == [
        "Namespace wrc-1: still Terminating: example.com/hold in 1 Pod",
        "Node wrc-1-node-0: still Terminating: finalizers example.com/hold",
    ]


@pytest.mark.usefixtures("impatient")
def test_a_refused_deletion_does_not_keep_the_others() -> None:
    """What the API server refuses to delete is reported with its answer; the rest goes."""
    shelf = Shelf(thing("DeviceClass", "one"), thing("DeviceClass", "two"))
    shelf.refused["one"] = ApiError("DELETE", "/one", 403, {"reason": "Forbidden", "message": "not you"})

    assert remove(shelf) == ["DeviceClass one: still there: DELETE /one: 403 Forbidden: not you"]


@pytest.mark.usefixtures("impatient")
def test_server_that_goes_during_the_cleanup() -> None:
    """If the API server goes while we wait, nobody can say what is left."""
    shelf = Shelf(thing("DeviceClass", "one"))
    shelf.unreachable_after_deletes = True

    with pytest.raises(Unreachable):
        remove(shelf)
