"""A report's numbers: the benchmark's own mean and unit, and values out of the ordinary."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from analysis.build import build_tables
from analysis.errors import AnalysisError
from analysis.figures.figure import Source as FigureSource
from analysis.report.board import boards, sliced
from analysis.report.catalog import metrics_of
from analysis.report.shown import placed
from analysis.report.site import make_report
from analysis.report.source import open_source
from analysis.scores import load_scores
from analysis.spec import load_paper
from analysis.table import Choice
from bench import registry
from rejudge import cli
from score.errors import ScoresMissing
from tests.reported import Folders, assistant_folders, huge_folders
from tests.score_folders import metric_rows, score_folder
from tests.test_analysis_report import data, entries


@pytest.fixture(scope="module")
def dialogues(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    return assistant_folders(tmp_path_factory.mktemp("dialogues"))


@pytest.fixture(scope="module")
def huge(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    return huge_folders(tmp_path_factory.mktemp("huge"))


def copied(folder: Path, place: Path) -> Path:
    """A folder of scores for editing: its signature knows no contents."""
    place.mkdir()
    for table in folder.iterdir():
        (place / table.name).write_bytes(table.read_bytes())
    made = json.loads((place / "signature.json").read_text("utf-8"))
    (place / "signature.json").write_text(json.dumps(made | {"tables": {}}))
    return place


def judged_means(folder: Path) -> dict[str, float]:
    """Run → mean over items in points of 100, by a plain group-by; the judge's scale ends at 10."""
    own = pl.read_parquet(folder / "scores.parquet").filter(pl.col("metric") == "answer_judge")
    return dict(own.group_by("run").agg(10 * pl.col("value").mean()).iter_rows())


@pytest.mark.parametrize(
    ("paper", "names"),
    [("sonic-o1", ["sonic-o1", "demo"]), ("omniassistbench", ["omniassist", "demo-assistant"])],
)
def test_a_benchmarks_mean_is_that_of_its_papers_first_table(paper: str, names: list[str]) -> None:
    over_topics = load_paper(paper).table[0].mean == "topics"
    assert [registry.is_over_topics(name) for name in names] == [over_topics] * 2
    assert registry.is_over_topics("somebody's own")


def test_dialogues_are_averaged_over_items_in_points_of_100_everywhere(dialogues: Folders) -> None:
    means = judged_means(dialogues.scores)
    own = pl.read_parquet(dialogues.scores / "scores.parquet").filter(
        pl.col("metric") == "answer_judge", pl.col("run") == "beta"
    )
    over_topics = 10 * own.group_by("topic").agg(pl.col("value").mean())["value"].mean()
    assert abs(means["beta"] - over_topics) > 0.05, "the two means can be told apart"
    with open_source(dialogues.scores, None, None) as source:
        metrics = metrics_of(source)
        (board,) = boards(source, metrics)
        slices = sliced(source, metrics)
    assert board.columns[0][0] == "Answer: judge (lexical), points of 100"
    shown = {row.name: row.cells[0]["scored-only"] for row in board.rows}
    assert {run: cell.value for run, cell in shown.items()} == pytest.approx(means)
    scores = load_scores(dialogues.scores)
    (table, *_) = build_tables(load_paper("omniassistbench"), ("basic",), scores, Choice("lexical"))
    printed = {row.label: row.cells[0].text for block in table.blocks for row in block.rows}
    assert {run: cell.text for run, cell in shown.items()} == printed
    drawn = FigureSource(scores, "lexical")
    (headline,) = drawn.headlines()
    figures = {run: headline.of(drawn.measure(run, headline).value or 0.0) for run in means}
    assert figures == pytest.approx(means)
    parts = {board.by: board for board in slices if "judge" in board.metric}
    (quiet,) = [row for row in parts["topic"].rows if row.name == own["topic"][0]]
    expected = own.filter(pl.col("topic") == own["topic"][0])["value"].mean()
    assert quiet.cells[1]["scored-only"].value == pytest.approx(10 * (expected or 0.0))


def test_comparisons_of_dialogues_are_of_the_same_means(dialogues: Folders, tmp_path: Path) -> None:
    folder = copied(dialogues.scores, tmp_path / "scores")
    words = ["compare", str(folder), "--baseline", "beta", "--resamples", "200"]
    done = CliRunner().invoke(cli, [*words, "--out", str(folder / "compared"), "--json"])
    (found,) = json.loads(done.stdout)["comparisons"]
    means = judged_means(dialogues.scores)
    assert 10 * found["difference"] == pytest.approx(means["alpha"] - means["beta"])
    asked = CliRunner().invoke(cli, [*words, "--mean", "over-topics", "--json"])
    (other,) = json.loads(asked.stdout)["comparisons"]
    assert abs(other["difference"] - found["difference"]) > 0.005
    make_report(folder, tmp_path / "site")
    page = (tmp_path / "site" / "index.html").read_text("utf-8")
    assert "Means over items with 95%" in page
    assert "scored-only, over items;" in page
    assert f"+{means['alpha'] - means['beta']:.1f}" in page


