# SPDX-License-Identifier: Apache-2.0
"""Kubernetes' own test driver behind the seam: its log, its variables, its process; no Kubernetes is needed."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.clusters.cache import Unavailable
from fixtures.clusters.cluster import Cluster
from fixtures.devices.driver import Call
from fixtures.devices.upstream import installation
from fixtures.devices.upstream.driver import UpstreamDriver
from fixtures.devices.upstream.environment import variables_in, variables_of
from fixtures.devices.upstream.installation import driver_binary, install
from fixtures.devices.upstream.log import Log
from fixtures.errors import NotApplicable, SetUpFailed, Undetermined
from fixtures.kubelets import served_nodes
from fixtures.scenario import Scenario
from fixtures.waiting import PACE

DRIVER, NODE, UID = "d.example.com", "worker", "674b68fb"
PREPARE = "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources"
UNPREPARE = "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodeUnprepareResources"
REGISTERED = "/pluginregistration.Registration/NotifyRegistrationStatus"
CLAIM = f'claims:{{namespace:"wrc"  uid:"{UID}" name:"shared"}}'
DEVICE = 'devices:{request_names:"left" pool_name:"worker" device_name:"device-00" cdi_device_ids:"d/test=1"}'

#: A docker that runs what it is asked to, here; folders are left alone.
DOCKER = '#!/bin/sh\n[ "$1 $2 $3" = "exec --interactive worker" ] || exit 9\nshift 3\nexec "$@"\n'
#: A driver that says what it was asked, and when it ends.
DRIVER_COMMAND = """#!/bin/sh
trap 'echo ended >> {folder}/said; kill $!; exit 0' TERM
echo "$@" > {folder}/said
{speaks}
sleep 60 >/dev/null 2>&1 & wait
"""


def line(number: int, method: str, msg: str, **more: str) -> str:
    """A line of the log, as the driver writes it."""
    entry = {"ts": 1000.0 * number, "logger": "dra", "msg": msg, "requestID": number, "method": method, **more}
    return f"{json.dumps(entry)}\n"


def came(number: int, method: str, request: str = CLAIM) -> str:
    return line(number, method, "handling request", request=request)


def answered(number: int, method: str, value: str) -> str:
    response = f'claims:{{key:"{UID}" value:{{{value}}}}}'
    return line(number, method, "handling request succeeded", response=response)


def log_of(*lines: str) -> Log:
    log = Log(DRIVER, NODE)
    log.read(lines)
    return log


def call(method, number, **more) -> Call:
    return Call(method, NODE, "wrc", "shared", UID, began=float(number), **more)


def test_calls_are_read_from_the_log():
    """Each request of the kubelet is a call, with its answer and the devices that were handed out."""
    log = log_of(
        came(1, PREPARE), answered(1, PREPARE, DEVICE), came(2, UNPREPARE), answered(2, UNPREPARE, ""), came(3, PREPARE)
    )

    prepared = call("prepare", 1, ended=1.0, outcome="succeeded", devices=((DRIVER, "worker", "device-00"),))
    unprepared = call("unprepare", 2, ended=2.0, outcome="succeeded")
    assert log.of(UID) == (prepared, unprepared, call("prepare", 3))
    assert log.of(UID, "unprepare") == (unprepared,)
    assert log.of("another") == ()


@pytest.mark.parametrize(
    "answer", [answered(1, PREPARE, 'error:"no"'), line(1, PREPARE, "handling request failed", err="no")]
)
def test_a_failure_is_a_call_too(answer):
    """Whether the call failed for one ResourceClaim or as a whole, the error is what the kubelet was told."""
    assert log_of(came(1, PREPARE), answer).of(UID) == (call("prepare", 1, ended=1.0, outcome="failed", error="no"),)


def test_other_lines_are_passed_over():
    """Docker, the shell and other parts of the driver write to the same stream."""
    other = line(1, "/v1.DRAResourceHealth/NodeWatchResources", "handling stream")

    assert log_of("OCI runtime exec failed\n", '{"msg":"Starting","v":3}\n', other, came(2, UNPREPARE)).of(UID) == (
        call("unprepare", 2),
    )


@pytest.mark.parametrize(("status", "registered"), [("plugin_registered:true", True), ('error:"unknown"', False)])
def test_registration_is_read_from_the_log(status, registered):
    """The kubelet says whether it has accepted the driver."""
    assert log_of(came(1, REGISTERED, status)).is_registered() is registered


def test_variables_are_those_that_the_driver_leaves():
    """It names claim and request; all but letters and digits has become an underscore."""
    result = {"driver": DRIVER, "pool": NODE, "device": "device-00"}
    results = [{**result, "request": "left"}, {**result, "request": "right/fast"}, {**result, "driver": "another"}]
    claim = {"metadata": {"name": "a-claim.1"}, "status": {"allocation": {"devices": {"results": results}}}}

    shown = variables_of(claim, DRIVER)

    assert shown == {"left": [("claim_a_claim_1_left",)], "right": [("claim_a_claim_1_right",)]}
    environment = "PATH=/bin\nclaim_a_claim_1_right=true\nclaim_a_claim_1_left=true\nclaim_of_mine=false\n"
    assert variables_in(environment) == [*shown["left"], *shown["right"]]


@pytest.fixture
def driver(tmp_path, monkeypatch, speaks) -> Iterator[UpstreamDriver]:
    """A driver whose docker is a script that runs another script in place of the command."""
    commands = {
        "docker": DOCKER,
        "mkdir": "#!/bin/sh\n",
        "rmdir": "#!/bin/sh\n",
        "dra-test-driver": DRIVER_COMMAND.format(folder=tmp_path, speaks=speaks.format(folder=tmp_path)),
    }
    for name, script in commands.items():
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(PACE, "time_scale", 0.2)
    (tmp_path / "lines").write_text(came(1, REGISTERED, "plugin_registered:true"))
    driver = UpstreamDriver(DRIVER, NODE, devices=3)
    driver.start()
    yield driver
    driver.stop()


@pytest.mark.parametrize("speaks", ["cat {folder}/lines"])
def test_the_process_ends_with_its_scenario(driver, tmp_path):
    """It serves the node under the scenario's name with so many devices, and gets the signal on which it tidies up."""
    driver.wait_until_registered()
    driver.stop()
    driver.stop()

    asked, ended = (tmp_path / "said").read_text().splitlines()
    assert {"--drivername=d.example.com", "--node-name=worker", "--num-devices=3"} <= set(asked.split())
    assert ended == "ended"


