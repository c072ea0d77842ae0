"""Figures: their numbers, their files, and what is said where there is nothing to draw."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result

from analysis.errors import FeatureMissing, NothingToShow, UnknownName
from analysis.figures.catalogue import NAMES, Picture, draw, picture
from analysis.figures.figure import Figure, Source
from analysis.figures.spread import _bins
from analysis.figures.style import PALETTE, STEPS
from analysis.scores import load_scores
from rejudge import cli
from tests.paper_scores import RUNS, omni_folder, sonic_folder
from tests.score_folders import DOCTOR, EMERGENCY, metric_rows, score_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sonic_folder(tmp_path_factory.mktemp("sonic"))


@pytest.fixture(scope="module")
def source(folder: Path) -> Source:
    return Source(load_scores(folder), "gpt-5-mini")


@pytest.fixture(scope="module")
def drawn(source: Source, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Figure]:
    """Every figure of both folders, drawn once."""
    omni = load_scores(omni_folder(tmp_path_factory.mktemp("omni")))
    found, left = draw(source, [], ["race"])
    more, _ = draw(Source(omni, "gpt-5"), ["judges"])
    assert [*left] == ["judges", "teacher-forcing", "size"]
    return {figure.name: figure for figure in [*found, *more]}


def call(*words: object) -> Result:
    return CliRunner().invoke(cli, ["figures", *map(str, words)])


def test_a_radar_shows_the_mean_within_each_topic(drawn: dict[str, Figure], folder: Path) -> None:
    rows = [row for row in drawn["radar-summary"].made["values"] if row["name"] == "qwen-16"]
    # By another way than the figure's: a plain group-by over the scores.
    own = pl.read_parquet(folder / "scores.parquet").filter(
        pl.col("run") == "qwen-16", pl.col("metric") == "detailed_judge"
    )
    means = own.group_by("topic").agg(pl.col("value").mean()).sort("topic")["value"].to_list()
    assert [row["value"] for row in rows] == pytest.approx([*means, means[0]])
    # The rim is the judge's greatest score; the first spoke points up, the second to the right.
    assert rows[0]["y"] == pytest.approx(means[0] / 10)
    assert rows[1]["x"] == pytest.approx(means[1] / 10 * np.sin(2 * np.pi / 13))


def test_frames_are_a_line_for_each_model_with_an_interval_at_each_point(
    drawn: dict[str, Figure],
) -> None:
    rows = [row for row in drawn["frames"].made["values"] if row["task"] == "choice"]
    assert [(row["name"], row["frames"]) for row in rows] == [("qwen", 16), ("qwen", 64)]
    assert all(row["low"] < row["value"] < row["high"] for row in rows)


def test_modalities_of_one_model_stand_side_by_side(drawn: dict[str, Figure]) -> None:
    rows = [row for row in drawn["modality"].made["values"] if row["task"] == "choice"]
    # The run of 16 frames differs from the silent one, which has 64, in that, too.
    assert [(row["name"], row["run"]) for row in rows] == [
        ("video", "qwen-silent"),
        ("video+audio", "qwen-64"),
    ]


def test_shares_of_error_types_add_up_to_all_predictions(drawn: dict[str, Figure]) -> None:
    rows = drawn["errors"].made["values"]
    assert {row["run"].rstrip("†") for row in rows} == {*RUNS}
    ends = [row["end"] for row in rows if row["name"] == "Other"]
    assert ends == pytest.approx([100.0] * 4)


def test_a_gap_is_a_groups_mean_less_that_of_the_largest_group(
    drawn: dict[str, Figure], folder: Path
) -> None:
    made = drawn["gaps-race"].made
    (row,) = [
        row
        for row in made["values"]
        if (row["name"], row["group"], row["panel"].partition(":")[0])
        == ("qwen-64", "Asian", "Multiple choice")
    ]
    own = (
        pl.read_parquet(folder / "scores.parquet")
        .filter(pl.col("run") == "qwen-64", pl.col("metric") == "accuracy")
        .join(pl.read_parquet(folder / "items.parquet").select("item", "race"), on="item")
        .explode("race")
    )
    means = dict(own.group_by("race").agg(pl.col("value").mean()).iter_rows())
    assert row["value"] == pytest.approx(100 * (means["Asian"] - means[made["against"]]))
    assert row["low"] < row["value"] < row["high"]


def test_judges_are_compared_over_the_texts_that_both_scored(drawn: dict[str, Figure]) -> None:
    rows = drawn["judges"].made["values"]
    pairs = {(row["one"], row["other"]): row for row in rows if row["panel"].startswith("qwen")}
    # The second judge is the first one less a constant: they agree, but for what ties leave.
    assert pairs["glm-5", "gpt-5"]["value"] > 0.9
    assert pairs["gpt-5", "gpt-5"]["text"] == "1.00"
    assert pairs["glm-5", "gpt-5"]["n"] == 2 * 19


def test_a_distribution_counts_every_scored_answer(drawn: dict[str, Figure]) -> None:
    rows = drawn["distributions-summary"].made["values"]
    own = [row for row in rows if row["run"] == "qwen-16"]
    assert len(own) == 11, "a bar for each score from 0 to 10"
    assert sum(row["n"] for row in own) == 13 * 6
    assert sum(row["value"] for row in own) == pytest.approx(100)


def test_calibration_sets_accuracy_against_stated_confidence() -> None:
    # By hand: of four that say 0.9 three are right, of one that says 0.25 none is:
    # 4/5 · |0.9 − 0.75| + 1/5 · |0.25 − 0| = 0.17.
    stated, right = np.array([0.9, 0.9, 0.9, 0.9, 0.25]), np.array([1.0, 1.0, 1.0, 0.0, 0.0])
    bins, error = _bins(stated, right)
    assert error == pytest.approx(0.17)
    assert [(row["confidence"], row["value"], row["n"]) for row in bins] == [
        (0.25, 0.0, 1),
        (pytest.approx(0.9), 0.75, 4),
    ]


@pytest.mark.slow
def test_every_figure_becomes_a_picture_with_its_names_in_it(drawn: dict[str, Figure]) -> None:
    expected = {
        "radar-summary": "T6: Emergency",
        "frames": "qwen",
        "judges": "glm-5",
        "modality": "video+audio",
        "errors": "Relative–absolute",
        "distributions-summary": "gemini-3-pro†n = 78",
        "calibration": "Stated confidence",
        "gaps-race": "Indigenous",
    }
    for name, text in expected.items():
        page = ElementTree.fromstring(picture(drawn[name], Picture.SVG))
        texts = {"".join(found.itertext()) for found in page.iter() if found.tag.endswith("text")}
        assert text in texts, name
        assert any("made by rejudge" in line for line in texts), name


@pytest.mark.slow
def test_hostile_names_are_text_in_a_picture(tmp_path: Path) -> None:
    name = '<b>a_b&c 50%</b>"\\[0]'
    topics = {DOCTOR: [1.0], EMERGENCY: [0.0], "</script><topic>": [1.0]}
    scores = load_scores(score_folder(tmp_path, metric_rows("accuracy", topics, run=name)))
    ((figure,), _) = draw(Source(scores), ["radar"])
    page = ElementTree.fromstring(picture(figure, Picture.SVG))
    texts = {"".join(found.itertext()) for found in page.iter() if found.tag.endswith("text")}
    assert {name, "</script><topic>"} <= texts


@pytest.mark.slow
def test_a_figure_comes_with_its_specification_and_how_it_was_made(
    folder: Path, tmp_path: Path
) -> None:
    done = call(folder, "--out", tmp_path, "--figure", "errors", "--format", "pdf")
    assert done.stdout == f"{tmp_path / 'errors.pdf'}\n"
    assert (tmp_path / "errors.pdf").read_bytes().startswith(b"%PDF")
    made = json.loads((tmp_path / "errors.pdf.made.json").read_text("utf-8"))
    assert made["scores_sha256"] == load_scores(folder).digest
    specification = json.loads((tmp_path / "errors.pdf.vl.json").read_text("utf-8"))
    assert "vega-lite" in specification["$schema"]
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".json", ".json", ".pdf"]


def test_a_figure_that_there_is_nothing_for_says_why(tmp_path: Path) -> None:
    rows = metric_rows("accuracy", {DOCTOR: [1.0, 0.0]})
    source = Source(load_scores(score_folder(tmp_path, rows)))
    reasons = {
        "radar": "at least 3 topics",
        "frames": "no model has runs with different numbers of frames",
        "judges": "the scores have 0",
        "modality": "no model has runs that differ in media only",
        "teacher-forcing": "no model has runs that differ in teacher forcing only",
        "size": r"frame size only \(alpha: the scores do not say the frame size of its runs\)",
        "errors": "no errors.parquet",
        "distributions": "no answer has a judge's score",
        "calibration": "no predictions.parquet",
        "gaps": "fewer than two groups",
    }
    assert {*reasons} == {*NAMES}
    for name, why in reasons.items():
        with pytest.raises(NothingToShow, match=why):
            draw(source, [name], ["topic"] if name == "gaps" else [])


def test_scores_without_a_stated_confidence_are_told_of(folder: Path, source: Source) -> None:
    found = pl.read_parquet(folder / "predictions.parquet")
    try:
        found.with_columns(pl.lit(None, pl.Float64).alias("confidence")).write_parquet(
            folder / "predictions.parquet"
        )
        with pytest.raises(NothingToShow, match="no choice that was read states"):
            draw(source, ["calibration"])
    finally:
        found.write_parquet(folder / "predictions.parquet")


def test_without_the_drawing_packages_the_extra_is_named(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analysis.figures.needs.find_spec", lambda name: None)
    error = call(folder, "--out", tmp_path).exception
    assert isinstance(error, FeatureMissing)
    assert "pip install 'rejudge[report]'" in str(error)
    assert not [*tmp_path.iterdir()]


def test_an_unknown_figure_is_answered_with_the_known_ones(source: Source) -> None:
    with pytest.raises(UnknownName, match="there are: radar, frames"):
        draw(source, ["pie"])
    with pytest.raises(UnknownName, match="no attribute 'mood'; there are: topic"):
        draw(source, ["gaps"], ["mood"])


def test_neighbouring_colours_differ_in_grey() -> None:
    # Luminance as of ITU-R BT.601, which is what a grey printer does.
    def luminance(colour: str) -> float:
        red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
        return 0.299 * red + 0.587 * green + 0.114 * blue

    for colours in (PALETTE, STEPS):
        found = [luminance(colour) for colour in colours]
        assert all(abs(one - next_one) > 20 for one, next_one in pairwise(found))
