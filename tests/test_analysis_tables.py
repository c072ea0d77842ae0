"""From scores to tables with values: means, ranks, counts, and why a cell is empty."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from analysis.annotated import statistics_tables
from analysis.build import build_tables
from analysis.errors import AnalysisError, JudgeNotChosen, UnknownName
from analysis.scores import Scores, load_scores
from analysis.spec import load_paper, parse_paper
from analysis.table import (
    Block,
    Cell,
    Choice,
    Column,
    Intervals,
    Rank,
    Reading,
    Row,
    Table,
    printed,
    ranked,
)
from bench.registry import get
from score.assistant import assistant_means
from score.errors import ScoresMissing
from score.statistics.answer import answer
from score.statistics.compare import Question
from score.statistics.estimate import estimates
from score.statistics.folder import load
from tests.paper_scores import OMNI, omni_folder, sonic_folder
from tests.score_folders import (
    DOCTOR,
    EMERGENCY,
    metric_rows,
    run_rows,
    score_folder,
    task_rows,
)
from tests.score_folders import Row as ScoreRow

PAPER = load_paper("sonic-o1")


def build(folder: Path, rows: list[ScoreRow], *names: str, **options: object) -> list[Table]:
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


def test_a_table_across_topics_has_a_group_of_columns_for_each_topic_there_is(
    tmp_path: Path,
) -> None:
    (table,) = build(tmp_path, run_rows(), "localization-by-topic")
    assert [(span.label, span.width) for span in table.spans] == [
        ("T1: Doctor", 4),
        ("T6: Emergency", 4),
    ]
    assert [c.label for c in table.columns[:4]] == ["mIoU", "R@0.5", "MAE ↓", "Judge"]


def test_thirteen_topics_go_over_three_tables_as_in_the_paper(tmp_path: Path) -> None:
    rows = metric_rows("accuracy", {topic: [1.0] for topic in PAPER.topics})
    tables = build(tmp_path, rows, "choice-by-topic")
    assert [len(table.spans) for table in tables] == [4, 4, 5]
    assert tables[2].name == "sonic-o1-choice-by-topic-3"


def test_a_topic_that_is_not_the_papers_is_shown_by_its_own_name(tmp_path: Path) -> None:
    rows = metric_rows("accuracy", {"01_Cooking_Lessons": [1.0]})
    (table,) = build(tmp_path, rows, "choice-by-topic", published=True)
    assert table.spans[0].label == "T1: Cooking Lessons"
    assert [block.label for block in table.blocks] == [""], "its topic 1 is not the paper's"


def test_all_tables_are_built_that_the_scores_have_something_for(tmp_path: Path) -> None:
    tables = build(tmp_path, task_rows("alpha", "choice"))
    assert [table.name for table in tables] == [
        "sonic-o1-main",
        "sonic-o1-full",
        "sonic-o1-choice-by-topic",
    ]


def test_a_table_is_asked_for_by_name_or_by_number(tmp_path: Path) -> None:
    by_name = build(tmp_path, run_rows(), "main", "summary-by-topic")
    assert build(tmp_path, run_rows(), "A6", "3") == by_name


def test_an_unknown_table_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"main \(3\), full \(A4\)"):
        build(tmp_path, run_rows(), "B7")


def test_a_table_that_the_scores_have_nothing_for_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScoresMissing, match="summary-by-topic: their tasks are choice"):
        build(tmp_path, task_rows("alpha", "choice"), "summary-by-topic")


def test_a_folder_without_scores_says_what_writes_them(tmp_path: Path) -> None:
    with pytest.raises(ScoresMissing, match="rejudge score BENCH"):
        load_scores(tmp_path / "nowhere")


def test_a_damaged_scores_file_is_no_traceback(tmp_path: Path) -> None:
    score_folder(tmp_path, run_rows())
    (tmp_path / "scores.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(ScoresMissing, match="no readable Parquet file"):
        load_scores(tmp_path)


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


def test_a_new_table_is_a_new_entry_of_data() -> None:
    more = (
        SPEC
        + b"""
[[table]]
name = "two"
numbers = ["2"]
title = "Two"
groups = [{ label = "MCQ", task = "choice", by = "topic", metrics = ["accuracy"] }]
"""
    )
    assert parse_paper(more, "p.toml").named("2").title == "Two"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b'"accuracy"]', b'"precision"]', r"table one: \[metric.choice\] lacks precision"),
        (b'title = "One"', b'titel = "One"', "titel"),
        (b'task = "choice"', b'task = "quiz"', "quiz"),
        (b'title = "One"', b'title = "One"\ndigits = { tiou = 3 }', "digits names tiou"),
        (b'title = "One"', b"title =", "Invalid value"),
        (b'title = "One"', b'title = "One"\nrows = "slice"', "rows by slice need by"),
        (b'task = "choice", m', b'task = "choice", by = "mood", m', "no slices by 'mood'"),
    ],
)
def test_a_fault_of_a_specification_is_named(old: bytes, new: bytes, said: str) -> None:
    with pytest.raises(AnalysisError, match=said):
        parse_paper(SPEC.replace(old, new), "p.toml")


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


def test_a_table_carries_how_it_was_made(sonic: Scores) -> None:
    table = table_of(sonic, "main")
    assert table.made["scores_sha256"] == sonic.digest
    assert table.made["scores"] == sonic.signature
    assert f"from scores {sonic.digest}." in notes(table)


def test_statistics_are_counted_in_the_annotations() -> None:
    # The bundled benchmark's annotations: 9 videos in 4 topics.
    items = get("demo").load(None)
    tasks, domains, topics = statistics_tables(PAPER, "demo", items, published=True)
    rows = {row.label: [c.text for c in row.cells] for row in tasks.blocks[0].rows}
    per_task = Counter(str(item.task) for item in items)
    assert rows["Total"] == [str(len(items)), "9"]
    assert rows["MCQ"] == [str(per_task["choice"]), "9"]
    lengths = {item.cluster: item.attributes.duration_s for item in items}
    whole = [row.cells[2].value for row in topics.blocks[0].rows][-1]
    assert whole == pytest.approx(sum(filter(None, lengths.values())) / 60)
    assert domains.blocks[1].rows[0].label == "Professional"
    assert domains.blocks[1].rows[0].cells[1].text == "708.8"


def test_dialogues_whose_lengths_are_not_annotated_have_a_dash() -> None:
    items = get("demo-assistant").load(None)
    (table,) = statistics_tables(OMNI, "demo-assistant", items, ["1"])
    assert table.blocks[0].rows[-1].cells[-1].why.startswith("the annotations do not give")
