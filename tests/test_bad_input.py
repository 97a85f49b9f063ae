# SPDX-License-Identifier: Apache-2.0
"""Runs that cannot begin: one message of one screen, an exit code of its own, and nothing left."""

import hashlib
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from fixtures.clusters import preflight
from fixtures.clusters.belongings import CORE_KINDS, SIMULATED_NODE_KINDS, Belongings
from fixtures.clusters.cluster import APISERVER, COMPONENTS, CONTROLLER_MANAGER, SCHEDULER
from fixtures.clusters.local import ControlPlane
from fixtures.clusters.preflight import GATE
from tests.released import serving, write_binaries, write_release
from tests.running import Run
from verdicts import catalogue

#: `make check` is for what takes milliseconds; these are whole runs.
pytestmark = pytest.mark.usefixtures("kubernetes")

VERSION = "v1.37.2"
NOBODY_LISTENS = "http://127.0.0.1:1"
SCREEN = 25
MIB = 2**20


def begin_all(folder: Path, cases: Mapping[str, tuple[str, ...]], **environment: str) -> dict[str, Run]:
    """Start runs side by side, one for each case, with its options."""
    return {case: Run(folder / case, *options, environment=environment) for case, options in cases.items()}


def message_of(run: Run, exit_code: int) -> str:
    """Return all that a refused run has said, which is one screen, and make sure that it left nothing."""
    assert run.exit_code() == exit_code, run.output
    assert len(run.output.splitlines()) <= SCREEN, run.output
    assert "Traceback" not in run.output
    assert run.left_behind() == []
    return run.output


def no_verdict(run: Run, exit_code: int) -> str:
    """Return the message of a run that began and came to no verdict; its document lists all requirements."""
    message = message_of(run, exit_code)
    document = run.verdicts()
    assert document["overall"]["verdict"] == "no verdict"
    assert document["overall"]["exit_code"] == exit_code
    assert document["overall"]["reason"] in message
    assert [row["id"] for row in document["requirements"]] == [row.id for row in catalogue.load()]
    assert {row["verdict"] for row in document["requirements"]} <= {"not run", "not applicable"}
    return message


def never_began(run: Run) -> str:
    """Return the message of a run whose options were refused before anything was started or written."""
    message = message_of(run, pytest.ExitCode.USAGE_ERROR)
    assert "Starting Kubernetes" not in message
    assert not (run.report / "verdicts.json").exists()
    return message


def test_versions_that_cannot_be_had(tmp_path):
    """A version that nobody has lists what was tried; a word that is no version comes with an example."""
    runs = begin_all(
        tmp_path,
        {
            "unknown": ("--wrc-kubernetes=v1.37.99", f"--wrc-release-server={NOBODY_LISTENS}"),
            "latest": ("--wrc-kubernetes=latest",),
        },
        XDG_CACHE_HOME=str(tmp_path / "cache"),
        GOPROXY="off",
    )

    unknown = no_verdict(runs["unknown"], 11)
    assert "Kubernetes v1.37.99 cannot be had:\n- cache: there is no " in unknown
    assert f"\n- release server: {NOBODY_LISTENS}/release/v1.37.99/bin" in unknown
    assert "\n- Go modules: go list … k8s.io/kubernetes@v1.37.99 failed:" in unknown
    assert "choose another (KUBERNETES=)" in unknown
    assert "'latest' is no Kubernetes version. Give all of it, such as KUBERNETES=v1.37.2." in no_verdict(
        runs["latest"], 11
    )


