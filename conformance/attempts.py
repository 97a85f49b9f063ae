# SPDX-License-Identifier: Apache-2.0
"""Several attempts at one thing, so that a race is seen and its rate is told."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fixtures.waiting import NotYet


@dataclass(frozen=True)
class Attempts:
    """Several attempts at one thing; a complaint says what is wrong with one of them now, if anything is."""

    what: str
    complaints: Sequence[Callable[[], str]]

    def __call__(self) -> list[str]:
        """Return one complaint for each attempt that did not succeed so far."""
        return [words for complaint in self.complaints if (words := complaint())]

    def __str__(self) -> str:
        return f"{len(self.complaints)} attempts {self.what}"

    def succeed(self, wrong: list[str]) -> bool:
        """All of them succeeded."""
        if wrong:
            raise NotYet(f"{len(wrong)} of {len(self.complaints)} did not: {'; '.join(wrong[:6])}")
        return True
