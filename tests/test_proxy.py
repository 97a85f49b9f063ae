# SPDX-License-Identifier: Apache-2.0
"""The lying proxy, in front of a small API server of our own."""

import base64
import json
import queue
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Protocol

import pytest
import trustme
from urllib3 import BaseHTTPResponse, HTTPHeaderDict
from urllib3.exceptions import HTTPError

from tests.lies.lie import Answer, Lie, Memory, Object, Shown, by_unique_name, false_answer, lie, twin
from tests.lies.proxy import LyingProxy
from tests.lies.upstream import Upstream
from tests.small_api_server import ApiServer

CLAIMS = "/apis/resource.k8s.io/v1/namespaces/one/resourceclaims"
PODS = "/api/v1/namespaces/one/pods"
JSON = [("Content-Type", "application/json")]
Headers = Iterable[tuple[str, str]]
SECONDS = 5  # the longest wait for an event; it takes milliseconds


@lie("WRC-RES-002", shows="ResourceClaim", says="Pod")
def pod_in_reserved_for(claim: Object, memory: Memory) -> Shown:
    pod = memory.truth(f"{PODS}/worker")["metadata"]
    claim["status"]["reservedFor"].append({"resource": "pods", "uid": pod["uid"]})
    yield claim


@lie("WRC-LIF-003", shows="ResourceClaim", says="gone")
def reserved_claim_is_hidden(claim: Object, _memory: Memory) -> Shown:
    if not claim["status"]["reservedFor"]:
        yield claim


@lie("WRC-GEN-001", shows="ResourceClaim", says="two")
def second_claim(claim: Object, _memory: Memory) -> Shown:
    yield claim
    yield twin(claim, "second")


@lie("WRC-ALC-003", shows="ResourceClaim", says="device")
def first_reservation_for_ever(claim: Object, memory: Memory) -> Shown:
    uid = claim["metadata"]["uid"]
    claim["status"]["reservedFor"] = memory.facts.setdefault(uid, claim["status"]["reservedFor"])
    yield claim


@lie("WRC-LIF-005", shows="ResourceClaim", lingers=True, says="still")
def claim_outlives_its_deletion(claim: Object, _memory: Memory) -> Shown:
    yield claim


@lie("WRC-LIF-006", shows="ResourceClaim", says="x")
def lie_with_a_mistake(claim: Object, _memory: Memory) -> Shown:
    yield claim["no such field"]


@false_answer("WRC-API-002", to="resourceclaims", says="422")
def invalid_claim_looks_accepted(answer: Answer, _memory: Memory) -> Answer:
    return answer.accepted() if answer.status == 422 else answer


@false_answer("WRC-API-001", to="resourceclaims", says="rejected")
def valid_claim_looks_rejected(answer: Answer, _memory: Memory) -> Answer:
    return answer.rejected(422, "Invalid", "no claims today") if answer.method == "POST" else answer


LIES = by_unique_name(
    [
        pod_in_reserved_for,
        reserved_claim_is_hidden,
        second_claim,
        first_reservation_for_ever,
        claim_outlives_its_deletion,
        lie_with_a_mistake,
        invalid_claim_looks_accepted,
        valid_claim_looks_rejected,
    ]
)


