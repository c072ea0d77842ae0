"""How scores are spread, and how right a model is when it says that it is sure."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import polars as pl

from analysis.errors import NothingToShow
from analysis.figures.figure import Figure, Shown, Source
from analysis.figures.style import GREY, PALETTE, finished, inline, panel_title, side_by_side
from score.answers import SCORED
from score.statistics.limits import wilson
from score.statistics.resample import LEVEL

#: Bins of scores that are no whole numbers, and of stated confidence.
BINS = 10


def distributions(source: Source) -> list[Figure]:
    """Draw how the scores of each run are spread; the judge's, or ROUGE-L without one.

    Raises:
        NothingToShow: there are no scores to spread.
        JudgeNotChosen: they are those of several judges, and none was chosen.
    """
    source.need_judge()
    figures: list[Figure] = []
    for task, (judged, plain) in _SPREAD.items():
        if task not in source.tasks:
            continue
        shown = source.shown(task, judged if source.judge else plain)
        panels = {
            source.named(run): values
            for run in source.runs(task)
            if len(values := _values(source, shown, run))
        }
        if panels:
            figures.append(_distribution(source, shown, panels))
    if not figures:
        raise NothingToShow("no answer has a judge's score or a ROUGE-L")
    return figures


_SPREAD = {
    "summary": ("detailed_judge", "detailed_rouge_l"),
    "choice": ("rationale_judge", "rationale_rouge_l"),
    "localization": ("rationale_judge", "rationale_rouge_l"),
    "assistant": ("answer_judge", "answer_rouge_l"),
}


def _values(source: Source, shown: Shown, run: str) -> Any:
    found = source.scores.frame.filter(
        pl.col("run") == run,
        pl.col("task") == shown.task,
        pl.col("metric") == shown.metric,
        pl.col("judge") == shown.judge,
        pl.col("value").is_not_null(),
    )
    return np.array([shown.of(value) for value in found["value"]])


def _distribution(source: Source, shown: Shown, panels: dict[str, Any]) -> Figure:
    every = np.concatenate(list(panels.values()))
    low = shown.low if shown.low is not None else float(every.min())
    high = shown.high if shown.high is not None else float(every.max())
    whole = shown.metric.endswith("_judge") and bool((every == every.round()).all())
    few = whole and high - low <= 20
    # Whole scores have a bar each; others are counted in bins.
    edges = np.arange(low - 0.5, high + 1) if few else np.linspace(low, high, BINS + 1)
    rows = [
        {
            "run": run, "start": float(edges[at]), "end": float(edges[at + 1]),
            "value": 100 * int(count) / len(values), "n": int(count),
        }
        for run, values in panels.items()
        for at, count in enumerate(np.histogram(values, edges)[0])
    ]  # fmt: skip
    drawn = [_histogram(run, panels[run], rows, shown, edges) for run in panels]
    chart = finished(
        side_by_side(drawn),
        f"{shown.title.partition(':')[0]}: how {shown.metric.replace('_', ' ')} is spread",
        ["Line: mean over items. Answers without a score are not in it.", source.signature()],
    )
    made = source.made(figure="distributions", task=shown.task, metric=shown.metric, values=rows)
    return Figure(f"distributions-{shown.task}", chart, made)


def _histogram(run: str, values: Any, rows: list[dict[str, Any]], shown: Shown, edges: Any) -> Any:
    own = [row for row in rows if row["run"] == run]
    # One scale for all runs, so that they can be compared.
    tallest = max(row["value"] for row in rows)
    y = alt.Y("value:Q", title="% of answers", scale=alt.Scale(domain=[0, tallest]))
    x = alt.X(
        "start:Q",
        title=shown.label,
        scale=alt.Scale(domain=[float(edges[0]), float(edges[-1])], nice=False),
        axis=alt.Axis(grid=False),
    )
    bars = (
        alt.Chart(inline(own), title=panel_title(run, 200, f"n = {len(values)}"))
        .mark_rect(color="#56B4E9", stroke="white", strokeWidth=1)
        .encode(x=x, x2="end:Q", y=y, y2=alt.Y2Datum(0))
    )
    mean = (
        alt.Chart(inline([{"mean": float(values.mean())}]))
        .mark_rule(color="black", strokeWidth=1.5, strokeDash=[4, 2])
        .encode(x="mean:Q")
    )
    return alt.layer(bars, mean).properties(width=200, height=110)


def calibration(source: Source) -> list[Figure]:
    """Draw how often choices are right, by how sure the model said it was.

    Raises:
        NothingToShow: no answer states a confidence.
    """
    scores = source.scores
    advice = "score the runs anew with this version" if scores.has_table("predictions") else ""
    if not scores.has_table("predictions"):
        raise NothingToShow(f"{scores.folder} has no predictions.parquet")
    said = scores.table("predictions", ("run", "item", "sample"))
    if "confidence" not in said.columns:
        raise NothingToShow(f"predictions.parquet has no column confidence; {advice}")
    right = scores.frame.filter(
        pl.col("metric") == "accuracy", pl.col("status").cast(pl.String) == SCORED
    )
    keys = ["run", "item", "sample"]
    both = right.join(said.select(*keys, "confidence"), on=keys).drop_nulls("confidence")
    if both.is_empty():
        raise NothingToShow("no choice that was read states how sure the model is")
    panels: list[Any] = []
    rows: list[dict[str, Any]] = []
    for run in sorted(both["run"].unique()):
        own = both.filter(pl.col("run") == run)
        bins, error = _bins(own["confidence"].to_numpy(), own["value"].to_numpy())
        rows += [{"run": run, **row} for row in bins]
        asked = right.filter(pl.col("run") == run).height
        said_by = f"{own.height} of {asked} say it; ECE {error:.3f}"
        panels.append(_reliability(panel_title(source.named(run), 180, said_by), bins))
    level = f"{LEVEL:.0%}"
    chart = finished(
        side_by_side(panels),
        "Right answers by stated confidence",
        [
            f"Dots: mean in each tenth, as large as it is full; lines: {level} Wilson intervals,",
            "as if questions were independent. ECE: expected calibration error.",
            source.signature(),
        ],
    )
    return [Figure("calibration", chart, source.made(figure="calibration", values=rows))]


def _bins(stated: Any, right: Any) -> tuple[list[dict[str, Any]], float]:
    """Return each tenth that has answers, and the expected calibration error.

    Source: Naeini, Cooper and Hauskrecht, Obtaining well calibrated probabilities using Bayesian
    binning, AAAI 2015.
    """
    places = np.minimum((stated * BINS).astype(int), BINS - 1)
    rows = []
    error = 0.0
    for place in range(BINS):
        inside = places == place
        n = int(inside.sum())
        if not n:
            continue
        low, high = wilson(float(right[inside].sum()), n, LEVEL)
        confidence, accuracy = float(stated[inside].mean()), float(right[inside].mean())
        error += n / len(stated) * abs(confidence - accuracy)
        rows.append({"confidence": confidence, "value": accuracy, "low": low, "high": high, "n": n})
    return rows, error


def _reliability(title: alt.TitleParams, bins: list[dict[str, Any]]) -> Any:
    unit = alt.Scale(domain=[0, 1])
    diagonal = (
        alt.Chart(inline([{"x": 0, "y": 0}, {"x": 1, "y": 1}]))
        .mark_line(color=GREY, strokeDash=[4, 3], strokeWidth=1)
        .encode(x="x:Q", y="y:Q")
    )
    base = alt.Chart(inline(bins), title=title).encode(
        x=alt.X("confidence:Q", title="Stated confidence", scale=unit)
    )
    lines = base.mark_rule(strokeWidth=1.5).encode(y="low:Q", y2="high:Q")
    dots = base.mark_point(filled=True, color=PALETTE[2], opacity=1).encode(
        y=alt.Y("value:Q", title="Accuracy", scale=unit),
        size=alt.Size("n:Q", title="Answers", scale=alt.Scale(range=[20, 300]), legend=None),
    )
    return alt.layer(diagonal, lines, dots).properties(width=180, height=180)
