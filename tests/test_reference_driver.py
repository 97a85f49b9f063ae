# SPDX-License-Identifier: Apache-2.0
"""The reference driver, called over its sockets as a kubelet would; no Kubernetes is needed."""

import json
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest

from fixtures.api import ApiError, Object
from fixtures.clusters.processes import die_with_parent
from fixtures.devices.driver import Call
from fixtures.devices.reference.allocation import AllocatedDevice
from fixtures.devices.reference.cdi import cdi_spec, devices_seen
from fixtures.devices.reference.driver import ReferenceDriver
from fixtures.devices.reference.faults import (
    NO_FAULTS,
    Faults,
    a_neighbouring_device,
    a_prepare_for_the_refused,
    a_prepare_per_pod,
    always_the_first_device,
    an_unprepare_while_in_use,
    another_device_each_time,
    claims_of_pod_groups,
    every_claim,
    no_second_prepare,
    no_unprepare,
)
from fixtures.devices.reference.sockets import NodeFolders
from fixtures.devices.reference.stubs.dra.api_pb2 import (
    Claim,
    Device,
    NodePrepareResourceResponse,
    NodePrepareResourcesRequest,
    NodePrepareResourcesResponse,
    NodeUnprepareResourceResponse,
    NodeUnprepareResourcesRequest,
    NodeUnprepareResourcesResponse,
)
from fixtures.devices.reference.stubs.dra.api_pb2_grpc import DRAPluginStub
from fixtures.devices.reference.stubs.pluginregistration.api_pb2 import InfoRequest, PluginInfo, RegistrationStatus
from fixtures.devices.reference.stubs.pluginregistration.api_pb2_grpc import RegistrationStub
from fixtures.errors import SetUpFailed, Undetermined
from fixtures.waiting import PACE

DRIVER = "wrc-1a2b3c4d.wrc.example.com"
NODE = "worker"
UID = "11111111-2222-3333-4444-555555555555"
PLUGIN, REGISTRATION = f"plugins/{DRIVER}.sock", f"registry/{DRIVER}-reg.sock"


def result(device: str = "device-1", request: str = "device", driver: str = DRIVER, pool: str = NODE) -> Object:
    return {"request": request, "driver": driver, "pool": pool, "device": device}


def claim(*results: Object, uid: str = UID, name: str = "shared") -> Object:
    status = {"allocation": {"devices": {"results": list(results)}}} if results else {}
    return {"metadata": {"name": name, "namespace": "wrc", "uid": uid}, "status": status}


class Node:
    """A driver on a node, the ResourceClaims it can read, and a kubelet to call it."""

    def __init__(self, base: Path, faults: Faults = NO_FAULTS, **more) -> None:
        self.base = base
        self.claims = {"shared": claim(result())}
        for folder in ("plugins", "registry", "cdi"):
            (base / folder).mkdir()
        folders = NodeFolders(base / "plugins", base / "registry", base / "cdi")
        self.driver = ReferenceDriver(DRIVER, NODE, folders, self.read, faults, **more)

    def read(self, namespace: str, name: str) -> Object:
        if name not in self.claims:
            raise ApiError("GET", f"{namespace}/{name}", 404, {"reason": "NotFound", "message": "no such claim"})
        return self.claims[name]

    def prepare(self, uid: str = UID, name: str = "shared") -> NodePrepareResourceResponse:
        request = NodePrepareResourcesRequest(claims=[Claim(namespace="wrc", uid=uid, name=name)])
        with self.channel(PLUGIN) as channel:
            plugin = DRAPluginStub(channel)
            response: NodePrepareResourcesResponse = plugin.NodePrepareResources(request, timeout=10)
        return response.claims[uid]

    def unprepare(self, uid: str = UID, name: str = "shared") -> NodeUnprepareResourceResponse:
        request = NodeUnprepareResourcesRequest(claims=[Claim(namespace="wrc", uid=uid, name=name)])
        with self.channel(PLUGIN) as channel:
            response: NodeUnprepareResourcesResponse = DRAPluginStub(channel).NodeUnprepareResources(
                request, timeout=10
            )
        return response.claims[uid]

    def answer(self, *, registered: bool, error: str = "") -> None:
        with self.channel(REGISTRATION) as channel:
            status = RegistrationStatus(plugin_registered=registered, error=error)
            RegistrationStub(channel).NotifyRegistrationStatus(status, timeout=10)

    def channel(self, socket: str) -> grpc.Channel:
        return grpc.insecure_channel(f"unix:{self.base / socket}")

    def outcomes(self) -> list[tuple[str, str]]:
        return [(call.method, call.outcome) for call in self.driver.calls.of(UID)]

    def files(self) -> list[str]:
        return sorted(str(path.relative_to(self.base)) for path in self.base.glob("*/*"))

    def in_container(self) -> list[AllocatedDevice]:
        """Return what a container would see that has all devices of all specs."""
        specs = [json.loads(path.read_text()) for path in sorted(self.base.glob("cdi/*.json"))]
        edits = [device["containerEdits"]["env"] for spec in specs for device in spec["devices"]]
        return devices_seen("\n".join(line for lines in edits for line in lines))


