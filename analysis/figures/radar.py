"""Runs across topics on a radar: the SONIC-O1 paper's Figure 1.

Vega-Lite has no polar axes; the spokes, rings and lines are drawn at their places on a plane.
"""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import polars as pl

from analysis.errors import NothingToShow
from analysis.figures.figure import Figure, Shown, Source
from analysis.figures.style import (
    GREY,
    GRID,
    colour,
    dash,
    finished,
    inline,
    shape,
    unlisted,
)

RINGS = 5
_RADIUS_PX = 190


def radar(source: Source) -> list[Figure]:
    """Draw the headline metric of each task over at least three topics.

    Raises:
        NothingToShow: no task has three topics and a score.
    """
    figures = [
        _figure(source, shown, topics)
        for shown in source.headlines()
        if len(topics := _topics(source, shown)) >= 3
    ]
    if not figures:
        raise NothingToShow("a radar takes a task with scores in at least 3 topics")
    return figures


def _topics(source: Source, shown: Shown) -> list[str]:
    frame = source.scores.frame
    rows = frame.filter(
        pl.col("task") == shown.task,
        pl.col("metric") == shown.metric,
        pl.col("judge") == shown.judge,
        pl.col("value").is_not_null(),
    )
    return sorted(rows["topic"].unique())


def _figure(source: Source, shown: Shown, topics: list[str]) -> Figure:
    runs = source.runs(shown.task)
    rows: list[dict[str, Any]] = []
    missing = 0
    values = {
        (run, topic): source.measure(run, shown, "topic", topic).value
        for run in runs
        for topic in topics
    }
    found = [shown.of(value) for value in values.values() if value is not None]
    top = shown.high if shown.high is not None else max(found)
    for run in runs:
        # The first topic once more closes the line.
        for place, topic in enumerate([*topics, topics[0]]):
            value = values[run, topic]
            missing += value is None and place < len(topics)
            ratio = None if value is None else shown.of(value) / (top or 1.0)
            rows.append(
                {
                    "name": source.named(run),
                    "topic": source.heading("topic", topic),
                    "value": None if value is None else shown.of(value),
                    "order": place,
                    "x": None if ratio is None else ratio * _x(place, len(topics)),
                    "y": None if ratio is None else ratio * _y(place, len(topics)),
                }
            )
    names = [source.named(run) for run in runs]
    gap = f" {missing} topics of a run have no score and leave a gap." if missing else ""
    lines = [f"{shown.label}, mean within each topic; the rim is {top:g}.{gap}", source.signature()]
    chart = finished(
        alt.layer(*_grid(source, topics, top), *_lines(rows, names))
        .properties(width=2 * _RADIUS_PX, height=2 * _RADIUS_PX)
        .resolve_scale(color="independent", shape="independent"),
        f"{shown.title}, topic by topic",
        lines,
        framed=False,
    )
    made = source.made(figure="radar", task=shown.task, metric=shown.metric, values=rows)
    return Figure(f"radar-{shown.task}", chart, made)


def _lines(rows: list[dict[str, Any]], names: list[str]) -> list[alt.Chart]:
    base = alt.Chart(inline(rows)).encode(
        x=_at("x"),
        y=_at("y"),
        tooltip=["name:N", "topic:N", "value:Q"],
    )
    line = base.mark_line(
        strokeWidth=2, strokeJoin="round", invalid="break-paths-show-path-domains"
    ).encode(order="order:Q", color=unlisted(names), strokeDash=dash(names))
    points = base.mark_point(filled=True, size=32, opacity=1).encode(
        color=colour(names, 2.4 * _RADIUS_PX), shape=shape(names)
    )
    return [line, points]


def _grid(source: Source, topics: list[str], top: float) -> list[alt.Chart]:
    many = len(topics)
    rings = [
        {"ring": ring, "order": place, "x": r * _x(place, many), "y": r * _y(place, many)}
        for ring in range(1, RINGS + 1)
        for place in range(many + 1)
        if (r := ring / RINGS)
    ]
    spokes = [
        {"ring": place, "order": end, "x": end * _x(place, many), "y": end * _y(place, many)}
        for place in range(many)
        for end in (0, 1)
    ]
    marks = [
        {"x": 0.01, "y": ring / RINGS, "text": f"{top * ring / RINGS:g}"}
        for ring in range(1, RINGS + 1)
    ]
    lines = [
        alt.Chart(inline(some))
        .mark_line(color=GRID, strokeWidth=1)
        .encode(x=_at("x"), y=_at("y"), detail="ring:N", order="order:Q")
        for some in (rings, spokes)
    ]
    numbers = (
        alt.Chart(inline(marks))
        .mark_text(fontSize=8, color=GREY, align="left", dx=2)
        .encode(x=_at("x"), y=_at("y"), text="text:N")
    )
    return [*lines, numbers, *_names(source, topics)]


def _names(source: Source, topics: list[str]) -> list[alt.Chart]:
    many = len(topics)
    sides: dict[Any, list[dict[str, Any]]] = {}
    for place, topic in enumerate(topics):
        x = _x(place, many)
        side = "center" if abs(x) < 0.2 else "left" if x > 0 else "right"
        text = source.heading("topic", topic)
        at = {"x": 1.06 * x, "y": 1.07 * _y(place, many), "text": text}
        sides.setdefault(side, []).append(at)
    return [
        alt.Chart(inline(labels))
        .mark_text(fontSize=10, align=side)
        .encode(x=_at("x"), y=_at("y"), text="text:N")
        for side, labels in sides.items()
    ]


def _at(name: str) -> Any:
    channel = alt.X if name == "x" else alt.Y
    return channel(f"{name}:Q", axis=None, scale=alt.Scale(domain=[-1.12, 1.12]))


def _x(place: int, many: int) -> float:
    return math.sin(2 * math.pi * place / many)


def _y(place: int, many: int) -> float:
    return math.cos(2 * math.pi * place / many)