def claim_named(name: str, *reserved_for: str, version: str = "7") -> Object:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "uid": f"uid-of-{name}", "resourceVersion": version},
        "status": {"reservedFor": [{"uid": uid} for uid in reserved_for]},
    }


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def api(authority: trustme.CA) -> Iterator[ApiServer]:
    """Return an API server that knows one Pod, and answers only who has a certificate of the authority."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.verify_mode = ssl.CERT_REQUIRED
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    authority.configure_trust(tls)
    server = ApiServer(tls)
    server.objects[f"{PODS}/worker"] = {"kind": "Pod", "metadata": {"name": "worker", "uid": "uid-of-worker"}}
    threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
    yield server
    server.events.put(None)
    server.shutdown()
    server.server_close()


@pytest.fixture
def kubeconfig(authority: trustme.CA, api: ApiServer) -> Object:
    login = authority.issue_cert("admin@example.org")
    data = {
        "certificate-authority-data": authority.cert_pem.bytes(),
        "client-certificate-data": login.cert_chain_pems[0].bytes(),
        "client-key-data": login.private_key_pem.bytes(),
    }
    plain = {name: base64.b64encode(value).decode() for name, value in data.items()}
    cluster = {
        "server": f"https://127.0.0.1:{api.server_port}",
        "certificate-authority-data": plain.pop("certificate-authority-data"),
    }
    return {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "c", "user": plain}],
    }


@pytest.fixture
def proxy(kubeconfig: Object) -> Iterator[LyingProxy]:
    with LyingProxy(kubeconfig, find=LIES.__getitem__) as running:
        yield running


class Client:
    """A client of the proxy that speaks through one of its kubeconfigs."""

    def __init__(self, kubeconfig: Object) -> None:
        self._upstream = Upstream(kubeconfig)

    def call(self, method: str, path: str, body: bytes = b"", headers: Headers = ()) -> tuple[int, Any]:
        with self._upstream.request(method, path, HTTPHeaderDict(headers), body) as response:
            return response.status, response.json()

    def get(self, path: str) -> tuple[int, Any]:
        return self.call("GET", path)

    def names(self) -> list[str]:
        return [item["metadata"]["name"] for item in self.get(CLAIMS)[1]["items"]]

    def raw(self, path: str) -> tuple[bytes, HTTPHeaderDict]:
        with self._upstream.request("GET", path, HTTPHeaderDict(), b"") as response:
            return response.read(), response.headers

    @contextmanager
    def watch(self, query: str = "watch=1&resourceVersion=7") -> Iterator[Callable[[], Any]]:
        """Yield a function that returns the next event, or None at the end of the watch."""
        seen: queue.Queue[Any] = queue.Queue()
        target = f"{CLAIMS}?{query}"
        with self._upstream.request("GET", target, HTTPHeaderDict(), b"", watching=True) as response:
            reader = threading.Thread(target=_read, args=(response, seen))
            reader.start()
            yield lambda: seen.get(timeout=SECONDS)
            with suppress(RuntimeError, ValueError):  # the watch has ended
                response.shutdown()
            reader.join(SECONDS)


def _read(response: BaseHTTPResponse, seen: queue.Queue[Any]) -> None:
    with suppress(HTTPError):
        for line in response:
            seen.put(json.loads(line))
    seen.put(None)


class Teller(Protocol):
    def __call__(self, lie: Lie, instance: str = "scenario") -> Client: ...


@pytest.fixture
def told(proxy: LyingProxy) -> Teller:
    """Return a function that gives a client to whom a lie is told in one scenario."""
    return lambda lie, instance="scenario": Client(proxy.kubeconfig(lie.name, instance))


@pytest.fixture
def truth(proxy: LyingProxy) -> Client:
    return Client(proxy.kubeconfig())


def summary(event: Object) -> tuple[str, str, int]:
    """The type and name in an event, and how many reservations it shows."""
    shown = event["object"]
    return event["type"], shown["metadata"]["name"], len(shown["status"]["reservedFor"])


# The way to the API server and back


def test_the_truth_is_forwarded_byte_by_byte(api: ApiServer, truth: Client) -> None:
    """Without a lie, body and headers are those of the API server, also where they are not JSON."""
    api.canned["GET", "/metrics"] = (200, b"workqueue_depth 3\n")
    api.canned["GET", "/version"] = (200, b'{ "major":"1"  }')

    assert truth.raw("/metrics")[0] == b"workqueue_depth 3\n"
    body, headers = truth.raw("/version")
    assert body == b'{ "major":"1"  }'
    assert headers.getlist("Warning") == ['299 - "one"', '299 - "two"']


def test_metrics_pass_a_lie_unchanged(api: ApiServer, told: Teller) -> None:
    """A lie is about objects: what is not JSON is forwarded."""
    api.canned["GET", "/metrics"] = (200, b"workqueue_depth 3\n")

    assert told(second_claim).raw("/metrics")[0] == b"workqueue_depth 3\n"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_writes_are_forwarded_as_they_are(api: ApiServer, told: Teller, method: str) -> None:
    """Method, query, body and content type arrive unchanged, as does each header that comes twice."""
    headers = [
        ("Content-Type", "application/apply-patch+yaml"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
    ]
    body = b'{ "kind":  "ResourceClaim" }'

    told(second_claim).call(method, f"{CLAIMS}/a?fieldManager=suite&force=true", body, headers)

    seen = [request for request in api.requests if request[0] == method]
    assert [(target, sent) for _, target, _, sent in seen] == [(f"{CLAIMS}/a?fieldManager=suite&force=true", body)]
    assert seen[0][2]["Content-Type"] == "application/apply-patch+yaml"
    assert seen[0][2].get_all("Impersonate-Group") == ["a", "b"]


def test_the_proxy_logs_in_by_itself(api: ApiServer, truth: Client) -> None:
    """The API server sees the login of the kubeconfig, never the token of the proxy's client."""
    truth.get(f"{PODS}/worker")

    assert api.requests[-1][2]["Authorization"] is None


