"""LaTeX tables on the page: no name breaks a document, and none is wider than the page unsaid."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.build import build_tables
from analysis.render import Format, render, write_tables
from analysis.scores import Scores, load_scores
from analysis.table import Block, Cell, Choice, Column, Intervals, Note, Row, Span, Table
from analysis.width import PAGE_PT, fitted, numbered, points, size_of, too_wide
from tests.latex_document import compiled
from tests.paper_scores import OMNI, SONIC, omni_folder, sonic_folder
from tests.score_folders import run_rows, score_folder

#: CASES: texts that LaTeX takes for something else where a row begins.
BEGINNINGS = ["محمد", "模型", "[x]", "*star", "-1", "\\", "@{}", "~", "* [a]"]


def named(name: str) -> Table:
    """A table in which every text but the values is ``name``."""
    cells = tuple(Cell("1.0", 1.0, interval="[0.5, 1.5]", mark="a") for _ in range(2))
    block = Block(name, (Row(name, cells), Row(name, cells), Row(name, cells)))
    return Table(
        name="named",
        title=name,
        tops=(Span(name, 2),),
        spans=(Span(name, 1), Span(name, 1)),
        columns=(Column(name, "choice", "accuracy"), Column(name, "choice", "accuracy")),
        blocks=(block, block),
        notes=(Note(name), Note(name, "a"), Note(name)),
    )


@pytest.mark.slow
def test_a_text_at_the_beginning_of_any_line_is_no_argument(tmp_path: Path) -> None:
    compiled(tmp_path, render([named(name) for name in BEGINNINGS], Format.LATEX))


@pytest.mark.parametrize("name", BEGINNINGS)
def test_no_line_begins_with_what_the_end_of_the_line_before_would_take(name: str) -> None:
    # A star there does not break a document: it is swallowed.
    text = render([named(name)], Format.LATEX)
    assert not re.search(r"\\\\\s*\n\s*[*\[]", text)


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Scores:
    """Twelve runs whose names are as long as default ones."""
    rows = [
        row
        for number in range(12)
        for row in run_rows(f"sonic-o1-Qwen3-Omni-30B-A3B-Instruct-frames-{number:02}", 0.5)
    ]
    return load_scores(score_folder(tmp_path_factory.mktemp("wide"), rows))


def natural_widths(folder: Path, tables: list[Table]) -> list[float]:
    """The widths that LaTeX itself gives tables, in points."""
    boxes = []
    for table in tables:
        text = render([table], Format.LATEX)
        found = re.search(
            r"(\\setlength\{\\tabcolsep\}\S+).*?(\\fontsize\S+)\s*(\\begin\{tabular\*\}.*\})", text,
            re.DOTALL,
        )  # fmt: skip
        assert found is not None
        inner = found[3].partition(r"\end{tabular*}")[0]
        inner = inner.replace(
            r"\begin{tabular*}{\linewidth}{@{\extracolsep{\fill}}", r"\begin{tabular}{"
        )
        boxes.append(
            f"{{{found[1]}{found[2]}\\sbox\\measured{{{inner}\\end{{tabular}}}}"
            r"\typeout{WIDTH \the\wd\measured}}"
        )
    log = compiled(folder, "x\n" + "\n".join(boxes))
    return [float(width) for width in re.findall(r"WIDTH ([\d.]+)pt", log)]


@pytest.mark.slow
def test_widths_are_estimated_as_latex_measures_them(tmp_path: Path, wide: Scores) -> None:
    sonic = load_scores(sonic_folder(tmp_path / "sonic"))
    omni = load_scores(omni_folder(tmp_path / "omni"))
    tables = [
        *build_tables(SONIC, ["main"], wide, Choice("gpt-5-mini")),
        *build_tables(OMNI, [], omni, Choice("gpt-5", published=True)),
    ]
    for intervals in Intervals:
        choice = Choice("gpt-5-mini", intervals=intervals, baseline="qwen-16")
        tables += build_tables(SONIC, [], sonic, choice)
    tables = numbered(tables)
    measured = natural_widths(tmp_path, tables)
    estimated = [points(table, size_of(table)) for table in tables]
    assert len(measured) == len(estimated)
    for table, width, guess in zip(tables, measured, estimated, strict=True):
        assert width <= guess + 1, table.name
        assert guess <= 1.15 * width + 10, table.name
        assert width <= PAGE_PT, table.name


def test_a_table_that_is_wider_than_a_page_goes_over_several(tmp_path: Path) -> None:
    sonic = load_scores(sonic_folder(tmp_path))
    choice = Choice("gpt-5-mini", intervals=Intervals.BRACKETS)
    (whole,) = build_tables(SONIC, ["full"], sonic, choice)
    parts = numbered([whole])
    assert [part.name for part in parts] == ["sonic-o1-full-1", "sonic-o1-full-2"]
    assert [part.whole_name for part in parts] == ["sonic-o1-full"] * 2
    assert not any(map(too_wide, parts))
    columns = [column for part in parts for column in part.columns]
    assert columns == list(whole.columns)
    rows = zip(*(part.blocks[0].rows for part in parts), strict=True)
    assert [sum((row.cells for row in same), ()) for same in rows] == [
        row.cells for row in whole.blocks[0].rows
    ], "values, ranks and marks are those of the whole"
    assert parts[1].notes[0].text == "Part 2 of 2 of one table; the notes are of all of it."
    assert [span.label for part in parts for span in part.spans] == [
        "Summarization",
        "MCQ",
        "Temporal localization",
    ], "cut between groups of columns"


def test_a_part_has_the_notes_of_its_own_cells() -> None:
    marked = Cell("–", why="not computed", mark="a")
    plain = Cell("1" * 60, 1.0)
    columns = tuple(Column(f"c{at}", "choice", "accuracy") for at in range(4))
    table = Table(
        name="t",
        title="T",
        spans=(Span("", 4),),
        columns=columns,
        blocks=(Block("", (Row("alpha", (marked, plain, plain, plain)),)),),
        notes=(Note("All."), Note("not computed.", "a")),
    )
    first, *others = fitted(table)
    assert [note.mark for note in first.notes] == ["", "", "a"]
    assert others
    assert all(not note.mark for part in others for note in part.notes)


def test_cutting_does_not_help_where_the_rows_names_are_too_long() -> None:
    table = replace(named("x" * 200), columns=named("x").columns, spans=named("x").spans)
    assert fitted(table) == [table]
    assert too_wide(table)


def test_parts_of_parts_are_numbered_through(tmp_path: Path) -> None:
    sonic = load_scores(sonic_folder(tmp_path))
    choice = Choice("gpt-5-mini", intervals=Intervals.BRACKETS, baseline="qwen-16")
    long = tuple((run, f"{run} with a name that is rather long") for run in sonic.model_of)
    tables = build_tables(SONIC, ["choice-by-topic"], sonic, replace(choice, runs=long))
    parts = numbered(tables)
    assert len(parts) > len(tables)
    assert [part.name for part in parts] == [
        f"sonic-o1-choice-by-topic-{number + 1}" for number in range(len(parts))
    ]
    assert [part.made["table"] for part in parts] == [part.name for part in parts]


def test_each_file_has_its_own_companion(tmp_path: Path) -> None:
    sonic = load_scores(sonic_folder(tmp_path / "scores"))
    for form, intervals in ((Format.LATEX, Intervals.NONE), (Format.CSV, Intervals.BRACKETS)):
        choice = Choice("gpt-5-mini", intervals=intervals)
        write_tables(build_tables(SONIC, ["main"], sonic, choice), form, tmp_path / "out")
    latex, csv = (
        (tmp_path / "out" / f"sonic-o1-main.{suffix}.made.json").read_text("utf-8")
        for suffix in ("tex", "csv")
    )
    assert '"intervals": "none"' in latex
    assert '"intervals": "brackets"' in csv


def test_parts_of_an_earlier_call_are_removed(tmp_path: Path) -> None:
    sonic = load_scores(sonic_folder(tmp_path / "scores"))
    out = tmp_path / "out"

    def names(intervals: Intervals, *runs: tuple[str, str]) -> set[str]:
        choice = Choice("gpt-5-mini", intervals=intervals, runs=runs)
        write_tables(build_tables(SONIC, ["full"], sonic, choice), Format.LATEX, out)
        return {path.name for path in out.iterdir()}

    out.mkdir()
    mine = {"sonic-o1-full-7.tex", "sonic-o1-fuller.tex"}
    for name in mine:
        (out / name).write_text("no table of ours: it has no companion")
    parts = {f"sonic-o1-full-{part}.tex{end}" for part in "12" for end in ("", ".made.json")}
    whole = {"sonic-o1-full.tex", "sonic-o1-full.tex.made.json"}
    assert names(Intervals.BRACKETS) == mine | parts
    assert names(Intervals.NONE) == mine | whole
    assert names(Intervals.BRACKETS) == mine | parts
