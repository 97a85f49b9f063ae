# SPDX-License-Identifier: Apache-2.0
"""The API server behind the lying proxy."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from kubernetes.client import ApiClient, Configuration
from kubernetes.config import new_client_from_config_dict
from urllib3 import BaseHTTPResponse, HTTPHeaderDict, Timeout

from tests.lies.lie import Object

#: Seconds; longer than the API server itself works on a request.
_TIMEOUT = Timeout(connect=5, read=65)
#: A watch is silent for as long as nothing happens; its end is up to the API server.
_WATCH_TIMEOUT = Timeout(connect=5, read=None)


class Upstream:
    """The API server, reached with the login of a kubeconfig."""

    def __init__(self, kubeconfig: Object) -> None:
        configuration = Configuration()
        configuration.proxy = None  # none from the environment; the kubeconfig may still name one
        configuration.connection_pool_maxsize = 100
        self._client: ApiClient = new_client_from_config_dict(  # type: ignore[no-untyped-call]
            kubeconfig, persist_config=False, client_configuration=configuration
        )

    @contextmanager
    def request(
        self, method: str, target: str, headers: HTTPHeaderDict, body: bytes, *, watching: bool = False
    ) -> Iterator[BaseHTTPResponse]:
        """Send one request, never again, and hand out the answer, whose body is not read yet.

        Raises:
            HTTPError: the API server did not answer.
        """
        configuration = self._client.configuration
        headers |= {"Accept": "application/json", "Accept-Encoding": "identity"}
        headers |= {login["key"]: login["value"] for login in configuration.auth_settings().values()}
        response = self._client.rest_client.pool_manager.urlopen(
            method,
            configuration.host + target,
            body=body or None,
            headers=headers,
            timeout=_WATCH_TIMEOUT if watching else _TIMEOUT,
            retries=False,
            redirect=False,
            preload_content=False,
        )
        with closing(response):
            yield response

    def truth(self, target: str) -> Object:
        """Return the JSON document at ``target``.

        Raises:
            LookupError: the API server answers with an error.
        """
        with self.request("GET", target, HTTPHeaderDict(), b"") as response:
            if response.status >= 400:
                raise LookupError(f"The API server answers {response.status} to GET {target}.")
            document: Object = response.json()
            return document

    def close(self) -> None:
        """Close the idle connections."""
        self._client.close()  # type: ignore[no-untyped-call]
