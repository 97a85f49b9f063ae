# SPDX-License-Identifier: Apache-2.0
"""The timeline: every version once and in order, and no answer where a watch has lost events."""

import queue
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from urllib3.exceptions import ProtocolError

from fixtures import timeline as timelines
from fixtures.api import ApiError, Object, Unreachable
from fixtures.errors import Undetermined
from fixtures.objects import PodGroup
from fixtures.timeline import HISTORIES, History, Timeline, Version
from fixtures.waiting import PACE

CLAIM, POD = "ResourceClaim", "Pod"
BROKEN = ProtocolError("Connection broken")
EXPIRED = ApiError("WATCH", "/claims", 410, {"reason": "Expired", "message": "too old resource version"})


class Connection:
    """One watch connection: gives out what was scripted, then ends, breaks, or waits until it is interrupted."""

    def __init__(self, script: list[Any]) -> None:
        self._script = script
        self._ended = threading.Event()
        self.is_closed = False

    def __iter__(self) -> Iterator[Object]:
        for event in self._script:
            if isinstance(event, Exception):
                raise event
            yield event
        self._ended.wait()

    def interrupt(self) -> None:
        if self._ended.is_set():
            raise RuntimeError("Cannot shutdown as connection has already been released to the pool")
        self._ended.set()

    def close(self) -> None:
        self.is_closed = True


class SmallApi:
    """Lists what it is given, and opens the watches of a kind one after the other as they were scripted."""

    def __init__(self) -> None:
        self.listed: dict[str, list[Object]] = {}
        self.scripts: dict[str, list[Any]] = {}
        self.opened: dict[str, queue.Queue[str]] = {kind: queue.Queue() for kind in timelines.KINDS}

    def list(self, kind: str, _namespace: str) -> list[Object]:
        return self.listed.get(kind, [])

    def collection(self, kind: str, _namespace: str) -> Object:
        return {"metadata": {"resourceVersion": "1"}, "items": self.listed.get(kind, [])}

    def watch(self, kind: str, _namespace: str, resource_version: str) -> Connection:
        self.opened[kind].put(resource_version)
        scripts = self.scripts.get(kind, [])
        script = scripts.pop(0) if scripts else []
        if isinstance(script, Exception):
            raise script
        return Connection(script)


def body(number: int, kind: str = CLAIM, name: str = "one", **status: Any) -> Object:
    return {"kind": kind, "metadata": {"name": name, "uid": name, "resourceVersion": str(number)}, "status": status}


def event(number: int, verb: str = "MODIFIED", kind: str = CLAIM, name: str = "one") -> Object:
    return {"type": verb, "object": body(number, kind, name)}


def numbers(history: History) -> list[tuple[str, str]]:
    """Return what was seen of an object: event and resourceVersion."""
    return [(version.event, version.body["metadata"]["resourceVersion"]) for version in history]


@pytest.fixture
def api() -> SmallApi:
    return SmallApi()


@pytest.fixture
def timeline(api, monkeypatch) -> Iterator[Timeline]:
    """A timeline that has not begun, and that resumes a broken watch at once."""
    monkeypatch.setattr(timelines, "RESUME_SECONDS", 0.001)
    timeline = Timeline(api, "one")
    yield timeline
    timeline.stop()


@pytest.fixture
def impatient(monkeypatch) -> None:
    """A watch that does not catch up is not waited for."""
    monkeypatch.setattr(PACE, "time_scale", 0.002)


def test_every_version_is_kept_in_order(api, timeline):
    """What the first list shows comes first, then each event as it was sent; other objects are another history."""
    api.listed[CLAIM] = [body(1)]
    api.scripts[CLAIM] = [[event(2), event(3, "ADDED", name="two"), event(4), event(5, "DELETED")]]

    timeline.start()
    api.listed[CLAIM] = [body(3, name="two")]

    assert numbers(timeline.of("ResourceClaim one", uid="one")) == [
        ("ADDED", "1"), ("MODIFIED", "2"), ("MODIFIED", "4"), ("DELETED", "5"),
    ]  # fmt: skip
    assert [version.is_deletion for version in timeline.versions(CLAIM)] == [False, False, False, False, True]


