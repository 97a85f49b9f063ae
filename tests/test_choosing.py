# SPDX-License-Identifier: Apache-2.0
"""Which lies are told in a session that has no time for all of them."""

from tests.lies.choosing import Pair, enough


def pairs(checks: int, lies: int) -> list[Pair]:
    """Every lie about every parametrisation of one check function."""
    return [Pair("check", f"check[{number}]", f"lie-{other}") for number in range(checks) for other in range(lies)]


def test_each_lie_and_each_parametrisation_is_met():
    """No lie and no parametrisation is left out, and no more pairs are told than the longer side has."""
    for checks, lies in ((1, 1), (2, 5), (4, 2), (3, 3)):
        given = pairs(checks, lies)
        chosen = [given[place] for place in enough(given)]

        assert {pair.lie for pair in chosen} == {f"lie-{number}" for number in range(lies)}
        assert {pair.check for pair in chosen} == {f"check[{number}]" for number in range(checks)}
        assert len(chosen) == max(checks, lies)


def test_a_lie_meets_every_function_it_is_about():
    """What is noticed by one check may pass unnoticed in another."""
    both = [Pair("one", "one[a]", "lie"), Pair("other", "other[a]", "lie")]

    assert enough(both) == [0, 1]


def test_a_lie_with_an_aim_of_its_own_is_told():
    """A lie about one parametrisation alone is told to that one."""
    given = [Pair("one", "one[a]", "wide"), Pair("one", "one[b]", "wide"), Pair("one", "one[b]", "narrow")]

    assert enough(given) == [0, 2]


def test_one_lie_does_where_all_of_them_break_the_same():
    """A slow check is told one lie for each requirement, whichever comes first."""
    assert enough([Pair("one", "one[a]", "WRC-GATE-001")] * 3) == [0]
