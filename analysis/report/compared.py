"""Comparisons that ``rejudge compare --out`` left in the folder of the scores, or right below."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from analysis.report.shown import number, p_value, placed, task_title
from analysis.report.source import Source
from score.errors import ScoresMissing
from score.statistics.report import RECORD


@dataclass(frozen=True, slots=True)
class Line:
    """One difference and its test."""

    who: str
    metric: str
    where: str
    """The slice or groups; empty: all items."""
    before: str
    after: str
    difference: str
    interval: str
    bar: tuple[float, ...] | None
    """low, value, high and zero: per cent of the width."""
    p: str
    adjusted: str
    finds: bool
    """The adjusted p-value is below α."""
    counts: str
    """better/same/worse."""
    n: str
    note: str


@dataclass(frozen=True, slots=True)
class Compared:
    """One ``rejudge compare``."""

    id: str
    title: str
    facts: tuple[str, ...]
    overall: tuple[Line, ...]
    slices: tuple[Line, ...]
    contrasts: tuple[Line, ...]


def comparisons(source: Source) -> list[Compared]:
    """Read every comparison that lies in the folder of the scores or right below.

    Raises:
        ScoresMissing: a comparison's file is unreadable.
    """
    found = sorted([*source.folder.glob(RECORD), *source.folder.glob(f"*/{RECORD}")])
    return [_compared(source, path, number) for number, path in enumerate(found)]


def _compared(source: Source, path: Path, place: int) -> Compared:
    try:
        made = json.loads(path.read_text("utf-8"))
        listed = _rows(path.with_name("comparisons.parquet"))
        contrasts = _rows(path.with_name("contrasts.parquet"))
        question, drawn = made["question"], made["resampling"]
        alpha = 1 - question["level"]
        mean = "over topics" if question["over_topics"] else "over items"
        families = [
            f"{name}: {family['tests']} tests, {family['correction']}"
            for name, family in made["families"].items()
        ]
        return Compared(
            id=f"compared-{place}",
            title=f"Compared with {question['baseline']}",
            facts=(
                f"difference: run − {question['baseline']}, {question['reading']}, {mean}; "
                f"{100 * question['level']:g}% intervals of {drawn['resamples']} resamples of "
                f"{drawn['clusters']} clusters",
                *families,
            ),
            overall=_lines(source, [row for row in listed if not row["by"]], alpha),
            slices=_lines(source, [row for row in listed if row["by"]], alpha),
            contrasts=_contrasted(source, contrasts, alpha),
        )
    except (OSError, ValueError, KeyError, TypeError, pl.exceptions.PolarsError) as error:
        raise ScoresMissing(
            f"{path} or a table beside it cannot be read ({error}); "
            "write it anew with: rejudge compare DIR --out DIR, or remove it"
        ) from error


def _rows(path: Path) -> list[dict[str, Any]]:
    return pl.read_parquet(path).to_dicts() if path.is_file() else []


def _lines(source: Source, rows: Sequence[Mapping[str, Any]], alpha: float) -> tuple[Line, ...]:
    return tuple(
        _line(
            source,
            row,
            rows,
            alpha,
            who=row["candidate"],
            where=f"{row['by'].replace('_', ' ')}: {row['slice']}" if row["by"] else "",
            value="difference",
        )
        for row in rows
    )


def _contrasted(
    source: Source, rows: Sequence[Mapping[str, Any]], alpha: float
) -> tuple[Line, ...]:
    return tuple(
        _line(
            source,
            row,
            rows,
            alpha,
            who=f"{row['run']} − {row['baseline']}" if row["baseline"] else row["run"],
            where=f"{row['group']} − {row['reference']}",
            value="gap",
        )
        for row in rows
    )


def _line(
    source: Source, row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], alpha: float,
    *, who: str, where: str, value: str,
) -> Line:  # fmt: skip
    metric = source.metric(row["task"], row["metric"], row["judge"])
    low, high, adjusted = row["low"], row["high"], row["p_adjusted"]
    wins, losses = row.get("wins"), row.get("losses")
    same = [one for one in rows if (one["task"], one["metric"]) == (metric.task, metric.name)]
    return Line(
        who=who,
        metric=f"{task_title(metric.task)}: {metric.title}",
        where=where,
        before=metric.show(row.get("baseline_mean")),
        after=metric.show(row.get("candidate_mean")),
        difference=metric.show(row[value], sign=True),
        interval=""
        if low is None
        else f"[{metric.show(low, sign=True)}, {metric.show(high, sign=True)}]",
        bar=_bar(row[value], low, high, same),
        p=p_value(row["p"]),
        adjusted=p_value(adjusted),
        finds=adjusted is not None and adjusted < alpha,
        counts="" if wins is None or losses is None else f"{wins}/{row['ties']}/{losses}",
        n=f"{number(row['n'], 0)} in {row['n_clusters']}",
        note=row["reason"] or row["not_tested"] or "",
    )


def _bar(
    value: float | None, low: float | None, high: float | None, same: Sequence[Mapping[str, Any]]
) -> tuple[float, ...] | None:
    """Place an interval on a scale that all rows of its metric share, and that has 0."""
    if value is None or low is None or high is None:
        return None
    least = min([0.0, *(one["low"] for one in same if one["low"] is not None)])
    most = max([0.0, *(one["high"] for one in same if one["high"] is not None)])
    return placed((low, value, high, 0.0), least, most)
