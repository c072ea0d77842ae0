"""Tables of hand-made scores, and what is looked for in them."""

from __future__ import annotations

from pathlib import Path

from analysis.build import build_tables
from analysis.scores import load_scores
from analysis.spec import load_paper
from analysis.table import Cell, Choice, Table
from tests.score_folders import Row, score_folder

PAPER = load_paper("sonic-o1")

#: The smallest specification: one table of one metric.
SPEC = b"""
paper = "p"
shown_as = "P"
[metric.choice]
accuracy = { label = "Acc", scale = 100 }
[[table]]
name = "one"
numbers = ["1"]
title = "One"
groups = [{ label = "MCQ", task = "choice", metrics = ["accuracy"] }]
"""


def build(folder: Path, rows: list[Row], *names: str, **options: object) -> list[Table]:
    """Tables of hand-made scores; the judge is the only one there is."""
    signature = options.pop("signature", {})
    scores = load_scores(score_folder(folder, rows, **signature))
    choice = Choice(scores.chosen_judge(None), **options)
    return build_tables(PAPER, names, scores, choice)


def cell(table: Table, row: str, label: str, group: str = "") -> Cell:
    """The cell of a row and a column, by their headings."""
    groups = [span.label for span in table.spans for _ in range(span.width)]
    at = [
        index
        for index, column in enumerate(table.columns)
        if column.label == label and group in ("", groups[index])
    ]
    rows = [found for block in table.blocks for found in block.rows if found.label == row]
    return rows[0].cells[at[0]]


def notes(table: Table) -> str:
    return "\n".join(f"{note.mark} {note.text}".strip() for note in table.notes)
