"""What a column's value is for a run: a mean, what it is a mean of, or why there is none."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import groupby
from textwrap import shorten

import polars as pl

from analysis.scores import Scores
from analysis.table import Column, Reading
from score.aggregate import macro_means, topic_means

#: An error in seconds has a mean of all answers only where all of them were scored.
_ALL_SCORED = pl.when(pl.col("n_scored") == pl.col("n_expected")).then(pl.col("mean"))
_MEAN = {
    Reading.SCORED_ONLY: pl.col("mean"),
    Reading.FAILURES_AS_WRONG: pl.coalesce("mean_all", _ALL_SCORED),
}
_KEY = ("run", "task", "metric", "judge")


@dataclass(frozen=True, slots=True)
class Measure:
    """One mean."""

    value: float | None
    """In the metric's own unit; None where there is none."""
    n_scored: int
    n_expected: int
    n_unscored_topics: int = 0
    """Topics that have no score at all, and so no part in a macro mean of scored answers."""
    why: str = ""
    """Why there is no value."""


class Measures:
    """The means of all runs, looked up by column."""

    def __init__(self, scores: Scores, reading: Reading) -> None:
        self._frame = scores.frame
        self._has_similarity = scores.has_similarity
        topics = topic_means(scores.frame, exact_sums=scores.exact_sums)
        macro = macro_means(topics, exact_sums=scores.exact_sums)
        empty = topics.group_by(_KEY).agg((pl.col("n_scored") == 0).sum().alias("n_unscored"))
        found = [
            macro.join(empty, on=_KEY).with_columns(pl.lit("").alias("topic")),
            topics.with_columns(pl.lit(0).alias("n_unscored")),
        ]
        mean = _MEAN[reading].alias("shown")
        self._found = {
            tuple(key): Measure(value, n_scored, n_expected, n_unscored)
            for frame in found
            for *key, value, n_scored, n_expected, n_unscored in frame.select(
                *_KEY, "topic", mean, "n_scored", "n_expected", "n_unscored"
            ).iter_rows()
        }

    def runs_of(self, tasks: Collection[str]) -> list[str]:
        """Return the runs that were asked any of ``tasks``, in alphabetical order."""
        asked = self._frame.filter(pl.col("task").is_in(list(tasks)))
        return sorted(asked["run"].unique())

    def of(self, run: str, column: Column) -> Measure:
        """Return the mean that ``column`` asks for: in its topic, or macro over all topics."""
        key = (run, column.task, column.metric, column.judge, column.topic)
        found = self._found.get(key)
        if found is None:
            return self._absent(run, column)
        if found.value is not None:
            return found
        if found.n_scored:
            why = f"a wrong answer has no {column.metric}, and not all answers were scored"
        else:
            why = self._unscored(run, column)
        return Measure(None, found.n_scored, found.n_expected, why=why)

    def _asked(self, run: str, column: Column) -> pl.DataFrame:
        """Return the rows of a run's task, and of a column's topic where it has one."""
        topic = pl.col("topic") == column.topic if column.topic else pl.lit(True)
        return self._frame.filter(pl.col("run") == run, pl.col("task") == column.task, topic)

    def _absent(self, run: str, column: Column) -> Measure:
        """Say why a metric has no rows."""
        asked = self._asked(run, column)
        if asked.is_empty():
            where = "this topic" if column.topic else f"task {column.task}"
            return Measure(None, 0, 0, why=f"the run was asked nothing of {where}")
        if column.metric.endswith("_judge"):
            why = f"no verdict of judge {column.judge}" if column.judge else "no judge was asked"
        elif column.metric.endswith("_similarity") and not self._has_similarity:
            why = "similarity was not computed"
        else:
            why = f"{column.metric} was not computed"
        return Measure(None, 0, asked.n_unique(["item", "sample"]), why=why)

    def _unscored(self, run: str, column: Column) -> str:
        """Say why none of the rows that a metric has is scored."""
        rows = self._asked(run, column).filter(
            pl.col("metric") == column.metric, pl.col("judge") == column.judge
        )
        ends = rows.select(pl.col("status").cast(pl.String), "reason").iter_rows()
        parts: list[str] = []
        for status, same in groupby(sorted(ends), key=lambda end: end[0]):
            reasons = [reason for _, reason in same]
            usual = max(sorted(set(reasons)), key=reasons.count)
            parts.append(_shortened(f"{status} ({usual})" if usual else status))
        whose = f"no verdict of judge {column.judge}" if column.judge else "nothing scored"
        return f"{whose}: {', '.join(parts)}"


def _shortened(reason: str) -> str:
    """Return a reason on one line, cut where it is long: reasons may quote what a model said."""
    return shorten(reason, width=160, placeholder=" …")
