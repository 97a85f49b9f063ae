# SPDX-License-Identifier: Apache-2.0
"""A release server on loopback, and binaries that only know their version."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from fixtures.clusters.cache import system
from fixtures.clusters.cluster import COMPONENTS


class Quiet(SimpleHTTPRequestHandler):
    """Serve files and keep the terminal clean."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def write_binaries(folder: Path, version: str, *names: str) -> None:
    """Write scripts that print ``version`` as kube-apiserver does."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_text(f"#!/bin/sh\necho Kubernetes {version}\n")
        (folder / name).chmod(0o755)


def write_release(root: Path, version: str) -> Path:
    """Write the components of ``version`` and their checksums where a release server has them."""
    folder = root.joinpath("release", version, "bin", *system())
    write_binaries(folder, version, *COMPONENTS)
    for name in COMPONENTS:
        digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        (folder / f"{name}.sha256").write_text(digest)
    return folder


@contextmanager
def serving(root: Path) -> Iterator[str]:
    """Serve the folder on loopback and yield its URL."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=root)) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