def test_a_client_without_the_token_is_refused(proxy: LyingProxy) -> None:
    """No other process on this machine can borrow the login."""
    kubeconfig = proxy.kubeconfig()
    kubeconfig["users"][0]["user"]["token"] = "guessed"

    status, body = Client(kubeconfig).get(PODS)

    assert (status, body["kind"], body["code"], body["reason"]) == (401, "Status", 401, "Unauthorized")


def test_an_unknown_lie_is_named(proxy: LyingProxy) -> None:
    """A lie that does not exist is a 404 that tells where to look."""
    status, body = Client(proxy.kubeconfig("no_such_lie")).get(PODS)

    assert (status, body["kind"]) == (404, "Status")
    assert body["message"] == "There is no lie named 'no_such_lie'; the lies are in tests/lies."


def test_a_path_without_a_lie_or_the_truth_is_refused(proxy: LyingProxy) -> None:
    """Nobody reaches the API server by forgetting to say what to be told."""
    kubeconfig = proxy.kubeconfig()
    kubeconfig["clusters"][0]["cluster"]["server"] = proxy.address

    status, body = Client(kubeconfig).get(PODS)

    assert status == 404
    assert "/lie/<name>/<instance>/" in body["message"]


def test_an_api_server_that_is_gone_is_a_bad_gateway(api: ApiServer, truth: Client) -> None:
    """The client learns that the fault is behind the proxy."""
    api.shutdown()
    api.server_close()

    status, body = truth.get(PODS)

    assert (status, body["reason"]) == (502, "BadGateway")
    assert "does not answer" in body["message"]


def test_many_threads_are_answered_each_with_its_own(told: Teller) -> None:
    """Three hundred creates of sixteen threads at a time each get the object that was sent."""
    client = told(first_reservation_for_ever)

    def create(number: int) -> str:
        body = json.dumps(claim_named(f"claim-{number}")).encode()
        name: str = client.call("POST", CLAIMS, body, JSON)[1]["metadata"]["name"]
        return name

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(create, range(300))) == [f"claim-{number}" for number in range(300)]


# Watches


@pytest.mark.parametrize("lie", [None, second_claim])
def test_events_arrive_while_the_watch_is_open(api: ApiServer, proxy: LyingProxy, lie: Lie | None) -> None:
    """An event is passed on at once, not when the next one comes or the watch ends."""
    client = Client(proxy.kubeconfig(lie.name if lie else ""))
    with client.watch() as following:
        for version in ("8", "9"):
            api.send("MODIFIED", claim_named("a", version=version))
            assert following()["object"]["metadata"]["resourceVersion"] == version
            if lie:
                following()  # the twin


def test_the_end_of_a_watch_is_passed_on(api: ApiServer, told: Teller) -> None:
    """When the API server ends a watch, the proxy does."""
    with told(second_claim).watch() as following:
        api.events.put(None)
        assert following() is None


def test_bookmarks_and_errors_pass_unchanged(api: ApiServer, told: Teller) -> None:
    """They speak of the watch and not of an object, even if they carry the kind that is lied about."""
    bookmark = {"type": "BOOKMARK", "object": {"kind": "ResourceClaim", "metadata": {"resourceVersion": "9"}}}
    error = {"type": "ERROR", "object": {"kind": "Status", "code": 410}}
    with told(second_claim).watch() as following:
        api.events.put(bookmark)
        api.events.put(error)
        assert [following(), following()] == [bookmark, error]


def test_the_proxy_stops_with_a_watch_open(api: ApiServer, kubeconfig: Object) -> None:
    """A silent watch holds nothing up: its client sees the end at once."""
    with ExitStack() as running:
        proxy = running.enter_context(LyingProxy(kubeconfig, find=LIES.__getitem__))
        with Client(proxy.kubeconfig(first_reservation_for_ever.name)).watch() as following:
            api.send("ADDED", claim_named("a"))
            assert summary(following()) == ("ADDED", "a", 0)
            begin = time.monotonic()
            running.close()
            assert following() is None
            assert time.monotonic() - begin < 1


# What a lie can do


