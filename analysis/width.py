"""How wide a LaTeX table is on paper, and over how many it goes where one is wider than a page.

Widths are estimated from Computer Modern, LaTeX's own letters, which are wider for their size the
smaller they are. What does not fit at the smallest size is cut between column groups, or inside one
that does not fit alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from analysis.table import Cell, Note, Rank, Row, Span, Table

#: Of a page with usual margins.
PAGE_PT = 470.0


@dataclass(frozen=True, slots=True)
class Size:
    """A size of letters and gutters."""

    letters_pt: float
    gutter_pt: float
    """Half of what is between two columns."""
    digit_pt: float
    """Width of a digit: measured, for it is no fixed share of the size."""


#: The first that fits is taken. Below five points pdfLaTeX has no smaller letters.
SIZES = (
    Size(8.0, 3.0, 4.25),
    Size(7.0, 3.0, 3.98),
    Size(6.0, 2.0, 3.67),
    Size(5.0, 1.5, 3.41),
    Size(5.0, 1.0, 3.41),
)
#: Of intervals, which stand beneath their values.
INTERVAL = SIZES[-1]

#: Not among the characters that pdfLaTeX sets without further packages.
_LATEX_LACKS = re.compile(
    # ASCII; Latin-1's letters but Eth and Thorn; some signs; dashes, quotes, daggers; arrows.
    r"[^\n -~\u00c0-\u00cf\u00d1-\u00dd\u00df-\u00ef\u00f1-\u00fd\u00ff"
    r"\u00a1\u00bf\u00b0\u00b1\u00b7\u2013\u2014\u2018\u2019\u201c\u201d\u2020\u2021\u2022\u2026\u2190-\u2193]"
)

#: Letters that are much narrower or wider than a digit, in digits; lower case is about as wide.
_WIDTHS = {
    **dict.fromkeys(".,:;!'|`ijl[]", 0.58),
    **dict.fromkeys("()-_It frs", 0.78),
    **dict.fromkeys("%&+<>=#@±wm", 1.6),
    **dict.fromkeys("ABCDEFGHKLNOPQRSTUVXYZ", 1.48),
    **dict.fromkeys("MW", 2.0),
}
_BOLD = 1.16


def with_known_letters(text: str) -> str:
    """Return a text with the numbers of characters that pdfLaTeX lacks, ``[U+6A21]``."""
    return _LATEX_LACKS.sub(lambda found: f"[U+{ord(found[0]):04X}]", text)


def size_of(table: Table) -> Size:
    """Return the largest size at which a table fits a page; the smallest where none does."""
    return next((size for size in SIZES if points(table, size) <= PAGE_PT), SIZES[-1])


def points(table: Table, size: Size) -> float:
    """Estimate the width of a table, in points."""
    return _label_pt(table, size) + sum(
        max(_text_pt(span.label, size) + 2 * size.gutter_pt, sum(widths))
        for span, widths in _spans(table, size)
    )


def too_wide(table: Table) -> bool:
    """Whether a table is wider than a page even at the smallest size."""
    return points(table, SIZES[-1]) > PAGE_PT


def fitted(table: Table) -> list[Table]:
    """Return a table, or where it is wider than a page the parts that it is cut into.

    Values, ranks and marks stay as they are: the parts are one table. A part with a single column
    may still be too wide.
    """
    if not too_wide(table):
        return [table]
    edges = list(accumulate((span.width for span in table.spans), initial=0))
    found = _best([[table], *_every_cut(table, edges)])
    if any(map(too_wide, found)):
        found = _best([found, *_every_cut(table, range(len(table.columns) + 1))])
    return found


def _best(ways: list[list[Table]]) -> list[Table]:
    """Return the way with the fewest columns in parts that are too wide; of those, the first."""
    return min(ways, key=lambda parts: sum(len(one.columns) for one in parts if too_wide(one)))


def _every_cut(table: Table, edges: Sequence[int]) -> Iterator[list[Table]]:
    """Cut a table at some of its edges into two, three and more parts of nearly as many columns."""
    count = len(table.columns)
    for n_parts in range(2, len(edges)):
        even = [part * count / n_parts for part in range(n_parts + 1)]
        yield _cut(table, sorted({min(edges, key=lambda edge: abs(edge - at)) for at in even}))


def numbered(tables: Sequence[Table]) -> list[Table]:
    """Return tables cut to fit, the parts of each named and numbered through."""
    cut = [part for table in tables for part in fitted(table)]
    wholes = [table.whole_name for table in cut]
    done: list[Table] = []
    for table, whole in zip(cut, wholes, strict=True):
        if wholes.count(whole) > 1:
            part = 1 + sum(before.whole_name == whole for before in done)
            name = f"{whole}-{part}"
            table = replace(table, name=name, part=part, made=table.made | {"table": name})
        done.append(table)
    return done


def _cut(table: Table, cuts: Sequence[int]) -> list[Table]:
    made = len(cuts) - 1
    found = []
    for number, (start, end) in enumerate(pairwise(cuts), start=1):
        blocks = tuple(
            replace(
                block, rows=tuple(replace(row, cells=row.cells[start:end]) for row in block.rows)
            )
            for block in table.blocks
        )
        marks = {cell.mark for block in blocks for row in block.rows for cell in row.cells}
        notes = [note for note in table.notes if not note.mark or note.mark in marks]
        said = Note(f"Part {number} of {made} of one table; the notes are of all of it.")
        found.append(
            replace(
                table,
                columns=table.columns[start:end],
                spans=_covering(table.spans, start, end),
                tops=_covering(table.tops, start, end),
                blocks=blocks,
                notes=(said, *notes),
            )
        )
    return found


def _covering(spans: Sequence[Span], start: int, end: int) -> tuple[Span, ...]:
    """Return the parts of headings above the columns from ``start`` to before ``end``."""
    edges = pairwise(accumulate((span.width for span in spans), initial=0))
    parts = [
        Span(span.label, min(end, last) - max(start, first))
        for span, (first, last) in zip(spans, edges, strict=True)
    ]
    return tuple(part for part in parts if part.width > 0)


def _spans(table: Table, size: Size) -> Iterator[tuple[Span, list[float]]]:
    """Yield each heading with the widths of its columns."""
    rows = _rows(table)
    widths = [
        max(
            _text_pt(column.label, size),
            *(_cell_pt(row.cells[place], size) for row in rows),
            0.0,
        )
        + 2 * size.gutter_pt
        for place, column in enumerate(table.columns)
    ]
    start = 0
    for span in table.spans:
        yield span, widths[start : start + span.width]
        start += span.width


def _label_pt(table: Table, size: Size) -> float:
    return max((_text_pt(row.label, size) for row in _rows(table)), default=0) + 2 * size.gutter_pt


def _rows(table: Table) -> list[Row]:
    return [row for block in table.blocks for row in block.rows]


def _cell_pt(cell: Cell, size: Size) -> float:
    text = _text_pt(cell.text, size) * (_BOLD if cell.rank is Rank.BEST else 1)
    text += len(cell.star + cell.mark) * size.digit_pt
    box = 2 if cell.rank is Rank.WORST else 0
    return max(text + box, _text_pt(cell.interval, INTERVAL))


def _text_pt(text: str, size: Size) -> float:
    return size.digit_pt * sum(_WIDTHS.get(letter, 1.0) for letter in with_known_letters(text))
