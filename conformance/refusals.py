# SPDX-License-Identifier: Apache-2.0
"""What the API server answers to a write: that it stored it, or why not, and where the fault is."""

from collections.abc import Callable
from typing import TypeVar

from fixtures.api import Api, ApiError, Object

INVALID, REQUIRED, DUPLICATE, TOO_MANY, FORBIDDEN = (
    f"FieldValue{word}" for word in ("Invalid", "Required", "Duplicate", "TooMany", "Forbidden")
)

Answer = TypeVar("Answer")


def refusal_of(send: Callable[[], object]) -> ApiError | None:
    """Send a request; return the refusal, or None if it was accepted.

    Raises:
        ApiError: the API server is overloaded or broken; then it has not judged the request.
    """
    try:
        send()
    except ApiError as error:
        if error.status == 429 or error.status >= 500:
            raise
        return error
    return None


def accepted(what: str, send: Callable[[], Answer]) -> Answer:
    """Send a request that must succeed, and return its answer.

    Raises:
        AssertionError: the API server refused it.
    """
    answers: list[Answer] = []
    refusal = refusal_of(lambda: answers.append(send()))
    assert not refusal, f"{what} must be accepted, but the answer is {refusal}"
    return answers[0]


def refused(what: str, send: Callable[[], object], status: int) -> ApiError:
    """Send a request that must be refused with this HTTP status, and return the refusal.

    Raises:
        AssertionError: it was accepted, or refused with another status.
    """
    refusal = refusal_of(send)
    assert refusal, f"{what} must be refused with {status}, but was accepted"
    assert refusal.status == status, f"{what} must be refused with {status}, but the answer is {refusal}"
    return refusal


def assert_invalid(what: str, send: Callable[[], object], reason: str, field: str) -> None:
    """Assert that a request is refused with 422, and with this reason at this field among the causes."""
    causes = causes_of(refused(what, send, 422))
    assert (reason, field) in causes, f"{what} must be refused with {reason} at {field}, but the causes are {causes}"


def assert_create_invalid(what: str, api: Api, body: Object, reason: str, field: str) -> None:
    """Assert that a create is refused as invalid, and that nothing was stored."""
    assert_invalid(what, lambda: api.create(body), reason, field)
    metadata = body["metadata"]
    stored = api.find(body["kind"], metadata["namespace"], metadata["name"])
    assert stored is None, f"{what} was refused, but the {body['kind']} is stored all the same"


def causes_of(refusal: ApiError) -> list[tuple[str, str]]:
    """Return reason and field of each of ``details.causes``."""
    causes = refusal.document.get("details", {}).get("causes", ())
    return [(cause.get("reason", ""), cause.get("field", "")) for cause in causes]
