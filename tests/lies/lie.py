# SPDX-License-Identifier: Apache-2.0
"""What a lie is: a small named function that changes what the API shows, so that a check must turn red.

A lie about objects yields what is shown in place of one object: the object itself, changed or not; nothing,
to hide it; or more than one object. GET, LIST and WATCH then agree by themselves::

    @lie("WRC-GEN-001", shows="ResourceClaim", says="two claims")
    def second_claim_is_generated(claim: Object, _memory: Memory) -> Shown:
        yield claim
        yield twin(claim, "second")

A lie about answers returns what is answered in place of one answer::

    @false_answer("WRC-API-002", to="podgroups", says="422")
    def entry_without_a_source_looks_accepted(answer: Answer, _memory: Memory) -> Answer:
        return answer.accepted() if answer.status == 422 else answer

A lie that shows something new, or hides something, must hang on an event that really happens: otherwise LIST shows
it and no watch ever does, and the check comes out as undetermined.

A lie about metrics returns what is shown in place of those of a component::

    @false_metrics("WRC-OBS-002", says="but it counted")
    def nothing_is_counted(metrics: Metrics, _facts: dict[str, Any]) -> Metrics:
        return Metrics(())

A lie about a start returns the feature gates that a component of a check's own control plane is really started with::

    @false_start("WRC-GATE-003", says="must refuse to start")
    def component_starts_all_the_same(component: str, gates: Gates) -> Gates:
        return {**gates, "GenericWorkload": True}

A fault of the driver on a real Node, or of the kubelet as the driver's log shows it, is a lie too::

    @fault("WRC-KUB-001", says="sees the devices []")
    def prepared_device_is_forgotten() -> Faults:
        return Faults(forgets=True)

The name of the function is the name of the lie. Each module of this folder holds the lies of one area.
"""

import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, TypedDict, Unpack

from fixtures.clusters.local import Gates
from fixtures.devices.reference.faults import NO_FAULTS, Faults
from fixtures.metrics import Metrics

Object = dict[str, Any]
Shown = Iterable[Object]

_PATH = re.compile(
    r"(?P<collection>/(?:api|apis/[^/]+)/[^/]+(?:/namespaces/[^/]+)?/(?P<resource>[^/]+))"
    r"(?:/(?P<name>[^/]+)(?P<subresource>/.+)?)?"
)


@dataclass(frozen=True)
class Memory:
    """What a lie knows besides the object before it; each scenario has its own.

    ``truth(path)`` reads from the API server itself, such as ``/api/v1/namespaces/default/pods``, and raises
    LookupError when the answer is not a success. ``facts`` is kept between requests, such as the first
    allocation that was seen; only one thread of a scenario is inside the lie at a time.
    """

    truth: Callable[[str], Object]
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """The answer to one request that is not a watch.

    ``path`` is that of the API server, without a query; ``sent`` is the body of the request, None if there
    was none or it is not JSON; ``body`` is the object, list or Status that is answered.
    """

    method: str
    path: str
    sent: Any
    status: int
    body: Object

    @cached_property
    def collection(self) -> str:
        """The path of the collection that the request speaks of, or the path itself if it speaks of none."""
        return self._part("collection") or self.path

    @cached_property
    def resource(self) -> str:
        """The resource that the request speaks of, such as ``pods`` or ``podgroups/status``."""
        return self._part("resource") + self._part("subresource")

    @cached_property
    def name(self) -> str:
        """The name of the object in the path; empty for a collection."""
        return self._part("name")

    def accepted(self) -> "Answer":
        """Return the answer of an API server that stored what was sent."""
        metadata = {"uid": str(uuid.uuid4()), **self.sent.get("metadata", {})}
        status = 201 if self.method == "POST" else 200
        return replace(self, status=status, body={**self.sent, "metadata": metadata})

    def rejected(self, code: int, reason: str, message: str) -> "Answer":
        """Return the answer of an API server that refused, such as 422, ``Invalid`` and why."""
        return replace(self, status=code, body=failure(code, reason, message))

    def _part(self, group: str) -> str:
        match = _PATH.fullmatch(self.path)
        return (match and match[group]) or ""


def failure(code: int, reason: str, message: str) -> Object:
    """Return the Status object of a request that failed."""
    status = {"status": "Failure", "message": message, "reason": reason, "code": code}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, **status}


def name_of(shown: Object) -> str:
    """Return the name of an object; empty for one without a name, such as a list of API resources."""
    return str(shown.get("metadata", {}).get("name", ""))


def uid_of(shown: Object) -> str:
    """Return the uid of an object; empty for one without a uid."""
    return str(shown.get("metadata", {}).get("uid", ""))


def twin(original: Object, word: str) -> Object:
    """Return a copy of ``original`` whose name ends in ``-word``, with a uid of its own, always the same."""
    uid = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{uid_of(original)} {word}"))
    copy = deepcopy(original)
    copy["metadata"] |= {"name": f"{name_of(original)}-{word}", "uid": uid}
    return copy


def _truth_shown(real: Object, _memory: Memory) -> Shown:
    return [real]


def _truth_answered(real: Answer, _memory: Memory) -> Answer:
    return real


def _truth_counted(real: Metrics, _facts: dict[str, Any]) -> Metrics:
    return real


