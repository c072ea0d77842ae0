"""The papers' values, as data: complete, consistent, and ranked as the rule says."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from analysis.build import build_tables
from analysis.published import published_values
from analysis.scores import load_scores
from analysis.spec import load_paper
from analysis.table import Choice, Rank, Table
from tests.paper_scores import OMNI, SONIC, omni_folder, sonic_folder
from tests.score_folders import metric_rows, run_rows, score_folder

PAPER = load_paper("sonic-o1")

#: Table 3 of the SONIC-O1 paper: ** best, _ second, worked out by eye from the printed numbers.
#: Summaries: judge, ROUGE-L, similarity. MCQ: accuracy, judge, ROUGE-L, similarity.
#: Localization: mIoU, R@0.5, judge, ROUGE-L, similarity.
TABLE_3 = """
gemini-3.0-pro† *7.07 *27.2 *0.81  *96.4 *9.38 *36.9 *0.80  *26.6 *25.4 *5.38 *28.3 _0.67
qwen3-omni     _5.72 _22.8 _0.71  _93.6 _8.88 _33.8 _0.78  _3.7  _2.8   2.58 _28.0 *0.70
unimoe-2.0      4.71  20.8  0.70   88.2  8.12  26.5  0.73   1.8   1.0   2.11  23.7  0.55
minicpm-o-2.6   3.34  14.7  0.56   87.4  8.01  24.4  0.73   1.8   0.7   3.65  19.3  0.41
vita-1.5        2.77  16.3  0.49   81.5  7.72  25.2  0.71   1.8   1.2  _3.91  22.1  0.43
videollama2     1.53  12.7  0.38   54.3  5.11  18.9  0.58   3.5   0.4   2.22  22.5  0.49
"""


def published(folder: Path, name: str, rows: list[dict[str, object]] | None = None) -> Table:
    scores = load_scores(score_folder(folder, rows or run_rows()))
    return build_tables(PAPER, [name], scores, Choice("gpt-5-mini", published=True))[0]


def test_table_3_stands_beside_the_runs_with_its_best_and_second_marked(tmp_path: Path) -> None:
    block = published(tmp_path, "main").blocks[1]
    assert block.label == "Published: SONIC-O1, Table 3"
    mark = {Rank.BEST: "*", Rank.SECOND: "_", Rank.OTHER: ""}
    shown = [
        [row.label, *(mark[cell.rank] + cell.text for cell in row.cells)] for row in block.rows
    ]
    assert shown == [line.split() for line in TABLE_3.strip().splitlines()]


def test_runs_are_ranked_among_themselves_not_against_the_paper(tmp_path: Path) -> None:
    rows = run_rows("high", 0.9) + run_rows("low", 0.1)
    runs = published(tmp_path, "main", rows).blocks[0]
    assert runs.label == "These runs"
    assert [str(row.cells[3].rank) for row in runs.rows] == ["best", "second"]


def test_lower_is_better_for_errors_in_seconds(tmp_path: Path) -> None:
    table = published(tmp_path, "full")
    at = [column.metric for column in table.columns].index("mae")
    ranks = {row.label: str(row.cells[at].rank) for row in table.blocks[1].rows}
    assert ranks["gemini-3.0-pro†"] == "best"  # 12.0 s
    assert ranks["qwen3-omni"] == "second"  # 60.0 s


def test_a_topic_has_its_own_published_values(tmp_path: Path) -> None:
    rows = metric_rows("accuracy", {"06_Emergency_Response_Scenarios": [1.0]})
    block = published(tmp_path, "choice-by-topic", rows).blocks[1]
    assert block.label == "Published: SONIC-O1, Table A9"
    gemini = block.rows[0]
    assert [cell.text for cell in gemini.cells] == ["95.4", "8.99", "32.0", "0.79"]


def test_the_means_over_the_published_topics_are_the_published_macro_means() -> None:
    # The paper prints the same thing twice: topics rounded to 0.1, and so are their means.
    topics = published_values("sonic-o1", [f"A{number}" for number in range(5, 14)])
    key = ["model", "task", "metric"]
    means = topics.group_by(key).agg(pl.col("value").cast(pl.Float64).mean().alias("mean"))
    both = means.join(published_values("sonic-o1", ["A4"]), on=key)
    assert both.height == 66
    assert both.select((pl.col("mean") - pl.col("value").cast(pl.Float64)).abs().max()).item() < 0.1


#: Table 4, its columns Gemini, Qwen3-Omni and UniMoE: ** best, ! worst of a group of rows.
TABLE_4 = """
Arab        6.90 *5.95 *5.00
Indigenous  6.70 !4.13  4.35
Asian      *7.05  5.71  4.62
White       6.68  5.28  4.29
Hispanic    6.41  4.99  3.70
Black      !6.02  4.39 !3.45
Male       !6.36 !4.97 !3.93
Female     *7.02 *5.47 *4.55
18–24      !6.28 !4.93  4.02
25–39       6.52  5.01 !4.01
40+        *6.91 *5.47 *4.45
"""


def test_the_worst_of_each_group_of_rows_is_marked_as_in_table_4(every: list[Table]) -> None:
    parts = [table for table in every if table.name.startswith("sonic-o1-summary-by-group-")]
    parts = [table for table in parts if "full" not in table.name]
    mark = {Rank.BEST: "*", Rank.WORST: "!", Rank.OTHER: ""}
    shown: dict[str, list[str]] = {}
    for table in parts:
        for block in table.blocks:
            for row in block.rows:
                for column, cell in zip(table.columns, row.cells, strict=True):
                    if column.label in ("gemini-3.0-pro†", "qwen3-omni", "unimoe-2.0"):
                        name = row.label.partition(" (")[0]
                        shown.setdefault(name, []).append(mark[cell.rank] + cell.text)
    shown.pop("unknown")
    assert [[name, *cells] for name, cells in shown.items()] == [
        line.split() for line in TABLE_4.strip().splitlines()
    ]


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> list[Table]:
    """Every table of both papers with the papers' values beside."""
    sonic = load_scores(sonic_folder(tmp_path_factory.mktemp("sonic")))
    omni = load_scores(omni_folder(tmp_path_factory.mktemp("omni")))
    return [
        *build_tables(SONIC, [], sonic, Choice("gpt-5-mini", published=True)),
        *build_tables(OMNI, [], omni, Choice("gpt-5", published=True)),
    ]