def test_an_object_is_found_by_its_uid(api, timeline):
    """A handle says itself which uid it has; its words are the subject of what is said about its history."""
    api.listed["PodGroup"] = [body(1, "PodGroup", "group")]
    timeline.start()

    history = timeline.of(PodGroup(api, "PodGroup", "one", "group", "group"))

    assert history.subject == "PodGroup group"
    assert numbers(history) == [("ADDED", "1")]


@pytest.mark.parametrize(
    "trouble",
    [BROKEN, Unreachable("no answer"), ValueError("half a line"), ApiError("WATCH", "", 503, {})],
    ids=["broken", "unreachable", "half a line", "busy"],
)
def test_a_broken_watch_is_resumed_where_it_stopped(api, timeline, trouble):
    """Neither a gap nor a duplicate: the next watch begins at the last event or bookmark."""
    bookmark = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "5"}}}
    api.scripts[CLAIM] = [[event(2), trouble], [event(4), bookmark, trouble], trouble, [event(6)]]

    timeline.start()
    api.listed[CLAIM] = [body(6)]

    assert numbers(timeline.of("one", uid="one")) == [("MODIFIED", "2"), ("MODIFIED", "4"), ("MODIFIED", "6")]
    assert [api.opened[CLAIM].get_nowait() for _ in range(4)] == ["1", "2", "5", "5"]
    assert timeline.gaps == ()


def test_a_watch_that_ends_is_opened_again(api, timeline):
    """The API server ends a watch after a while; the closed connection does no harm at the end."""

    class Ended(Connection):
        def __iter__(self) -> Iterator[Object]:
            yield event(2)
            self.interrupt()

    connections: list[Connection] = [Ended([]), Connection([event(3)])]
    claims = api.watch
    api.watch = lambda kind, *where: connections.pop(0) if kind == CLAIM else claims(kind, *where)

    timeline.start()
    api.listed[CLAIM] = [body(3)]

    assert numbers(timeline.of("one", uid="one")) == [("MODIFIED", "2"), ("MODIFIED", "3")]


def test_every_watch_is_closed_in_the_end(api, timeline):
    """Also one that was opened when the timeline was already being stopped: no socket is left to the collector."""
    opened: list[Connection] = []
    watch = api.watch

    def late(*where: str) -> Connection:
        timeline._stopping.set()
        opened.append(watch(*where))
        return opened[-1]

    api.watch = late
    timeline.start()
    timeline.stop()

    assert [connection.is_closed for connection in opened] == [True] * len(opened)
    assert opened


@pytest.mark.parametrize("script", [EXPIRED, [{"type": "ERROR", "object": {"code": 410, "reason": "Expired"}}]])
def test_lost_events_leave_history_open(api, timeline, script):
    """If the API server no longer has the version to watch from, a question about history is undetermined."""
    api.scripts[CLAIM] = [[event(2), BROKEN], script]

    timeline.start()
    api.opened[CLAIM].get(timeout=5)
    api.opened[CLAIM].get(timeout=5)
    assert api.opened[CLAIM].get(timeout=5) == "1"  # of the new list

    [gap] = timeline.gaps
    assert gap.startswith("ResourceClaim: WATCH")
    assert "410 Expired" in gap
    with pytest.raises(Undetermined, match="A watch lost events, so nothing can be said of history: ResourceClaim"):
        timeline.of("one", uid="one")


def test_lost_events_of_the_kind_event_do_no_harm(api, timeline):
    """Events prove nothing, so their loss leaves nothing open."""
    api.scripts["Event"] = [EXPIRED]
    api.listed[CLAIM] = [body(1)]

    timeline.start()
    for _ in range(2):
        api.opened["Event"].get(timeout=5)

    assert timeline.of("one", uid="one").always(is_gold)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("kind", HISTORIES)