@contextmanager
def running(faults: Faults = NO_FAULTS, **more) -> Iterator[Node]:
    with tempfile.TemporaryDirectory(prefix="wrc-") as base:  # tmp_path is too long for a socket
        node = Node(Path(base), faults, **more)
        node.driver.start()
        try:
            yield node
        finally:
            node.driver.stop()


@pytest.fixture
def node() -> Iterator[Node]:
    with running() as node:
        yield node


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PACE, "time_scale", 0.01)


def allocated(device: str = "device-1", request: str = "device", uid: str = UID) -> AllocatedDevice:
    return AllocatedDevice(uid, request, DRIVER, NODE, device)


def test_kubelet_learns_type_name_endpoint_and_version(node):
    """GetInfo gives what the kubelet needs; the endpoint is the path inside the node."""
    with node.channel(REGISTRATION) as channel:
        info = RegistrationStub(channel).GetInfo(InfoRequest(), timeout=10)

    assert info == PluginInfo(
        type="DRAPlugin",
        name=DRIVER,
        endpoint=f"/var/lib/kubelet/plugins/{DRIVER}.sock",
        supported_versions=["v1.DRAPlugin"],
    )


def test_registration_ends_the_wait(node):
    """Once the kubelet has said that the driver is registered, nobody waits any more."""
    node.answer(registered=True)

    node.driver.wait_until_registered()

    assert node.driver.registrations == 1


def test_refused_registration_is_undetermined_with_the_kubelets_words(node):
    """A driver that the kubelet refuses proves nothing about the cluster."""
    node.answer(registered=False, error="no such version")

    with pytest.raises(Undetermined, match=r"has not registered the driver wrc-.*: it refused: no such version"):
        node.driver.wait_until_registered()


@pytest.mark.usefixtures("impatient")
def test_silent_kubelet_is_undetermined(node):
    """A kubelet that never asked is told from one that asked and fell silent."""
    with pytest.raises(Undetermined, match=r"it did not ask within 0\.3 s; see that the kubelet runs"):
        node.driver.wait_until_registered()
    with node.channel(REGISTRATION) as channel:
        RegistrationStub(channel).GetInfo(InfoRequest(), timeout=10)
    with pytest.raises(Undetermined, match=r"it asked who is there, but said nothing more within 0\.3 s"):
        node.driver.wait_until_registered()


def test_prepare_names_the_device_of_each_request(node):
    """Each allocated device comes with its request, its pool and the name of its CDI device."""
    node.claims["shared"] = claim(result("device-2", "big/first-choice"), result("device-0", "small"))

    response = node.prepare()

    assert response == NodePrepareResourceResponse(
        devices=[
            Device(
                request_names=[request],
                pool_name=NODE,
                device_name=device,
                cdi_device_ids=[f"{DRIVER}/device={UID}-{index}"],
            )
            for index, (request, device) in enumerate([("big", "device-2"), ("small", "device-0")])
        ]
    )