@pytest.mark.parametrize("speaks", ["echo no such flag; exit 1"])
def test_a_driver_that_cannot_run_says_why(driver):
    """The kubelet is not waited for once the driver has ended."""
    with pytest.raises(Undetermined, match=r"worker has not registered the driver d\.example\.com[\s\S]*no such flag"):
        driver.wait_until_registered()


def test_a_driver_that_was_never_started_can_be_stopped():
    """Cleanup is registered before the start."""
    UpstreamDriver(DRIVER, NODE, devices=1).stop()


def test_it_is_installed_on_every_node(tmp_path, monkeypatch):
    """Each node gets the command on its PATH, and a kubeconfig that works from there."""
    (tmp_path / "docker").write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n')
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    install(Path("/cache/test-driver"), Path("/home/kubeconfig"), ["one", "two"])

    assert (tmp_path / "asked").read_text().splitlines() == [
        f"cp {source} {node}:{target}"
        for node in ("one", "two")
        for source, target in (
            ("/cache/test-driver", "/usr/local/bin/dra-test-driver"),
            ("/home/kubeconfig", "/etc/kubernetes/dra-test-driver.conf"),
        )
    ]


def test_a_driver_that_cannot_be_built_is_an_error_of_set_up(monkeypatch):
    """The message says what failed, and that the suite has a driver of its own."""

    def unbuildable(*_arguments):
        raise Unavailable("there is no go")

    monkeypatch.setattr(installation, "built", unbuildable)

    with pytest.raises(SetUpFailed, match=r"v1\.37\.2 cannot be built: there is no go\n.*without DRIVER=upstream"):
        driver_binary("v1.37.2", print)


def cluster_with(driver: str) -> Cluster:
    kubeconfig = {
        "current-context": "one",
        "contexts": [{"name": "one", "context": {"cluster": "one", "user": "one"}}],
        "clusters": [{"name": "one", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "one", "user": {"token": "none"}}],
    }
    return Cluster("kind", "v1.37.2", "v1beta1", kubeconfig, real_nodes={NODE: {}}, driver=driver)


def test_what_a_foreign_driver_cannot_do_is_not_applicable():
    """It cannot be told to fail."""
    with pytest.raises(NotApplicable, match=r"the driver of this run \(upstream\) cannot be told to fail"):
        Scenario(cluster_with("upstream"), "run", "user").kubelet(failures=2)


@pytest.mark.parametrize(("driver", "nodes"), [("upstream", [NODE]), ("reference", [])])
def test_only_the_reference_driver_needs_the_folders_of_a_node(driver, nodes):
    """The foreign driver runs inside the node, also of a kind cluster that somebody else has made."""
    assert served_nodes(cluster_with(driver)) == nodes


def test_the_driver_survives_the_way_to_a_worker():
    """The cluster, which is plain data, says which driver it is."""
    assert Cluster.from_json(json.loads(json.dumps(cluster_with("upstream").as_json()))).driver == "upstream"
