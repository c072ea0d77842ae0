"""Ablations: the same model with one setting changed, as bars beside each other.

Dialogues have a panel for each model and comparison, with bars for all turns and for each sub-task:
OmniAssistBench's Figures 8, 10 and 11. Other tasks have one panel of their headline metric.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from analysis.errors import NothingToShow
from analysis.figures.figure import Figure, Shown, Source
from analysis.figures.style import (
    LABEL_PX,
    PALETTE,
    STEPS,
    finished,
    inline,
    legend,
    panel_title,
    side_by_side,
)
from analysis.layout import daggered
from analysis.measure import Ask
from analysis.settings import SETTINGS, Comparison, compared
from analysis.uncertainty import intervals

#: A panel of a few bars, and the room that each takes where there are many.
_PANEL_PX, _BAR_PX = 200, 14
_OVERALL = "Overall"


def ablation(source: Source, name: str) -> list[Figure]:
    """Draw the headline metrics of runs that differ in one setting only.

    Args:
        source: The scores.
        name: The setting, of ``SETTINGS``, which also names the figure.

    Raises:
        NothingToShow: there are no such runs, or none has a score.
        JudgeNotChosen: the metrics are those of one judge, and none of several was chosen.
    """
    setting = SETTINGS[name]
    found = compared(source.scores, name)
    if not found.comparisons:
        raise NothingToShow(
            f"no model has runs that differ in {setting.words} only ({found.reasons}); "
            f"see rejudge infer {setting.option}"
        )
    panels = [
        (title, shown, rows)
        for shown in source.headlines()
        for title, rows in _panels(source, shown, found.comparisons)
        if any(row["value"] is not None for row in rows)
    ]
    if not panels:
        raise NothingToShow(
            f"the runs that differ in {setting.words} only have no score of a headline metric"
        )
    kinds = list(found.labels)
    widths = [
        max(_PANEL_PX, _BAR_PX * len({row["group"] for row in rows}) * len(kinds))
        for _, _, rows in panels
    ]
    columns = 3 if max(widths) == _PANEL_PX else 1
    legend_px = max(2 * _PANEL_PX, max(widths) * min(columns, len(panels)))
    drawn = [
        _panel(title, shown, rows, kinds, width, legend_px)
        for (title, shown, rows), width in zip(panels, widths, strict=True)
    ]
    lines = ["Bars: 95% interval, by resampling whole videos or dialogues. n/a: no mean."]
    lines += [f"Not compared: {found.reasons}."] if found.left_out else []
    chart = finished(side_by_side(drawn, columns), setting.title, [*lines, source.signature()])
    values = [row for _, _, rows in panels for row in rows]
    made = source.made(figure=name, values=values, not_compared=dict(found.left_out))
    return [Figure(name, chart, made)]


def _panels(
    source: Source, shown: Shown, comparisons: Sequence[Comparison]
) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return title and rows of each panel of a task's metric."""
    slices = _sub_tasks(source, shown.task)
    if not slices:
        rows = [row for one in comparisons for row in _rows(source, shown, one, [""])]
        named = [row | {"group": row["model"]} for row in rows]
        return [(shown.title, named)]
    return [
        (f"{_named(source, one)}: {shown.label}", _rows(source, shown, one, ["", *slices]))
        for one in comparisons
    ]


def _sub_tasks(source: Source, task: str) -> list[str]:
    """Return the sub-tasks that a task has items of, in the paper's order; most tasks have none."""
    scores = source.scores
    if not scores.has_table("items") or "sub_task" not in scores.items.columns:
        return []
    own = scores.frame.filter(scores.frame["task"] == task).select("item").unique()
    found = {*own.join(scores.members("sub_task"), on="item")["slice"]}
    listed = dict.fromkeys(
        column.slice
        for table in source.paper.table
        for group in table.groups
        for column in group.columns
        if column.by == "sub_task"
    )
    return [*(name for name in listed if name in found), *sorted(found - {*listed})]


def _rows(
    source: Source, shown: Shown, one: Comparison, slices: Sequence[str]
) -> list[dict[str, Any]]:
    asks = {
        (label, name): Ask(
            run, shown.task, shown.metric, shown.judge, "sub_task" if name else "", name
        )
        for name in slices
        for label, run in one.runs
    }
    limits = intervals(
        source.scores, {*asks.values()}, source.reading, over_topics=source.over_topics
    )
    rows: list[dict[str, Any]] = []
    for (label, name), ask in asks.items():
        found = source.measures.of(ask)
        low, high = limits.get(ask, (None, None))
        rows.append(
            {
                "model": _named(source, one), "group": name or _OVERALL, "name": label,
                "run": ask.run, "value": None if found.value is None else shown.of(found.value),
                "low": None if low is None else shown.of(low),
                "high": None if high is None else shown.of(high),
                "n": found.n_scored, "task": shown.task, "metric": shown.metric, "why": found.why,
            }
        )  # fmt: skip
    return rows


def _named(source: Source, one: Comparison) -> str:
    return daggered(source.paper, one.label, one.model)


def _panel(
    title: str,
    shown: Shown,
    rows: list[dict[str, Any]],
    kinds: list[str],
    width: int,
    legend_px: int,
) -> Any:
    # Light to dark, so that bars differ in grey, too.
    shades = [STEPS[place % len(STEPS)] for place in (4, 2, 3, 0, 5, 1)][: max(len(kinds), 1)]
    shades += list(PALETTE)[: max(0, len(kinds) - len(shades))]
    groups = list(dict.fromkeys(row["group"] for row in rows))
    # Names stand side by side where there is room for them.
    angle = 0 if len(groups) * (max(map(len, groups)) + 2) * LABEL_PX <= width else -30
    base = alt.Chart(inline(rows), title=panel_title(title, width)).encode(
        x=alt.X("group:N", title=None, sort=groups, axis=alt.Axis(labelAngle=angle)),
        xOffset=alt.XOffset("name:N", sort=kinds),
    )
    bars = base.mark_bar(stroke="black", strokeWidth=0.5).encode(
        y=alt.Y("value:Q", title=None, scale=alt.Scale(domain=_domain(shown))),
        color=alt.Color(
            "name:N",
            title=None,
            sort=kinds,
            scale=alt.Scale(domain=kinds, range=shades),
            legend=legend(kinds, legend_px),
        ),
    )
    rules = base.mark_rule(strokeWidth=1.2, clip=True).encode(y="low:Q", y2="high:Q")
    # A mean of 0 has no bar either.
    without = (
        base.transform_filter("datum.value === null")
        .mark_text(fontSize=9, baseline="bottom", dy=-3)
        .encode(y=alt.YDatum(shown.low or 0.0), text=alt.TextValue("n/a"))
    )
    return alt.layer(bars, rules, without).properties(width=width, height=180)


def _domain(shown: Shown) -> Any:
    if shown.low is None or shown.high is None:
        return alt.Undefined
    return [shown.low, shown.high]