def test_cdi_spec_is_complete(node):
    """The spec has one CDI device per allocated device, each with a variable of its own."""
    node.claims["shared"] = claim(result("device-2", "big"), result("device-0", "small"))

    node.prepare()

    assert node.files() == [f"cdi/{DRIVER}-{UID}.json", PLUGIN, REGISTRATION]
    name = "WRC_DEVICE_11111111_2222_3333_4444_555555555555"
    assert json.loads((node.base / f"cdi/{DRIVER}-{UID}.json").read_text()) == {
        "cdiVersion": "0.6.0",
        "kind": f"{DRIVER}/device",
        "devices": [
            {
                "name": f"{UID}-0",
                "containerEdits": {"env": [f"{name}_0={UID} big {DRIVER} worker device-2"]},
            },
            {
                "name": f"{UID}-1",
                "containerEdits": {"env": [f"{name}_1={UID} small {DRIVER} worker device-0"]},
            },
        ],
    }


def test_environment_of_two_claims_shows_both():
    """Variables of several ResourceClaims and requests are told apart, among whatever else is there."""
    other = UID.replace("1", "9")
    seen = [allocated("device-0", "small"), allocated("device-2", "big"), allocated("device-1", uid=other)]
    specs = [cdi_spec(DRIVER, seen[:2]), cdi_spec(DRIVER, seen[2:])]
    variables = [one["containerEdits"]["env"][0] for spec in specs for one in spec["devices"]]

    assert devices_seen("\n".join(["PATH=/bin", *variables, "HOME=/"])) == sorted(seen)
    assert [one.identity for one in devices_seen(variables[2])] == [(DRIVER, NODE, "device-1")]


def test_foreign_devices_are_left_alone(node):
    """Results of other drivers and of other nodes' pools are not this driver's business."""
    node.claims["shared"] = claim(result(driver="other.example.com"), result(pool="elsewhere"), result("device-0"))

    node.prepare()

    assert node.in_container() == [allocated("device-0")]


def test_network_device_is_prepared_on_every_node():
    """A pool that is not local to a node belongs to each driver that is told so."""
    with running(network_pools=["network"]) as node:
        node.claims["shared"] = claim(result(pool="network"))
        node.prepare()

        assert [one.identity for one in node.in_container()] == [(DRIVER, "network", "device-1")]


def test_prepare_twice_is_the_same_as_once(node):
    """Prepare is idempotent: same answer, same spec."""
    first, spec = node.prepare(), node.in_container()

    assert node.prepare() == first
    assert node.in_container() == spec


def test_unprepare_removes_the_spec_and_may_be_repeated(node):
    """Unprepare is idempotent, also for a ResourceClaim that the driver has never heard of."""
    node.prepare()

    assert node.unprepare() == NodeUnprepareResourceResponse()
    assert node.files() == [PLUGIN, REGISTRATION]
    assert node.unprepare() == NodeUnprepareResourceResponse()
    assert node.unprepare(uid="never-seen") == NodeUnprepareResourceResponse()


@pytest.mark.parametrize(
    ("found", "error"),
    [
        (claim(), "ResourceClaim shared is not allocated"),
        (claim(result(), uid="another"), f"ResourceClaim shared has the uid another, not {UID}"),
        (claim(result(pool="elsewhere")), f"ResourceClaim shared has no device of {DRIVER} in worker"),
        (None, "ResourceClaim shared cannot be read: GET wrc/shared: 404 NotFound: no such claim"),
    ],
)
def test_unusable_claim_fails_alone(node, found, error):
    """What is wrong with one ResourceClaim is said in its part of the answer; the others are prepared."""
    node.claims = {"good": claim(result(), uid="good", name="good")} | ({"shared": found} if found else {})
    wanted = [Claim(namespace="wrc", uid=UID, name="shared"), Claim(namespace="wrc", uid="good", name="good")]
    with node.channel(PLUGIN) as channel:
        request = NodePrepareResourcesRequest(claims=wanted)
        response = DRAPluginStub(channel).NodePrepareResources(request, timeout=10)

    assert response.claims[UID] == NodePrepareResourceResponse(error=error)
    assert response.claims["good"].error == ""
    assert [call.error for call in node.driver.calls.of(UID)] == [error]
    assert node.in_container() == [allocated(uid="good")]


