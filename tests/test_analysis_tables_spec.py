"""Which tables there are: those that a specification names and scores have something for."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from analysis.annotated import statistics_tables
from analysis.errors import AnalysisError, UnknownName
from analysis.scores import load_scores
from analysis.spec import parse_paper
from bench.registry import get
from score.errors import ScoresMissing
from tests.built_tables import PAPER, SPEC, build
from tests.paper_scores import OMNI
from tests.score_folders import metric_rows, run_rows, score_folder, task_rows


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
