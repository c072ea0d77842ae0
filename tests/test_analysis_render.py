"""Tables as LaTeX, HTML, Markdown and CSV: what is drawn, and that nothing breaks it."""

from __future__ import annotations

import io
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest
from markdown_it import MarkdownIt

from analysis.build import build_tables
from analysis.render import Format, render, write_tables
from analysis.scores import load_scores
from analysis.table import Block, Cell, Choice, Column, Intervals, Note, Rank, Row, Span, Table
from tests.latex_document import compiled
from tests.paper_scores import OMNI, SONIC, omni_folder, sonic_folder

#: CASES: names that mean something to LaTeX, HTML and Markdown.
HOSTILE = ["a_b&c 50%", "topic #1", "<b>judge</b>", "[x](y) | *z* `q` $5 ~^\\ {}", "  模型 ☃"]


def small_table(label: str = "alpha", heading: str = "MCQ", note: str = "A note.") -> Table:
    return Table(
        name="sonic-o1-small",
        title="A small table",
        spans=(Span(heading, 2), Span("Localization", 1)),
        columns=(
            Column("Acc", "choice", "accuracy", unit="%"),
            Column("Sim", "choice", "rationale_similarity"),
            Column("MAE ↓", "localization", "mae", better="lower", unit="s"),
        ),
        blocks=(
            Block(
                "",
                (
                    Row(
                        label,
                        (
                            Cell("75.0", 75.0, 8, 10, rank=Rank.BEST),
                            Cell("–", None, 0, 10, why="not computed", mark="a"),
                            Cell("1.5", 1.5, 9, 9, rank=Rank.SECOND),
                        ),
                    ),
                    Row(
                        "beta",
                        (
                            Cell("60.0", 60.0, 10, 10, rank=Rank.SECOND),
                            Cell("0.61", 0.612, 10, 10),
                            Cell("0.5", 0.5, 9, 9, rank=Rank.BEST),
                        ),
                    ),
                ),
            ),
        ),
        notes=(Note(note), Note("not computed.", "a")),
    )


def test_markdown_is_a_pipe_table_with_notes() -> None:
    assert render([small_table()], Format.MARKDOWN) == (
        "**A small table**\n"
        "\n"
        "|       | MCQ · Acc       | MCQ · Sim     | Localization · MAE ↓ |\n"
        "|-------|-----------------|---------------|----------------------|\n"
        "| alpha | **75.0**        | –<sup>a</sup> | <ins>1.5</ins>       |\n"
        "| beta  | <ins>60.0</ins> | 0.61          | **0.5**              |\n"
        "\n"
        "- A note.\n"
        "- <sup>a</sup> not computed.\n"
    )


def test_latex_is_a_booktabs_float_with_caption_and_label() -> None:
    lines = [line.strip() for line in render([small_table()], Format.LATEX).splitlines()]
    assert [line for line in lines if line] == [
        r"\begin{table*}[t]",
        r"\setlength{\belowcaptionskip}{4pt}",
        r"\setlength{\tabcolsep}{3pt}",
        r"\caption{A small table}",
        r"\label{tab:sonic-o1-small}",
        r"\fontsize{8.0pt}{9.6pt}\selectfont",
        r"\begin{tabular*}{\linewidth}{@{\extracolsep{\fill}}lccc}",
        r"\toprule",
        r"& \multicolumn{2}{c}{MCQ} & \multicolumn{1}{c}{Localization} \\",
        r"\cmidrule(lr){2-3} \cmidrule(lr){4-4}",
        r"& Acc & Sim & MAE ↓ \\",
        r"\midrule\addlinespace[2.5pt]",
        r"alpha & \textbf{75.0} & –\textsuperscript{a} & \underline{1.5} \\",
        r"beta & \underline{60.0} & 0.61 & \textbf{0.5} \\",
        r"\bottomrule",
        r"\end{tabular*}",
        r"\begin{minipage}{\linewidth}",
        r"A note.\\",
        r"a: not computed.\\",
        r"\end{minipage}",
        r"\end{table*}",
    ]


