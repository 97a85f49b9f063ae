# SPDX-License-Identifier: Apache-2.0
"""A small API server for tests: it serves what it is given, and remembers what it was asked."""

import json
import queue
import ssl
from copy import deepcopy
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.lies.lie import Object


class ApiServer(ThreadingHTTPServer):
    """Serves ``objects`` by path and the LIST of claims, ``canned`` answers, and ``events`` up to a None."""

    def __init__(self, tls: ssl.SSLContext) -> None:
        super().__init__(("127.0.0.1", 0), ApiHandler)
        self.socket = tls.wrap_socket(self.socket, server_side=True)
        self.objects: dict[str, Object] = {}
        self.canned: dict[tuple[str, str], tuple[int, Object | bytes]] = {}
        self.requests: list[tuple[str, str, Message, bytes]] = []
        self.events: queue.Queue[Object | None] = queue.Queue()

    def handle_error(self, *_: object) -> None:
        """Say nothing when the proxy hangs up."""

    def send(self, kind: str, shown: Object) -> None:
        """Send an event to an open watch."""
        self.events.put({"type": kind, "object": deepcopy(shown)})

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, Object | bytes]:
        if (method, path) in self.canned:
            return self.canned[method, path]
        if method == "GET" and path.endswith("/resourceclaims"):
            return 200, self._claims(path)
        if path in self.objects:
            return 200, self.objects[path]
        return (201, json.loads(body)) if body else (404, {"kind": "Status", "code": 404})

    def _claims(self, collection: str) -> Object:
        """Return a LIST as an API server gives it: the items name neither kind nor apiVersion."""
        found = [each for path, each in self.objects.items() if path.startswith(collection)]
        items = [{"metadata": each["metadata"], "status": each["status"]} for each in found]
        version = {"kind": "ResourceClaimList", "apiVersion": "resource.k8s.io/v1"}
        return {**version, "metadata": {"resourceVersion": "7"}, "items": items}


class ApiHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: ApiServer

    def serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.server.requests.append((self.command, self.path, self.headers, body))
        path, _, query = self.path.partition("?")
        if "watch=1" in query:
            self.watch()
        else:
            status, document = self.server.answer(self.command, path, body)
            self.reply(status, document if isinstance(document, bytes) else json.dumps(document).encode())

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = serve  # noqa: N815  names of the base class

    def reply(self, status: int, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/plain" if data[:1] != b"{" else "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Warning", '299 - "one"')
        self.send_header("Warning", '299 - "two"')
        self.end_headers()
        self.wfile.write(data)

    def watch(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while (event := self.server.events.get()) is not None:
            data = json.dumps(event).encode() + b"\n"
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_: object) -> None:
        pass
