# SPDX-License-Identifier: Apache-2.0
"""Images of nodes, with a docker that only pretends."""

import io
import json
import tarfile

import pytest

from fixtures.clusters.cache import Unavailable, system
from fixtures.clusters.node_image import image as module
from fixtures.clusters.node_image import pieces as pieces_module
from fixtures.clusters.node_image.assembly import assemble
from fixtures.clusters.node_image.image import node_image
from fixtures.clusters.node_image.images import Image, archive
from fixtures.clusters.node_image.pieces import Pieces, check_tools
from fixtures.clusters.node_image.recipe import POD_IMAGE, made_of, reference
from fixtures.clusters.node_image.tree import lay_out
from fixtures.errors import SetUpFailed

#: Knows the images that are named in its folder, and notes how it is called.
PRETENDER = """#!/bin/sh
echo "$*" >> {folder}/calls
case $1 in
images) cat {folder}/images;;
create) echo container;;
load|commit) echo 0123 > {folder}/images;;
save) echo saved > "$3";;
esac
"""


@pytest.fixture
def daemon(tmp_path, monkeypatch):
    """The folder of a docker that pretends: `images` is what it has, `calls` what it was asked."""
    folder = tmp_path / "docker"
    folder.mkdir()
    write_script(folder / "docker", PRETENDER.format(folder=folder))
    (folder / "images").write_text("")
    (folder / "calls").write_text("")
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


@pytest.fixture
def no_build(monkeypatch):
    """Whoever tries to build finds that it cannot be done."""

    def gather(*_):
        raise Unavailable("there is no go")

    monkeypatch.setattr(module, "gather", gather)
    monkeypatch.setattr(module, "check_tools", lambda: None)


@pytest.fixture
def pieces(tmp_path):
    """Small files in the place of all that a node is made of."""
    folder = tmp_path / "pieces"
    kind = folder / "kind" / "images" / "base" / "files"
    for file in ("kind/bin/mount.sh", "etc/containerd/config.toml", "usr/local/bin/entrypoint"):
        (kind / file).parent.mkdir(parents=True, exist_ok=True)
        (kind / file).write_text('sandbox_image = "registry.example/pause:3.10"\n')
        (kind / file).chmod(0o444)
    write_script(folder / "kubeadm", "#!/bin/sh\nprintf 'registry.example/%s\\n' etcd:3.7.3-0 coredns/coredns:v1.14\n")
    (folder / "etcd").write_text("etcd itself")
    with tarfile.open(folder / "root.tar", "w") as root:
        content = b"#!/bin/sh\nprintf 'busybox\\nsh\\nsleep\\n'\n"
        busybox = tarfile.TarInfo("./usr/bin/busybox")
        busybox.size, busybox.mode = len(content), 0o755
        root.addfile(busybox, io.BytesIO(content))
    return Pieces(
        version="v1.37.2",
        commands={"usr/bin/kubeadm": folder / "kubeadm"},
        images={"etcd": folder / "etcd"},
        debian=folder / "root.tar",
        kind=folder / "kind",
    )


def write_script(file, script):
    file.write_text(script)
    file.chmod(0o755)


def content_of(tar, member):
    file = tar.extractfile(member)
    return file.read() if file else b""


def files_in(layer):
    with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
        return {one.name: one.linkname or (one.mode, content_of(tar, one)) for one in tar}


def names_in(tar):
    return [names for image in json.loads(content_of(tar, "manifest.json")) for names in image["RepoTags"]]


def test_archive_is_what_docker_save_writes():
    """Each image has one layer with its binary, and a configuration that names that layer by its digest."""
    written = archive([Image("registry.example/a:1", {"/bin/a": b"binary"}, {"/bin/b": "a"}, ("a", "--help"))])

    with tarfile.open(fileobj=io.BytesIO(written)) as tar:
        (image,) = json.loads(content_of(tar, "manifest.json"))
        config = json.loads(content_of(tar, image["Config"]))
        (layer,) = image["Layers"]
        files = files_in(content_of(tar, layer))
        assert image["RepoTags"] == ["registry.example/a:1"]
        assert config["config"] == {"Env": ["PATH=/usr/local/bin:/bin"], "Cmd": ["a", "--help"]}
        assert (config["os"], config["architecture"]) == system()
        assert config["rootfs"]["diff_ids"] == [f"sha256:{layer.removesuffix('.tar')}"]
        assert files == {"bin/a": (0o755, b"binary"), "bin/b": "a"}