def _truly_started(_component: str, wanted: Gates) -> Gates:
    return wanted


class Aim(TypedDict, total=False):
    """What a lie is to prove; see :class:`Lie`."""

    says: str
    check: str
    only: str
    heals: bool


@dataclass(frozen=True)
class Lie:
    """A lie, and the check that must notice it.

    Attributes:
        name: the name of the function, unique among all lies.
        requirement: the ID of the requirement that the lie breaks.
        says: text that the message of the failing check must contain.
        check: name of the one check function it aims at; empty for all checks of the requirement.
        only: text in the test ID of the parametrisations it aims at; empty for all.
        heals: a check that is red anyway must turn green; ``says`` is empty then.
        shows: the kinds that ``show`` lies about.
        show: yields what is shown in place of one object of these kinds, which it may change.
        lingers: whether objects of these kinds are still shown, as last seen, after their deletion.
        answers: the resources, such as ``podgroups/status``, that ``answer`` lies about.
        answer: returns what is answered in place of an answer about these resources.
        count: returns the metrics that are shown in place of those of a component.
        start_as: returns the feature gates that a component is started with in place of those that the check wants.
        faults: what is wrong with the driver on a real Node, or with what its log shows of the kubelet.

    Raises:
        ValueError: it neither says what the check must say nor heals, or claims both.
    """

    name: str
    requirement: str
    says: str = ""
    check: str = ""
    only: str = ""
    heals: bool = False
    shows: frozenset[str] = frozenset()
    show: Callable[[Object, Memory], Shown] = _truth_shown
    lingers: bool = False
    answers: frozenset[str] = frozenset()
    answer: Callable[[Answer, Memory], Answer] = _truth_answered
    count: Callable[[Metrics, dict[str, Any]], Metrics] = _truth_counted
    start_as: Callable[[str, Gates], Gates] = _truly_started
    faults: Faults = NO_FAULTS

    def __post_init__(self) -> None:
        if bool(self.says) == self.heals:
            raise ValueError(f"The lie {self.name} needs one of says=… (red) and heals=True (green).")

    def aims_at(self, test_id: str) -> bool:
        """Tell whether the lie concerns a test of its requirement, given as pytest's node ID."""
        function = test_id.partition("[")[0].rpartition("::")[2]
        return self.check in ("", function) and self.only in test_id


def lie(
    requirement: str, *, shows: str, lingers: bool = False, **aim: Unpack[Aim]
) -> Callable[[Callable[[Object, Memory], Shown]], Lie]:
    """Make a function a lie about objects of the kinds in ``shows``, separated by spaces."""
    kinds = frozenset(shows.split())
    return lambda show: Lie(show.__name__, requirement, shows=kinds, show=show, lingers=lingers, **aim)


def false_answer(
    requirement: str, *, to: str, **aim: Unpack[Aim]
) -> Callable[[Callable[[Answer, Memory], Answer]], Lie]:
    """Make a function a lie about answers to the resources in ``to``, separated by spaces."""
    resources = frozenset(to.split())
    return lambda answer: Lie(answer.__name__, requirement, answers=resources, answer=answer, **aim)


def false_metrics(
    requirement: str, **aim: Unpack[Aim]
) -> Callable[[Callable[[Metrics, dict[str, Any]], Metrics]], Lie]:
    """Make a function a lie about the metrics of a component; it may keep facts from one look to the next."""
    return lambda count: Lie(count.__name__, requirement, count=count, **aim)


def false_start(requirement: str, **aim: Unpack[Aim]) -> Callable[[Callable[[str, Gates], Gates]], Lie]:
    """Make a function a lie about the feature gates that a component, given by its name, is started with."""
    return lambda start_as: Lie(start_as.__name__, requirement, start_as=start_as, **aim)


def fault(requirement: str, **aim: Unpack[Aim]) -> Callable[[Callable[[], Faults]], Lie]:
    """Make a function the lie that a driver has the faults it returns, or that its kubelet has called it so."""
    return lambda faults: Lie(faults.__name__, requirement, faults=faults(), **aim)


def by_unique_name(lies: Iterable[Lie]) -> dict[str, Lie]:
    """Return ``lies`` by their names.

    Raises:
        ValueError: two lies have the same name.
    """
    named: dict[str, Lie] = {}
    for one in lies:
        if named.setdefault(one.name, one) is not one:
            raise ValueError(f"Two lies are named {one.name}; rename one of them.")
    return named


@cache
def all_lies() -> Mapping[str, Lie]:
    """Return the lies of all modules in this folder by name.

    Raises:
        ValueError: two lies have the same name.
    """
    names = [module.name for module in iter_modules([str(Path(__file__).parent)])]
    modules = [import_module(f"{__package__}.{name}") for name in names]
    return by_unique_name(each for module in modules for each in vars(module).values() if isinstance(each, Lie))


def lies_for(requirement_id: str) -> tuple[Lie, ...]:
    """Return the lies that break ``requirement_id``, such as ``WRC-RES-002``."""
    return tuple(each for each in all_lies().values() if each.requirement == requirement_id)


def by_name(name: str) -> Lie:
    """Return the lie of that name.

    Raises:
        KeyError: there is none.
    """
    return all_lies()[name]
