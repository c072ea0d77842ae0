"""Bars: the same model with different media, and what its temporal errors are."""

from __future__ import annotations

from typing import Any

import altair as alt

from analysis.errors import NothingToShow
from analysis.figures.figure import Figure, Shown, Source
from analysis.figures.style import N_DARK, PALETTE, STEPS, finished, inline, side_by_side
from analysis.measure import Ask, Measures
from analysis.scores import ERROR
from score.taxonomy import ERROR_TYPES

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
    panels = [(shown, rows) for shown, rows in panels if rows]
    if not panels:
        raise NothingToShow("the runs with different media have no score of a headline metric")
    kinds = sorted({row["name"] for _, rows in panels for row in rows}, key=_fewer_first)
    drawn = [_modality_panel(shown, rows, kinds) for shown, rows in panels]
    chart = finished(
        side_by_side(drawn),
        "The same model with different media",
        ["Bars: 95% interval, by resampling whole videos.", source.signature()],
    )
    made = source.made(figure="modality", values=[row for _, rows in panels for row in rows])
    return [Figure("modality", chart, made)]


def _modality_rows(source: Source, shown: Shown) -> list[dict[str, Any]]:
    every = [run for runs in source.scores.models_by_modality.values() for _, run in runs]
    limits = source.limits(every, shown)
    rows: list[dict[str, Any]] = []
    for model, runs in source.scores.models_by_modality.items():
        for given, run in runs:
            value = source.measure(run, shown).value
            if value is not None:
                low, high = limits.get(run, (None, None))
                rows.append(
                    {
                        "model": model, "name": given, "value": shown.of(value),
                        "low": low, "high": high, "task": shown.task, "metric": shown.metric,
                    }
                )  # fmt: skip
    return rows


def _modality_panel(shown: Shown, rows: list[dict[str, Any]], kinds: list[str]) -> Any:
    # Light to dark, so that bars differ in grey, too.
    shades = [STEPS[place % len(STEPS)] for place in (4, 2, 3, 0, 5, 1)][: max(len(kinds), 1)]
    shades += list(PALETTE)[: max(0, len(kinds) - len(shades))]
    base = alt.Chart(inline(rows), title=shown.title).encode(
        x=alt.X("model:N", title=None, axis=alt.Axis(labelAngle=0)),
        xOffset=alt.XOffset("name:N", sort=kinds),
    )
    bars = base.mark_bar(stroke="black", strokeWidth=0.5).encode(
        y=alt.Y("value:Q", title=None, scale=alt.Scale(domain=_domain(shown))),
        color=alt.Color(
            "name:N", title=None, sort=kinds, scale=alt.Scale(domain=kinds, range=shades)
        ),
    )
    rules = base.mark_rule(strokeWidth=1.2).encode(y="low:Q", y2="high:Q")
    return alt.layer(bars, rules).properties(width=200, height=180)


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
            "name:N", title=None, scale=alt.Scale(domain=kinds, range=list(STEPS)), sort=kinds
        ),
    )
    ink = alt.condition(
        alt.FieldOneOfPredicate("name", kinds[:N_DARK]), alt.value("white"), alt.value("black")
    )
    numbers = base.mark_text(fontSize=9).encode(x="middle:Q", text="text:N", color=ink)
    chart = alt.layer(bars, numbers).properties(width=460, height=alt.Step(24))
    sizes = {row["run"]: row["n"] for row in rows}
    note = "Predictions: " + ", ".join(f"{run} {n}" for run, n in sizes.items()) + "."
    lines = [note, "Other: right predictions, too.", source.signature()]
    made = source.made(figure="errors", errors_by_judge=judge, values=rows)
    return [Figure("errors", finished(chart, "Types of temporal errors", lines), made)]


def _words(name: str) -> str:
    words = {"relative_absolute": "Relative–absolute"}
    return words.get(name, name.replace("_", " ").capitalize().replace(" event ", " event, "))