def test_node_has_the_images_that_kubeadm_and_containerd_want(pieces, tmp_path):
    """Those of the control plane which we have, the sandbox of kind's own configuration, and the Pods' busybox."""
    lay_out(pieces, tmp_path / "tree", print)

    with tarfile.open(tmp_path / "tree/build/images.tar") as tar:
        assert names_in(tar) == ["registry.example/etcd:3.7.3-0", "registry.example/pause:3.10", POD_IMAGE]


def test_files_of_a_node_are_in_their_places(pieces, tmp_path):
    """Kind's scripts can be run although Go keeps its modules without x bits, and the node says its version."""
    tree = tmp_path / "tree"

    lay_out(pieces, tree, print)

    assert (tree / "kind/version").read_text() == "v1.37.2\n"
    assert {
        path: (tree / path).stat().st_mode & 0o777 for path in ("kind/bin/mount.sh", "usr/local/bin/entrypoint")
    } == {
        "kind/bin/mount.sh": 0o755,
        "usr/local/bin/entrypoint": 0o755,
    }
    assert (tree / "etc/containerd/config.toml").stat().st_mode & 0o777 == 0o644
    assert (tree / "usr/bin/kubeadm").stat().st_mode & 0o111
    assert json.loads((tree / "etc/cni/net.d/10-ptp.conflist").read_text())["plugins"][0]["type"] == "ptp"


def test_nothing_but_the_image_stays_in_docker(daemon, pieces, tmp_path):
    """The container and the image of Debian alone are removed, in this order."""
    assemble("wrc-conformance/node:x", pieces, tmp_path / "image.tar", print)

    calls = [call.split() for call in (daemon / "calls").read_text().splitlines()]
    assert [call[0] for call in calls] == ["import", "create", "cp", "start", "commit", "rm", "save", "rmi"]
    imported, removed = calls[0][-1], calls[-1][-1]
    assert imported == removed
    assert [file.name for file in tmp_path.glob("*.tar")] == ["image.tar"]


def test_nothing_stays_in_docker_when_it_fails(daemon, pieces, tmp_path):
    """A failure in the container is told with its last words, and cleaned up all the same."""
    script = (daemon / "docker").read_text()
    write_script(daemon / "docker", script.replace("create)", "start) echo no containerd >&2; exit 1;;\ncreate)"))

    with pytest.raises(SetUpFailed, match="no containerd"):
        assemble("wrc-conformance/node:x", pieces, tmp_path / "image.tar", print)

    calls = [call.split()[0] for call in (daemon / "calls").read_text().splitlines()]
    assert calls[-2:] == ["rm", "rmi"]
    assert not list(tmp_path.glob("*.tar"))


def test_image_says_what_it_was_made_of(daemon, pieces, tmp_path):
    """Its labels hold the version of every piece, for the report."""
    assemble("wrc-conformance/node:x", pieces, tmp_path / "image.tar", print)

    commit = next(call for call in (daemon / "calls").read_text().splitlines() if call.startswith("commit"))
    for piece, version in made_of("v1.37.2").items():
        assert f'LABEL "wrc-conformance.{piece}"="{version}"' in commit


def test_name_changes_with_what_the_image_is_made_of(tmp_path):
    """Two versions, or two builds of one version, never share a name; the same pieces give the same name."""
    for name in (*pieces_module.NODE_COMMANDS, "kube-apiserver", "kube-controller-manager", "kube-scheduler"):
        (tmp_path / name).write_text("one")
    released, own = reference("v1.37.2"), reference("v1.37.2", tmp_path)
    (tmp_path / "kubelet").write_text("another")

    assert released.startswith("wrc-conformance/node:v1.37.2-")
    assert len({released, own, reference("v1.37.2", tmp_path), reference("v1.36.3")}) == 4
    assert reference("v1.37.2") == released


