"""Leaderboard and slices: means with their intervals, as cells."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from analysis.report.shown import NOTHING, Metric, placed, task_title
from analysis.report.source import Source
from score.frames import UNKNOWN
from score.slices import ATTRIBUTES, membership
from score.statistics.answer import HEADLINE
from score.statistics.estimate import estimates
from score.statistics.panel import Reading

READINGS = tuple(str(reading) for reading in Reading)
#: Items below which a slice says little.
FEW = 10
_SIGNS = re.compile(r"[^A-Za-z0-9._]+")


@dataclass(frozen=True, slots=True)
class Bar:
    """An interval as a picture: in the unit of its column, then in per cent of its width."""

    low: float
    high: float
    value: float


@dataclass(frozen=True, slots=True)
class Cell:
    """One mean as it is shown."""

    text: str
    interval: str = ""
    """``[low, high]``; empty where there is none."""
    value: float | None = None
    """For sorting."""
    count: str = ""
    """How many scores it is of; of how many expected ones, where some are lacking."""
    why: str = ""
    """Why there is no interval, or no value."""
    best: bool = False
    few: bool = False
    bar: Bar | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One run, or one slice."""

    name: str
    note: str
    cells: tuple[Mapping[str, Cell], ...]
    """For each column: reading → cell."""


@dataclass(frozen=True, slots=True)
class Board:
    """A table of means."""

    id: str
    title: str
    columns: tuple[tuple[str, str], ...]
    """(heading, which values are better)."""
    rows: tuple[Row, ...]
    by: str = ""
    metric: str = ""

    @property
    def notes(self) -> list[str]:
        """Why some of its means have no interval."""
        cells = [cell for row in self.rows for of in row.cells for cell in of.values()]
        return list(dict.fromkeys(cell.why for cell in cells if cell.why and cell.text != NOTHING))


def boards(source: Source, metrics: Sequence[Metric]) -> list[Board]:
    """Return the headline metrics of all tasks, and every metric of each task."""
    frame = source.estimates.filter((pl.col("by") == "") & (pl.col("mean") == source.mean))
    rows = source.scored.scores.group_by("run", "task", "metric", "judge").len().iter_rows()
    expected = {(run, Metric(*metric)): n for run, *metric, n in rows}
    cells = _cells(source, frame, "run")
    known = {where: _both(of, expected[where]) for where, of in cells.items()}
    models = {run: model for run, model, _ in source.columns}
    headline = [one for one in metrics if _is_headline(one, metrics)]
    tasks = dict.fromkeys(one.task for one in metrics)
    groups = [("headline", "Headline metrics", headline)] if len(tasks) > 1 else []
    groups += [(task, task_title(task), [m for m in metrics if m.task == task]) for task in tasks]
    made = []
    for name, title, shown in groups:
        runs = [run for run in models if any((run, metric) in known for metric in shown)]
        columns = [{run: known.get((run, metric), {}) for run in runs} for metric in shown]
        marked = [_marked(column, metric) for column, metric in zip(columns, shown, strict=True)]
        lines = (Row(run, models[run], tuple(column[run] for column in marked)) for run in runs)
        prefix = {m: f"{task_title(m.task)}: " if name == "headline" else "" for m in shown}
        heads = tuple((prefix[metric] + metric.title, metric.better) for metric in shown)
        made.append(Board(name, title, heads, tuple(lines)))
    return made


def sliced(source: Source, metrics: Sequence[Metric]) -> list[Board]:
    """Return, for each attribute and headline metric, a table of slices and runs."""
    items, made = source.scored.items, []
    present = [name for name in ATTRIBUTES if name in items.columns]
    for by in present:
        found = membership(items, by)["slice"].unique().to_list()
        if found in ([UNKNOWN], []):
            continue
        shown = [one for one in metrics if _is_headline(one, metrics)]
        rows = pl.DataFrame(
            [(one.task, one.name, one.judge) for one in shown],
            schema=["task", "metric", "judge"], orient="row",
        )  # fmt: skip
        scores = source.scored.scores.join(rows, on=["task", "metric", "judge"], how="semi")
        frame = estimates(scores, source.resamples, items=items, by=by)
        made += [_slices(source, frame, by, metric) for metric in shown]
    return [board for board in made if len(board.rows) > 1]


