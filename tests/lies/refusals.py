# SPDX-License-Identifier: Apache-2.0
"""How an API server lies about what it refuses: it accepts it, refuses it in another way, or stores it all the same."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace

from tests.lies.lie import Answer, Memory, Object

NAMED, TEMPLATE = "resourceClaimName", "resourceClaimTemplateName"


def entries_of(sent: Object | None) -> list[Object]:
    """Return ``spec.resourceClaims`` of a PodGroup as it was sent or is shown; empty if there is none."""
    return list((sent or {}).get("spec", {}).get("resourceClaims") or ())


def is_refused(answer: Answer) -> bool:
    """Tell whether the API server refused a write as invalid."""
    return answer.method in {"POST", "PATCH"} and answer.status == 422


def accepted_if(answer: Answer, condition: bool) -> Answer:
    """Return the answer of an API server that stored what was sent, if it really refused it under this condition."""
    return answer.accepted() if is_refused(answer) and condition else answer


def at_another_field(answer: Answer, field: str, instead: str) -> Answer:
    """Return the refusal with ``instead`` in place of the field that ends in ``field``."""
    if not is_refused(answer):
        return answer
    body = deepcopy(answer.body)
    for cause in body["details"]["causes"]:
        if cause["field"].endswith(field):
            cause["field"] = cause["field"].removesuffix(field) + instead
    return replace(answer, body=body)


def with_another_reason(answer: Answer, reason: str, instead: str) -> Answer:
    """Return the refusal with the reason ``instead`` in place of another."""
    if not is_refused(answer):
        return answer
    causes = [{**one, "reason": one["reason"].replace(reason, instead)} for one in answer.body["details"]["causes"]]
    return replace(answer, body={**answer.body, "details": {**answer.body["details"], "causes": causes}})


def stored_all_the_same(answer: Answer, memory: Memory, is_stored: Callable[[Object], bool] = bool) -> Answer:
    """Show what was refused, if it ``is_stored``, when it is read afterwards; a change is shown in the whole object."""
    if is_refused(answer) and is_stored(answer.sent):
        memory.facts["stored"] = answer.sent
    if answer.method == "GET" and answer.name and "stored" in memory.facts:
        stored = memory.facts.pop("stored")
        real = answer.body if answer.status == 200 else {"metadata": {}}
        body = {**real, **stored, "metadata": real["metadata"], "spec": {**real.get("spec", {}), **stored["spec"]}}
        return replace(answer, status=200, body=body)
    return answer


def has_value(answer: Answer, field: str, value: str) -> bool:
    """Tell whether an entry that was sent has this value in the field."""
    return any(entry.get(field) == value for entry in entries_of(answer.sent))
