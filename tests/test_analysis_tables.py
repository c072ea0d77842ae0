"""From scores to tables with values: means, counts, judges, and why a cell is empty."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from analysis.build import build_tables
from analysis.errors import JudgeNotChosen, UnknownName
from analysis.scores import load_scores
from analysis.table import Choice, Reading
from score.assistant import assistant_means
from tests.built_tables import PAPER, build, cell, notes
from tests.paper_scores import OMNI, omni_folder
from tests.score_folders import (
    DOCTOR,
    EMERGENCY,
    metric_rows,
    run_rows,
    score_folder,
    task_rows,
)


def test_a_mean_is_taken_within_each_topic_and_then_over_topics(tmp_path: Path) -> None:
    # By hand: (3/4 + 0/1) / 2 = 0.375, where the mean over items is 3/5.
    values = {DOCTOR: [1.0, 1.0, 1.0, 0.0], EMERGENCY: [0.0]}
    (table,) = build(tmp_path, metric_rows("accuracy", values), "main")
    assert cell(table, "alpha", "Acc").text == "37.5"


def test_what_was_not_scored_is_left_out_or_counts_as_wrong(tmp_path: Path) -> None:
    # 6 right, 2 wrong, 2 never heard: 6 of 8 and 6 of 10.
    values = {DOCTOR: [1.0] * 6 + [0.0] * 2 + [None] * 2}
    rows = metric_rows("accuracy", values, status="infra_failed", reason="timeout")
    (left_out,) = build(tmp_path, rows, "main")
    (wrong,) = build(tmp_path, rows, "main", reading=Reading.FAILURES_AS_WRONG)
    assert cell(left_out, "alpha", "Acc").text == "75.0"
    assert cell(wrong, "alpha", "Acc").text == "60.0"
    for table in (left_out, wrong):
        assert (cell(table, "alpha", "Acc").n_scored, cell(table, "alpha", "Acc").n_expected) == (
            8,
            10,
        )
    assert "scored answers only" in notes(left_out)
    assert "without a score counts 0" in notes(wrong)


def test_an_error_in_seconds_has_no_value_for_a_wrong_answer(tmp_path: Path) -> None:
    rows = metric_rows("mae", {DOCTOR: [2.0, None]}, task="localization")
    (table,) = build(tmp_path, rows, "full", reading=Reading.FAILURES_AS_WRONG)
    empty = cell(table, "alpha", "MAE ↓")
    assert empty.text == "–"
    assert empty.why == "a wrong answer has no mae, and not all answers were scored"


def test_an_error_in_seconds_is_the_same_in_both_readings_where_all_is_scored(
    tmp_path: Path,
) -> None:
    rows = metric_rows("mae", {DOCTOR: [2.0, 4.0]}, task="localization")
    for reading in Reading:
        (table,) = build(tmp_path, rows, "full", reading=reading)
        assert cell(table, "alpha", "MAE ↓").text == "3.0"


def test_a_verdict_that_failed_is_out_of_the_mean_and_counted(tmp_path: Path) -> None:
    rows = metric_rows(
        "rationale_judge",
        {DOCTOR: [4.0, 4.0, None]},
        judge="gpt-5-mini",
        status="judge_failed",
        reason="no number in the reply",
    )
    (table,) = build(tmp_path, rows, "main")
    (all_of_them,) = build(tmp_path, rows, "main", reading=Reading.FAILURES_AS_WRONG)
    assert cell(table, "alpha", "Judge", "MCQ").text == "4.00"
    assert "Judge 2 of 3" in notes(table)
    assert cell(all_of_them, "alpha", "Judge", "MCQ").text == "2.67"


def test_a_topic_without_any_score_is_told_of(tmp_path: Path) -> None:
    (table,) = build(tmp_path, metric_rows("accuracy", {DOCTOR: [1.0], EMERGENCY: [None]}), "main")
    assert cell(table, "alpha", "Acc").text == "100.0"
    assert "Acc 1 of 2 (1 topic without a score)" in notes(table)


def test_runs_with_the_same_counts_share_a_line(tmp_path: Path) -> None:
    (table,) = build(tmp_path, run_rows("alpha", 0.5) + run_rows("beta", 0.6), "main")
    counts = [note.text for note in table.notes if note.text.startswith("Scored of expected")]
    assert counts == [
        "Scored of expected, alpha, beta: "
        "Summarization 3 of 3; MCQ 3 of 3; Temporal localization 3 of 3."
    ]


def test_every_empty_cell_says_why(tmp_path: Path) -> None:
    rows = [
        *task_rows("choosy", "choice", 0.5),
        *run_rows("whole", 0.6),
        *metric_rows("accuracy", {DOCTOR: [None, None]}, run="mute"),
    ]
    (table,) = build(tmp_path, rows, "main")
    why = {
        ("choosy", "Judge", "Summarization"): "the run was asked nothing of task summary",
        ("choosy", "Judge", "MCQ"): "no verdict of judge gpt-5-mini",
        ("mute", "Acc", "MCQ"): "nothing scored: unparsed (no option named)",
        ("mute", "Sim", "MCQ"): "rationale_similarity was not computed",
    }
    for (row, label, group), reason in why.items():
        found = cell(table, row, label, group)
        assert (found.text, found.why) == ("–", reason)
        assert f"{found.mark} {reason}." in notes(table)


def test_similarity_that_was_left_out_is_named_as_such(tmp_path: Path) -> None:
    rows = [row for row in task_rows() if "similarity" not in row["metric"]]
    (table,) = build(tmp_path, rows, "main", signature={"similarity": None})
    assert cell(table, "alpha", "Sim", "MCQ").why == "similarity was not computed"


def test_truncated_texts_are_told_of_under_a_similarity(tmp_path: Path) -> None:
    made = {"similarity": {"texts": 20, "texts_truncated": 4}}
    (table,) = build(tmp_path, task_rows(), "main", signature=made)
    assert "Sim: the encoder truncated 4 of 20 texts." in notes(table)


def test_the_judge_is_named_with_its_model_scale_and_rubric(tmp_path: Path) -> None:
    (table,) = build(tmp_path, run_rows(judge="gpt-5-mini"), "main")
    expected = "Judge: gpt-5-mini (model gpt-5-mini-2025-08-07, scale 0–10, rubric sonic-o1)."
    assert expected in notes(table)


def test_a_judge_that_is_a_formula_is_called_one(tmp_path: Path) -> None:
    (table,) = build(tmp_path, run_rows(judge="lexical"), "main")
    assert "Judge: lexical (a formula, NOT a language model, scale 0–10)." in notes(table)


def test_without_verdicts_the_judge_columns_are_empty(tmp_path: Path) -> None:
    (table,) = build(tmp_path, run_rows(judge=""), "main")
    assert cell(table, "alpha", "Judge").why == "no judge was asked"
    assert "Judge: none" in notes(table)


def test_of_several_judges_one_must_be_chosen(tmp_path: Path) -> None:
    rows = [
        *metric_rows("rationale_judge", {DOCTOR: [4.0]}, judge="gpt-5-mini"),
        *metric_rows("rationale_judge", {DOCTOR: [9.0]}, judge="lexical"),
    ]
    scores = load_scores(score_folder(tmp_path, rows))
    with pytest.raises(JudgeNotChosen, match="choose with --judge: gpt-5-mini, lexical"):
        build_tables(PAPER, ["main"], scores, Choice(scores.chosen_judge(None)))
    with pytest.raises(UnknownName, match="there are: gpt-5-mini, lexical"):
        scores.chosen_judge("gpt-6")
    (table,) = build_tables(PAPER, ["main"], scores, Choice(scores.chosen_judge("lexical")))
    assert cell(table, "alpha", "Judge", "MCQ").text == "9.00"


def test_word_categories_go_by_their_own_names_or_by_liwcs(tmp_path: Path) -> None:
    rows = metric_rows("category:emo_neg", {DOCTOR: [1.5]}, task="empathic")
    (table,) = build(tmp_path, rows, "empathy")
    assert cell(table, "alpha", "Neg. emotion").text == "1.50"
    assert cell(table, "alpha", "Tone").why == "how LIWC makes Tone of its counts is not public"


def test_points_of_100_are_the_means_over_pairs_that_scoring_prints(tmp_path: Path) -> None:
    scores = load_scores(omni_folder(tmp_path))
    means = assistant_means(scores.frame, scores.items)
    own = means.filter(pl.col("run") == "qwen", pl.col("judge") == "gpt-5")
    expected = {
        (str(level), group): mean
        for level, group, mean in own.select("level", "group", "mean").iter_rows()
    }
    (table,) = build_tables(OMNI, ["2"], scores, Choice("gpt-5"))
    (row,) = [row for row in table.blocks[0].rows if row.run == "qwen"]
    shown = {
        (column.by or "overall", column.slice or "overall"): cell.value
        for column, cell in zip(table.columns, row.cells, strict=True)
    }
    assert len(shown) == 16
    assert shown == pytest.approx({key: expected[key] for key in shown})
    assert [top.label for top in table.tops] == ["", "Basic interactive understanding"]
