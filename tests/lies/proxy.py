# SPDX-License-Identifier: Apache-2.0
"""The lying proxy: an HTTPS server on loopback between the suite and an API server.

``/lie/<name of the lie>/<instance>/apis/...`` is answered with the lie told; ``<instance>`` is any word of a
scenario's own, and keeps the lie's memory. ``/truth/apis/...`` is answered by the API server unchanged. The
proxy logs in to the API server itself; its own clients show a random token. It speaks JSON only.
"""

import base64
import secrets
import ssl
import threading
from collections.abc import Callable
from typing import Self
from urllib.parse import quote

import trustme

from tests.lies.lie import Lie, Object, by_name
from tests.lies.server import Server
from tests.lies.upstream import Upstream


class LyingProxy:
    """The lying proxy in front of one API server, from ``with`` to its end."""

    def __init__(self, kubeconfig: Object, find: Callable[[str], Lie] = by_name) -> None:
        """Prepare a proxy that logs in with ``kubeconfig`` and finds a lie by its name with ``find``."""
        self._kubeconfig = kubeconfig
        self._find = find
        self._authority = trustme.CA()
        self._token = secrets.token_urlsafe(32)

    def __enter__(self) -> Self:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._authority.issue_cert("127.0.0.1").configure_cert(tls)
        self._upstream = Upstream(self._kubeconfig)
        self._server = Server(self._upstream, tls, self._token, self._find)
        threading.Thread(target=self._server.serve_forever, args=[0.05], daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.end()
        self._upstream.close()

    @property
    def address(self) -> str:
        """Such as ``https://127.0.0.1:40001``."""
        return f"https://127.0.0.1:{self._server.server_port}"

    def kubeconfig(self, lie: str = "", instance: str = "-") -> Object:
        """Return a kubeconfig that reaches the API server through the proxy.

        Args:
            lie: the name of the lie that is told; the truth without one.
            instance: a word of the scenario's own, for which the lie keeps its memory.
        """
        server = f"{self.address}/lie/{lie}/{quote(instance, safe='')}" if lie else f"{self.address}/truth"
        authority = base64.b64encode(self._authority.cert_pem.bytes()).decode()
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "proxy",
            "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "proxy"}}],
            "clusters": [{"name": "proxy", "cluster": {"server": server, "certificate-authority-data": authority}}],
            "users": [{"name": "proxy", "user": {"token": self._token}}],
        }
