"""The headline metrics against the number of frames: the SONIC-O1 paper's Figure 5."""

from __future__ import annotations

from typing import Any

import altair as alt

from analysis.errors import NothingToShow
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

_ADVICE = "see rejudge infer --frames"
#: Of a panel.
_WIDTH_PX = 200


def frames(source: Source) -> list[Figure]:
    """Draw a line for each model and modality that was run with several numbers of frames.

    Raises:
        NothingToShow: no model was.
    """
    lines = _lines(source)
    if not lines:
        raise NothingToShow(f"no model has runs with different numbers of frames; {_ADVICE}")
    panels = [(shown, _rows(source, shown, lines)) for shown in source.headlines()]
    panels = [(shown, rows) for shown, rows in panels if rows]
    if not panels:
        raise NothingToShow("the runs with different frames have no score of a headline metric")
    names = list(lines)
    chart = finished(
        side_by_side([_panel(shown, rows, names, len(panels)) for shown, rows in panels]),
        "More frames",
        ["Bars: 95% interval, by resampling whole videos.", source.signature()],
    )
    made = source.made(figure="frames", values=[row for _, rows in panels for row in rows])
    return [Figure("frames", chart, made)]


def _lines(source: Source) -> dict[str, list[tuple[int, str]]]:
    """Name of a line → frames and run of its points."""
    found: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for run, model in source.scores.model_of.items():
        settings = source.scores.settings_of(run)
        asked = (settings.get("preprocessing") or {}).get("frames")
        if asked:
            line = (model, str(settings.get("modality", "")))
            found.setdefault(line, []).append((int(asked), run))
    several = {
        line: sorted(points)
        for line, points in sorted(found.items())
        if len({frames for frames, _ in points}) > 1
    }
    models = [model for model, _ in several]
    return {
        f"{model} ({given})" if models.count(model) > 1 else model: points
        for (model, given), points in several.items()
    }


def _rows(
    source: Source, shown: Shown, lines: dict[str, list[tuple[int, str]]]
) -> list[dict[str, Any]]:
    limits = source.limits([run for points in lines.values() for _, run in points], shown)
    rows: list[dict[str, Any]] = []
    for name, points in lines.items():
        for count, run in points:
            value = source.measure(run, shown).value
            if value is not None:
                low, high = limits.get(run, (None, None))
                rows.append(
                    {
                        "name": name, "frames": count, "run": run, "value": shown.of(value),
                        "low": low, "high": high, "task": shown.task, "metric": shown.metric,
                    }
                )  # fmt: skip
    return rows


def _panel(shown: Shown, rows: list[dict[str, Any]], names: list[str], n_panels: int) -> Any:
    counts = sorted({row["frames"] for row in rows})
    base = alt.Chart(inline(rows), title=panel_title(shown.title, _WIDTH_PX)).encode(
        x=alt.X(
            "frames:Q",
            title="Frames",
            scale=alt.Scale(type="log", base=2, padding=12),
            axis=alt.Axis(values=counts, format="d", grid=False),
        ),
        color=colour(names, max(2, n_panels) * _WIDTH_PX),
    )
    ends = [
        end for row in rows for end in (row["value"], row["low"], row["high"]) if end is not None
    ]
    scale = alt.Scale(domain=domain(ends, shown.low, shown.high), zero=False)
    value = alt.Y("value:Q", title=None, scale=scale)
    line = base.mark_line(strokeWidth=2).encode(y=value)
    points = base.mark_point(filled=True, size=45, opacity=1).encode(y=value, shape=shape(names))
    rules = base.mark_rule(clip=True).encode(y="low:Q", y2="high:Q")
    return alt.layer(rules, line, points).properties(width=_WIDTH_PX, height=180)