def test_comparisons_of_other_benchmarks_are_over_topics_by_default(tmp_path: Path) -> None:
    # Over topics 1/2 − 1/2 = 0; over items 3/4 − 1/4 = 1/2.
    first = {"01_A": [1.0, 1.0, 1.0], "02_B": [0.0]}
    second = {"01_A": [0.0, 0.0, 0.0], "02_B": [1.0]}
    rows = metric_rows(values=first, run="a") + metric_rows(values=second, run="b")
    folder = score_folder(tmp_path, rows)
    pl.DataFrame({"item": [row["item"] for row in rows[:4]]}).write_parquet(
        folder / "items.parquet"
    )
    words = ["compare", str(folder), "--baseline", "b", "--metric", "accuracy", "--json"]
    (found,) = json.loads(CliRunner().invoke(cli, words).stdout)["comparisons"]
    assert found["difference"] == pytest.approx(0.0)


def test_a_turn_has_the_turns_of_its_dialogue(dialogues: Folders, tmp_path: Path) -> None:
    make_report(dialogues.scores, tmp_path / "site", store=dialogues.store)
    found = entries(tmp_path / "site")
    turns = [[number, f"assistant/signs-seg{number}"] for number in (1, 2, 3)]
    assert found["assistant/signs-seg3"]["turns"] == turns
    assert found["assistant/bottles"]["turns"] == []
    metric = data(tmp_path / "site", "catalog")["metrics"][0]
    assert (metric["scale"], metric["unit"]) == (10.0, "points of 100")


def test_a_store_without_the_answers_is_refused(
    huge: Folders, dialogues: Folders, tmp_path: Path
) -> None:
    n = 2 * len(huge.items)
    with pytest.raises(AnalysisError, match=f"holds none of the {n} answers that were scored"):
        make_report(huge.scores, tmp_path / "site", store=dialogues.store)
    assert not (tmp_path / "site").exists()


def test_answers_that_the_store_lacks_are_counted(huge: Folders, tmp_path: Path) -> None:
    folder = copied(huge.scores, tmp_path / "scores")
    lost = pl.col("run") == "beta"
    predictions = pl.read_parquet(folder / "predictions.parquet")
    predictions.with_columns(
        pl.when(lost).then(pl.col("key").str.reverse()).otherwise("key").alias("key")
    ).write_parquet(folder / "predictions.parquet")
    made = make_report(folder, tmp_path / "site", store=huge.store)
    n = len(huge.items)
    note = f"{n} of {2 * n} answers are not in the store."
    assert note in made.notes
    assert note in (tmp_path / "site" / "answers.html").read_text("utf-8")


def test_places_of_huge_numbers_are_numbers_or_none() -> None:
    assert placed((0.0, 1e308), 0.0, 1e308) == (0.0, 100.0)
    assert placed((2.0, 3.0), 2.0, 2.0) == (0.0, 100.0)
    assert placed((-1e308, 1e308), -1e308, 1e308) is None
    assert placed((float("nan"), 1.0), 0.0, 1.0) is None


def test_no_line_of_a_page_is_drawn_to_a_place_that_is_no_number(
    huge: Folders, tmp_path: Path
) -> None:
    make_report(huge.scores, tmp_path / "site", store=huge.store)
    page = (tmp_path / "site" / "index.html").read_text("utf-8")
    places = re.findall(r' [xy][12]="([^"]*)"', page)
    assert places
    assert all(0.0 <= float(place) <= 100.0 for place in places)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (pl.lit("0.5"), "column value: it holds String, where numbers are expected"),
        (pl.lit(float("inf")), "column value: .* no finite number"),
        (pl.lit(float("nan")), "column value: .* no finite number"),
    ],
)
def test_values_that_are_no_numbers_are_refused_with_file_and_column(
    huge: Folders, tmp_path: Path, value: pl.Expr, found: str
) -> None:
    folder = copied(huge.scores, tmp_path / "scores")
    scores = pl.read_parquet(folder / "scores.parquet")
    scores.with_columns(value.alias("value")).write_parquet(folder / "scores.parquet")
    with pytest.raises(ScoresMissing, match=rf"scores\.parquet, {found}"):
        make_report(folder, tmp_path / "site")


def test_what_a_killed_process_left_beside_a_report_is_removed(
    huge: Folders, tmp_path: Path
) -> None:
    gone = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    here = socket.gethostname()
    left = [f".site.{here}.{int(gone.stdout)}", f".site.{here}.{os.getpid()}"]
    kept = [f".site.{here}.{os.getppid()}", f".site.elsewhere.{int(gone.stdout)}", ".site.mine"]
    for name in (*left, *kept):
        (tmp_path / name / "data").mkdir(parents=True)
    make_report(huge.scores, tmp_path / "site")
    assert {path.name for path in tmp_path.iterdir()} == {"site", *kept}