def test_options_that_cannot_be_meant(tmp_path):
    """What is refused by its options alone is refused before a cluster is started, with what may be meant."""
    runs = begin_all(
        tmp_path,
        {
            "identity": ("--wrc-checks=WRC-RES-999",),
            "area": ("--wrc-checks=GEN,RSE", "-n", "2"),
            "rerun": (f"--wrc-rerun={tmp_path / 'nowhere.json'}",),
            "keep": ("--wrc-keep",),
            "driver": ("--wrc-driver=upstream",),
        },
    )

    messages = {case: never_began(run) for case, run in runs.items()}

    assert "There is no requirement WRC-RES-999. Did you mean WRC-RES-00" in messages["identity"]
    assert "'GEN,RSE' is neither a list of requirements and areas nor an expression" in messages["area"]
    assert "the areas are API, GATE, GEN" in messages["area"]
    assert f"Nothing to run again: [Errno 2] No such file or directory: '{tmp_path}/nowhere.json'" in messages["rerun"]
    assert "LAST=<its folder>" in messages["rerun"]
    assert "a control plane that the run has started ends with it" in messages["keep"]
    assert "this run uses 'local'.\nAdd --wrc-provider=kind (PROVIDER=kind), which needs Docker" in messages["driver"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MiB."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)], check=False)
    if mounted.returncode:
        pytest.skip("this root may not mount a small file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_full_disk(tmp_path, small_disk):
    """The message says which folder is full, how much room is needed, and how to choose another one."""
    folder = write_release(tmp_path / "served", VERSION)
    too_large = bytes(8 * MIB)
    (folder / APISERVER).write_bytes(too_large)
    (folder / f"{APISERVER}.sha256").write_text(hashlib.sha256(too_large).hexdigest())

    with serving(tmp_path / "served") as server:
        run = Run(
            tmp_path / "report",
            f"--wrc-release-server={server}",
            environment={"XDG_CACHE_HOME": str(small_disk), "no_proxy": "127.0.0.1"},
        )
        message = no_verdict(run, 11)

    assert "The disk is full: No space left on device" in message
    assert f"{small_disk}/wrc-conformance has 0.0 GiB free; about 0.5 GiB are needed." in message
    assert "XDG_CACHE_HOME=<folder>" in message
    assert sorted(path.name for path in small_disk.rglob("*") if path.is_file()) == ["lock"]


def test_wrong_checksum(tmp_path):
    """A file that was changed on its way is not used; nothing is built instead, and nothing of it is kept."""
    folder = write_release(tmp_path / "served", VERSION)
    (folder / f"{SCHEDULER}.sha256").write_text("0" * 64)

    with serving(tmp_path / "served") as server:
        run = Run(
            tmp_path / "report",
            f"--wrc-release-server={server}",
            environment={"XDG_CACHE_HOME": str(tmp_path / "cache"), "no_proxy": "127.0.0.1"},
        )
        message = no_verdict(run, 11)

    assert f"{SCHEDULER} has a wrong checksum and was thrown away.\nexpected SHA-256 {'0' * 64}\n" in message
    assert "do not use this server" in message
    assert [path.name for path in (tmp_path / "cache").rglob("*") if path.is_file()] == ["lock"]


def test_folders_without_a_usable_build(tmp_path):
    """An own build that is incomplete, not executable, or of nobody knows what, is refused by path."""
    write_binaries(tmp_path / "incomplete", VERSION, APISERVER)
    write_binaries(tmp_path / "sealed", VERSION, *COMPONENTS, "etcd")
    (tmp_path / "sealed" / APISERVER).chmod(0o644)
    write_binaries(tmp_path / "babbling", "lorem ipsum", *COMPONENTS, "etcd")
    folders = ("incomplete", "sealed", "babbling")
    runs = begin_all(tmp_path / "reports", {one: (f"--wrc-binaries={tmp_path / one}",) for one in folders})

    messages = {case: no_verdict(run, 11) for case, run in runs.items()}

    assert f"BINARIES={tmp_path}/incomplete has no kube-controller-manager, kube-scheduler.\n" in messages["incomplete"]
    assert f"{tmp_path}/sealed/kube-apiserver does not run: [Errno 13] Permission denied" in messages["sealed"]
    assert "Is it executable, and built for this machine?" in messages["sealed"]
    assert "'lorem ipsum' is no Kubernetes version" in messages["babbling"]
    assert f"So says {tmp_path}/babbling/kube-apiserver." in messages["babbling"]


def existing(kubeconfig: Path, context: str = "admin") -> tuple[str, ...]:
    """Return the options for an existing cluster."""
    return "--wrc-provider=existing", f"--wrc-kubeconfig={kubeconfig}", f"--wrc-context={context}"


def test_existing_clusters_that_let_nobody_in(control_plane, tmp_path):
    """No context, no answer, no credentials and late credentials each have a message of their own."""
    known = yaml.safe_load((control_plane.folder / "admin.kubeconfig").read_text())
    kubeconfigs = {
        "no-context": known,
        "unreachable": _with(known, cluster={"server": "https://127.0.0.1:1"}),
        "nobody": {**known, "users": [{"name": "admin", "user": {}}]},
        "late": _with(known, user=_late_certificate(control_plane, tmp_path)),
    }
    for name, kubeconfig in kubeconfigs.items():
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(kubeconfig))
    cases = {name: existing(tmp_path / f"{name}.yaml") for name in kubeconfigs}
    cases["no-context"] = existing(tmp_path / "no-context.yaml", context="")

    messages = {case: no_verdict(run, 11) for case, run in begin_all(tmp_path / "reports", cases).items()}

    assert "No context was named, and the current context is never used by itself." in messages["no-context"]
    assert "  - admin\nName one with CONTEXT=<name> for make" in messages["no-context"]
    assert "The API server 127.0.0.1:1 of context admin does not answer" in messages["unreachable"]
    assert "it is system:anonymous there" in messages["nobody"]
    assert "the client certificate expired on 2020-02-03 at 04:05 UTC" in messages["late"]


def _with(kubeconfig: dict[str, Any], **changes: dict[str, str]) -> dict[str, Any]:
    """Return the kubeconfig with changes in its only cluster or user."""
    return {
        **kubeconfig,
        **{f"{kind}s": [{"name": "admin", kind: {**kubeconfig[f"{kind}s"][0][kind], **change}}]
           for kind, change in changes.items()},
    }  # fmt: skip


def _late_certificate(control_plane: ControlPlane, folder: Path) -> dict[str, str]:
    leaf = control_plane._layout.authority._ca.issue_cert(
        common_name="late", not_after=datetime(2020, 2, 3, 4, 5, tzinfo=UTC)
    )
    leaf.cert_chain_pems[0].write_to_path(str(folder / "late.pem"))
    leaf.private_key_pem.write_to_path(str(folder / "late-key.pem"))
    return {"client-certificate": str(folder / "late.pem"), "client-key": str(folder / "late-key.pem")}


@pytest.fixture
def start_plane(kubernetes) -> Iterator[Callable[..., ControlPlane]]:
    """Start control planes, in each of which some components have some feature gates off."""
    with ExitStack() as ends:

        def start(off: Mapping[str, Sequence[str]]) -> ControlPlane:
            gates = {component: dict.fromkeys(some, False) for component, some in off.items()}
            plane = ControlPlane(kubernetes, gates=gates)
            ends.callback(plane.stop)
            plane.start()
            return plane

        yield start


def examine(plane: ControlPlane, report: Path, *options: str) -> Run:
    """Run against the control plane as against somebody else's cluster."""
    return Run(report, *existing(plane.folder / "admin.kubeconfig"), "--wrc-simulated-nodes", *options)


def belongings_of(run: Run, plane: ControlPlane) -> Belongings:
    """Return what carries the label of the run."""
    return Belongings(plane.cluster().api("test"), run.verdicts()["run"]["id"], CORE_KINDS + SIMULATED_NODE_KINDS)


LACKING = {
    "scheduler": (SCHEDULER, (GATE,), "reserves a claim for the Pod instead of its PodGroup"),
    "controller-manager": (CONTROLLER_MANAGER, (GATE,), "generates no ResourceClaim for a PodGroup"),
    "apiserver": (APISERVER, (GATE,), "drops spec.resourceClaims of a PodGroup"),
    "no-pod-groups": (APISERVER, (GATE, "GenericWorkload"), "does not serve scheduling.k8s.io/v1beta1"),
}


def test_the_feature_is_off_in_one_component(start_plane, tmp_path):
    """The message names the component that lacks the feature, no other, and how to turn it on."""
    planes = {case: start_plane({component: gates}) for case, (component, gates, _) in LACKING.items()}
    runs = {case: examine(plane, tmp_path / case, "--wrc-time-scale=0.5") for case, plane in planes.items()}

    for case, (component, _, symptom) in LACKING.items():
        message = no_verdict(runs[case], 12)
        assert "are off in this cluster (Kubernetes v1.37.2). No check was run." in message
        [named] = [line for line in message.split("No check was run.")[1].splitlines() if line.startswith("  - ")]
        assert named.startswith(f"  - {component}: {symptom}")
        assert "--feature-gates=GenericWorkload=true,DRAWorkloadResourceClaims=true\n" in message
        assert "--runtime-config=scheduling.k8s.io/v1beta1=true\n" in message
        assert belongings_of(runs[case], planes[case])() == []


def test_a_component_does_not_work_at_all(start_plane, tmp_path):
    """A component that serves nobody is not said to lack the feature; what then cannot be removed is listed."""
    planes = {component: start_plane({}) for component in (CONTROLLER_MANAGER, SCHEDULER)}
    for component, plane in planes.items():
        preflight.examine(plane.cluster(), "test", print)
        plane.process(component).stop()
    runs = {
        component: examine(plane, tmp_path / component, "--wrc-time-scale=0.1") for component, plane in planes.items()
    }

    for component, run in runs.items():
        message = no_verdict(run, 11)
        assert f"{component} does not serve a plain Pod either, so it does not work at all, or not yet." in message
        # Without kube-controller-manager no namespace ever goes.
        assert ("Left behind: Namespace wrc-" in message) == (component == CONTROLLER_MANAGER)


def test_nothing_is_selected_and_what_was_created_is_kept(control_plane, tmp_path):
    """An expression that matches no check is no success; what is kept is told with the command that removes it."""
    nothing = examine(control_plane, tmp_path / "nothing", "--wrc-checks=xyzzy or plugh", "-n", "2")
    kept = examine(control_plane, tmp_path / "kept", "--wrc-checks=WRC-GEN-003", "--wrc-keep")

    assert "no verdict: No check was selected. `make plan` lists those there are." in no_verdict(
        nothing, pytest.ExitCode.NO_TESTS_COLLECTED
    )
    assert kept.exit_code() == 0, kept.output
    belongings = belongings_of(kept, control_plane)
    removal = f"kubectl --kubeconfig {control_plane.folder}/admin.kubeconfig --context admin delete namespaces,"
    assert f"Left behind: All that run {belongings.run} created, as --wrc-keep asks. Remove it with: {removal}" in (
        kept.output
    )
    assert {one["kind"] for one in belongings()} == {"Namespace", "DeviceClass", "Node", "Lease", "ResourceSlice"}
    assert belongings.remove() == []
    assert kept.left_behind() == []
