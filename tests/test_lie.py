# SPDX-License-Identifier: Apache-2.0
"""What a lie is, and how the lies of a requirement are found."""

from typing import Any

import pytest

from tests.lies.lie import (
    Answer,
    Lie,
    Memory,
    Object,
    Shown,
    by_name,
    by_unique_name,
    false_answer,
    lie,
    lies_for,
    twin,
)

CLAIM: Object = {
    "kind": "ResourceClaim",
    "metadata": {"name": "shared", "uid": "1234"},
    "spec": {"devices": {}},
}
POD_GROUPS = "/apis/scheduling.k8s.io/v1beta1/namespaces/one/podgroups"


@lie("WRC-RES-002", shows="ResourceClaim Pod", says="no claim")
def nothing_is_there(_claim: Object, _memory: Memory) -> Shown:
    return []


def no_truth(path: str) -> Object:
    raise LookupError(path)


def test_a_lie_is_named_after_its_function() -> None:
    """The decorator takes the name from the function, and the kinds and the aim from its arguments."""
    assert nothing_is_there.name == "nothing_is_there"
    assert nothing_is_there.requirement == "WRC-RES-002"
    assert nothing_is_there.says == "no claim"
    assert nothing_is_there.shows == {"ResourceClaim", "Pod"}
    assert list(nothing_is_there.show(CLAIM, Memory(no_truth))) == []


def test_a_false_answer_names_its_resources() -> None:
    """A lie in answers is about resources, and shows every object as it is."""

    @false_answer("WRC-API-002", to="podgroups podgroups/status", says="422")
    def accepted(answer: Answer, _memory: Memory) -> Answer:
        return answer.accepted()

    assert accepted.answers == {"podgroups", "podgroups/status"}
    assert accepted.shows == frozenset()


@pytest.mark.parametrize("aim", [{}, {"says": "two claims", "heals": True}])
def test_a_lie_either_says_or_heals(aim: Any) -> None:
    """A red check must say why, a healed one has nothing to say: anything else is refused."""
    with pytest.raises(ValueError, match="needs one of"):
        Lie("some_lie", "WRC-GEN-001", **aim)


@pytest.mark.parametrize(
    ("aim", "aimed_at"),
    [
        ({}, True),
        ({"check": "test_one"}, True),
        ({"check": "test_on"}, False),
        ({"only": "20"}, True),
        ({"only": "template"}, False),
        ({"check": "test_two", "only": "20"}, False),
    ],
)
def test_a_lie_may_aim_at_one_check_or_some_parametrisations(aim: Any, aimed_at: bool) -> None:
    """``check`` is the name of the function, ``only`` a part of the test ID; empty means all."""
    told = Lie("some_lie", "WRC-RES-002", says="Pod", **aim)

    assert told.aims_at("conformance/test_reservation.py::test_one[20-named::x]") is aimed_at


def test_names_are_unique() -> None:
    """Two lies of one name are refused; the same lie seen twice, for a module imported it, is one."""
    namesake = Lie("nothing_is_there", "WRC-GEN-001", says="claim")

    assert by_unique_name([nothing_is_there, nothing_is_there]) == {"nothing_is_there": nothing_is_there}
    with pytest.raises(ValueError, match="nothing_is_there"):
        by_unique_name([nothing_is_there, namesake])


def test_unknown_lies_and_requirements() -> None:
    """A requirement without lies has none; a lie that does not exist is an error."""
    assert lies_for("WRC-XYZ-999") == ()
    with pytest.raises(KeyError):
        by_name("no_such_lie")


def test_a_twin_is_another_object_and_always_the_same() -> None:
    """GET, LIST and WATCH each make the twin anew, so its name and uid follow from the original."""
    first, second = twin(CLAIM, "second"), twin(CLAIM, "second")

    assert first == second
    assert first["metadata"]["name"] == "shared-second"
    assert first["metadata"]["uid"] not in ("1234", twin(CLAIM, "third")["metadata"]["uid"])
    assert first["spec"] == CLAIM["spec"]
    assert CLAIM["metadata"] == {"name": "shared", "uid": "1234"}


@pytest.mark.parametrize(
    ("path", "collection", "resource", "name"),
    [
        (POD_GROUPS, POD_GROUPS, "podgroups", ""),
        (f"{POD_GROUPS}/a", POD_GROUPS, "podgroups", "a"),
        (f"{POD_GROUPS}/a/status", POD_GROUPS, "podgroups/status", "a"),
        ("/api/v1/pods", "/api/v1/pods", "pods", ""),
        ("/api/v1/namespaces/one", "/api/v1/namespaces", "namespaces", "one"),
        ("/api/v1/namespaces/one/pods/p", "/api/v1/namespaces/one/pods", "pods", "p"),
        ("/apis/resource.k8s.io/v1", "/apis/resource.k8s.io/v1", "", ""),
        ("/version", "/version", "", ""),
    ],
)
def test_an_answer_knows_what_its_path_speaks_of(path: str, collection: str, resource: str, name: str) -> None:
    """Collection, resource with subresource, and name of the object are read from the path."""
    answer = Answer("GET", path, None, 200, {})

    assert (answer.collection, answer.resource, answer.name) == (collection, resource, name)


def test_a_rejected_request_can_look_accepted() -> None:
    """The answer then is what was sent, with a uid as every stored object has one."""
    sent = {"kind": "PodGroup", "metadata": {"name": "a"}, "spec": {}}
    real = Answer("POST", POD_GROUPS, sent, 422, {"kind": "Status"})

    told = real.accepted()

    assert told.status == 201
    assert told.body["metadata"].pop("uid")
    assert told.body == sent


def test_an_accepted_request_can_look_rejected() -> None:
    """The answer then is a Status with the code, the reason and the message of the lie."""
    real = Answer("PUT", f"{POD_GROUPS}/a", {}, 200, {"kind": "PodGroup"})

    told = real.rejected(422, "Invalid", "spec: no")

    assert told.status == told.body["code"] == 422
    assert (told.body["kind"], told.body["reason"], told.body["message"]) == ("Status", "Invalid", "spec: no")
