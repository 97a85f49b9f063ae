# SPDX-License-Identifier: Apache-2.0
"""How one lie is told in one scenario, so that GET, LIST, WATCH and the answers to writes agree.

All of them pass each real object through :meth:`Liar.show`. Nothing else is invented: selectors are evaluated
before the lie is told, and a write of an object that only the lie shows fails.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from urllib.parse import parse_qsl, urlencode

from tests.lies.lie import Answer, Lie, Memory, Object, name_of, uid_of

#: Parameters of a watch that a LIST does not have.
_WATCH_ONLY = {"watch", "allowWatchBookmarks", "timeoutSeconds", "resourceVersionMatch"}


class BrokenLie(Exception):  # noqa: N818  reads better where it is raised
    """A lie raised an exception; the fault is in the lie and says nothing about a check."""


class Liar:
    """One lie, with the memory of one scenario."""

    def __init__(self, lie: Lie, truth: Callable[[str], Object]) -> None:
        self._lie = lie
        self._memory = Memory(truth)
        self._lock = threading.Lock()
        self._last: defaultdict[str, dict[str, list[Object]]] = defaultdict(dict)

    def show(self, collection: str, real: Object) -> list[Object]:
        """Return what is shown in place of an object of ``collection``; the lie may change ``real``.

        Raises:
            BrokenLie: the lie raised an exception.
        """
        if not self.lies_about(real):
            return [real]
        uid = uid_of(real)
        with self._telling():
            shown = list(self._lie.show(real, self._memory))
            if self._lie.lingers:
                self._last[collection][uid] = shown
        return shown

    def show_all(self, collection: str, listed: Object) -> dict[str, list[Object]]:
        """Return what is shown in place of a list, by the uid of the real objects.

        Raises:
            BrokenLie: the lie raised an exception.
        """
        kind = {"apiVersion": listed["apiVersion"], "kind": listed["kind"].removesuffix("List")}
        items = listed["items"] or []  # an empty list may be null
        names = {name_of(real) for real in items}
        shown = {uid_of(real): self.show(collection, kind | real) for real in items}
        return self._lingering(collection, names) | shown

    def answer(self, real: Answer) -> Answer:
        """Return what is answered in place of ``real``.

        Raises:
            BrokenLie: the lie raised an exception.
        """
        if real.resource in self._lie.answers:
            with self._telling():
                return self._lie.answer(real, self._memory)
        if not self._lie.shows:
            return real
        if real.status == 404 and real.method == "GET" and real.name and "/" not in real.resource:
            return self._found(real)
        if "items" in real.body:
            return self._list(real)
        return self._object(real)

    def watch(self, path: str, query: str) -> "Watch":
        """Return the state of a watch that begins now; ``query`` is that of the watch.

        What the client was shown before is the LIST at the watch's resourceVersion, with the lie told again.
        Without one the API server begins with an ADDED event for each object; it ends a watch from a version
        that it no longer has.

        Raises:
            BrokenLie: the lie raised an exception.
        """
        parameters = dict(parse_qsl(query))
        if parameters.get("resourceVersion", "0") == "0" or "sendInitialEvents" in parameters:
            return Watch(self, path, {})
        selected = {name: value for name, value in parameters.items() if name not in _WATCH_ONLY}
        try:
            before = self._memory.truth(f"{path}?{urlencode(selected | {'resourceVersionMatch': 'Exact'})}")
        except LookupError:
            return Watch(self, path, {})
        return Watch(self, path, self.show_all(path, before))

    def lies_about(self, real: Object) -> bool:
        """Tell whether the lie is about objects like ``real``."""
        return real.get("kind") in self._lie.shows

    def survives_deletion(self, real: Object) -> bool:
        """Tell whether ``real`` is still shown after its deletion."""
        return self._lie.lingers and self.lies_about(real)

    def _list(self, real: Answer) -> Answer:
        if real.body["kind"].removesuffix("List") not in self._lie.shows:
            return real
        shown = self.show_all(real.collection, real.body).values()
        return replace(real, body={**real.body, "items": [each for objects in shown for each in objects]})

    def _object(self, real: Answer) -> Answer:
        """Show the object that goes by the real one's name; a write tells the truth about a hidden object."""
        name = name_of(real.body)
        for shown in self.show(real.collection, deepcopy(real.body)):
            if name_of(shown) == name:
                return replace(real, body=shown)
        return real.rejected(404, "NotFound", _not_found(real)) if real.method == "GET" else real

    def _found(self, real: Answer) -> Answer:
        """Look for an object that only the lie shows in the collection, as a LIST would show it."""
        try:
            listed = self._memory.truth(real.collection)
        except LookupError:
            return real
        for objects in self.show_all(real.collection, listed).values():
            for shown in objects:
                if name_of(shown) == real.name:
                    return replace(real, status=200, body=shown)
        return real

    def _lingering(self, collection: str, names: set[str]) -> dict[str, list[Object]]:
        """Return the last of each object seen before whose name is not taken by one of ``names``."""
        with self._lock:
            last = self._last[collection].items()
            return {uid: shown for uid, shown in last if names.isdisjoint(map(name_of, shown))}

    @contextmanager
    def _telling(self) -> Iterator[None]:
        with self._lock:
            try:
                yield
            except Exception as fault:
                raise BrokenLie(f"The lie {self._lie.name} broke: {fault!r}. Correct the lie.") from fault


class Watch:
    """One watch connection: what was shown on it so far, by the uid of the real objects."""

    def __init__(self, liar: Liar, collection: str, shown: dict[str, list[Object]]) -> None:
        self._liar = liar
        self._collection = collection
        self._shown = shown

    def events(self, real: Object) -> list[Object]:
        """Return the events to send in place of a real one.

        An object is ADDED when it begins to be shown, MODIFIED while it is shown, and DELETED when it is
        hidden or gone; while it is hidden there are no events. BOOKMARK and ERROR pass unchanged.

        Raises:
            BrokenLie: the lie raised an exception.
        """
        if real["type"] not in {"ADDED", "MODIFIED", "DELETED"}:
            return [real]
        deleted = real["type"] == "DELETED"
        if deleted and self._liar.survives_deletion(real["object"]):
            return []
        return self._changes(real["object"], deleted=deleted)

    def _changes(self, real: Object, *, deleted: bool) -> list[Object]:
        uid, version = uid_of(real), real["metadata"]["resourceVersion"]
        before = {uid_of(shown): shown for shown in self._shown.pop(uid, [])}
        now = {uid_of(shown): shown for shown in self._liar.show(self._collection, real)}
        if deleted:
            return [_event("DELETED", now.get(each, _at(version, before[each]))) for each in before]
        self._shown[uid] = list(now.values())
        seen = [_event("MODIFIED" if each in before else "ADDED", shown) for each, shown in now.items()]
        gone = [_event("DELETED", _at(version, before[each])) for each in before if each not in now]
        return seen + gone


def _event(kind: str, shown: Object) -> Object:
    return {"type": kind, "object": shown}


def _at(version: str, shown: Object) -> Object:
    return {**shown, "metadata": {**shown["metadata"], "resourceVersion": version}}


def _not_found(answer: Answer) -> str:
    return f'{answer.resource} "{answer.name}" not found'