def test_the_past_is_only_told_when_the_watch_has_caught_up(api, timeline, kind):
    """A watch that lags behind a read of the API server leaves the question open."""
    api.listed[kind] = [body(1, kind)]
    timeline.start()
    api.listed[kind] = [body(2, kind)]

    with pytest.raises(Undetermined, match=r"A watch did not catch up with the API server\. Last seen"):
        timeline.of("one", uid="one")


@pytest.mark.usefixtures("impatient")
def test_a_deletion_has_to_be_seen_too(api, timeline):
    """An object that a read no longer shows must be gone in the watch as well."""
    api.listed[POD] = [body(1, POD)]
    timeline.start()
    api.listed[POD] = []

    with pytest.raises(Undetermined, match="A watch did not catch up"):
        timeline.catch_up()


def test_moments_are_seconds_since_the_timeline_began(api, timeline):
    """A version is never older than the timeline, nor younger than now."""
    api.listed[CLAIM] = [body(1)]
    timeline.start()

    [version] = timeline.versions()

    assert 0 <= version.at <= timeline.now < 60


def is_gold(_claim: Object) -> bool:
    return True


def is_allocated(claim: Object) -> bool:
    return "allocation" in claim["status"]


def history(*allocated: bool) -> History:
    """Return the history of a claim that has a version per second, allocated or not."""
    status: list[Object] = [{"allocation": {}} if one else {} for one in allocated]
    return History(
        "ResourceClaim one", [Version(float(at), "MODIFIED", body(at, **one)) for at, one in enumerate(status)]
    )


@pytest.mark.parametrize(
    ("allocated", "never", "always", "keeps"),
    [
        ((), False, False, False),
        ((False,), True, False, False),
        ((True,), False, True, True),
        ((False, True, True), False, False, True),
        ((True, False), False, False, False),
        ((True, False, True), False, False, False),
    ],
    ids=["no version", "not", "so", "became so", "lost it", "lost it for a moment"],
)
def test_what_is_asked_of_a_history(allocated, never, always, keeps):
    """``never``, ``always``, and ``keeps`` (once it was so, it stays so); an empty history proves none of them."""
    told = history(*allocated)

    assert (bool(told.never(is_allocated)), bool(told.always(is_allocated)), bool(told.keeps(is_allocated))) == (
        never,
        always,
        keeps,
    )


def test_a_history_is_cut_by_a_version_of_any_object():
    """Before and after are told by resourceVersion; the version itself is in neither part."""
    told = history(False, True, False)
    middle = told.versions[1]

    assert [one.number for one in told.before(middle)] == [0]
    assert [one.number for one in told.after(middle)] == [2]


def test_a_finding_says_what_was_wanted_and_shows_the_first_version_that_broke_it():
    """The words are for the message of an assertion; pytest itself shows the first line."""
    lost = history(True, False, False).keeps(is_allocated)

    assert str(lost) == (
        "ResourceClaim one: 'is allocated' must not cease to hold, but it was otherwise at 1.00 s:\n"
        "kind: ResourceClaim\nmetadata:\n  name: one\n  uid: one\n  resourceVersion: '1'\nstatus: {}"
    )
    assert repr(lost) == "ResourceClaim one: 'is allocated' must not cease to hold, but it was otherwise at 1.00 s"
    assert repr(history(True).never(is_allocated)) == (
        "ResourceClaim one: 'is allocated' must never hold, but it was otherwise at 0.00 s"
    )


def test_a_finding_about_nothing_says_so():
    """That nothing was seen is not taken for a proof."""
    assert str(history().always(is_allocated)) == (
        "ResourceClaim one: 'is allocated' must always hold, but the watch never showed it"
    )
    assert str(history(False).keeps(is_allocated)) == "ResourceClaim one: 'is allocated' held in none of 1 versions"
    assert str(history(True).always(is_allocated)) == (
        "ResourceClaim one: 'is allocated' must always hold, and so it was in 1 versions"
    )
