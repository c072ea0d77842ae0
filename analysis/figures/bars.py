"""Bars: what the temporal errors of a run are."""

from __future__ import annotations

from typing import Any

import altair as alt

from analysis.errors import NothingToShow
from analysis.figures.figure import Figure, Source
from analysis.figures.style import N_DARK, STEPS, finished, inline, legend
from analysis.measure import Ask, Measures
from analysis.scores import ERROR
from score.taxonomy import ERROR_TYPES

#: Of the bars of error types.
_ERRORS_PX = 460
#: Per cent of a bar from which a number has room in it.
_ROOM = 4.0


def errors(source: Source) -> list[Figure]:
    """Draw which share of each run's temporal predictions is of which error type.

    Raises:
        NothingToShow: there are no classed predictions.
        JudgeNotChosen: they were classed with several judges, and none was chosen.
    """
    scores = source.scores
    if not scores.has_table("errors"):
        raise NothingToShow(f"{scores.folder} has no errors.parquet: score temporal localizations")
    judged = scores.table("errors", ("judge",))["judge"].unique().to_list()
    if len(judged) > 1:
        source.need_judge()
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