def test_every_published_number_stands_in_a_table_as_often_as_it_is_printed(
    every: list[Table],
) -> None:
    shown: Counter[tuple[str, str]] = Counter()
    for table in every:
        paper = table.name.partition("-")[0]
        for block in table.blocks:
            for row in block.rows:
                shown.update(
                    (paper, c.text)
                    for c in row.cells
                    if c.n_expected is None and c.value is not None
                )
    printed: Counter[tuple[str, str]] = Counter()
    for paper in (SONIC, OMNI):
        numbers = [number for table in paper.table for number in table.numbers]
        values = published_values(paper.paper, numbers)["value"]
        printed.update((paper.paper.partition("-")[0], text) for text in values)
    assert printed == shown
    assert sum(printed.values()) == 2_944, "a line of the file each"


def test_every_empty_cell_of_a_published_row_says_so(every: list[Table]) -> None:
    cells = [c for table in every for b in table.blocks for row in b.rows for c in row.cells]
    assert {cell.why for cell in cells if cell.value is None} == {
        "not in the paper",
        "how LIWC makes Tone of its counts is not public",
    }


def test_every_metric_shown_has_its_published_counterpart() -> None:
    for table in (one for one in PAPER.table if one.numbers):
        listed = set(
            published_values("sonic-o1", table.numbers).select("task", "metric").unique().rows()
        )
        for group in table.groups:
            for name in group.metrics:
                assert (group.published, PAPER.metric[group.task][name].published) in listed
