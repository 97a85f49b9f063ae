# SPDX-License-Identifier: Apache-2.0
"""The picture of a scenario: what is drawn where, and that it needs nothing from outside."""

import re
from itertools import combinations
from math import nextafter
from xml.etree import ElementTree as ET

import pytest

from verdicts.picture import MOST_LANES, Lane, Mark, draw

SVG = "{http://www.w3.org/2000/svg}"
GROUP = Lane("training", "PodGroup", 0.0, 10.0, (Mark(2.0, "deleting"),))
CLAIM = Lane("training-shared", "ResourceClaim", 1.0, None, (Mark(5.0, "allocated dev-1"),))


def texts(*lanes: Lane) -> dict[str, ET.Element]:
    """Return each text of the picture with its element."""
    return {element.text or "": element for element in ET.fromstring(draw(lanes)).iter(f"{SVG}text")}


def across(element: ET.Element) -> float:
    return float(element.attrib["x"])


def pods(number: int) -> list[Lane]:
    return [Lane(f"worker-{index}", "Pod", 1.0, None) for index in range(number)]


def test_every_object_and_mark_is_named() -> None:
    """Who looks at the picture can read it without the timeline beside it."""
    assert {"training", "PodGroup", "deleting", "training-shared", "ResourceClaim", "allocated dev-1"} <= set(
        texts(GROUP, CLAIM)
    )


def test_the_axis_counts_seconds_in_round_steps() -> None:
    """The last tick is not beyond the end, and there are few enough to be read."""
    ticks = [text for text in texts(GROUP) if re.fullmatch(r"[\d.e-]+ s", text)]

    assert ticks == [f"{second} s" for second in range(11)]


@pytest.mark.parametrize(
    ("end", "first_tick"),
    [
        (0.004, "0.0005 s"),
        (0.9, "0.1 s"),
        (11.0, "2 s"),
        (50.0, "5 s"),
        (3600.0, "500 s"),
        (nextafter(1000, 1001), "100 s"),
    ],
)
def test_the_steps_of_the_axis_fit_its_length(end: float, first_tick: str) -> None:
    """Milliseconds and hours can both be read off."""
    ticks = [text for text in texts(Lane("a", "Pod", 0.0, end)) if re.fullmatch(r"[\d.e-]+ s", text)]

    assert ticks[1] == first_tick
    assert len(ticks) <= 11


def test_a_mark_stands_at_its_time() -> None:
    """A label begins beside its moment on the axis."""
    drawn = texts(GROUP, CLAIM)

    for label, moment in {"deleting": "2 s", "allocated dev-1": "5 s"}.items():
        assert 0 < across(drawn[label]) - across(drawn[moment]) < 10


def test_labels_never_run_into_each_other() -> None:
    """Marks at one moment are told below each other."""
    marks = [Mark(1.0 + 0.01 * number, f"reserved for PodGroup number {number}") for number in range(8)]
    drawn = texts(Lane("claim", "ResourceClaim", 0.0, 10.0, tuple(marks)))
    labels = [drawn[mark.text] for mark in marks]

    for one, other in combinations(labels, 2):
        left, right = sorted((one, other), key=across)
        is_beside = across(left) + 6 * len(left.text or "") <= across(right)
        assert is_beside or abs(float(one.attrib["y"]) - float(other.attrib["y"])) >= 12


def test_of_very_many_marks_the_first_and_the_last_are_labelled() -> None:
    """A claim that a hundred Pods reserve one by one stays a lane among others."""
    marks = tuple(Mark(0.01 * number, f"reserved for Pod {number}") for number in range(100))
    drawn = texts(Lane("claim", "ResourceClaim", 0.0, 1.0, marks))

    assert [number for number in range(100) if f"reserved for Pod {number}" in drawn] == [
        *range(6),
        *range(94, 100),
    ]


def test_the_last_label_stays_inside_the_picture() -> None:
    """What happens at the very end is read as well as anything else."""
    text = "a long sentence about the last thing that ever happened here"
    picture = ET.fromstring(draw([Lane("claim", "ResourceClaim", 0.0, 1.0, (Mark(1.0, text),))]))
    label = next(element for element in picture.iter(f"{SVG}text") if element.text == text)

    assert across(label) + 6 * len(text) < float(picture.attrib["width"])


def test_many_lanes_of_a_kind_fold_into_one_line() -> None:
    """A thousand Pods do not hide the PodGroup and the claim that they share, wherever these stand."""
    drawn = texts(*pods(300), GROUP, CLAIM)

    assert {"training", "training-shared", f"worker-{MOST_LANES - 3}", "+ 272 more Pods"} <= set(drawn)
    assert f"worker-{MOST_LANES - 2}" not in drawn


def test_lanes_that_fit_are_all_drawn() -> None:
    """Nothing is folded without need."""
    assert not any(text.startswith("+") for text in texts(*pods(MOST_LANES)))
    assert "+ 1 more Pod" in texts(*pods(MOST_LANES + 1))


def test_names_and_labels_may_hold_anything() -> None:
    """Markup and control characters from an object neither break the picture nor run in it."""
    hostile = "<script>alert('&')</script>\x00\n\x1b[31m"
    drawn = texts(Lane(hostile, "Pod", 0.0, 1.0, (Mark(0.5, hostile),)))

    assert "<script>alert('&')</script> [31m" in drawn


def test_a_long_name_keeps_both_its_ends() -> None:
    """Generated names differ at the end, others at the beginning."""
    (name,) = (text for text in texts(Lane("training-" + "x" * 50 + "-7k2p9", "Pod", 0.0, 1.0)) if "…" in text)

    assert name.startswith("training-x")
    assert name.endswith("x-7k2p9")


@pytest.mark.parametrize("lanes", [[], [Lane("a", "Pod", 0.0, 0.0)], [GROUP, CLAIM, *pods(100)]])
def test_the_picture_stands_alone(lanes: list[Lane]) -> None:
    """It is an image in any report: no scripts, nothing loaded, and a size of its own."""
    svg = draw(lanes)

    assert re.findall(r"https?://[^\s\"]+|href|url\(|<script|<style", svg) == ["http://www.w3.org/2000/svg"]
    assert float(ET.fromstring(svg).attrib["height"]) > 0
