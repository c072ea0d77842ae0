"""A table with its values: what the renderers draw, free of any format.

Table
├── title, notes[], made
├── tops[]             headings above the spans, where there are any
├── spans[]            headings above the columns: how many columns each covers
├── columns[]          column headings
└── blocks[]           rows that are ranked against each other: the runs, then the published rows
    └── rows[]         label and one Cell a column
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from typing import Any

from score.statistics.panel import Reading as Reading

#: What stands in a cell without a value; its mark leads to the note that says why.
NOTHING = "–"


#: What stands beside a name of a closed-source model.
DAGGER = "†"


class Intervals(StrEnum):
    """How the intervals around the means are shown."""

    NONE = "none"
    PLUS_MINUS = "plus-minus"
    """Half their length: 12.3 ± 1.2."""
    BRACKETS = "brackets"
    """Both limits: 12.3 [11.2, 13.7]."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What the reader of the tables chose."""

    judge: str = ""
    """Whose verdicts are shown; "": these scores have none."""
    reading: Reading = Reading.SCORED_ONLY
    published: bool = False
    """Whether the paper's values are shown as further rows, or columns where runs are columns."""
    intervals: Intervals = Intervals.NONE
    baseline: str = ""
    """The run that others are tested against; "": no tests."""
    runs: tuple[tuple[str, str], ...] = ()
    """The runs shown, in their order, each with its label; none: all, by name."""

    def label_of(self, run: str) -> str:
        """Return how a run is called."""
        return dict(self.runs).get(run, run)


class Rank(StrEnum):
    """A value's place in its column."""

    BEST = "best"
    SECOND = "second"
    WORST = "worst"
    OTHER = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """One value as it is printed, and what it was made of."""

    text: str
    value: float | None = None
    """In the table's unit, not rounded; None where there is no value."""
    n_scored: int | None = None
    """None where it is not known: the papers do not print it."""
    n_expected: int | None = None
    low: float | None = None
    """Of the interval, in the table's unit; None: not asked for, or undefined."""
    high: float | None = None
    interval: str = ""
    """As it is printed behind the value."""
    no_interval: str = ""
    """Why an interval that was asked for is undefined."""
    is_beyond: bool = False
    """Whether a limit of the interval lies outside the metric's scale."""
    p: float | None = None
    """Of the test against the baseline, adjusted; None: none was made."""
    no_test: str = ""
    """Why there is none, where one was asked for."""
    star: str = ""
    """``*`` where that is below α."""
    n_unscored_topics: int = 0
    """Topics without any score, which a macro mean of scored answers leaves out."""
    why: str = ""
    """Why there is no value."""
    mark: str = ""
    """Letter of the note that says so."""
    rank: Rank = Rank.OTHER


@dataclass(frozen=True, slots=True)
class Span:
    """A heading over neighbouring columns."""

    label: str
    width: int


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its heading and what its values are."""

    label: str
    task: str
    metric: str
    by: str = ""
    """What its slice is made by; empty: a mean of all items."""
    slice: str = ""
    judge: str = ""
    run: str = ""
    """Where the columns are runs."""
    better: str = "higher"
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A run, a published model, or a slice."""

    label: str
    cells: tuple[Cell, ...]
    run: str = ""
    by: str = ""
    slice: str = ""
    judge: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """Rows that are ranked against each other."""

    label: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Note:
    """A line under the table; with a mark, the one that cells refer to."""

    text: str
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table, ready to be drawn in any format."""

    name: str
    """Names its file: ``sonic-o1-main``."""
    title: str
    spans: tuple[Span, ...]
    columns: tuple[Column, ...]
    blocks: tuple[Block, ...]
    notes: tuple[Note, ...]
    tops: tuple[Span, ...] = ()
    part: int = 0
    """Which of several printed tables it is, from 1 on, as its name says; 0: it is whole."""
    made: dict[str, Any] = field(default_factory=dict)
    """How its numbers were made; travels beside it as JSON."""

    @property
    def whole_name(self) -> str:
        """The name without the number of its part."""
        return self.name.removesuffix(f"-{self.part}") if self.part else self.name


def printed(value: float, digits: int) -> str:
    """Return ``value`` rounded to ``digits``; nothing rounds to a negative zero.

    A number of more than fifteen digits, which only an absurd answer makes, is written with its
    power of ten.
    """
    return f"{value:z.{digits}f}" if abs(value) < 1e15 else f"{value:.{digits}e}"


def ranked(
    block: Block, columns: Sequence[Column], marks: Sequence[Rank] = (Rank.BEST, Rank.SECOND)
) -> Block:
    """Mark the best, second or worst of each column.

    What is equal as printed is marked equally, and the second is the next other value. Where all
    values of a column are equal, or more is neither better nor worse, there is nothing to mark.
    """
    places: list[dict[str, Rank]] = []
    for index, column in enumerate(columns):
        texts = {row.cells[index].text for row in block.rows if row.cells[index].value is not None}
        numbers = sorted({Decimal(text) for text in texts}, reverse=column.better == "higher")
        if len(numbers) < 2 or column.better == "neither":
            places.append({})
            continue
        places_of = {Rank.WORST: numbers[-1], Rank.SECOND: numbers[1], Rank.BEST: numbers[0]}
        order = {number: rank for rank, number in places_of.items() if rank in marks}
        places.append({text: order.get(Decimal(text), Rank.OTHER) for text in texts})
    return replace(
        block,
        rows=tuple(
            replace(
                row,
                cells=tuple(
                    replace(cell, rank=place.get(cell.text, Rank.OTHER))
                    for cell, place in zip(row.cells, places, strict=True)
                ),
            )
            for row in block.rows
        ),
    )
