# SPDX-License-Identifier: Apache-2.0
"""Which pairs of check and lie are enough where there is no time for all of them."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Pair:
    """A lie about one parametrisation of a check.

    ``function`` is the check without its parameters. ``lie`` is what must not be left out: the lie itself, or the
    requirement that it breaks where a check takes so long that one lie about it must do.
    """

    function: str
    check: str
    lie: str


def enough(pairs: Sequence[Pair]) -> list[int]:
    """Return the places of so many pairs that every lie meets every function it is about, and every check a lie.

    Pairs that serve both ends are taken first, so that few are needed: with two parametrisations and five lies, five.
    """
    told: set[tuple[str, str]] = set()
    met: set[str] = set()
    chosen: list[int] = []
    for wanted in (2, 1):
        for place, pair in enumerate(pairs):
            lie = (pair.function, pair.lie)
            if (lie not in told) + (pair.check not in met) >= wanted:
                told.add(lie)
                met.add(pair.check)
                chosen.append(place)
    return sorted(chosen)
