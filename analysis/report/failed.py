"""Failures by status and reason, and error types, each with a link to the answers behind it."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

import polars as pl

from analysis.report.shown import task_title
from analysis.report.source import Source
from score.answers import SCORED


@dataclass(frozen=True, slots=True)
class Count:
    """How many answers, and where they are shown."""

    n: int
    share: str
    link: str


@dataclass(frozen=True, slots=True)
class Ended:
    """How the answers of one run to one task ended."""

    run: str
    task: str
    counts: tuple[Count, ...]
    """For each status: answers with a metric that ended so."""
    n: int


@dataclass(frozen=True, slots=True)
class Reason:
    """Answers with a metric that ended for one reason."""

    run: str
    task: str
    status: str
    reason: str
    n: int
    link: str
    """To all answers of this status."""


@dataclass(frozen=True, slots=True)
class Errors:
    """The error types of one run, by one judge."""

    run: str
    judge: str
    counts: tuple[Count, ...]
    n: int


def endings(source: Source, statuses: tuple[str, ...]) -> list[Ended]:
    """Count the answers of each run and task by how they ended."""
    made = []
    answers = source.predictions.group_by("run", "task").len()
    totals = {(run, task): n for run, task, n in answers.iter_rows()}
    rows = source.ended.select("run", "task", "item", "sample", "status").unique()
    for (run, task), part in sorted(rows.partition_by("run", "task", as_dict=True).items()):
        counts = dict(part["status"].value_counts().iter_rows())
        n = totals[run, task]
        of = tuple(
            _count(counts.get(status, 0), n, run=run, task=task, status=status)
            for status in statuses
        )
        made.append(Ended(str(run), task_title(str(task)), of, n))
    return made


def reasons(source: Source) -> list[Reason]:
    """Count the answers that lack a score by the reason, the most frequent first."""
    grouped = (
        source.ended.filter(pl.col("status") != SCORED)
        .group_by("run", "task", "status", "reason")
        .len()
        .sort(["len", "run", "task", "status", "reason"], descending=[True, *[False] * 4])
    )
    return [
        Reason(run, task_title(task), status, reason or "not said", n,
               _link(run=run, task=task, status=status))
        for run, task, status, reason, n in grouped.iter_rows()
    ]  # fmt: skip


def error_types(source: Source) -> tuple[list[str], list[Errors]]:
    """Return the error types there are, and each run's counts of them by each judge."""
    types = sorted(source.errors["error_type"].unique())
    several = source.errors["judge"].n_unique() > 1
    made = []
    parts = source.errors.partition_by("run", "judge", as_dict=True)
    for (run, judge), part in sorted(parts.items()):
        counts = dict(part["error_type"].value_counts().iter_rows())
        of = tuple(
            _count(
                counts.get(kind, 0),
                len(part),
                run=run,
                error=f"{kind}@{judge}" if several else kind,
            )
            for kind in types
        )
        made.append(Errors(str(run), str(judge), of, len(part)))
    return types, made


def _count(n: int, of: int, **where: object) -> Count:
    return Count(n, f"{100 * n / of:.0f}%" if n else "", _link(**where))


def _link(**where: object) -> str:
    return f"answers.html#{urlencode(where)}"
