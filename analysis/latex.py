r"""Tables as LaTeX: a float with booktabs rules, as large as a page allows.

great_tables draws it; ours are the caption, the label and what is bold, underlined or highlighted.
A document that takes it in needs ``\usepackage{booktabs}``, and ``\usepackage{xcolor}`` for tables
that highlight the worst.
"""

from __future__ import annotations

import re

from analysis.grid import drawn, raised
from analysis.table import Cell, Rank, Table

#: great_tables writes an unnumbered ``\caption*``; a paper wants a number and a label.
_CAPTION = re.compile(r"\\begin\{table\}\[!t\]\n\\caption\*\{\n\{\\large (?P<title>.*)\}\n\} *\n")


#: Size of a LaTeX table's letters and half its gutters, in points: the first that fits is taken.
_SIZES = ((8.0, 3.0), (7.0, 3.0), (6.0, 2.0), (5.0, 1.5), (4.5, 1.0))
#: Of a page with usual margins, and of a letter in units of its size; bold digits are 0.575 wide.
_PAGE_PT, _LETTER, _TINY_PT = 470.0, 0.58, 5.0

#: Not among the characters that pdfLaTeX sets without further packages.
_LATEX_LACKS = re.compile(
    # ASCII; Latin-1's letters but Eth and Thorn; some signs; dashes, quotes, daggers; arrows.
    r"[^\n -~\u00c0-\u00cf\u00d1-\u00dd\u00df-\u00ef\u00f1-\u00fd\u00ff"
    r"\u00a1\u00bf\u00b0\u00b1\u00b7\u2013\u2014\u2018\u2019\u201c\u201d\u2020\u2021\u2022\u2026\u2190-\u2193]"
)


def to_latex(table: Table) -> str:
    """Return a ``table*`` float with caption, label, booktabs rules and the notes beneath."""
    # A page is as wide as it is: the more there is, the smaller the letters and the gutters.
    size, gutter = _size(table)
    text = drawn(table, _latex_cell).tab_options(table_font_size=f"{size:g}pt").as_latex()
    body, found = _CAPTION.subn(
        lambda head: (
            "\\begin{table*}[t]\n\\setlength{\\belowcaptionskip}{4pt}\n"
            f"\\setlength{{\\tabcolsep}}{{{gutter:g}pt}}\n"
            f"\\caption{{{head['title']}}}\n\\label{{tab:{table.name}}}\n"
        ),
        text,
    )
    assert found == 1, "great_tables changed the head of its LaTeX tables"
    # A bar that nobody escaped comes out as a dash; there is none in the columns' own layout.
    floating = body.replace(r"\end{table}", r"\end{table*}").replace("|", r"\textbar{}")
    return _LATEX_LACKS.sub(lambda found: f"[U+{ord(found[0]):04X}]", floating)


def _size(table: Table) -> tuple[float, float]:
    """Return the size of letters and half the gutter at which a LaTeX table fits a page."""
    return next((pair for pair in _SIZES if _points(table, *pair) <= _PAGE_PT), _SIZES[-1])


def _points(table: Table, size: float, gutter: float) -> float:
    """Estimate the width of a LaTeX table."""
    rows = [row for block in table.blocks for row in block.rows]
    letter, tiny = _LETTER * size, _LETTER * min(size, _TINY_PT)
    widths = [
        max(
            len(column.label) * letter,
            *(len(f"{cell.text}{cell.star}{cell.mark}") * letter for cell in cells),
            *(len(cell.interval) * tiny for cell in cells),
        )
        + 2 * gutter
        + 2 * any(cell.rank is Rank.WORST for cell in cells)  # its box
        for column, cells in zip(
            table.columns, zip(*(row.cells for row in rows), strict=True), strict=True
        )
    ]
    start, total = 0, max((len(row.label) * letter for row in rows), default=0) + 2 * gutter
    for span in table.spans:
        # A heading that is wider than its columns widens them.
        columns = sum(widths[start : start + span.width])
        total += max(len(span.label) * letter + 2 * gutter, columns)
        start += span.width
    return total


def _latex_cell(cell: Cell) -> str:
    macro = {
        Rank.BEST: r"\textbf{%s}",
        Rank.SECOND: r"\underline{%s}",
        Rank.WORST: r"\setlength{\fboxsep}{1pt}\colorbox[gray]{0.85}{%s}",
    }.get(cell.rank, "%s")
    text = macro % (cell.text + raised(cell, r"\textsuperscript{%s}"))
    # Beneath, for a page is not wide enough for both.
    return rf"\shortstack{{{text}\\{{\tiny {cell.interval}}}}}" if cell.interval else text
