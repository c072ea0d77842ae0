"""Several runs in one table: which is best, how sure that is, which differ, and in what slices."""

from __future__ import annotations

import polars as pl
import pytest

from analysis.build import build_tables
from analysis.errors import UnknownName
from analysis.scores import Scores, load_scores
from analysis.spec import parse_paper
from analysis.table import (
    Block,
    Cell,
    Choice,
    Column,
    Intervals,
    Rank,
    Row,
    Table,
    printed,
    ranked,
)
from score.statistics.answer import answer
from score.statistics.compare import Question
from score.statistics.estimate import estimates
from score.statistics.folder import load
from tests.built_tables import PAPER, SPEC, cell, notes
from tests.paper_scores import sonic_folder


def block(*texts: str) -> Block:
    """One column of values."""
    rows = (
        Row(str(index), (Cell(text, None if text == "–" else float(text)),))
        for index, text in enumerate(texts)
    )
    return Block("", tuple(rows))


def places(*texts: str, better: str = "higher") -> list[Rank]:
    columns = (Column("x", "choice", "accuracy", better=better),)
    return [row.cells[0].rank for row in ranked(block(*texts), columns).rows]


@pytest.mark.parametrize(
    ("texts", "better", "expected"),
    [
        (("1.0", "3.0", "2.0"), "higher", ["", "best", "second"]),
        (("1.0", "3.0", "2.0"), "lower", ["best", "", "second"]),
        (("3.0", "3.0", "2.0", "1.0"), "higher", ["best", "best", "second", ""]),
        (("3.0", "2.0", "2.0", "–"), "higher", ["best", "second", "second", ""]),
        (("9.0", "10.0"), "higher", ["second", "best"]),
        (("3.70", "3.7", "1"), "higher", ["best", "best", "second"]),
        (("2.0", "2.0"), "higher", ["", ""]),
        (("2.0",), "higher", [""]),
        (("1.0", "2.0"), "neither", ["", ""]),
    ],
)
def test_best_and_second_are_marked_as_printed(
    texts: tuple[str, ...], better: str, expected: list[str]
) -> None:
    assert [str(rank) for rank in places(*texts, better=better)] == expected


def test_nothing_is_printed_as_minus_zero() -> None:
    assert printed(-0.0004, 2) == "0.00"


@pytest.fixture(scope="module")
def sonic(tmp_path_factory: pytest.TempPathFactory) -> Scores:
    return load_scores(sonic_folder(tmp_path_factory.mktemp("sonic")))


def table_of(scores: Scores, name: str, **options: object) -> Table:
    """The first printed table of a name."""
    return build_tables(PAPER, [name], scores, Choice("gpt-5-mini", **options))[0]


def test_a_tables_interval_is_the_estimates_own(sonic: Scores) -> None:
    table = table_of(sonic, "main", intervals=Intervals.BRACKETS)
    found = cell(table, "qwen-16", "Acc")
    # As rejudge score would have written it.
    rows = estimates(sonic.frame.filter(pl.col("metric") == "accuracy"), sonic.resamples)
    row = rows.filter(pl.col("run") == "qwen-16", pl.col("mean") == "over-topics").row(
        0, named=True
    )
    assert (found.low, found.high) == (100 * row["low"], 100 * row["high"])
    assert found.interval == f"[{found.low:.1f}, {found.high:.1f}]"
    plus_minus = cell(table_of(sonic, "main", intervals=Intervals.PLUS_MINUS), "qwen-16", "Acc")
    assert plus_minus.interval == f"± {(found.high - found.low) / 2:.1f}"


def test_a_star_marks_what_rejudge_compare_finds_after_correction(sonic: Scores) -> None:
    one_metric = parse_paper(SPEC, "p.toml")
    choice = Choice("gpt-5-mini", baseline="qwen-16")
    (table,) = build_tables(one_metric, ["one"], sonic, choice)
    others = ("gemini-3-pro", "qwen-64", "qwen-silent")
    found = answer(
        load(sonic.folder), Question("qwen-16", others), metrics=["accuracy"], n_replicates=10_000
    )
    expected = {one.candidate: one.test.p_adjusted for one in found.comparisons}
    cells = {row.run: row.cells[0] for row in table.blocks[0].rows}
    assert {run: cells[run].p for run in others} == expected
    assert {run: cells[run].star for run in others} == {
        run: "*" if p is not None and p < 0.05 else "" for run, p in expected.items()
    }
    assert (cells["qwen-16"].p, cells["qwen-16"].star) == (None, "")
    assert "Star: differs from qwen-16, p < 0.05, adjusted by Holm's method for 3 tests." in (
        notes(table)
    )


def test_an_unknown_baseline_is_answered_with_the_runs(sonic: Scores) -> None:
    with pytest.raises(UnknownName, match="there are: gemini-3-pro, qwen-16"):
        table_of(sonic, "main", baseline="gpt-9")


def test_rows_of_slices_are_means_over_their_items(sonic: Scores) -> None:
    table = table_of(sonic, "choice-by-group")
    # By another way: a plain group-by over the scores.
    own = (
        sonic.frame.filter(pl.col("run") == "qwen-64", pl.col("metric") == "accuracy")
        .join(sonic.items.select("item", "age"), on="item")
        .explode("age")
    )
    means = own.group_by("age").agg(pl.col("value").mean(), pl.len())
    for name, mean, n in means.iter_rows():
        shown = cell(table, f"{name.replace('-', '–')} (n = {n})", "qwen-64")
        assert shown.value == pytest.approx(100 * mean)
    assert [block.label for block in table.blocks] == ["Race", "Gender", "Age"]
    assert table.blocks[0].rows[-1].label.startswith("unknown"), "what nobody says comes last"


def test_shares_of_error_types_are_over_all_classed_predictions(sonic: Scores) -> None:
    table = table_of(sonic, "errors")
    row = table.blocks[0].rows[0]
    assert sum(cell.value or 0 for cell in row.cells) == pytest.approx(100)
    assert all(str(cell.rank) == "" for cell in row.cells), "no share is better than another"


def test_runs_of_one_model_with_different_media_are_ranked_among_themselves(
    sonic: Scores,
) -> None:
    (block,) = table_of(sonic, "by-modality").blocks
    assert block.label == "qwen"
    assert [row.run for row in block.rows] == ["qwen-silent", "qwen-64"]
    assert [str(row.cells[0].rank) for row in block.rows] == ["", "best"]


def test_a_table_carries_how_it_was_made(sonic: Scores) -> None:
    table = table_of(sonic, "main")
    assert table.made["scores_sha256"] == sonic.digest
    assert table.made["scores"] == sonic.signature
    assert f"from scores {sonic.digest}." in notes(table)
