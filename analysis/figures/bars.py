"""Bars: the same model with different media, and what its temporal errors are."""

from __future__ import annotations

from typing import Any

import altair as alt

from analysis.errors import NothingToShow
from analysis.figures.figure import Figure, Shown, Source
from analysis.figures.style import (
    LABEL_PX,
    N_DARK,
    PALETTE,
    STEPS,
    finished,
    inline,
    legend,
    panel_title,
    side_by_side,
)
from analysis.measure import Ask, Measures
from analysis.scores import ERROR
from score.taxonomy import ERROR_TYPES

#: A panel of a few bars, and the room that each takes where there are many.
_PANEL_PX, _BAR_PX = 200, 14
#: Of the bars of error types.
_ERRORS_PX = 460
#: Per cent of a bar from which a number has room in it.
_ROOM = 4.0


def modality(source: Source) -> list[Figure]:
    """Draw the headline metrics of models that were given different media.

    Raises:
        NothingToShow: no model was.
    """
    models = source.scores.models_by_modality
    if not models:
        raise NothingToShow("no model has runs with different media; see rejudge infer --modality")
    panels = [(shown, _modality_rows(source, shown)) for shown in source.headlines()]
    panels = [
        (shown, rows) for shown, rows in panels if any(row["value"] is not None for row in rows)
    ]
    if not panels:
        raise NothingToShow("the runs with different media have no score of a headline metric")
    kinds = sorted({row["name"] for _, rows in panels for row in rows}, key=_fewer_first)
    n_models = len({row["model"] for _, rows in panels for row in rows})
    width = max(_PANEL_PX, _BAR_PX * n_models * len(kinds))
    columns = 3 if width == _PANEL_PX else 1
    legend_px = max(2 * _PANEL_PX, width * min(columns, len(panels)))
    drawn = [_modality_panel(shown, rows, kinds, width, legend_px) for shown, rows in panels]
    chart = finished(
        side_by_side(drawn, columns),
        "The same model with different media",
        ["Bars: 95% interval, by resampling whole videos. n/a: no mean.", source.signature()],
    )
    made = source.made(figure="modality", values=[row for _, rows in panels for row in rows])
    return [Figure("modality", chart, made)]


def _modality_rows(source: Source, shown: Shown) -> list[dict[str, Any]]:
    every = [run for runs in source.scores.models_by_modality.values() for _, run in runs]
    limits = source.limits(every, shown)
    rows: list[dict[str, Any]] = []
    for model, runs in source.scores.models_by_modality.items():
        for given, run in runs:
            found = source.measure(run, shown)
            low, high = limits.get(run, (None, None))
            rows.append(
                {
                    "model": model, "name": given,
                    "value": None if found.value is None else shown.of(found.value),
                    "low": low, "high": high, "task": shown.task, "metric": shown.metric,
                    "why": found.why,
                }
            )  # fmt: skip
    return rows


def _modality_panel(
    shown: Shown, rows: list[dict[str, Any]], kinds: list[str], width: int, legend_px: int
) -> Any:
    # Light to dark, so that bars differ in grey, too.
    shades = [STEPS[place % len(STEPS)] for place in (4, 2, 3, 0, 5, 1)][: max(len(kinds), 1)]
    shades += list(PALETTE)[: max(0, len(kinds) - len(shades))]
    models = {row["model"] for row in rows}
    # Names stand side by side where there is room for them.
    angle = 0 if len(models) * (max(map(len, models)) + 2) * LABEL_PX <= width else -30
    base = alt.Chart(inline(rows), title=panel_title(shown.title, width)).encode(
        x=alt.X("model:N", title=None, axis=alt.Axis(labelAngle=angle)),
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


def _fewer_first(name: str) -> tuple[int, str]:
    return name.count("+"), name


def errors(source: Source) -> list[Figure]:
    """Draw which share of each run's temporal predictions is of which error type.

    Raises:
        NothingToShow: there are no classed predictions.
    """
    scores = source.scores
    if not scores.has_table("errors"):
        raise NothingToShow(f"{scores.folder} has no errors.parquet: score temporal localizations")
    judged = scores.table("errors", ("judge",))["judge"].unique().to_list()
    judge = source.judge if source.judge in judged else next(iter(sorted(judged)), "")
    shares = Measures(scores, source.reading, over_topics=False)
    rows: list[dict[str, Any]] = []
    for run in source.runs("localization"):
        end = 0.0
        for name in ERROR_TYPES:
            found = shares.of(Ask(run, "localization", f"{ERROR}{name}", judge))
            if found.value is not None:
                start, end = end, end + 100 * found.value
                rows.append(
                    {
                        "run": source.named(run), "name": _words(name), "start": start, "end": end,
                        "middle": (start + end) / 2, "value": 100 * found.value,
                        "text": f"{100 * found.value:.0f}" if end - start >= _ROOM else "",
                        "n": found.n_scored,
                    }
                )  # fmt: skip
    if not rows:
        raise NothingToShow("no temporal prediction was classed: none could be read")
    kinds = [_words(name) for name in ERROR_TYPES]
    runs = list(dict.fromkeys(row["run"] for row in rows))
    base = alt.Chart(inline(rows)).encode(y=alt.Y("run:N", title=None, sort=runs))
    bars = base.mark_bar(stroke="black", strokeWidth=0.5).encode(
        x=alt.X("start:Q", title="% of classed predictions", scale=alt.Scale(domain=[0, 100])),
        x2="end:Q",
        color=alt.Color(
            "name:N",
            title=None,
            scale=alt.Scale(domain=kinds, range=list(STEPS)),
            sort=kinds,
            legend=legend(kinds, 1.5 * _ERRORS_PX),
        ),
    )
    ink = alt.condition(
        alt.FieldOneOfPredicate("name", kinds[:N_DARK]), alt.value("white"), alt.value("black")
    )
    numbers = base.mark_text(fontSize=9).encode(x="middle:Q", text="text:N", color=ink)
    sizes = {row["run"]: f"n = {row['n']:,}" for row in rows}
    counts = (
        alt.Chart(inline([{"run": run, "text": text} for run, text in sizes.items()]))
        .mark_text(fontSize=9, align="left", dx=5)
        .encode(y=alt.Y("run:N", title=None, sort=runs), x=alt.XDatum(100), text="text:N")
    )
    chart = alt.layer(bars, numbers, counts).properties(width=_ERRORS_PX, height=alt.Step(24))
    lines = ["n: classed predictions. Other: right predictions, too.", source.signature()]
    made = source.made(figure="errors", errors_by_judge=judge, values=rows)
    return [Figure("errors", finished(chart, "Types of temporal errors", lines), made)]


def _words(name: str) -> str:
    words = {"relative_absolute": "Relative–absolute"}
    return words.get(name, name.replace("_", " ").capitalize().replace(" event ", " event, "))
