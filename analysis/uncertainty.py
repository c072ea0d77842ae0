"""How sure the numbers of a table are: intervals around means, tests against a baseline.

Both resample whole videos or dialogues, as ``rejudge score`` and ``rejudge compare`` do. Intervals
that scoring wrote are read; those of slices are made here, with the same draws.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import groupby

import polars as pl

from analysis.measure import Ask
from analysis.scores import Scores
from score.output import INTERVALS
from score.statistics.compare import DECLARED, SLICES, Comparison, Question, compare, corrected
from score.statistics.estimate import COLUMNS, estimates
from score.statistics.groups import groups_of, topic_groups
from score.statistics.panel import Panel, Reading, panels
from score.statistics.resample import LEVEL

ALPHA = 1 - LEVEL
#: Why a value was not tested that the baseline has no counterpart of.
NO_BASELINE = "the baseline has no score of it"

Limits = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Interval:
    """The interval of a mean, or why it has none."""

    low: float | None
    """In the metric's own unit; None: it is undefined."""
    high: float | None
    reason: str = ""
    """Why it is."""


def intervals(
    scores: Scores, asks: Collection[Ask], reading: Reading, *, over_topics: bool
) -> dict[Ask, Limits]:
    """Return the interval of each mean that has one, in the metric's own unit.

    Args: as :func:`estimated`.
    """
    found = estimated(scores, asks, reading, over_topics=over_topics)
    return {
        ask: (one.low, one.high)
        for ask, one in found.items()
        if one.low is not None and one.high is not None
    }


def estimated(
    scores: Scores, asks: Collection[Ask], reading: Reading, *, over_topics: bool
) -> dict[Ask, Interval]:
    """Return the interval of each mean, or why it has none.

    Args:
        scores: The scores.
        asks: The means.
        reading: How answers without a score enter; a mean that knows only one is of that.
        over_topics: Whether a mean of all items is one over topics.
    """
    kind = "over-topics" if over_topics else "over-items"
    found: dict[Ask, Interval] = {}
    for by in sorted({ask.by for ask in asks}):
        wanted = {ask for ask in asks if ask.by == by}
        # Where there is only the first reading it is the last to be put in, else it is overwritten.
        rows = _estimates(scores, by, wanted).filter((pl.col("mean") == kind) | (pl.lit(by) != ""))
        first = rows.filter(pl.col("reading") == Reading.SCORED_ONLY)
        asked = rows.filter(pl.col("reading") == reading)
        only = first.filter(pl.col("metric").str.starts_with("mae"))
        for row in pl.concat([only, asked]).iter_rows(named=True):
            ask = Ask(row["run"], row["task"], row["metric"], row["judge"], by, row["slice"])
            if ask in wanted:
                found[ask] = Interval(row["low"], row["high"], row["reason"])
    return found


def _estimates(scores: Scores, by: str, asks: Collection[Ask]) -> pl.DataFrame:
    if by in ("", "topic") and scores.has_table(INTERVALS):
        written = scores.table(INTERVALS, COLUMNS).filter(pl.col("by") == by)
        metrics = written["metric"].unique().to_list()
        if {ask.metric for ask in asks} <= {*metrics}:
            return written
    frame = scores.with_errors.filter(pl.col("metric").is_in({ask.metric for ask in asks}))
    items = scores.items if by not in ("", "topic") else None
    return estimates(frame, scores.resamples, items=items, by=by)


@dataclass(frozen=True, slots=True)
class Tests:
    """Tests of the runs in a table against a baseline."""

    p: dict[Ask, float]
    """Adjusted for all tests of the table."""
    why: dict[Ask, str]
    """Of what was not tested: why."""
    said: tuple[str, ...]
    """How, one sentence a family."""


def tests(
    scores: Scores,
    asks: Collection[Ask],
    baseline: str,
    reading: Reading,
    *,
    over_topics: bool,
) -> Tests:
    """Test every mean of a table against the same mean of a baseline.

    Means of all items are one family (Holm), those of slices another (Benjamini–Hochberg).
    """
    others = tuple(sorted(set(scores.frame["run"].unique()) - {baseline}))
    shown = {(ask.task, ask.metric, ask.judge) for ask in asks}
    frame = scores.with_errors.filter(pl.col("metric").is_in({metric for _, metric, _ in shown}))
    every = [
        panel
        for panel in panels(frame, scores.resamples.design)
        if (panel.task, panel.metric, panel.judge) in shown
    ]
    found: list[tuple[Ask, Comparison]] = []
    for by in sorted({ask.by for ask in asks}):
        question = Question(baseline, others, reading, over_topics=over_topics, by=by)
        for panel in every:
            found += [
                (ask, one)
                for one in _compared(scores, panel, question)
                if (ask := _ask(one)) in asks
            ]
    p: dict[Ask, float] = {}
    why = dict.fromkeys((ask for ask in asks if ask.run != baseline), NO_BASELINE)
    why |= {ask: one.test.reason for ask, one in found}
    said: list[str] = []
    for is_slice, some in groupby(sorted(found, key=lambda pair: bool(pair[0].by)), _is_slice):
        pairs = list(some)
        made = corrected([one.test for _, one in pairs], SLICES if is_slice else DECLARED)
        p |= {
            ask: test.p_adjusted
            for (ask, _), test in zip(pairs, made, strict=True)
            if test.p_adjusted is not None
        }
        name = "Benjamini and Hochberg's" if is_slice else "Holm's"
        if n_tests := made[0].n_tests:
            tests_made = f"{n_tests} test{'s' * (n_tests > 1)}"
            said.append(f"adjusted by {name} method for {tests_made}" + " of slices" * is_slice)
    return Tests(p, why, tuple(said))


def _compared(scores: Scores, panel: Panel, question: Question) -> Iterable[Comparison]:
    if not question.by:
        return compare(panel, None, question, scores.resamples)
    if question.by == "topic":
        groups = topic_groups(panel, scores.resamples.design)
    else:
        groups = groups_of(panel, scores.items, question.by)
    return compare(panel, groups, question, scores.resamples)


def _ask(one: Comparison) -> Ask:
    return Ask(one.candidate, one.task, one.metric, one.judge, one.by, one.slice)


def _is_slice(pair: tuple[Ask, Comparison]) -> bool:
    return bool(pair[0].by)
