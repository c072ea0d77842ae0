"""Gaps between groups of one attribute: a forest plot with intervals, one panel a task.

The numbers are those of ``rejudge compare --by``: a run's mean in a group minus its mean in the
largest group, over items.
"""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from analysis.errors import NothingToShow, UnknownName
from analysis.figures.figure import Figure, Shown, Source
from analysis.figures.style import (
    colour,
    domain,
    finished,
    inline,
    panel_title,
    shape,
    side_by_side,
)
from analysis.layout import ordered
from score.slices import ATTRIBUTES
from score.statistics.compare import Question
from score.statistics.contrast import Contrast, gaps, reference_group
from score.statistics.groups import Groups, groups_of, topic_groups
from score.statistics.panel import Panel, panels

#: Of a panel.
_WIDTH_PX = 210


def forest(source: Source, attributes: tuple[str, ...]) -> list[Figure]:
    """Draw the gaps of each run and headline metric, a figure for each attribute.

    Args:
        source: The scores.
        attributes: What groups are made by; empty: all that make at least two groups.

    Raises:
        UnknownName: there is no such attribute.
        NothingToShow: an attribute makes no two groups.
    """
    if unknown := [name for name in attributes if name not in ATTRIBUTES]:
        raise UnknownName("attribute", unknown[0], ATTRIBUTES)
    every = [(shown, panel) for shown in source.headlines() for panel in _panels(source, shown)]
    if not every:
        raise NothingToShow("the scores have no headline metric")
    figures: list[Figure] = []
    for attribute in attributes or ATTRIBUTES:
        found = _gaps(source, every, attribute)
        if found:
            figures.append(_figure(source, attribute, found))
        elif attributes:
            raise NothingToShow(f"the items are in fewer than two groups by {attribute}")
    if not figures:
        raise NothingToShow("the items are in fewer than two groups, whatever they are made by")
    return figures


def _panels(source: Source, shown: Shown) -> list[Panel]:
    scores = source.scores
    rows = scores.frame.filter(
        pl.col("task") == shown.task,
        pl.col("metric") == shown.metric,
        pl.col("judge") == shown.judge,
    )
    return panels(rows, scores.resamples.design)


Found = list[tuple[Shown, Contrast]]


def _gaps(source: Source, every: list[tuple[Shown, Panel]], attribute: str) -> Found:
    if attribute != "topic" and attribute not in source.scores.items.columns:
        return []
    grouped = [_groups(source, panel, attribute) for _, panel in every]
    if not any(len(groups.names) > 1 for groups in grouped):
        return []
    against = reference_group(grouped, None)
    return [
        (shown, one)
        for (shown, panel), groups in zip(every, grouped, strict=True)
        for one in gaps(
            panel,
            groups,
            against,
            Question(panel.runs[0], panel.runs[1:], source.reading, by=attribute),
            source.scores.resamples,
        )
        if one.gap.value is not None
    ]


def _groups(source: Source, panel: Panel, attribute: str) -> Groups:
    if attribute == "topic":
        return topic_groups(panel, source.scores.resamples.design)
    return groups_of(panel, source.scores.items, attribute)


def _figure(source: Source, attribute: str, found: Found) -> Figure:
    rows: list[dict[str, Any]] = [
        {
            "name": source.named(one.run),
            "group": source.heading(attribute, one.group),
            "value": (one.gap.value or 0.0) * shown.factor,
            "low": None if one.gap.low is None else one.gap.low * shown.factor,
            "high": None if one.gap.high is None else one.gap.high * shown.factor,
            "n": one.gap.n,
            "why": one.gap.reason,
            "panel": shown.title,
            "bound": None if shown.high is None else shown.high - (shown.low or 0.0),
        }
        for shown, one in found
    ]
    against = source.heading(attribute, found[0][1].reference)
    names = list(dict.fromkeys(row["name"] for row in rows))
    present = {one.group for _, one in found}
    order = [source.heading(attribute, name) for name in ordered(source.paper, attribute, present)]
    titles = list(dict.fromkeys(row["panel"] for row in rows))
    drawn = [
        _panel(title, [row for row in rows if row["panel"] == title], names, order, len(titles))
        for title in titles
    ]
    without = sum(row["low"] is None for row in rows)
    note = f"; {without} of {len(rows)} gaps have none: too few videos" if without else ""
    chart = finished(
        side_by_side(drawn),
        f"Gaps by {attribute.replace('_', ' ')}, against {against}",
        [f"Lines: 95% interval, by resampling whole videos{note}.", source.signature()],
    )
    made = source.made(figure="gaps", by=attribute, against=against, values=rows)
    return Figure(f"gaps-{attribute.replace('_', '-')}", chart, made)


def _panel(
    title: str, rows: list[dict[str, Any]], names: list[str], order: list[str], n_panels: int
) -> Any:
    base = alt.Chart(inline(rows), title=panel_title(title, _WIDTH_PX)).encode(
        y=alt.Y("group:N", title=None, sort=order, axis=alt.Axis(grid=True, tickBand="extent")),
        yOffset=alt.YOffset("name:N", sort=names),
        color=colour(names, max(2, n_panels) * _WIDTH_PX),
    )
    zero = alt.Chart(inline([{"zero": 0}])).mark_rule(strokeDash=[3, 3]).encode(x="zero:Q")
    points = base.mark_point(filled=True, size=40, opacity=1).encode(shape=shape(names))
    lines = base.mark_rule(strokeWidth=1.5, clip=True).encode(x2="high:Q")
    height = max(22, 11 * len(names))
    scale = alt.Scale(domain=_domain(rows))
    points, lines = (
        mark.encode(x=alt.X(f"{name}:Q", title=None, scale=scale))
        for mark, name in ((points, "value"), (lines, "low"))
    )
    return alt.layer(zero, lines, points).properties(
        width=_WIDTH_PX, height=alt.Step(height / len(names))
    )


def _domain(rows: list[dict[str, Any]]) -> list[float]:
    """Return the ends of the axis: no gap is wider than the metric, though intervals may be."""
    ends = [
        end for row in rows for end in (row["value"], row["low"], row["high"]) if end is not None
    ]
    bound = rows[0]["bound"]
    return domain([*ends, 0.0], None if bound is None else -bound, bound)
