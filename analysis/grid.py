"""A table as great_tables and Polars draw it: what LaTeX, HTML and Markdown share."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import polars as pl
from great_tables import GT

from analysis.table import Cell, Table


def drawn(table: Table, cell_text: Callable[[Cell], str]) -> GT:
    """Build the great_tables table whose cells are drawn by ``cell_text``, format and all."""
    names = [f"c{index}" for index in range(len(table.columns))]
    rows = [(block.label, row) for block in table.blocks for row in block.rows]
    # Cells are drawn here, not by a formatter per cell: great_tables takes the drawn text as it is.
    lines = [[label, row.label, *(cell_text(cell) for cell in row.cells)] for label, row in rows]
    grouped = any(block.label for block in table.blocks)
    gt = GT(
        frame(["block", "row", *names], lines),
        groupname_col="block" if grouped else None,
        id=re.sub(r"\W", "-", table.name),
    )
    if not grouped:
        gt = gt.cols_hide("block")
    for level, spans in enumerate((table.spans, table.tops)):
        start = 0
        for index, span in enumerate(spans):
            covered = names[start : start + span.width]
            start += span.width
            if span.label:
                identity = f"s{level}-{index}"
                gt = gt.tab_spanner(span.label, columns=covered, level=level, id=identity)
    gt = (
        gt.tab_header(table.title)
        .fmt(str, columns=names)
        .cols_align("center", columns=names)
        .cols_label({"row": "", **dict(zip(names, (c.label for c in table.columns), strict=True))})
    )
    for note in table.notes:
        gt = gt.tab_source_note(f"{note.mark}: {note.text}" if note.mark else note.text)
    return gt


def frame(names: Sequence[str], lines: Sequence[Sequence[str]]) -> pl.DataFrame:
    """Return a frame of strings. Two headings may read the same, a frame's names may not."""
    unique = [name + "\u200b" * names[:index].count(name) for index, name in enumerate(names)]
    return pl.DataFrame(list(lines), schema=dict.fromkeys(unique, pl.String), orient="row")


def raised(cell: Cell, macro: str) -> str:
    """Return a cell's star and the letter of its note, raised; empty without them."""
    marks = cell.star + cell.mark
    return macro % marks if marks else ""
