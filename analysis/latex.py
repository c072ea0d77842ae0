r"""Tables as LaTeX: a float with booktabs rules, as large as a page allows.

great_tables draws it; ours are the caption, the label and what is bold, underlined or highlighted.
A document that takes it in needs ``\usepackage{booktabs}``, and ``\usepackage{xcolor}`` for tables
that highlight the worst.
"""

from __future__ import annotations

import re

from analysis.grid import drawn, raised
from analysis.table import Cell, Rank, Table
from analysis.width import INTERVAL, size_of, with_known_letters

#: great_tables writes an unnumbered ``\caption*``; a paper wants a number and a label.
_CAPTION = re.compile(r"\\begin\{table\}\[!t\]\n\\caption\*\{\n\{\\large (?P<title>.*)\}\n\} *\n")


#: After the end of a row or line, a bracket or a star would be that end's argument.
_ARGUMENT = re.compile(r"(\\\\\s*\n\s*)(?=[*\[])")


def to_latex(table: Table) -> str:
    """Return a ``table*`` float with caption, label, booktabs rules and the notes beneath."""
    # A page is as wide as it is: the more there is, the smaller the letters and the gutters.
    size = size_of(table)
    text = drawn(table, _latex_cell).tab_options(table_font_size=f"{size.letters_pt:g}pt")
    body, found = _CAPTION.subn(
        lambda head: (
            "\\begin{table*}[t]\n\\setlength{\\belowcaptionskip}{4pt}\n"
            f"\\setlength{{\\tabcolsep}}{{{size.gutter_pt:g}pt}}\n"
            f"\\caption{{{head['title']}}}\n\\label{{tab:{table.name}}}\n"
        ),
        text.as_latex(),
    )
    assert found == 1, "great_tables changed the head of its LaTeX tables"
    # A bar that nobody escaped comes out as a dash; there is none in the columns' own layout.
    floating = body.replace(r"\end{table}", r"\end{table*}").replace("|", r"\textbar{}")
    return _ARGUMENT.sub(r"\1{}", with_known_letters(floating))


def _latex_cell(cell: Cell) -> str:
    macro = {
        Rank.BEST: r"\textbf{%s}",
        Rank.SECOND: r"\underline{%s}",
        Rank.WORST: r"\setlength{\fboxsep}{1pt}\colorbox[gray]{0.85}{%s}",
    }.get(cell.rank, "%s")
    text = macro % (cell.text + raised(cell, r"\textsuperscript{%s}"))
    if not cell.interval:
        return text
    # Beneath, for a page is not wide enough for both.
    below = rf"\fontsize{{{INTERVAL.letters_pt:g}pt}}{{6pt}}\selectfont {cell.interval}"
    # Braced, for a bracket at its beginning would be the line end's argument.
    return rf"\shortstack{{{text}\\{{{below}}}}}"
