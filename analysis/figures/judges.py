"""How judges agree: a heat map of correlations for each run, OmniAssistBench's Figure 9.

``rejudge agree`` has better measures, with intervals; this is the picture that the paper shows.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from analysis.errors import NothingToShow
from analysis.figures.figure import TASKS, Figure, Source
from analysis.figures.style import finished, inline, panel_title, side_by_side

_KEYS = ("item", "sample", "metric")


def judges(source: Source) -> list[Figure]:
    """Draw Pearson's correlation of each two judges, for each run and task.

    Raises:
        NothingToShow: there are fewer than two judges.
    """
    names = source.scores.judges
    if len(names) < 2:
        raise NothingToShow(f"agreement takes verdicts of 2 judges; the scores have {len(names)}")
    frame = source.scores.frame.filter(
        pl.col("metric").str.ends_with("_judge"), pl.col("value").is_not_null()
    )
    rows: list[dict[str, Any]] = []
    for task in source.tasks:
        for run in source.runs(task):
            own = frame.filter(pl.col("task") == task, pl.col("run") == run)
            rows += _correlations(own, task, source.named(run), names)
    if not any(row["value"] is not None for row in rows if row["one"] != row["other"]):
        raise NothingToShow("no two judges graded the same answers, or one gave always one score")
    panels = list(dict.fromkeys(row["panel"] for row in rows))
    drawn = [_panel(name, [row for row in rows if row["panel"] == name], names) for name in panels]
    chart = finished(
        side_by_side(drawn),
        "How far judges agree",
        ["Pearson's correlation over the texts that both scored; n is their number.",
         source.signature()],
    )  # fmt: skip
    return [Figure("judges", chart, source.made(figure="judges", values=rows))]


def _correlations(own: pl.DataFrame, task: str, run: str, names: list[str]) -> list[dict[str, Any]]:
    by_judge = {
        judge: own.filter(pl.col("judge") == judge).select(*_KEYS, "value") for judge in names
    }
    rows = []
    for one, other in product(names, names):
        both = by_judge[one].join(by_judge[other], on=_KEYS, suffix="_other")
        value = _pearson(both["value"].to_numpy(), both["value_other"].to_numpy())
        rows.append(
            {
                "panel": f"{run}, {TASKS.get(task, task)}", "one": one, "other": other,
                "value": value, "n": both.height,
                "text": "–" if value is None else f"{value:.2f}",
            }
        )  # fmt: skip
    return rows


def _pearson(one: Any, other: Any) -> float | None:
    """Correlation; None where one of them does not vary."""
    if len(one) < 2 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return None
    return float(np.corrcoef(one, other)[0, 1])


def _panel(title: str, rows: list[dict[str, Any]], names: list[str]) -> Any:
    width = 54 * len(names)
    sizes = {row["n"] for row in rows}
    n = f"n = {min(sizes)}" if len(sizes) == 1 else f"n = {min(sizes)}–{max(sizes)}"
    base = alt.Chart(inline(rows), title=panel_title(title, max(180, width), n)).encode(
        x=alt.X("one:N", title=None, sort=names, axis=alt.Axis(labelAngle=-30)),
        y=alt.Y("other:N", title=None, sort=names),
    )
    boxes = base.mark_rect(stroke="white").encode(
        color=alt.Color(
            "value:Q",
            title=None,
            scale=alt.Scale(domain=[-1, 1], scheme="blues"),
            legend=None,
        )
    )
    # White on dark, black on light.
    ink = alt.condition(alt.datum.value > 0.45, alt.value("white"), alt.value("black"))
    return alt.layer(
        boxes, base.mark_text(fontSize=10).encode(text="text:N", color=ink)
    ).properties(width=width, height=36 * len(names))
