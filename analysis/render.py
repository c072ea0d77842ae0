r"""Tables as LaTeX, HTML, Markdown and CSV.

great_tables draws LaTeX (booktabs, spanners) and HTML and escapes every name; Polars writes
Markdown and CSV. What is ours here is which cell is bold, what a note looks like, and the float
around a LaTeX table. A document that takes the LaTeX in needs ``\usepackage{booktabs}``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from html import escape
from pathlib import Path

import polars as pl
from great_tables import GT

from analysis.errors import OutputUnwritable
from analysis.table import Cell, Rank, Table

#: Characters that mean something to a Markdown reader. CommonMark lets each be escaped.
_MARKDOWN = re.compile(r"([\\`*_\[\]<>&|#~$])")

#: great_tables writes an unnumbered ``\caption*``; a paper wants a number and a label.
_CAPTION = re.compile(r"\\begin\{table\}\[!t\]\n\\caption\*\{\n\{\\large (?P<title>.*)\}\n\} *\n")


#: Not among the characters that pdfLaTeX sets without further packages.
_LATEX_LACKS = re.compile(
    # ASCII; Latin-1's letters but Eth and Thorn; some signs; dashes, quotes, daggers; arrows.
    r"[^\n -~\u00c0-\u00cf\u00d1-\u00dd\u00df-\u00ef\u00f1-\u00fd\u00ff"
    r"\u00a1\u00bf\u00b0\u00b1\u00b7\u2013\u2014\u2018\u2019\u201c\u201d\u2020\u2021\u2022\u2026\u2190-\u2193]"
)

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
    draw = {
        Format.LATEX: to_latex,
        Format.MARKDOWN: to_markdown,
        Format.HTML: to_html,
    }
    text = "\n\n".join(draw[form](table).strip("\n") for table in tables) + "\n"
    return _PAGE.format(title=escape(tables[0].title), body=text) if form is Format.HTML else text


def write_tables(tables: Sequence[Table], form: Format, folder: Path) -> list[Path]:
    r"""Write one file a table, named for it, and return the files.

    HTML files are whole pages; LaTeX files are floats to ``\input``.

    Raises:
        OutputUnwritable: the folder cannot be made or written to.
    """
    paths = [folder / f"{table.name}{form.suffix}" for table in tables]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for table, path in zip(tables, paths, strict=True):
            text = render([table], form)
            beside = path.with_name(f".{path.name}.part")
            beside.write_text(text, encoding="utf-8")
            beside.replace(path)
    except OSError as error:
        raise OutputUnwritable(
            f"the tables cannot be written to {folder}: {error}; name a folder with --out"
        ) from error
    return paths


def to_latex(table: Table) -> str:
    """Return a ``table*`` float with caption, label, booktabs rules and the notes beneath."""
    # A page is as wide as it is: the more columns, the smaller the letters and the gutters.
    many = len(table.columns)
    size, gutter = (8, 3) if many <= 8 else (7, 3) if many <= 14 else (6, 2)
    drawn = _drawn(table, _latex_cell).tab_options(table_font_size=f"{size}pt").as_latex()
    body, found = _CAPTION.subn(
        lambda head: (
            "\\begin{table*}[t]\n\\setlength{\\belowcaptionskip}{4pt}\n"
            f"\\setlength{{\\tabcolsep}}{{{gutter}pt}}\n"
            f"\\caption{{{head['title']}}}\n\\label{{tab:{table.name}}}\n"
        ),
        drawn,
    )
    assert found == 1, "great_tables changed the head of its LaTeX tables"
    # A bar that nobody escaped comes out as a dash; there is none in the columns' own layout.
    floating = body.replace(r"\end{table}", r"\end{table*}").replace("|", r"\textbar{}")
    return _LATEX_LACKS.sub(lambda found: f"[U+{ord(found[0]):04X}]", floating)


def to_html(table: Table) -> str:
    """Return a ``<div>`` that holds the table and its own style sheet."""
    return _drawn(table, _html_cell).as_raw_html()


def to_markdown(table: Table) -> str:
    """Return a heading, a pipe table and the notes.

    Pipe tables have one line of headings, so that a column is headed ``MCQ · Acc``.
    """
    spans = [span.label for span in table.spans for _ in range(span.width)]
    headings = [
        _markdown_text(" · ".join(part for part in (span, column.label) if part))
        for span, column in zip(spans, table.columns, strict=True)
    ]
    lines: list[list[str]] = []
    for block in table.blocks:
        if block.label:
            lines.append([f"*{_markdown_text(block.label)}*", *("" for _ in headings)])
        lines += [
            [_markdown_text(row.label), *(_markdown_cell(cell) for cell in row.cells)]
            for row in block.rows
        ]
    frame = _frame(["", *headings], lines)
    with pl.Config(
        tbl_formatting="MARKDOWN",
        tbl_hide_column_data_types=True,
        tbl_hide_dataframe_shape=True,
        tbl_rows=-1,
        tbl_cols=-1,
        tbl_width_chars=-1,
        fmt_str_lengths=10_000,
    ):
        grid = str(frame)
    notes = "\n".join(
        f"- {f'<sup>{note.mark}</sup> ' if note.mark else ''}{_markdown_text(note.text)}"
        for note in table.notes
    )
    return f"**{_markdown_text(table.title)}**\n\n{grid}\n\n{notes}"


def to_csv(tables: Sequence[Table]) -> str:
    """Return one line a cell: unrounded value, printed text, rank, counts and why it is empty."""
    return pl.DataFrame(
        [line for table in tables for line in _csv_lines(table)],
        schema_overrides={"value": pl.Float64, "n_scored": pl.Int64, "n_expected": pl.Int64},
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
                    "topic": column.topic,
                    "metric": column.metric,
                    "judge": column.judge,
                    "unit": column.unit,
                    "value": cell.value,
                    "printed": cell.text if cell.value is not None else "",
                    "rank": str(cell.rank),
                    "n_scored": cell.n_scored,
                    "n_expected": cell.n_expected,
                    "why": cell.why,
                }


def _drawn(table: Table, cell_text: Callable[[Cell], str]) -> GT:
    """Build the great_tables table whose cells are drawn by ``cell_text``, format and all."""
    names = [f"c{index}" for index in range(len(table.columns))]
    rows = [(block.label, row) for block in table.blocks for row in block.rows]
    # Cells are drawn here, not by a formatter per cell: great_tables takes the drawn text as it is.
    lines = [[label, row.label, *(cell_text(cell) for cell in row.cells)] for label, row in rows]
    grouped = any(block.label for block in table.blocks)
    gt = GT(
        _frame(["block", "row", *names], lines),
        groupname_col="block" if grouped else None,
        id=re.sub(r"\W", "-", table.name),
    )
    if not grouped:
        gt = gt.cols_hide("block")
    start = 0
    for index, span in enumerate(table.spans):
        covered = names[start : start + span.width]
        start += span.width
        if span.label:
            gt = gt.tab_spanner(span.label, columns=covered, id=f"s{index}")
    gt = (
        gt.tab_header(table.title)
        .fmt(str, columns=names)
        .cols_align("center", columns=names)
        .cols_label({"row": "", **dict(zip(names, (c.label for c in table.columns), strict=True))})
    )
    for note in table.notes:
        gt = gt.tab_source_note(f"{note.mark}: {note.text}" if note.mark else note.text)
    return gt


def _frame(names: Sequence[str], lines: Sequence[Sequence[str]]) -> pl.DataFrame:
    """Return a frame of strings. Two headings may read the same, a frame's names may not."""
    unique = [name + "\u200b" * names[:index].count(name) for index, name in enumerate(names)]
    return pl.DataFrame(list(lines), schema=dict.fromkeys(unique, pl.String), orient="row")


def _latex_cell(cell: Cell) -> str:
    text = cell.text + (rf"\textsuperscript{{{cell.mark}}}" if cell.mark else "")
    macro = {Rank.BEST: r"\textbf", Rank.SECOND: r"\underline"}.get(cell.rank)
    return f"{macro}{{{text}}}" if macro else text


def _html_cell(cell: Cell) -> str:
    text = cell.text + (f"<sup>{cell.mark}</sup>" if cell.mark else "")
    tag = {Rank.BEST: "strong", Rank.SECOND: "u"}.get(cell.rank)
    return f"<{tag}>{text}</{tag}>" if tag else text


def _markdown_cell(cell: Cell) -> str:
    text = cell.text + (f"<sup>{cell.mark}</sup>" if cell.mark else "")
    # <ins> and not <u>: hosts that clean Markdown's HTML keep it, and draw it underlined.
    return {Rank.BEST: f"**{text}**", Rank.SECOND: f"<ins>{text}</ins>"}.get(cell.rank, text)


def _markdown_text(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))