def test_a_changed_object_is_the_same_everywhere(api: ApiServer, told: Teller) -> None:
    """GET, LIST, WATCH and the answer to a write show one change, with facts of another object."""
    api.objects[f"{CLAIMS}/a"] = claim_named("a", "group")
    client = told(pod_in_reserved_for)
    expected = claim_named("a", "group")
    expected["status"]["reservedFor"].append({"resource": "pods", "uid": "uid-of-worker"})

    assert client.get(f"{CLAIMS}/a") == (200, expected)
    assert client.get(CLAIMS)[1]["items"] == [expected]
    assert client.call("PATCH", f"{CLAIMS}/a", b"{}") == (200, expected)
    with client.watch() as following:
        api.send("MODIFIED", claim_named("a", "group"))
        assert following() == {"type": "MODIFIED", "object": expected}


def test_other_kinds_are_left_alone(api: ApiServer, told: Teller) -> None:
    """A lie about claims changes no Pod."""
    pod = api.objects[f"{PODS}/worker"]

    assert told(second_claim).get(f"{PODS}/worker") == (200, pod)


def test_a_hidden_object_is_nowhere(api: ApiServer, told: Teller) -> None:
    """A hidden object is missing in a LIST, and a GET of it is a 404."""
    api.objects[f"{CLAIMS}/a"] = claim_named("a", "group")
    api.objects[f"{CLAIMS}/b"] = claim_named("b")
    client = told(reserved_claim_is_hidden)

    assert client.names() == ["b"]
    status, body = client.get(f"{CLAIMS}/a")
    assert (status, body["reason"]) == (404, "NotFound")
    assert body["message"] == 'resourceclaims "a" not found'


def test_a_write_of_a_hidden_object_is_answered_with_the_truth(told: Teller) -> None:
    """The client that created an object is told what was stored, and misses it afterwards."""
    created = claim_named("a", "group")

    answer = told(reserved_claim_is_hidden).call("POST", CLAIMS, json.dumps(created).encode(), JSON)

    assert answer == (201, created)


def test_a_watch_shows_an_object_that_is_hidden_as_deleted(api: ApiServer, told: Teller) -> None:
    """It is DELETED when it becomes hidden, silent while hidden, and ADDED when it is shown again."""
    with told(reserved_claim_is_hidden).watch() as following:
        api.send("ADDED", claim_named("a"))
        api.send("MODIFIED", claim_named("a", "group", version="8"))
        api.send("MODIFIED", claim_named("a", "group", version="9"))
        api.send("MODIFIED", claim_named("a", version="10"))
        api.send("DELETED", claim_named("a", version="11"))

        events = [following() for _ in range(4)]
        assert [summary(event) for event in events] == [
            ("ADDED", "a", 0),
            ("DELETED", "a", 0),
            ("ADDED", "a", 0),
            ("DELETED", "a", 0),
        ]
        assert [event["object"]["metadata"]["resourceVersion"] for event in events] == ["7", "8", "10", "11"]


def test_a_watch_is_silent_about_an_object_never_shown(api: ApiServer, told: Teller) -> None:
    """Neither its changes nor its deletion are events."""
    with told(reserved_claim_is_hidden).watch() as following:
        for kind in ("ADDED", "MODIFIED", "DELETED"):
            api.send(kind, claim_named("a", "group"))
        api.send("ADDED", claim_named("b"))
        assert summary(following()) == ("ADDED", "b", 0)


def test_a_watch_continues_what_a_list_has_shown(api: ApiServer, told: Teller) -> None:
    """What was hidden at the watch's start begins with ADDED, what was shown goes on with MODIFIED."""
    api.objects[f"{CLAIMS}/hidden"] = claim_named("hidden", "group")
    api.objects[f"{CLAIMS}/shown"] = claim_named("shown")
    with told(reserved_claim_is_hidden).watch("watch=1&resourceVersion=7&labelSelector=x") as following:
        api.send("MODIFIED", claim_named("hidden", version="8"))
        api.send("MODIFIED", claim_named("shown", version="9"))
        assert summary(following()) == ("ADDED", "hidden", 0)
        assert summary(following()) == ("MODIFIED", "shown", 0)

    lists = [target for _, target, _, _ in api.requests if "watch" not in target]
    assert lists == [f"{CLAIMS}?resourceVersion=7&labelSelector=x&resourceVersionMatch=Exact"]


