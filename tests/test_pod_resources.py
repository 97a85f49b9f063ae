# SPDX-License-Identifier: Apache-2.0
"""Reading the PodResources API of a kubelet, with a kubelet that is a small server."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.devices.pod_resources import list_devices
from fixtures.devices.reference.sockets import SocketServer
from fixtures.devices.reference.stubs.podresources import api_pb2
from fixtures.devices.reference.stubs.podresources.api_pb2_grpc import (
    PodResourcesListerServicer,
    add_PodResourcesListerServicer_to_server,
)
from fixtures.errors import Undetermined
from fixtures.kubelets import pod_resources


class SmallKubelet(PodResourcesListerServicer):
    """Lists a Pod of two containers in the namespace "ours", and one in another namespace."""

    def List(self, _request, _context):  # noqa: N802  the name of the call
        device = api_pb2.ClaimResource(driver_name="driver", pool_name="pool", device_name="device-1")
        claim = api_pb2.DynamicResource(claim_name="claim", claim_namespace="ours", claim_resources=[device])
        containers = [
            api_pb2.ContainerResources(name="user", dynamic_resources=[claim]),
            api_pb2.ContainerResources(name="bystander"),
        ]
        pods = [
            api_pb2.PodResources(name="member", namespace=namespace, containers=containers)
            for namespace in ("ours", "theirs")
        ]
        return api_pb2.ListPodResourcesResponse(pod_resources=pods)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder whose path is short enough for a unix socket."""
    path = Path(tempfile.mkdtemp(prefix="wrc-", dir="/tmp"))
    yield path
    shutil.rmtree(path)


def test_devices_are_listed_by_pod_and_container(folder):
    """Claim, driver, pool and device of each container in the namespace; a container without devices is listed too."""
    server = SocketServer(
        folder / "kubelet.sock", lambda grpc: add_PodResourcesListerServicer_to_server(SmallKubelet(), grpc)
    )
    server.start()
    try:
        listed = pod_resources({"resources": str(folder)}, "ours")
    finally:
        server.close()
        server.join()

    assert listed == {("member", "user"): [("claim", "driver", "pool", "device-1")], ("member", "bystander"): []}


def test_a_kubelet_that_does_not_answer_leaves_the_question_open(folder):
    """No socket, or no right to use it, says nothing about the requirement."""
    with pytest.raises(Undetermined, match="PodResources API of the kubelet gave no answer"):
        list_devices(folder, "ours")


def test_without_the_socket_the_row_does_not_apply():
    """On a cluster of somebody else, the socket of the kubelet is not on this machine."""
    with pytest.raises(pytest.skip.Exception, match="not reachable from here"):
        pod_resources({}, "ours")