def _slices(source: Source, frame: pl.DataFrame, by: str, metric: Metric) -> Board:
    part = frame.filter(
        (pl.col("task") == metric.task)
        & (pl.col("metric") == metric.name)
        & (pl.col("judge") == metric.judge)
        & pl.col("value").is_not_null()
    )
    runs = sorted(part["run"].unique())
    known = {where: _both(of) for where, of in _cells(source, part, "run", "slice").items()}
    names = sorted(part["slice"].unique(), key=lambda name: (name == UNKNOWN, name))
    columns = [
        _marked({name: known.get((run, name, metric), {}) for name in names}, metric, mark=False)
        for run in runs
    ]
    rows = tuple(Row(name, "", tuple(column[name] for column in columns)) for name in names)
    title = f"{task_title(metric.task)}: {metric.title}, by {by.replace('_', ' ')}"
    name = _SIGNS.sub("-", "-".join(filter(None, (by, metric.task, metric.name, metric.judge))))
    key = f"{task_title(metric.task)}: {metric.title}"
    heads = tuple((run, metric.better) for run in runs)
    return Board(name, title, heads, rows, by.replace("_", " "), key)


def _is_headline(metric: Metric, every: Iterable[Metric]) -> bool:
    """The judge's score of summaries where there is one, else ROUGE-L; and so on."""
    judged, unjudged = HEADLINE.get(metric.task, ("", ""))
    there = {one.name for one in every if one.task == metric.task}
    return metric.name == (judged if judged in there else unjudged)


def _cells(
    source: Source, frame: pl.DataFrame, *keys: str
) -> dict[Any, dict[str, tuple[Cell, int]]]:
    """Return (…keys, metric) → reading → cell, and how many scores it is of."""
    found: dict[Any, dict[str, tuple[Cell, int]]] = {}
    for row in frame.iter_rows(named=True):
        metric = source.metric(row["task"], row["metric"], row["judge"])
        where = (*(row[key] for key in keys), metric)
        found.setdefault(where, {})[row["reading"]] = _cell(row, metric), row["n"]
    return found


def _both(of: Mapping[str, tuple[Cell, int]], expected: int | None = None) -> dict[str, Cell]:
    """Return the cells of both readings with their counts.

    Args:
        of: What there is; a metric that has no value for a wrong answer has one reading only.
        expected: Scores expected; None: as many as the second reading has.
    """
    first, n = of[READINGS[0]]
    second, n_expected = of.get(READINGS[1], (None, n))
    expected = n_expected if expected is None else expected
    if second is None:
        second = (
            first if n == expected else Cell(NOTHING, why="a failure has no value of this metric")
        )
    count = f"{n:,}" if n == expected else f"{n:,}/{expected:,}"
    cells = zip(READINGS, (first, second), strict=True)
    return {reading: replace(cell, count=count, few=n < FEW) for reading, cell in cells}


def _cell(row: Mapping[str, Any], metric: Metric) -> Cell:
    value, low, high = (
        None if row[name] is None else row[name] * metric.scale for name in ("value", "low", "high")
    )
    bounded = low is not None and high is not None
    return Cell(
        text=metric.show(row["value"]),
        interval=f"[{metric.show(row['low'])}, {metric.show(row['high'])}]" if bounded else "",
        value=value,
        why=row["reason"] or "",
        bar=_bar(value, low, high),
    )


def _bar(value: float | None, low: float | None, high: float | None) -> Bar | None:
    """A value without an interval is a point; what is not finite has no place on a picture."""
    if value is None:
        return None
    made = Bar(value, value, value) if low is None or high is None else Bar(low, high, value)
    return made if all(map(math.isfinite, (made.low, made.high, made.value))) else None


def _marked(
    column: Mapping[str, Mapping[str, Cell]], metric: Metric, *, mark: bool = True
) -> dict[str, dict[str, Cell]]:
    """Give a column of cells its bars on one scale, and mark the best."""
    made: dict[str, dict[str, Cell]] = {name: {} for name in column}
    for reading in READINGS:
        cells = {name: of.get(reading, Cell(NOTHING)) for name, of in column.items()}
        bars = [cell.bar for cell in cells.values() if cell.bar is not None]
        low = min((bar.low for bar in bars), default=0.0)
        high = max((bar.high for bar in bars), default=1.0)
        texts = {cell.text: cell.value for cell in cells.values() if cell.value is not None}
        best = _best(texts, metric) if mark else ""
        for name, cell in cells.items():
            places = cell.bar and placed((cell.bar.low, cell.bar.high, cell.bar.value), low, high)
            is_best = bool(best) and cell.text == best
            made[name][reading] = replace(cell, best=is_best, bar=Bar(*places) if places else None)
    return made


def _best(texts: Mapping[str, float], metric: Metric) -> str:
    """The best text of a column; empty where all are equal or none is better."""
    if len(texts) < 2 or metric.better == "neither":
        return ""
    choose = max if metric.better == "higher" else min
    return choose(texts, key=lambda text: texts[text])
