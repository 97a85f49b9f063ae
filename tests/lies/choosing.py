# SPDX-License-Identifier: Apache-2.0
"""Which pairs of check and lie are enough where there is no time for all of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Pair:
    """A lie about one parametrisation of a check; ``function`` is the check without its parameters."""

    function: str
    check: str
    lie: str


def enough(pairs: Sequence[Pair]) -> Iterator[Pair]:
    """Yield so many pairs that every lie meets every function it is about, and every check meets a lie.

    Pairs that serve both ends come first, so that few are needed: with two parametrisations and five lies, five.
    """
    told: set[tuple[str, str]] = set()
    met: set[str] = set()
    for wanted in (2, 1):
        for pair in pairs:
            lie = (pair.function, pair.lie)
            if (lie not in told) + (pair.check not in met) >= wanted:
                told.add(lie)
                met.add(pair.check)
                yield pair
