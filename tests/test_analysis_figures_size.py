"""Figures of many runs stay readable, and a sidecar describes the picture beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest
from click.testing import CliRunner

from analysis.errors import AnalysisError
from analysis.figures.catalogue import Picture, draw, picture, write_figures
from analysis.figures.figure import Figure, Source
from analysis.scores import load_scores
from rejudge import cli
from score.statistics.panel import Reading
from tests.paper_scores import sonic_folder
from tests.score_folders import DOCTOR, EMERGENCY, metric_rows, score_folder

#: As runs of a real study are called.
NAMES = [f"sonic-o1-model-{number:02}-preview-frames256-audio16k" for number in range(12)]
TOPICS = {DOCTOR: [1.0, 0.0], EMERGENCY: [1.0, 1.0], "09_Housing": [0.0, 1.0]}
#: Of a page, in points: what a figure of three panels takes.
WIDE_PT = 900.0


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """Twelve runs, with localizations that were classed."""
    rows = []
    for at, name in enumerate(NAMES):
        graded = {topic: [float(at % 11)] * 2 for topic in TOPICS}
        rows += metric_rows(values=TOPICS, run=name)
        rows += metric_rows("rationale_judge", graded, run=name, judge="gpt-5-mini")
        rows += metric_rows("recall_0.5", TOPICS, run=name, task="localization")
    folder = score_folder(tmp_path_factory.mktemp("many"), rows)
    located = [row for row in rows if row["task"] == "localization"]
    keys = ("run", "model", "task", "item", "sample")
    pl.DataFrame(
        [
            {**{key: row[key] for key in keys}, "judge": "", "error_type": "other", "why": ""}
            for row in located
        ]
    ).write_parquet(folder / "errors.parquet")
    items = {row["item"]: {"item": row["item"], "task": row["task"]} for row in rows}
    pl.DataFrame(list(items.values())).write_parquet(folder / "items.parquet")
    return Source(load_scores(folder), "gpt-5-mini")


@pytest.fixture(scope="module")
def drawn(many: Source) -> dict[str, Figure]:
    found, _ = draw(many, ["radar", "errors", "distributions", "gaps"], ["topic"])
    return {figure.name: figure for figure in found}


def size_pt(page: ElementTree.Element) -> tuple[float, float]:
    return float(page.attrib["width"]), float(page.attrib["height"])


def svg(figure: Figure) -> ElementTree.Element:
    return ElementTree.fromstring(picture(figure, Picture.SVG))


def texts(page: ElementTree.Element) -> list[str]:
    return ["".join(found.itertext()) for found in page.iter() if found.tag.endswith("text")]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["radar-choice", "errors", "distributions-choice", "gaps-topic"])
def test_a_figure_of_twelve_runs_fits_a_page_and_cuts_no_name(
    drawn: dict[str, Figure], name: str
) -> None:
    page = svg(drawn[name])
    width, _ = size_pt(page)
    assert width <= WIDE_PT
    shown = texts(page)
    assert not [text for text in shown if "…" in text]
    # A panel's title stands on several lines, which are broken at hyphens.
    assert {run for run in NAMES if any(run in text for text in shown)} == {*NAMES}


@pytest.mark.slow
def test_symbols_of_a_legend_have_no_dashes(drawn: dict[str, Figure]) -> None:
    page = svg(drawn["radar-choice"])
    dashed = [
        one for one in page.iter() if one.attrib.get("stroke-dasharray", "") not in ("", "1,0")
    ]
    assert dashed, "lines of the plot are dashed"
    symbols = [
        inner
        for one in page.iter()
        if "role-legend-symbol" in one.attrib.get("class", "")
        for inner in one.iter()
    ]
    assert len({inner.attrib.get("d") for inner in symbols}) > 7, "and the shapes are in it"
    assert not [one for one in symbols if one.attrib.get("stroke-dasharray", "") not in ("", "1,0")]


def test_distributions_share_the_scale_of_their_shares(drawn: dict[str, Figure]) -> None:
    panels = drawn["distributions-choice"].chart.to_dict()["concat"]
    domains = [panel["layer"][0]["encoding"]["y"]["scale"]["domain"] for panel in panels]
    assert domains == [[0, 100.0]] * 12


def test_labels_stand_at_their_ticks(drawn: dict[str, Figure]) -> None:
    for figure in drawn.values():
        assert figure.chart.to_dict()["config"]["axis"]["labelFlush"] is False


def modalities(folder: Path) -> Source:
    """A model without a score with the one medium, and with a mean of 0 with the other."""
    rows = metric_rows(values={DOCTOR: [None, None]}, run="silent")
    rows += metric_rows(values={DOCTOR: [0.0, 0.0]}, run="heard")
    rows = [row | {"model": "qwen"} for row in rows]
    given = {"silent": "video", "heard": "video+audio"}
    runs = {run: {"settings": {"modality": modality}} for run, modality in given.items()}
    return Source(load_scores(score_folder(folder, rows, runs=runs)))


def test_a_missing_mean_is_told_from_a_mean_of_zero(tmp_path: Path) -> None:
    ((figure,), _) = draw(modalities(tmp_path), ["modality"])
    values = {row["name"]: row["value"] for row in figure.made["values"]}
    assert values == {"video": None, "video+audio": 0.0}
    assert texts(svg(figure)).count("n/a") == 1


@pytest.mark.slow
def test_an_interval_wider_than_its_metric_ends_at_the_frame(tmp_path: Path) -> None:
    # Two videos: a 95% interval by Student's t, with one degree of freedom, is 50 ± 635.
    rows = [row | {"model": "qwen"} for row in metric_rows(run="a") + metric_rows(run="b")]
    settings: dict[str, Any] = {
        "a": {"modality": "video", "preprocessing": {"frames": 16}},
        "b": {"modality": "video+audio", "preprocessing": {"frames": 16}},
    }
    scores = {"modality": settings, "frames": {"a": settings["a"], "b": {**settings["a"],
              "preprocessing": {"frames": 64}}}}  # fmt: skip
    for name, given in scores.items():
        runs = {run: {"settings": own} for run, own in given.items()}
        folder = score_folder(tmp_path / name, rows, runs=runs)
        ((figure,), _) = draw(Source(load_scores(folder)), [name])
        assert min(row["low"] for row in figure.made["values"]) < -100
        assert size_pt(svg(figure))[1] < 500


def test_attributes_for_a_figure_that_takes_none_are_refused(many: Source, tmp_path: Path) -> None:
    with pytest.raises(AnalysisError, match="not among --figure radar; add --figure gaps"):
        draw(many, ["radar"], ["topic"])
    words = ["figures", str(many.scores.folder), "--out", str(tmp_path), "--figure", "radar"]
    done = CliRunner().invoke(cli, [*words, "--by", "race"])
    assert isinstance(done.exception, AnalysisError)
    assert not [*tmp_path.iterdir()]


@pytest.mark.slow
def test_a_sidecar_is_of_the_picture_beside_it(tmp_path: Path) -> None:
    def made(name: str) -> Any:
        return json.loads((tmp_path / f"errors.{name}.made.json").read_text("utf-8"))

    scores = load_scores(sonic_folder(tmp_path / "scores"))
    for form, reading in ((Picture.SVG, "scored-only"), (Picture.PNG, "failures-as-wrong")):
        figures, _ = draw(Source(scores, "gpt-5-mini", Reading(reading)), ["errors"])
        write_figures(figures, form, tmp_path)
    assert made("svg")["reading"] == "scored-only"
    assert made("png")["reading"] == "failures-as-wrong"
    names = sorted(path.name for path in tmp_path.iterdir() if path.is_file())
    assert names == [
        f"errors.{form}{kind}" for form in ("png", "svg") for kind in ("", ".made.json", ".vl.json")
    ]
