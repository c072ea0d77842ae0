r"""Tables as LaTeX, HTML, Markdown and CSV.

great_tables draws LaTeX (booktabs, spanners) and HTML and escapes every name; Polars writes
Markdown and CSV. What is ours here is which cell is bold, what a note looks like, and the float
around a LaTeX table. A document that takes the LaTeX in needs ``\usepackage{booktabs}``, and
``\usepackage{xcolor}`` for tables that highlight the worst.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from html import escape
from pathlib import Path
from typing import Any

import polars as pl

from analysis.errors import OutputUnwritable
from analysis.grid import drawn, frame, raised
from analysis.latex import to_latex
from analysis.table import Cell, Rank, Table
from analysis.width import numbered

#: Characters that mean something to a Markdown reader. CommonMark lets each be escaped.
_MARKDOWN = re.compile(r"([\\`*_\[\]<>&|#~$])")

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>{title}</title>
{body}</html>
"""


class Format(StrEnum):
    """A format that tables are written in."""

    LATEX = "latex"
    MARKDOWN = "markdown"
    HTML = "html"
    CSV = "csv"

    @property
    def suffix(self) -> str:
        """The end of a file's name in this format, with its dot."""
        return {"latex": ".tex", "markdown": ".md", "html": ".html", "csv": ".csv"}[self]


def render(tables: Sequence[Table], form: Format) -> str:
    """Return tables as one text: one after the other, HTML as one page, CSV with one header."""
    if form is Format.CSV:
        return to_csv(tables)
    tables = printed_tables(tables, form)
    draw = {
        Format.LATEX: to_latex,
        Format.MARKDOWN: to_markdown,
        Format.HTML: to_html,
    }
    text = "\n\n".join(draw[form](table).strip("\n") for table in tables) + "\n"
    return _PAGE.format(title=escape(tables[0].title), body=text) if form is Format.HTML else text


def printed_tables(tables: Sequence[Table], form: Format) -> list[Table]:
    """Return tables as a format prints them: LaTeX's are cut where they are wider than a page."""
    return numbered(tables) if form is Format.LATEX else list(tables)


def write_tables(tables: Sequence[Table], form: Format, folder: Path) -> list[Path]:
    r"""Write one file a table, named for it, and return the files.

    HTML files are whole pages; LaTeX files are floats to ``\input``. Beside each stands
    ``FILE.made.json``: how its numbers were made. What an earlier call wrote of the same tables in
    this format, but in other parts, is removed.

    Raises:
        OutputUnwritable: the folder cannot be made or written to.
    """
    shown = printed_tables(tables, form)
    paths = [folder / f"{table.name}{form.suffix}" for table in shown]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for table, path in zip(shown, paths, strict=True):
            write_text(_made_path(path), made_text(table.made))
            write_text(path, render([table], form))
        _remove_others(folder, {table.whole_name for table in shown}, form, paths)
    except OSError as error:
        raise OutputUnwritable(
            f"the tables cannot be written to {folder}: {error}; name a folder with --out"
        ) from error
    return paths


def _made_path(path: Path) -> Path:
    """Return where it stands how the table in a file was made."""
    return path.with_name(f"{path.name}.made.json")


def _remove_others(
    folder: Path, names: Collection[str], form: Format, written: Collection[Path]
) -> None:
    """Remove files of tables that were written in other parts before, with what is beside them."""
    parts = re.compile(rf"(?P<name>.+?)(-\d+)?{re.escape(form.suffix)}")
    for path in sorted(folder.glob(f"*{form.suffix}")):
        found = parts.fullmatch(path.name)
        # Without its companion it is not ours.
        if found and found["name"] in names and path not in written and _made_path(path).is_file():
            path.unlink()
            _made_path(path).unlink()


def made_text(made: Mapping[str, Any]) -> str:
    """Return the text of a file that says how numbers were made."""
    return json.dumps(made, ensure_ascii=False, indent=2, sort_keys=True) + "\n"


def write_text(path: Path, text: str) -> None:
    """Write a file whole: beside its place first, then there."""
    beside = path.with_name(f".{path.name}.part")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


