# SPDX-License-Identifier: Apache-2.0
"""Waiting: what is returned, who is blamed for a time-out, and what the message says."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from fixtures.api import ApiError, Unreachable
from fixtures.clusters.cluster import SCHEDULER
from fixtures.errors import Undetermined
from fixtures.waiting import PACE, Limit, NeverAgain, NotYet, Waited, canary, eventually, in_yaml, poll, quiet_period

SHORT = Limit(0.1, SCHEDULER, "kube-scheduler binds a Pod")
PATIENT = Limit(30, SCHEDULER, "kube-scheduler binds a Pod")
POD = {"kind": "Pod", "metadata": {"name": "one", "resourceVersion": "7"}}


class Seen:
    """Shows the states one after the other, then the last one again and again; an exception is raised."""

    def __init__(self, *states: Any) -> None:
        self.looks = 0
        self._states: Iterator[Any] = iter(states)
        self._last: Any = None

    def __call__(self) -> Any:
        self.looks += 1
        self._last = next(self._states, self._last)
        if isinstance(self._last, BaseException):
            raise self._last
        return self._last

    def __str__(self) -> str:
        return "Pod one"


def is_ready(state: Any) -> bool:
    return bool(state == "ready")


def is_bound(_state: Any) -> bool:
    raise NeverAgain("the object does not exist")


def has_three_friends(state: Any) -> bool:
    raise NotYet(f"{state} of 3 are here")


def refused(status: int = 503) -> ApiError:
    return ApiError("GET", "/pods", status, {"reason": "Busy", "message": "come again"})


def message_of(observe: Seen, until: Any = is_ready) -> str:
    """Return the message of a wait that the cluster is blamed for."""
    with pytest.raises(AssertionError) as blamed:
        eventually(observe, until, SHORT)
    return str(blamed.value)


def test_the_state_that_satisfies_is_returned():
    """A wait ends with the first state for which the condition holds."""
    assert eventually(Seen("new", "nearly", "ready", "late"), is_ready, PATIENT) == "ready"


def test_a_time_out_says_what_was_wanted_how_long_and_what_was_seen_last():
    """The first line is the cause; the last state follows, with the number of looks."""
    observe = Seen("new", POD)

    first, second, *rest = message_of(observe).splitlines()

    assert first == "Pod one is ready: not so after 0.1 s. This is the limit for 'kube-scheduler binds a Pod'."
    assert second.startswith("Last seen after 0.")
    assert second.endswith(f"({observe.looks} looks):")
    assert rest == ["kind: Pod", "metadata:", "  name: one", "  resourceVersion: '7'"]


def test_a_condition_may_say_what_is_missing():
    """The words of NotYet stand in the first line."""
    assert message_of(Seen(2), has_three_friends).startswith(
        "Pod one has three friends: not so after 0.1 s: 2 of 3 are here. "
    )


def test_the_cluster_is_blamed_only_after_a_canary_got_through():
    """The canary goes through the component of the limit, with the same seconds, and the message says so."""
    asked: list[tuple[str, float]] = []

    with canary(lambda component, seconds: asked.append((component, seconds))):
        message = message_of(Seen("new"))

    assert asked == [(SCHEDULER, SHORT.seconds)]
    assert "; a canary got through kube-scheduler after that.\n" in message


def test_a_message_speaks_of_no_canary_where_none_was_sent():
    """The canary is set for one check only."""
    with canary(lambda _component, _seconds: None):
        pass

    assert "canary" not in message_of(Seen("new"))


def test_a_canary_that_does_not_get_through_leaves_the_cluster_unblamed():
    """If the component serves nobody, the verdict is undetermined."""

    def fail(component: str, seconds: float) -> None:
        raise Undetermined(f"{component} did nothing within {seconds} s")

    with canary(fail), pytest.raises(Undetermined, match=r"kube-scheduler did nothing within 0\.1 s"):
        eventually(Seen("new"), is_ready, SHORT)


@pytest.mark.parametrize("error", [refused(), Unreachable("no answer")], ids=["error", "silence"])
def test_an_api_server_without_an_answer_leaves_the_cluster_unblamed(error):
    """An error at the last look is undetermined, and no canary is sent."""
    with canary(lambda _component, _seconds: pytest.fail("a canary")), pytest.raises(Undetermined) as told:
        eventually(Seen("new", error), is_ready, SHORT)

    assert "no usable answer while waiting until Pod one is ready" in str(told.value)
    assert str(error) in str(told.value)


def test_an_error_in_between_does_no_harm():
    """A wait goes on after an error of the API server, and says nothing of it later."""
    assert eventually(Seen(refused(), Unreachable("no answer"), "ready"), is_ready, PATIENT) == "ready"
    assert "not so after" in message_of(Seen(refused(), "new"))


def test_what_can_no_longer_come_true_is_not_waited_for():
    """NeverAgain ends the wait at the first look, without a canary, with its reason and the state."""
    observe = Seen(None)

    with canary(lambda _component, _seconds: pytest.fail("a canary")):
        message = message_of(observe, is_bound)

    assert message == (
        "Pod one is bound: this can no longer come true, for the object does not exist.\n"
        "Last seen after 0.0 s (1 looks):\nnothing"
    )
    assert observe.looks == 1


@pytest.mark.parametrize("until", [is_ready, is_bound, has_three_friends])
def test_a_poll_lets_its_caller_choose_the_exception(until):
    """``on_time_out`` makes the exception of every wait that was in vain; it is no AssertionError by itself."""

    class InVain(Exception):  # noqa: N818  reads better where it is raised
        def __init__(self, waited: Waited) -> None:
            super().__init__(waited.state, waited.error)

    with pytest.raises(InVain) as told:
        poll(Seen("new"), until, SHORT, on_time_out=InVain)

    assert told.value.args == ("new", None)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), Undetermined("it does not exist any more")])
def test_other_exceptions_pass_at_once(error):
    """Whoever interrupts is not asked to wait, and who cannot judge is not asked again."""
    observe = Seen(error)

    with pytest.raises(type(error)):
        eventually(observe, is_ready, SHORT)

    assert observe.looks == 1


def test_limits_are_scaled(monkeypatch):
    """``--wrc-time-scale`` multiplies the limit: for the wait, the canary and the message."""
    monkeypatch.setattr(PACE, "time_scale", 0.5)
    asked: list[float] = []

    with canary(lambda _component, seconds: asked.append(seconds)):
        message = message_of(Seen("new"))

    assert asked == [0.05]
    assert "not so after 0.05 s" in message


def test_only_changes_are_logged(caplog):
    """The same state seen twice is one line."""
    caplog.set_level(logging.INFO, "wrc.waiting")

    eventually(Seen("new", "new", POD, POD, [POD, POD], "ready"), is_ready, PATIENT)

    assert [record.getMessage().partition("s  ")[2] for record in caplog.records] == [
        "Pod one: new", "Pod one: Pod at resourceVersion 7", "Pod one: 2 objects", "Pod one: ready",
    ]  # fmt: skip


def test_a_long_list_is_cut_and_managed_fields_are_left_out():
    """A message shows three objects, without what nobody looks for."""
    pod = {"metadata": {"name": "one", "managedFields": [{"manager": "kubectl"}]}}

    assert in_yaml([pod] * 5) == "- metadata:\n    name: one\n" * 3 + "... and 2 more"


def test_the_quiet_period_is_that_of_the_run(monkeypatch):
    """A soak run is patient, a session of lies is not."""
    waited: list[float] = []
    monkeypatch.setattr(PACE, "quiet_seconds", 15.0)
    monkeypatch.setattr("fixtures.waiting.threading.Event.wait", lambda _event, seconds: waited.append(seconds))

    quiet_period()

    assert waited == [15.0]
