# SPDX-License-Identifier: Apache-2.0
"""The HTTPS server of the lying proxy: who is let in, whose lie is told, and how an answer is passed on."""

import json
import re
import secrets
import socket
import ssl
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from urllib3 import BaseHTTPResponse, HTTPHeaderDict
from urllib3.exceptions import HTTPError

from tests.lies.liar import BrokenLie, Liar, Watch
from tests.lies.lie import Answer, Lie, Object, failure
from tests.lies.upstream import Upstream

_ROUTE = re.compile(r"/(?:truth|lie/(?P<lie>[^/]+)/(?P<instance>[^/]+))(?P<target>/.*)")
#: Headers of one connection, and with them those that the proxy sets itself.
_CONNECTION_HEADERS = {"connection", "content-length", "transfer-encoding"}
_NOT_FORWARDED = _CONNECTION_HEADERS | {"host", "authorization", "accept", "accept-encoding"}


class Refused(Exception):  # noqa: N818  reads better where it is raised
    """The proxy itself refuses a request, with an HTTP status code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Server(ThreadingHTTPServer):
    """The HTTPS server: TLS, the liars of all scenarios, and what is to be cut off at the end."""

    request_queue_size = 128

    def __init__(self, upstream: Upstream, tls: ssl.SSLContext, token: str, find: Callable[[str], Lie]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.upstream = upstream
        self.login = f"Bearer {token}".encode()
        self._tls = tls
        self._find = find
        self._liars: dict[tuple[str, str], Liar] = {}
        self._cuts: set[Callable[[], None]] = set()

    def liar(self, name: str, instance: str) -> Liar:
        """Return the liar of one scenario.

        Raises:
            Refused: there is no lie of that name.
        """
        try:
            liar = Liar(self._find(name), self.upstream.truth)
        except KeyError:
            raise Refused(404, f"There is no lie named {name!r}; the lies are in tests/lies.") from None
        return self._liars.setdefault((name, instance), liar)

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Serve one connection; its handshake holds up no other one, for this is its own thread."""
        with (
            self._tls.wrap_socket(request, server_side=True) as connection,
            self.cut_at_end(partial(connection.shutdown, socket.SHUT_RDWR)),
        ):
            super().finish_request(connection, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report an unexpected error; that a client hangs up is none."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    @contextmanager
    def cut_at_end(self, cut: Callable[[], None]) -> Iterator[None]:
        """Call ``cut`` if the server ends meanwhile."""
        self._cuts.add(cut)
        try:
            yield
        finally:
            self._cuts.discard(cut)

    def end(self) -> None:
        """Stop serving, and cut off every connection and every open watch."""
        self.shutdown()
        self.server_close()
        for cut in tuple(self._cuts):
            with suppress(OSError, RuntimeError, ValueError):  # it ended by itself
                cut()


class Handler(BaseHTTPRequestHandler):
    """One connection of a client."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # a small answer leaves in one piece
    server: Server

    def forward(self) -> None:
        """Answer one request."""
        sent = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        try:
            liar, target = self._route()
            self._relay(liar, target, sent)
        except Refused as refused:
            self.send_error(refused.code, str(refused))
        except BrokenLie as broken:
            self.send_error(500, str(broken))
        except HTTPError as fault:
            self.send_error(502, f"The API server behind the lying proxy does not answer: {fault}")

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = forward  # noqa: N815  names of the base class

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer with a Status, as an API server does."""
        body = json.dumps(failure(code, HTTPStatus(code).phrase.replace(" ", ""), message or explain or ""))
        self._send(code, HTTPHeaderDict({"Content-Type": "application/json"}), body.encode())

    def _route(self) -> tuple[Liar | None, str]:
        """Return who answers, None for the truth, and what is asked of the API server."""
        if not secrets.compare_digest(self.headers.get("Authorization", "").encode(), self.server.login):
            raise Refused(401, "The lying proxy wants the token of its own kubeconfig.")
        route = _ROUTE.fullmatch(self.path)
        if not route:
            raise Refused(404, "A path begins with /truth/ or with /lie/<name>/<instance>/.")
        if not route["lie"]:
            return None, route["target"]
        return self.server.liar(route["lie"], route["instance"]), route["target"]

    def _relay(self, liar: Liar | None, target: str, sent: bytes) -> None:
        url = urlsplit(target)
        watching = parse_qs(url.query).get("watch", ["0"])[0] in {"1", "true"}
        request = self.server.upstream.request
        with request(self.command, target, self._headers(), sent, watching=watching) as response:
            if watching and response.status == 200:
                self._stream(response, liar.watch(url.path, url.query) if liar else None)
            elif liar and "json" in response.headers.get("Content-Type", ""):
                self._lie(liar, url.path, sent, response)
            else:
                self._send(response.status, response.headers, response.read())

    def _headers(self) -> HTTPHeaderDict:
        kept = HTTPHeaderDict()
        for name, value in self.headers.items():  # a name may come twice, such as Impersonate-Group
            if name.lower() not in _NOT_FORWARDED:
                kept.add(name, value)
        return kept

    def _lie(self, liar: Liar, path: str, sent: bytes, response: BaseHTTPResponse) -> None:
        real = Answer(self.command, path, _json_or_none(sent), response.status, response.json())
        told = liar.answer(real)
        self._send(told.status, response.headers, json.dumps(told.body).encode())

    def _stream(self, response: BaseHTTPResponse, watch: Watch | None) -> None:
        """Pass a watch on, line by line; that the client has left is noticed when the next line is sent."""
        self._begin(response.status, response.headers, "Transfer-Encoding", "chunked")
        self.wfile.flush()
        with self.server.cut_at_end(response.shutdown):
            try:
                for line in response:
                    for told in _told(watch, line):
                        self._chunk(told)
            except BrokenLie as broken:
                self._chunk(_line({"type": "ERROR", "object": failure(500, "InternalError", str(broken))}))
            except HTTPError:  # cut off: the client must notice it as well
                self.close_connection = True
                return
        self._chunk(b"")

    def _send(self, status: int, headers: HTTPHeaderDict, body: bytes) -> None:
        self._begin(status, headers, "Content-Length", str(len(body)))
        self.wfile.write(body)

    def _begin(self, status: int, headers: HTTPHeaderDict, framing: str, value: str) -> None:
        self.send_response_only(status)
        for name, each in headers.items():
            if name.lower() not in _CONNECTION_HEADERS:
                self.send_header(name, each)
        self.send_header(framing, value)
        self.end_headers()

    def _chunk(self, data: bytes) -> None:
        """Send a chunk at once; an empty one is the last."""
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()


def _json_or_none(sent: bytes) -> Any:
    with suppress(ValueError):
        return json.loads(sent)
    return None


def _line(event: Object) -> bytes:
    return json.dumps(event).encode() + b"\n"


def _told(watch: Watch | None, line: bytes) -> list[bytes]:
    return [_line(event) for event in watch.events(json.loads(line))] if watch else [line]
