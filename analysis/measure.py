"""What a cell asks for: a mean, what it is a mean of, or why there is none."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import groupby
from textwrap import shorten

import polars as pl

from analysis.scores import ERROR, Scores
from score.aggregate import item_means, macro_means, topic_means
from score.slices import slice_means
from score.statistics.panel import Reading

#: An error in seconds has a mean of all answers only where all of them were scored.
_ALL_SCORED = pl.when(pl.col("n_scored") == pl.col("n_expected")).then(pl.col("mean"))
_MEAN = {
    Reading.SCORED_ONLY: pl.col("mean"),
    Reading.FAILURES_AS_WRONG: pl.coalesce("mean_all", _ALL_SCORED),
}
_KEY = ("run", "task", "metric", "judge")


@dataclass(frozen=True, slots=True)
class Ask:
    """A mean that is wanted."""

    run: str
    task: str
    metric: str
    judge: str = ""
    by: str = ""
    """What its slice is made by; empty: of all items."""
    slice: str = ""


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
    """The means of all runs, looked up by what is asked for."""

    def __init__(self, scores: Scores, reading: Reading, *, over_topics: bool = True) -> None:
        """Args: the scores; the reading; whether a mean of all items is one over topics."""
        self._scores = scores
        self._frame = scores.with_errors
        self._reading = reading
        self._over_topics = over_topics
        self._found: dict[str, dict[Ask, Measure]] = {}

    def runs_of(self, tasks: Collection[str]) -> list[str]:
        """Return the runs that were asked any of ``tasks``, in alphabetical order."""
        asked = self._frame.filter(pl.col("task").is_in(list(tasks)))
        return sorted(asked["run"].unique())

    def of(self, ask: Ask) -> Measure:
        """Return a mean: of a slice, or of all items."""
        if ask.by not in self._found:
            self._found[ask.by] = self._means(ask.by)
        found = self._found[ask.by].get(ask)
        if found is None:
            return self._absent(ask)
        if found.value is not None:
            return found
        if found.n_scored:
            why = f"a wrong answer has no {ask.metric}, and not all answers were scored"
        else:
            why = self._unscored(ask)
        return replace(found, n_unscored_topics=0, why=why)

    def _means(self, by: str) -> dict[Ask, Measure]:
        exact = self._scores.exact_sums
        if by == "" and self._over_topics:
            topics = topic_means(self._frame, exact_sums=exact)
            empty = topics.group_by(_KEY).agg((pl.col("n_scored") == 0).sum().alias("n_unscored"))
            found = macro_means(topics, exact_sums=exact).join(empty, on=_KEY)
        elif by == "":
            found = item_means(self._frame, exact_sums=exact)
        elif by == "topic":
            found = topic_means(self._frame, exact_sums=exact)
        else:
            found = slice_means(self._frame, self._scores.items, by)
        where = {"": pl.lit(""), "topic": pl.col("topic")}.get(by, pl.col("slice"))
        without = pl.col("n_unscored") if "n_unscored" in found.columns else pl.lit(0)
        rows = found.select(
            *_KEY,
            where.alias("slice"),
            _MEAN[self._reading].alias("shown"),
            "n_scored",
            "n_expected",
            without.alias("n_unscored"),
        )
        return {
            Ask(run, task, metric, judge, by, name): Measure(value, n_scored, n_expected, n_without)
            for run, task, metric, judge, name, value, n_scored, n_expected, n_without in (
                rows.iter_rows()
            )
        }

    def _asked(self, ask: Ask) -> pl.DataFrame:
        """Return the rows of a run's task, and of a slice where one is asked for."""
        rows = self._frame.filter(pl.col("run") == ask.run, pl.col("task") == ask.task)
        if not ask.by:
            return rows
        members = self._scores.members(ask.by).filter(pl.col("slice") == ask.slice)
        return rows.join(members, on="item", how="semi")

    def _absent(self, ask: Ask) -> Measure:
        """Say why a metric has no rows."""
        asked = self._asked(ask)
        if asked.is_empty():
            where = f"this {ask.by.replace('_', ' ')}" if ask.by else f"task {ask.task}"
            return Measure(None, 0, 0, why=f"the run was asked nothing of {where}")
        if ask.metric.endswith("_judge"):
            why = f"no verdict of judge {ask.judge}" if ask.judge else "no judge was asked"
        elif ask.metric.endswith("_similarity") and not self._scores.has_similarity:
            why = "similarity was not computed"
        elif ask.metric.startswith(ERROR):
            why = self._unclassed(ask)
        elif ask.metric.startswith("category:"):
            why = f"no dictionary with a category {ask.metric.partition(':')[2]} was used"
        else:
            why = f"{ask.metric} was not computed"
        return Measure(None, 0, asked.n_unique(["item", "sample"]), why=why)

    def _unclassed(self, ask: Ask) -> str:
        """Say why there are no types of errors."""
        own = self._frame.filter(pl.col("run") == ask.run, pl.col("metric") == ask.metric)
        if own.is_empty():
            return "no prediction was classed by type of error"
        judges = ", ".join(sorted(own["judge"].unique())) or "no judge"
        return f"predictions were classed by type of error with {judges} only"

    def _unscored(self, ask: Ask) -> str:
        """Say why none of the rows that a metric has is scored."""
        rows = self._asked(ask).filter(pl.col("metric") == ask.metric, pl.col("judge") == ask.judge)
        ends = rows.select(pl.col("status").cast(pl.String), "reason").iter_rows()
        parts: list[str] = []
        for status, same in groupby(sorted(ends), key=lambda end: end[0]):
            reasons = [reason for _, reason in same]
            usual = max(sorted(set(reasons)), key=reasons.count)
            parts.append(_shortened(f"{status} ({usual})" if usual else status))
        whose = f"no verdict of judge {ask.judge}" if ask.judge else "nothing scored"
        return f"{whose}: {', '.join(parts)}"


def _shortened(reason: str) -> str:
    """Return a reason on one line, cut where it is long: reasons may quote what a model said."""
    return shorten(reason, width=160, placeholder=" …")