def test_call_log_has_every_call():
    """A check reads from the log who was asked for what, when, and how it ended."""
    ticks = iter(range(10))
    with running(clock=lambda: float(next(ticks))) as node:
        node.prepare()
        node.unprepare()

        device = (DRIVER, NODE, "device-1")
        prepare = Call("prepare", NODE, "wrc", "shared", UID, 0.0, 1.0, "succeeded", devices=(device,))
        unprepare = Call("unprepare", NODE, "wrc", "shared", UID, 2.0, 3.0, "succeeded")
        assert node.driver.calls.of(UID) == (prepare, unprepare)
        assert node.driver.calls.of(UID, "unprepare") == (unprepare,)
        assert node.driver.calls.of("another") == ()


def test_nothing_survives_stop():
    """Sockets, specs and threads go; a process started meanwhile does not disturb."""
    with running() as node:
        node.prepare()
        subprocess.run(["true"], check=True, preexec_fn=die_with_parent)
        node.driver.stop()

        assert node.files() == []
        assert [thread.name for thread in threading.enumerate() if thread.name.startswith(DRIVER)] == []


def test_stopped_driver_can_be_started_again(node):
    """A driver that comes back has to be registered anew, and its call log goes on."""
    node.answer(registered=True)
    node.prepare()
    node.driver.stop()
    node.driver.start()

    assert node.driver.registrations == 0
    node.prepare()
    assert node.outcomes() == [("prepare", "succeeded")] * 2


def test_socket_left_behind_is_replaced():
    """A driver that was killed leaves its sockets; the next one of that name takes their place."""
    with tempfile.TemporaryDirectory(prefix="wrc-") as base:
        node = Node(Path(base))
        (node.base / PLUGIN).touch()
        node.driver.start()
        try:
            assert node.prepare().error == ""
        finally:
            node.driver.stop()


def test_long_path_is_refused_with_its_length():
    """The kernel takes no longer path for a socket; the message says which one, and what to do."""
    folder = Path("/tmp") / ("x" * 80)
    folders = NodeFolders(folder, folder, folder)

    with pytest.raises(SetUpFailed, match=r"may have 107 bytes; this one has 119:\n  /tmp/x+/.*\n.*TMPDIR=/tmp"):
        ReferenceDriver(DRIVER, NODE, folders, lambda _namespace, _name: {})


def test_failing_driver_recovers():
    """The first prepares of each ResourceClaim fail, and leave nothing behind."""
    with running(Faults(failures=2)) as node:
        assert [node.prepare().error for _ in range(2)] == ["This driver was told to fail"] * 2
        assert node.in_container() == []
        assert node.prepare().error == ""
        assert node.outcomes() == [("prepare", "failed"), ("prepare", "failed"), ("prepare", "succeeded")]


def test_failures_are_counted_under_load():
    """However many Pods wait at once, just so many calls fail."""
    with running(Faults(failures=2)) as node, ThreadPoolExecutor(8) as pods:
        errors = [answer.error for answer in pods.map(lambda _: node.prepare(), range(8))]

        assert sorted(errors) == [""] * 6 + ["This driver was told to fail"] * 2


def test_refusing_driver_never_prepares():
    """Every prepare fails."""
    with running(Faults(refuses=every_claim)) as node:
        assert [node.prepare().error for _ in range(3)] == ["This driver was told to fail"] * 3


@pytest.mark.parametrize(("consumer", "refused"), [("podgroups", True), ("pods", False)])
def test_only_claims_of_pod_groups_may_be_refused(consumer, refused):
    """A driver that serves ungrouped Pods and no others: the canary of a check gets through, its Pods do not."""
    assert claims_of_pod_groups({"status": {"reservedFor": [{"resource": consumer, "name": "one"}]}}) is refused