def test_image_in_the_daemon_is_taken_at_once(daemon, tmp_path, no_build):
    """Nothing is built, loaded or told."""
    (daemon / "images").write_text("0123\n")
    told = []

    assert node_image("1.37.2", told.append, tmp_path / "cache") == reference("v1.37.2")
    assert told == []
    assert (daemon / "calls").read_text() == f"images --quiet {reference('v1.37.2')}\n"


def test_image_in_the_cache_is_loaded(daemon, tmp_path, no_build):
    """A new daemon gets what another one has built."""
    name = reference("v1.37.2")
    file = tmp_path / "cache" / "node-image" / name.rpartition(":")[2] / "image.tar"
    file.parent.mkdir(parents=True)
    file.write_text("")

    assert node_image("v1.37.2", print, tmp_path / "cache") == name
    assert (daemon / "calls").read_text().splitlines()[-1] == f"load --quiet --input {file}"


def test_image_that_is_nowhere_is_built_and_kept(daemon, pieces, tmp_path, monkeypatch):
    """The daemon has it then, and so has the cache."""
    monkeypatch.setattr(module, "gather", lambda *_: pieces)
    monkeypatch.setattr(module, "obtain", lambda **_: None)
    monkeypatch.setattr(module, "check_tools", lambda: None)

    name = node_image("v1.37.2", print, tmp_path / "cache")

    assert (tmp_path / "cache" / "node-image" / name.rpartition(":")[2] / "image.tar").read_text() == "saved\n"
    assert "load" not in (daemon / "calls").read_text()


def test_piece_that_cannot_be_had_is_told_with_the_next_step(daemon, tmp_path, no_build, monkeypatch):
    """The message names the image and why, and what needs no image."""
    monkeypatch.setattr(module, "obtain", lambda **_: None)

    with pytest.raises(SetUpFailed, match=r"cannot be built: there is no go\nOr choose PROVIDER=local"):
        node_image("v1.37.2", print, tmp_path / "cache")


@pytest.mark.parametrize("version", ["latest", "v1.20.3"])
def test_version_without_the_feature_is_refused(daemon, tmp_path, version):
    """What has no PodGroups needs no node."""
    with pytest.raises(SetUpFailed, match="Choose another one, such as KUBERNETES="):
        node_image(version, print, tmp_path)


def test_own_build_must_hold_the_kubelet(daemon, tmp_path):
    """Everything that is missing is named at once."""
    with pytest.raises(SetUpFailed, match=r"has no kubelet, kubeadm, kubectl, which a node needs"):
        node_image("v1.37.2", print, tmp_path, own_build=tmp_path)


def test_missing_tools_are_named_with_their_packages(tmp_path, monkeypatch):
    """One apt-get command installs all of them."""
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(SetUpFailed, match=r"apt-get install debootstrap gcc libc6-dev pkg-config$"):
        check_tools()


def test_missing_library_is_named_with_its_package(tmp_path, monkeypatch):
    """runc needs libseccomp, which pkg-config knows or does not."""
    monkeypatch.setenv("PATH", str(tmp_path))
    for tool in ("debootstrap", "gcc"):
        write_script(tmp_path / tool, "#!/bin/sh\n")
    write_script(tmp_path / "pkg-config", "#!/bin/sh\nexit 1\n")

    with pytest.raises(SetUpFailed, match=r"apt-get install libseccomp-dev$"):
        check_tools()


def test_building_needs_root(tmp_path, monkeypatch):
    """debootstrap makes devices and changes its root; who is not root is told before anything long begins."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    for tool in pieces_module.TOOLS:
        write_script(tmp_path / tool, "#!/bin/sh\n")

    with pytest.raises(SetUpFailed, match="needs root"):
        check_tools()
