# SPDX-License-Identifier: Apache-2.0
"""What a person at a terminal, or a reader of a log, sees of a run."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from verdicts.judge import Judgement, Overall, RequirementVerdict, Whole
from verdicts.outcomes import Verdict

#: Columns of a log, where no terminal says how wide it is.
LOG_WIDTH = 120

#: Characters of a cause that are told.
LONGEST_CAUSE = 300

#: In the order in which they are told.
_STYLES = {
    Verdict.CONFORMANT: "green",
    Verdict.NON_CONFORMANT: "bold red",
    Verdict.UNDETERMINED: "yellow",
    Verdict.NOT_APPLICABLE: "cyan",
    Verdict.NOT_RUN: "bright_black",
}
_WHOLE_STYLES = {
    Whole.CONFORMANT: "bold green",
    Whole.PARTIAL: "bold green",
    Whole.NON_CONFORMANT: "bold red",
    Whole.UNDETERMINED: "bold yellow",
    Whole.NO_VERDICT: "bold yellow",
}
_WIDEST_VERDICT = max(len(verdict) for verdict in Verdict)
_ERASE_LINE = "\r\x1b[2K"


def console(stream: TextIO) -> Console:
    """Return a console on ``stream``: coloured on a terminal, plain and of a fixed width anywhere else."""
    if stream.isatty():
        return Console(file=stream, highlight=False)
    return Console(file=stream, highlight=False, width=LOG_WIDTH, force_terminal=False, color_system=None)


def summary(judgement: Judgement, areas: Mapping[str, str], report: Path) -> Group:
    """Return what is told at the end of a run.

    Args:
        judgement: The verdicts.
        areas: The title of each area of the catalogue, by its id.
        report: What to open next, a file or a folder.
    """
    rows = judgement.requirements
    return Group(
        area_table(rows, areas),
        _whole(judgement.overall),
        *_findings("Non-conformant", [row for row in rows if row.verdict is Verdict.NON_CONFORMANT]),
        *_findings("Undetermined", [row for row in rows if row.verdict is Verdict.UNDETERMINED]),
        *_findings("Known deviations no longer seen", [row for row in rows if row.no_longer_seen]),
        "",
        Text(f"Report: {report}", no_wrap=True, overflow="ignore"),
    )


def area_table(rows: Iterable[RequirementVerdict], areas: Mapping[str, str]) -> Table:
    """Return how many requirements of each area came out how."""
    count = Counter((row.requirement.area, row.verdict) for row in rows)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_footer=True)
    table.add_column("Requirements", footer="Total")
    for verdict, style in _STYLES.items():
        total = sum(number for (_, counted), number in count.items() if counted is verdict)
        table.add_column(verdict, footer=_cell(total, style), justify="right")
    for area, title in areas.items():
        table.add_row(title, *(_cell(count[area, verdict], style) for verdict, style in _STYLES.items()))
    return table


class Progress:
    """One line per finished check; on a terminal also a last line with the checks in flight."""

    def __init__(self, total: int, stream: TextIO) -> None:
        self._total = total
        self._finished = 0
        self._in_flight: dict[str, None] = {}
        self._console = console(stream)
        self._is_live = self._console.is_terminal and not self._console.is_dumb_terminal

    def started(self, check: str) -> None:
        """Show the check with this node id as being in flight."""
        self._in_flight[check] = None
        self._erase()
        self._draw()

    def finished(self, check: str, requirements: Sequence[str], verdict: Verdict, seconds: float) -> None:
        """Print how the check with this node id came out, and how long it took."""
        self._in_flight.pop(check, None)
        self._finished += 1
        number = f"[{self._finished:>{len(str(self._total))}}/{self._total}] "
        self._erase()
        self._console.print(Text(number) + _progress_line(check, requirements, verdict, seconds), soft_wrap=True)
        self._draw()

    def end(self) -> None:
        """Take the line with the checks in flight away, before anything else is printed."""
        self._in_flight.clear()
        self._erase()

    def _erase(self) -> None:
        if self._is_live:
            self._console.file.write(_ERASE_LINE)
        self._console.file.flush()

    def _draw(self) -> None:
        if self._is_live and self._in_flight:
            line = Text("running: " + ", ".join(map(_short, self._in_flight)), style="bright_black")
            # One column less than there is, or the terminal begins a new line.
            line.truncate(self._console.width - 1, overflow="ellipsis")
            self._console.print(line, end="", soft_wrap=True)
            self._console.file.flush()


def _progress_line(check: str, requirements: Sequence[str], verdict: Verdict, seconds: float) -> Text:
    return Text.assemble(
        (f"{verdict:<{_WIDEST_VERDICT}}", _STYLES[verdict]),
        f"  {', '.join(requirements)}  {_short(check)}",
        (f"  {seconds:.1f} s", "bright_black"),
    )


def _short(check: str) -> str:
    return check.rpartition("::")[2]


def _cell(number: int, style: str) -> Text:
    return Text(str(number), style) if number else Text("-", "bright_black")


def _whole(overall: Overall) -> RenderableType:
    words = Text(overall.words, _WHOLE_STYLES[overall.verdict])
    return Group(words, Padding(Text(overall.reason), (1, 0, 0, 2))) if overall.reason else words


def _findings(title: str, rows: Sequence[RequirementVerdict]) -> list[RenderableType]:
    if not rows:
        return []
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    # What decides comes first.
    for row in sorted(rows, key=lambda row: not row.decides):
        table.add_row(row.requirement.id, _level(row), _cause(row))
    return ["", Text(title, "bold"), Padding(table, (0, 0, 0, 2))]


def _cut(reason: str) -> str:
    """One line is enough to know what to look for; the report holds the rest."""
    return reason if len(reason) <= LONGEST_CAUSE else f"{reason[:LONGEST_CAUSE]} ..."


def _level(row: RequirementVerdict) -> str:
    return f"{row.requirement.level}, probe" if row.requirement.probe else row.requirement.level


def _cause(row: RequirementVerdict) -> Text:
    lines = [_cut(row.reason)] if row.reason else []
    if row.known_deviation and (row.is_known or row.no_longer_seen):
        lines += [f"known deviation: {row.known_deviation.sentence}", row.known_deviation.link]
    return Text("\n").join(Text(line, "cyan" if number else "") for number, line in enumerate(lines))