def test_an_additional_object_is_the_same_everywhere(api: ApiServer, told: Teller) -> None:
    """It is in the LIST, has a GET by its own name, and follows the original's events."""
    api.objects[f"{CLAIMS}/a"] = claim_named("a")
    client = told(second_claim)
    second = twin(claim_named("a"), "second")

    assert client.names() == ["a", "a-second"]
    assert client.get(f"{CLAIMS}/a-second") == (200, second)
    assert client.get(f"{CLAIMS}/a")[1]["metadata"]["name"] == "a"
    assert client.get(f"{CLAIMS}/b")[0] == 404
    with client.watch("watch=1") as following:
        for kind in ("ADDED", "MODIFIED", "DELETED"):
            api.send(kind, claim_named("a"))
            assert following() == {"type": kind, "object": claim_named("a")}
            assert following() == {"type": kind, "object": second}


def test_a_lie_remembers(api: ApiServer, told: Teller) -> None:
    """A fact of the first request is known in later ones, whichever way they come."""
    client = told(first_reservation_for_ever)
    api.objects[f"{CLAIMS}/a"] = claim_named("a", "group")
    client.get(f"{CLAIMS}/a")
    api.objects[f"{CLAIMS}/a"] = claim_named("a")

    assert client.get(CLAIMS)[1]["items"] == [claim_named("a", "group")]
    with client.watch() as following:
        api.send("MODIFIED", claim_named("a"))
        assert summary(following()) == ("MODIFIED", "a", 1)


def test_scenarios_lie_independently(api: ApiServer, told: Teller) -> None:
    """Each instance has a memory of its own, and what one remembers the other does not know."""
    api.objects[f"{CLAIMS}/a"] = claim_named("a", "group")
    one, two = told(first_reservation_for_ever, "one"), told(first_reservation_for_ever, "two/2")
    one.get(CLAIMS)
    api.objects[f"{CLAIMS}/a"] = claim_named("a")

    assert one.get(f"{CLAIMS}/a")[1] == claim_named("a", "group")
    assert two.get(f"{CLAIMS}/a")[1] == claim_named("a")


def test_an_object_may_outlive_its_deletion(api: ApiServer, told: Teller) -> None:
    """GET and LIST show it as last seen, a watch never tells of its end, and a new one takes its place."""
    api.objects[f"{CLAIMS}/a"] = claim_named("a", "group")
    client = told(claim_outlives_its_deletion)
    client.get(CLAIMS)
    with client.watch() as following:
        del api.objects[f"{CLAIMS}/a"]
        api.send("DELETED", claim_named("a", "group"))
        api.send("ADDED", claim_named("b"))
        assert summary(following()) == ("ADDED", "b", 0)

    assert client.get(f"{CLAIMS}/a") == (200, claim_named("a", "group"))
    assert client.names() == ["a", "b"]
    api.objects[f"{CLAIMS}/a"] = claim_named("a") | {"metadata": {"name": "a", "uid": "new"}}
    assert client.get(f"{CLAIMS}/a")[1]["metadata"]["uid"] == "new"
    assert [item["metadata"]["uid"] for item in client.get(CLAIMS)[1]["items"]] == ["uid-of-b", "new"]


def test_a_rejected_create_looks_accepted(api: ApiServer, told: Teller) -> None:
    """A lie in answers sees what was sent and what was answered, and may answer otherwise."""
    api.canned["POST", CLAIMS] = (422, {"kind": "Status", "code": 422})
    sent = json.dumps(claim_named("a")).encode()

    assert told(invalid_claim_looks_accepted).call("POST", CLAIMS, sent, JSON) == (
        201,
        claim_named("a"),
    )


def test_an_accepted_create_looks_rejected(told: Teller) -> None:
    """The object is stored, and the client is told that it is not."""
    sent = json.dumps(claim_named("a")).encode()

    status, body = told(valid_claim_looks_rejected).call("POST", CLAIMS, sent, JSON)

    assert (status, body["reason"], body["message"]) == (422, "Invalid", "no claims today")


def test_a_lie_that_breaks_is_named(api: ApiServer, told: Teller) -> None:
    """A mistake in a lie is an error that names the lie: no check may take it for the cluster's."""
    api.objects[f"{CLAIMS}/a"] = claim_named("a")
    client = told(lie_with_a_mistake)

    status, body = client.get(f"{CLAIMS}/a")

    assert status == 500
    assert body["message"] == "The lie lie_with_a_mistake broke: KeyError('no such field'). Correct the lie."


def test_a_lie_that_breaks_ends_a_watch_with_an_error(api: ApiServer, told: Teller) -> None:
    """The client learns that events are missing."""
    with told(lie_with_a_mistake).watch("watch=1") as following:
        api.send("ADDED", claim_named("a"))
        event = following()
        assert (event["type"], event["object"]["code"]) == ("ERROR", 500)
        assert following() is None