def test_dying_driver_gives_no_answer_and_comes_back():
    """The kubelet sees a broken connection; started again, the driver serves."""
    with running(Faults(deaths=1)) as node:
        with pytest.raises(grpc.RpcError) as broken:
            node.prepare()
        assert broken.value.code() in {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED}
        assert node.files() == []

        node.driver.start()
        assert node.prepare().error == ""
        assert node.outcomes() == [("prepare", "aborted"), ("prepare", "succeeded")]


def test_slow_driver_stops_at_once():
    """A call that takes long is seen in the log while it runs, and ends with the driver."""
    came = threading.Event()

    def clock() -> float:
        came.set()
        return 0.0

    with (
        running(Faults(delay=600), clock=clock) as node,
        node.channel(PLUGIN) as channel,
    ):
        request = NodePrepareResourcesRequest(claims=[Claim(namespace="wrc", uid=UID, name="shared")])
        answer = DRAPluginStub(channel).NodePrepareResources.future(request)
        assert came.wait(10)
        node.unprepare("another")  # the log has the prepare by now
        seen = node.outcomes()
        node.driver.stop()
        with pytest.raises(grpc.RpcError):
            answer.result(10)

        assert (seen, node.outcomes()) == ([("prepare", "running")], [("prepare", "aborted")])


def test_forgetful_driver_says_yes_and_does_nothing():
    """The answer is a success without devices, and no container gets anything."""
    with running(Faults(forgets=True)) as node:
        assert node.prepare() == NodePrepareResourceResponse()
        assert node.in_container() == []
        assert [(call.outcome, call.devices) for call in node.driver.calls.of(UID)] == [("succeeded", ())]


def test_driver_that_ignores_requests_names_none():
    """Devices without a request go to every container that lists the claim (dra/v1, Device.request_names)."""
    with running(Faults(ignores_requests=True)) as node:
        assert [list(device.request_names) for device in node.prepare().devices] == [[]]


@pytest.mark.parametrize(
    ("fault", "devices"),
    [
        (a_neighbouring_device, ["device-2", "device-2", "device-2"]),
        (always_the_first_device, ["device-0", "device-0", "device-0"]),
        (another_device_each_time, ["device-1", "device-2", "device-3"]),
    ],
)
def test_wrong_device_is_handed_out(fault, devices):
    """Answer, environment and log agree on the wrong device: the driver lies to all alike."""
    with running(Faults(hands_out=fault)) as node:
        for device in devices:
            assert [one.device_name for one in node.prepare().devices] == [device]
            assert node.in_container() == [allocated(device)]
        assert [call.devices for call in node.driver.calls.of(UID)] == [((DRIVER, NODE, one),) for one in devices]


@pytest.mark.parametrize(
    ("lie", "methods"),
    [
        (a_prepare_per_pod, ["prepare", "prepare", "unprepare", "prepare", "prepare"]),
        (an_unprepare_while_in_use, ["prepare", "unprepare", "unprepare", "prepare", "unprepare"]),
        (no_unprepare, ["prepare", "prepare"]),
        (no_second_prepare, ["prepare", "unprepare"]),
        (a_prepare_for_the_refused, ["prepare", "unprepare", "prepare"]),
    ],
)
def test_lies_of_the_log(lie, methods):
    """Each lie shows the calls of one wrong kubelet; the true ones stay at hand."""
    with running(Faults(shows=lie)) as node:
        node.prepare()
        node.unprepare()
        node.prepare()

        assert [call.method for call in node.driver.calls.of(UID)] == methods
        assert [call.method for call in node.driver.calls.all()] == ["prepare", "unprepare", "prepare"]


def test_log_lies_about_a_claim_that_nobody_prepared():
    """A Pod that was refused leaves no call; the lie shows one."""
    with running(Faults(shows=a_prepare_for_the_refused)) as node:
        assert [(call.method, call.outcome) for call in node.driver.calls.of(UID)] == [("prepare", "succeeded")]


def test_faults_act_together():
    """A driver that first fails and then hands out the wrong device does both."""
    with running(Faults(failures=1, hands_out=a_neighbouring_device)) as node:
        assert node.prepare().error == "This driver was told to fail"
        assert [one.device_name for one in node.prepare().devices] == ["device-2"]
