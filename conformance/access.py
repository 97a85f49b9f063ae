# SPDX-License-Identifier: Apache-2.0
"""What somebody may do: get one object, or use verbs on resources."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from conformance.refusals import refusal_of
from fixtures.api import Api
from fixtures.clusters.rights import Right, missing
from fixtures.objects import Handle
from fixtures.waiting import Condition, NotYet


@dataclass(frozen=True)
class Reading:
    """A request for one object by ``reader``, who is called ``who``; calling it returns the status of the answer."""

    who: str
    reader: Api
    subject: Handle

    def __call__(self) -> int:
        """Return the HTTP status of the answer: 200, or for example 403."""
        refusal = refusal_of(replace(self.subject, api=self.reader).read)
        return refusal.status if refusal else 200

    def __str__(self) -> str:
        return f"{self.who}, reading {self.subject},"


def is_allowed(status: int) -> bool:
    """The request is answered with the object."""
    return status == 200


def is_forbidden(status: int) -> bool:
    """The request is refused with 403."""
    return status == 403


@dataclass(frozen=True)
class Rights:
    """Those of ``asked`` that a user has, in the words of :attr:`words`."""

    who: str
    user: Api
    asked: Sequence[Right]

    def __call__(self) -> list[str]:
        """Return the rights that the user has now, sorted, each as in ``get podgroups``."""
        lacking = missing(self.user, list(self.asked))
        return words(right for right in self.asked if right not in lacking)

    def __str__(self) -> str:
        return self.who


def words(rights: Iterable[Right]) -> list[str]:
    """Return rights in words, sorted, such as ``get podgroups``."""
    return sorted(f"{right.verb} {right.resource}" for right in rights)


def include(expected: Iterable[Right]) -> Condition:
    """The rights that somebody has include all of these."""
    wanted = set(words(expected))

    def include_the_expected(granted: list[str]) -> bool:
        lacking = sorted(wanted - set(granted))
        if lacking:
            raise NotYet(f"may not {', '.join(lacking)}")
        return True

    return include_the_expected
