"""A table with its values: what the renderers draw, free of any format.

Table
├── title, notes[]
├── spans[]            headings above the columns: how many columns each covers
├── columns[]          column headings
└── blocks[]           rows that are ranked against each other: the runs, then the published rows
    └── rows[]         label and one Cell a column
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum

#: What stands in a cell without a value; its mark leads to the note that says why.
NOTHING = "–"


class Reading(StrEnum):
    """How answers without a score enter a mean."""

    SCORED_ONLY = "scored-only"
    FAILURES_AS_WRONG = "failures-as-wrong"


@dataclass(frozen=True, slots=True)
class Choice:
    """What the reader of the tables chose."""

    judge: str = ""
    """Whose verdicts are shown; "": these scores have none."""
    reading: Reading = Reading.SCORED_ONLY
    published: bool = False
    """Whether the paper's values are shown as further rows."""


class Rank(StrEnum):
    """A value's place in its column."""

    BEST = "best"
    SECOND = "second"
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
    topic: str = ""
    """Empty: a macro mean over all topics."""
    judge: str = ""
    better: str = "higher"
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A run, or a published model."""

    label: str
    cells: tuple[Cell, ...]


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


def printed(value: float, digits: int) -> str:
    """Return ``value`` rounded to ``digits``; nothing rounds to a negative zero.

    A number of more than fifteen digits, which only an absurd answer makes, is written with its
    power of ten.
    """
    return f"{value:z.{digits}f}" if abs(value) < 1e15 else f"{value:.{digits}e}"


def ranked(block: Block, columns: tuple[Column, ...]) -> Block:
    """Mark the best and the second of each column.

    What is equal as printed is marked equally, and the second is the next other value. Where all
    values of a column are equal there is nothing to mark.
    """
    places: list[dict[str, Rank]] = []
    for index, column in enumerate(columns):
        texts = {row.cells[index].text for row in block.rows if row.cells[index].value is not None}
        numbers = sorted({Decimal(text) for text in texts}, reverse=column.better == "higher")
        order = dict(zip(numbers[:2], (Rank.BEST, Rank.SECOND), strict=False))
        places.append({t: order.get(Decimal(t), Rank.OTHER) for t in texts if len(numbers) > 1})
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
