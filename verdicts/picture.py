# SPDX-License-Identifier: Apache-2.0
"""A picture of what happened in a scenario: one lane per object, from its creation to its deletion."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log10
from xml.etree import ElementTree as ET

#: More lanes than these are folded into one line.
MOST_LANES = 30
MOST_TICKS = 10
#: Of more marks than these in one lane, only the first and the last are labelled.
MOST_LABELS = 12

# Pixels. Right of the lanes there is room for the label of what happened last.
_WIDTH, _LEFT, _RIGHT, _MARGIN = 1200.0, 260.0, 960.0, 16.0
_AXIS, _BAR, _LINE, _GAP = 48.0, 10.0, 15.0, 14.0
#: No font is wider than this on average, so that labels do not touch.
_CHARACTER = 6.6

_LONGEST_NAME, _LONGEST_LABEL = 34, 60
_FONT = "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif"
_INK, _FAINT, _GRID = "#1f2937", "#6b7280", "#e5e7eb"
_COLOURS = {"PodGroup": "#7c3aed", "ResourceClaim": "#2563eb", "Pod": "#059669"}


@dataclass(frozen=True)
class Mark:
    """Something that happened to an object; ``at`` is in seconds since the beginning of the scenario."""

    at: float
    text: str


@dataclass(frozen=True)
class Lane:
    """The life of one object, in seconds since the beginning; ``end`` is None if it lived on."""

    name: str
    kind: str
    start: float
    end: float | None
    marks: tuple[Mark, ...] = ()


def draw(lanes: Sequence[Lane]) -> str:
    """Return ``lanes`` as an SVG picture that needs nothing from anywhere else."""
    shown = _shown(lanes)
    picture = _Picture(_seconds(lanes))
    for lane in shown:
        picture.add_lane(lane)
    picture.add_line(_folded(lanes, shown))
    return picture.as_svg()


def _shown(lanes: Sequence[Lane]) -> list[Lane]:
    """Choose what is drawn, in the order given: a rare kind is never crowded out by a frequent one."""
    frequency = Counter(lane.kind for lane in lanes)
    rarest_first = sorted(range(len(lanes)), key=lambda index: frequency[lanes[index].kind])
    return [lanes[index] for index in sorted(rarest_first[:MOST_LANES])]


def _folded(lanes: Sequence[Lane], shown: Sequence[Lane]) -> str:
    missing = Counter(lane.kind for lane in lanes) - Counter(lane.kind for lane in shown)
    kinds = [f"{number} more {kind}{'s' if number > 1 else ''}" for kind, number in missing.items()]
    return f"+ {', '.join(kinds)}" if kinds else ""


def _seconds(lanes: Sequence[Lane]) -> float:
    ends = [lane.end or lane.start for lane in lanes]
    return max([*ends, *(mark.at for lane in lanes for mark in lane.marks)], default=0.0) or 1.0


def _tick_seconds(seconds: float) -> float:
    """Return the distance of two ticks: the smallest of 1, 2, 5, 10, ... that does not crowd the axis."""
    magnitude = 10.0 ** (ceil(log10(seconds / MOST_TICKS)) - 1)
    fitting = (step * magnitude for step in (1, 2, 5) if seconds <= step * magnitude * MOST_TICKS)
    return next(fitting, 10 * magnitude)


def _shortened(text: str, longest: int) -> str:
    """Return ``text`` in one printable line; names differ at both ends, so the middle goes."""
    line = "".join(character for character in " ".join(text.split()) if character.isprintable())
    half = longest // 2
    return line if len(line) <= longest else f"{line[:half]}…{line[half + 1 - longest :]}"


def _label(mark: Mark) -> str:
    return _shortened(mark.text, _LONGEST_LABEL)


def _labelled(marks: Sequence[Mark]) -> Sequence[Mark]:
    half = MOST_LABELS // 2
    return marks if len(marks) <= MOST_LABELS else [*marks[:half], *marks[-half:]]


def _place(x: float, mark: Mark, taken_from: list[float]) -> tuple[float, int]:
    """Return the left end of a label and the first line that has room for it, and take it there."""
    width = len(_label(mark)) * _CHARACTER + _BAR
    left = min(x, _WIDTH - _MARGIN - width)
    line = next((line for line, taken in enumerate(taken_from) if left + width <= taken), len(taken_from))
    taken_from[line : line + 1] = [left]
    return left, line


class _Picture:
    """Grows downwards, lane by lane."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._bottom = _AXIS
        self._svg = ET.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "font-family": _FONT})
        self._svg.set("font-size", "12")
        self._add("rect", width="100%", height="100%", fill="#ffffff")
        # What is drawn first lies below; how far the grid reaches is known last.
        self._grid = self._add("g")

    def add_lane(self, lane: Lane) -> None:
        """Draw the name of an object, the bar of its life, and below the bar what happened to it."""
        top, colour = self._bottom, _COLOURS.get(lane.kind, _FAINT)
        self._add("path", d=f"M{_MARGIN} {top - _GAP / 2}H{_WIDTH - _MARGIN}", stroke=_GRID)
        self._text(_MARGIN, top + _BAR, _shortened(lane.name, _LONGEST_NAME), lane.name)
        self._text(_MARGIN, top + _BAR + _LINE, lane.kind, fill=colour)
        self._bar(lane, colour)
        lines = self._marks(lane.marks, colour)
        self._bottom += _BAR + max(lines, 1) * _LINE + _GAP

    def add_line(self, text: str) -> None:
        """Write ``text`` below the lanes; nothing if it is empty."""
        if text:
            self._text(_MARGIN, self._bottom + _BAR, text, fill=_FAINT)
            self._bottom += _LINE + _GAP

    def as_svg(self) -> str:
        """Return the picture with its axis."""
        self._axis()
        height = self._bottom + _MARGIN
        self._svg.attrib |= {
            "width": f"{_WIDTH:g}",
            "height": f"{height:g}",
            "viewBox": f"0 0 {_WIDTH:g} {height:g}",
        }
        return ET.tostring(self._svg, encoding="unicode")

    def _x(self, seconds: float) -> float:
        return round(_LEFT + (_RIGHT - _LEFT) * seconds / self._seconds, 1)

    def _bar(self, lane: Lane, colour: str) -> None:
        start, end = self._x(lane.start), self._x(self._seconds if lane.end is None else lane.end)
        top, middle, bottom = self._bottom, self._bottom + _BAR / 2, self._bottom + _BAR
        # Cut straight where the object was deleted, an arrow where it lived on.
        tip = end if lane.end is not None else end + _BAR
        outline = f"M{start} {top}H{end}L{tip} {middle}L{end} {bottom}H{start}z"
        self._add("path", d=outline, fill=colour, stroke=colour, **{"fill-opacity": "0.25"})

    def _marks(self, marks: Sequence[Mark], colour: str) -> int:
        """Draw ``marks`` and return the number of lines their labels take.

        From the last to the first: an earlier label that would run into a later one goes below it, and the
        thread from its mark crosses no label.
        """
        taken_from: list[float] = []
        ordered = sorted(marks, key=lambda mark: mark.at)
        labelled = _labelled(ordered)
        for mark in reversed(ordered):
            x, middle = self._x(mark.at), self._bottom + _BAR / 2
            self._add("circle", cx=f"{x}", cy=f"{middle}", r="3.5", fill=colour)
            if mark in labelled:
                left, line = _place(x, mark, taken_from)
                y = self._bottom + _BAR + (line + 1) * _LINE
                self._add("path", d=f"M{x} {middle}V{y - 1}", stroke=colour)
                self._text(left + 4, y - 2, _label(mark), f"{mark.at:.2f} s: {mark.text}")
        return len(taken_from)

    def _axis(self) -> None:
        step = _tick_seconds(self._seconds)
        for number in range(int(self._seconds / step) + 1):
            x = self._x(number * step)
            line = {"d": f"M{x} {_AXIS - _GAP}V{self._bottom - _GAP / 2}", "stroke": _GRID}
            ET.SubElement(self._grid, "path", line)
            self._text(x, _AXIS - _GAP - 6, f"{number * step:g} s", fill=_FAINT, **{"text-anchor": "middle"})

    def _text(self, x: float, y: float, text: str, full: str = "", **style: str) -> None:
        element = self._add("text", **({"x": f"{x:g}", "y": f"{y:g}", "fill": _INK} | style))
        element.text = text
        if full:
            ET.SubElement(element, "title").text = _shortened(full, len(full))

    def _add(self, tag: str, **attributes: str) -> ET.Element:
        return ET.SubElement(self._svg, tag, attributes)