def to_html(table: Table) -> str:
    """Return a ``<div>`` that holds the table and its own style sheet."""
    return drawn(table, _html_cell).as_raw_html()


def to_markdown(table: Table) -> str:
    """Return a heading, a pipe table and the notes.

    Pipe tables have one line of headings, so that a column is headed ``MCQ · Acc``.
    """
    headings = [
        _markdown_text(" · ".join(part for part in parts if part)) for parts in _headings(table)
    ]
    lines: list[list[str]] = []
    for block in table.blocks:
        if block.label:
            lines.append([f"*{_markdown_text(block.label)}*", *("" for _ in headings)])
        lines += [
            [_markdown_text(row.label), *(_markdown_cell(cell) for cell in row.cells)]
            for row in block.rows
        ]
    lined = frame(["", *headings], lines)
    with pl.Config(
        tbl_formatting="MARKDOWN",
        tbl_hide_column_data_types=True,
        tbl_hide_dataframe_shape=True,
        tbl_rows=-1,
        tbl_cols=-1,
        tbl_width_chars=-1,
        fmt_str_lengths=10_000,
    ):
        grid = str(lined)
    notes = "\n".join(
        f"- {f'<sup>{note.mark}</sup> ' if note.mark else ''}{_markdown_text(note.text)}"
        for note in table.notes
    )
    return f"**{_markdown_text(table.title)}**\n\n{grid}\n\n{notes}"


def to_csv(tables: Sequence[Table]) -> str:
    """Return one line a cell: unrounded value, printed text, rank, counts and why it is empty."""
    return pl.DataFrame(
        [line for table in tables for line in _csv_lines(table)],
        schema_overrides={
            **dict.fromkeys(("value", "low", "high", "p"), pl.Float64),
            **dict.fromkeys(("n_scored", "n_expected"), pl.Int64),
        },
        infer_schema_length=None,
    ).write_csv()


def _csv_lines(table: Table) -> Iterator[dict[str, object]]:
    spans = [span.label for span in table.spans for _ in range(span.width)]
    for block in table.blocks:
        for row in block.rows:
            for span, column, cell in zip(spans, table.columns, row.cells, strict=True):
                yield {
                    "table": table.name,
                    "block": block.label,
                    "row": row.label,
                    "group": span,
                    "column": column.label,
                    "task": column.task,
                    "by": row.by or column.by,
                    "slice": row.slice or column.slice,
                    "metric": column.metric,
                    "judge": (row.judge or column.judge) if column.judge else "",
                    "unit": column.unit,
                    "value": cell.value,
                    "printed": cell.text if cell.value is not None else "",
                    "low": cell.low,
                    "high": cell.high,
                    "p": cell.p,
                    "rank": str(cell.rank),
                    "n_scored": cell.n_scored,
                    "n_expected": cell.n_expected,
                    "why": cell.why,
                }


def _headings(table: Table) -> list[tuple[str, str, str]]:
    """Return the headings of each column, the uppermost first; empty where there is none."""
    spans = [span.label for span in table.spans for _ in range(span.width)]
    tops = [top.label for top in table.tops for _ in range(top.width)] or [""] * len(spans)
    labels = (column.label for column in table.columns)
    return list(zip(tops, spans, labels, strict=True))


def _html_cell(cell: Cell) -> str:
    text = cell.text + raised(cell, "<sup>%s</sup>")
    tag = {Rank.BEST: "strong", Rank.SECOND: "u", Rank.WORST: "mark"}.get(cell.rank)
    text = f"<{tag}>{text}</{tag}>" if tag else text
    return f"{text} <small>{cell.interval}</small>" if cell.interval else text


def _markdown_cell(cell: Cell) -> str:
    text = cell.text + raised(cell, "<sup>%s</sup>")
    # <ins> and not <u>: hosts that clean Markdown's HTML keep it, and draw it underlined.
    text = {
        Rank.BEST: f"**{text}**",
        Rank.SECOND: f"<ins>{text}</ins>",
        Rank.WORST: f"<mark>{text}</mark>",
    }.get(cell.rank, text)
    return f"{text} {_markdown_text(cell.interval)}" if cell.interval else text


def _markdown_text(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))