def test_html_marks_best_and_second_and_spans_its_headings() -> None:
    page = render([small_table()], Format.HTML)
    assert page.startswith('<!doctype html>\n<html lang="en">\n<meta charset="utf-8">')
    assert "<strong>75.0</strong>" in page
    assert "<u>60.0</u>" in page
    assert "–<sup>a</sup>" in page
    assert 'colspan="2" scope="colgroup"' in page


def test_csv_has_a_line_for_each_cell_with_all_that_is_known_of_it() -> None:
    lines = pl.read_csv(io.StringIO(render([small_table()], Format.CSV)))
    assert lines.height == 6
    assert lines.row(1, named=True) == {
        "table": "sonic-o1-small",
        "block": "",
        "row": "alpha",
        "group": "MCQ",
        "column": "Sim",
        "task": "choice",
        "by": "",
        "slice": "",
        "metric": "rationale_similarity",
        "judge": "",
        "unit": "",
        "value": None,
        "printed": "",
        "low": None,
        "high": None,
        "p": None,
        "rank": "",
        "n_scored": 0,
        "n_expected": 10,
        "why": "not computed",
    }
    assert lines["value"].to_list() == [75.0, None, 1.5, 60.0, 0.612, 0.5]


class TextOf(HTMLParser):
    """The text of a page's elements, as a reader sees it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.tags: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(" ".join(data.split()))


@pytest.mark.parametrize("name", HOSTILE)
def test_html_shows_a_hostile_name_itself(name: str) -> None:
    page = TextOf(render([small_table(name, name, name)], Format.HTML))
    assert page.texts.count(" ".join(name.split())) == 3
    assert "b" not in page.tags


@pytest.mark.parametrize("name", HOSTILE)
def test_markdown_shows_a_hostile_name_itself(name: str) -> None:
    # markdown-it is a CommonMark reader of others; tables are GitHub's extension to it.
    text = render([small_table(name, name, name)], Format.MARKDOWN)
    page = TextOf(MarkdownIt("commonmark").enable("table").render(text))
    shown = " ".join(name.split())
    assert shown in page.texts, "the row"
    assert f"{shown} · Acc" in page.texts, "the heading"
    assert "b" not in page.tags
    assert page.texts.count("–") == 1


def test_a_character_that_pdflatex_lacks_is_written_as_its_number() -> None:
    text = render([small_table("模 é")], Format.LATEX)
    assert "[U+6A21] é &" in text


@pytest.mark.slow
def test_every_table_of_both_papers_and_hostile_names_compile_and_fit_the_page(
    tmp_path: Path,
) -> None:
    sonic = load_scores(sonic_folder(tmp_path / "sonic"))
    omni = load_scores(omni_folder(tmp_path / "omni"))
    with_tests = Choice(
        "gpt-5-mini", published=True, intervals=Intervals.PLUS_MINUS, baseline="qwen-16"
    )
    hostile = [small_table(name, name, name) for name in HOSTILE]
    text = render(
        [
            *hostile,
            *build_tables(SONIC, [], sonic, Choice("gpt-5-mini", published=True)),
            *build_tables(OMNI, [], omni, Choice("gpt-5", published=True)),
            *build_tables(SONIC, ["main", "7"], sonic, with_tests),
        ],
        Format.LATEX,
    )
    # One document: starting pdfLaTeX takes longer than setting a table.
    log = compiled(tmp_path, text)
    assert "Overfull" not in log
    assert r"a\_b\&c 50\%" in text
    assert r"topic \#1" in text
    assert r"\textbar{}" in text, "a bare bar is a dash in the fonts of TeX"


def test_files_are_named_for_their_tables(tmp_path: Path) -> None:
    written = write_tables([small_table()], Format.LATEX, tmp_path / "out")
    assert [path.name for path in written] == ["sonic-o1-small.tex"]
    made = tmp_path / "out" / "sonic-o1-small.tex.made.json"
    assert written[0].read_text(encoding="utf-8") == render([small_table()], Format.LATEX)
    assert {*(tmp_path / "out").iterdir()} == {*written, made}, "nothing half-written is left"
