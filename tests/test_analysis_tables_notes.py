"""The notes under a table: counts, and why a value has no star, no interval, or is not there."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from analysis.build import build_tables
from analysis.errors import AnalysisError, UnknownName
from analysis.scores import load_scores
from analysis.selection import labelled
from analysis.spec import load_paper
from analysis.table import Choice, Intervals, Table
from score.errors import ScoresMissing
from tests.paper_scores import OMNI, omni_folder, sonic_folder
from tests.score_folders import DOCTOR, EMERGENCY, metric_rows, run_rows, score_folder, task_rows
from tests.score_folders import Row as ScoreRow

PAPER = load_paper("sonic-o1")


def build(folder: Path, rows: list[ScoreRow], *names: str, **options: object) -> list[Table]:
    scores = load_scores(score_folder(folder, rows))
    return build_tables(PAPER, names, scores, Choice(scores.chosen_judge(None), **options))


def note(table: Table, start: str) -> str:
    """The one note that begins so."""
    (found,) = [note.text for note in table.notes if note.text.startswith(start)]
    return found


def choices(run: str, values: list[float]) -> list[ScoreRow]:
    return metric_rows("accuracy", {DOCTOR: values}, run=run)


WAVES = [float(number % 3 > 0) for number in range(12)]


def test_a_value_that_was_not_tested_is_told_from_one_that_does_not_differ(tmp_path: Path) -> None:
    rows = [
        *choices("base", [1.0, 0.0] * 6),
        *choices("tested", WAVES),
        *choices("few", WAVES[:4]),
        *choices("alike", [1.0, 0.0] * 6),
        *metric_rows("rationale_rouge_l", {DOCTOR: WAVES}, run="tested"),
    ]
    (table,) = build(tmp_path, rows, "main", baseline="base")
    said = note(table, "Star")
    assert said.startswith(
        "Star: differs from base, p < 0.05, adjusted by Holm's method for 1 test."
    )
    assert "Not tested: 3 of 4 values (" in said
    assert "fewer than 10 items: 1" in said
    assert "all videos or dialogues are alike: 1" in said
    assert "the baseline has no score of it: 1" in said
    cells = {row.run: row.cells[3] for row in table.blocks[0].rows}
    assert cells["tested"].p is not None
    assert cells["tested"].no_test == ""
    assert cells["few"].no_test == "4 items: fewer than 10"
    assert (cells["base"].p, cells["base"].no_test) == (None, "")


def test_where_nothing_could_be_tested_there_are_no_stars_for_a_reason(tmp_path: Path) -> None:
    rows = choices("alpha", WAVES[:4]) + choices("beta", [1.0, 0.0, 0.0, 1.0])
    (table,) = build(tmp_path, rows, "main", baseline="alpha")
    assert note(table, "No stars") == (
        "No stars: nothing could be tested against alpha. "
        "Not tested: 1 of 1 values (fewer than 10 items)."
    )


def test_a_single_run_has_nothing_to_be_tested_against_itself(tmp_path: Path) -> None:
    (table,) = build(tmp_path, choices("alpha", WAVES), "main", baseline="alpha")
    assert note(table, "No stars") == "No stars: this table has no values of other runs than alpha."


def test_a_baseline_without_scores_of_a_table_is_named(tmp_path: Path) -> None:
    rows = task_rows("alpha", "choice") + task_rows("beta", "summary")
    (table,) = build(tmp_path, rows, "summary-by-topic", baseline="alpha")
    assert note(table, "No stars") == (
        "No stars: alpha, the baseline, has no scores of this table."
    )


def test_values_without_interval_are_counted_by_their_reasons(tmp_path: Path) -> None:
    rows = [
        *metric_rows("accuracy", {DOCTOR: WAVES}),
        *metric_rows("rationale_rouge_l", {DOCTOR: [0.5, 0.5, 0.5]}),
        *metric_rows("rationale_similarity", {DOCTOR: [0.5]}),
        *metric_rows("accuracy", {DOCTOR: [1.0, 0.0], EMERGENCY: [1.0, None]}, run="beta"),
    ]
    (table,) = build(tmp_path, rows, "main", intervals=Intervals.BRACKETS)
    said = note(table, "Brackets")
    assert "Without interval: 3 of 4 values (" in said
    for reason in (
        "all videos or dialogues are alike: 1",
        "one video or dialogue only: 1",
        "one video or dialogue only in a topic: 1",
    ):
        assert reason in said


def test_intervals_beyond_the_scale_are_told_of(tmp_path: Path) -> None:
    # Two topics of two videos each: a t interval of very few clusters.
    rows = metric_rows("accuracy", {DOCTOR: [1.0, 0.0], EMERGENCY: [0.0, 1.0]})
    (table,) = build(tmp_path, rows, "main", intervals=Intervals.BRACKETS)
    cell = table.blocks[0].rows[0].cells[3]
    assert cell.low is not None
    assert cell.low < 0
    assert cell.interval == f"[{cell.low:.1f}, {cell.high:.1f}]", "the numbers are kept"
    assert "1 of 1 intervals reach beyond the metric's scale: too few videos" in (
        note(table, "Brackets")
    )


@pytest.mark.parametrize(
    ("metric", "values", "is_beyond"),
    [
        ("mae", [2.0, 400.0, 3.0], True),  # seconds have no greatest value, but a least
        ("mae", [200.0, 210.0, 205.0], False),
        ("rationale_similarity", [-0.3, -0.2, -0.1], False),
        ("rationale_judge", [10.0, 1.0, 10.0], True),
        ("rationale_judge", [5.0, 6.0, 5.0], False),
    ],
)
def test_each_metric_has_a_scale_of_its_own(
    tmp_path: Path, metric: str, values: list[float], is_beyond: bool
) -> None:
    judge = "gpt-5-mini" if metric.endswith("judge") else ""
    rows = metric_rows(metric, {DOCTOR: values}, task="localization", judge=judge)
    (table,) = build(tmp_path, rows, "full", intervals=Intervals.BRACKETS)
    (cell,) = [one for one in table.blocks[0].rows[0].cells if one.value is not None]
    assert cell.low is not None
    assert cell.is_beyond == is_beyond


def test_columns_without_a_heading_are_counted_by_their_own_names(tmp_path: Path) -> None:
    scores = load_scores(omni_folder(tmp_path))
    (table,) = build_tables(OMNI, ["2"], scores, Choice("gpt-5"))
    said = note(table, "Scored of expected")
    assert said.startswith("Scored of expected, gemini-3-pro, qwen: Overall 38 of 38; Social ")
    assert said.endswith("; Basic avg. 20 of 20.")


def test_a_table_of_errors_that_nobody_classed_has_one_note_in_words(tmp_path: Path) -> None:
    folder = sonic_folder(tmp_path)
    errors = pl.read_parquet(folder / "errors.parquet")
    errors.head(0).write_parquet(folder / "errors.parquet")
    table = build_tables(PAPER, ["errors"], load_scores(folder), Choice())[0]
    assert [one.text for one in table.notes if one.mark] == [
        "no prediction was classed by type of error."
    ]
    errors.write_parquet(folder / "errors.parquet")
    table = build_tables(PAPER, ["errors"], load_scores(folder), Choice())[0]
    assert [one.text for one in table.notes if one.mark] == [
        "predictions were classed by type of error with gpt-5-mini only."
    ]


def test_runs_are_chosen_ordered_and_renamed(tmp_path: Path) -> None:
    rows = [row for name in ("alpha", "beta", "a=b") for row in run_rows(name)]
    scores = load_scores(score_folder(tmp_path, rows))
    runs = labelled(["beta=Ours", "a=b=Theirs = best"], scores)
    choice = Choice("gpt-5-mini", runs=runs, baseline="beta")
    (table,) = build_tables(PAPER, ["main"], scores, choice)
    assert [(row.run, row.label) for row in table.blocks[0].rows] == [
        ("beta", "Ours"),
        ("a=b", "Theirs = best"),
    ]
    assert "Scored of expected, Ours, Theirs = best:" in note(table, "Scored")
    assert "against Ours." in note(table, "No stars")
    assert labelled(["a=b", "alpha"], scores) == (("a=b", "a=b"), ("alpha", "alpha"))


def test_runs_are_chosen_where_they_are_columns_or_one_models(tmp_path: Path) -> None:
    scores = load_scores(sonic_folder(tmp_path))
    choice = Choice("gpt-5-mini", runs=(("qwen-64", "Qwen"), ("qwen-silent", "qwen-silent")))
    columns = build_tables(PAPER, ["choice-by-group"], scores, choice)[0].columns
    assert [column.label for column in columns] == ["Qwen", "qwen-silent"]
    (block,) = build_tables(PAPER, ["by-modality"], scores, choice)[0].blocks
    assert [row.label for row in block.rows] == ["Qwen", "video"]
    lone = Choice("gpt-5-mini", runs=(("qwen-64", "Qwen"),))
    with pytest.raises(ScoresMissing, match=r"qwen: it has runs with video\+audio only"):
        build_tables(PAPER, ["by-modality"], scores, lone)


def test_an_unknown_run_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    scores = load_scores(score_folder(tmp_path, run_rows()))
    with pytest.raises(UnknownName, match="no run 'ghost'; there are: alpha"):
        build_tables(PAPER, ["main"], scores, Choice(runs=labelled(["ghost=G"], scores)))
    with pytest.raises(AnalysisError, match="run alpha is chosen twice"):
        build_tables(PAPER, ["main"], scores, Choice(runs=labelled(["alpha", "alpha=A"], scores)))
