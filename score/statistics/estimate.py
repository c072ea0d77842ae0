"""An estimate: a value, the interval around it, and what both are of.

Every mean that ``rejudge score`` prints has one, in both readings; :func:`estimates` makes them for
slices, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import product
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from score.slices import Weighting
from score.statistics.design import Floats
from score.statistics.groups import Groups, groups_of, topic_groups
from score.statistics.limits import bca, percentile, t_quantile, wilson
from score.statistics.panel import Panel, panels
from score.statistics.pvalue import fewest_clusters
from score.statistics.ratio import Cells
from score.statistics.resample import LEVEL, Resamples
from score.statistics.study import Study, studies

if TYPE_CHECKING:
    import polars as pl

#: Columns of ``estimates.parquet``.
COLUMNS = (
    "run", "task", "metric", "judge", "mean", "by", "slice", "reading",
    "value", "low", "high", "level", "n", "n_clusters", "n_replicates", "method", "reason",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value and its interval."""

    value: float | None
    """None where there is nothing to estimate from."""
    low: float | None
    """None where the interval is undefined; ``reason`` says why."""
    high: float | None
    level: float
    n: int
    """Scores, or pairs of scores, that it is a mean of."""
    n_clusters: int
    """Clusters among them."""
    n_replicates: int = 0
    """Replicates that are valid: they hold something of every part of the mean."""
    method: str = ""
    """``bca``, ``percentile``, ``wilson``, or ``t`` of very few clusters."""
    reason: str = ""


_ESTIMATED = attrgetter(*(field.name for field in fields(Estimate)))


def bca_estimate(study: Study, n: int, level: float = LEVEL) -> Estimate:
    """Return the estimate of a mean, whose range is bounded and whose spread goes with it."""
    return _estimate(study, n, level, "bca")


def percentile_estimate(study: Study, n: int, level: float = LEVEL) -> Estimate:
    """Return the estimate of a difference."""
    return _estimate(study, n, level, "percentile")


def wilson_estimate(successes: float, n: int, level: float = LEVEL) -> Estimate:
    """Return the estimate of a proportion of items, no two of which share a cluster."""
    low, high = wilson(successes, n, level)
    return Estimate(successes / n, low, high, level, n, n, method="wilson")


def _estimate(study: Study, n: int, level: float, method: str) -> Estimate:
    reason = study.reason
    if not reason and not len(study.valid):
        reason = "no replicate holds a part of everything that the mean is of"
    if reason or study.value is None:
        return Estimate(study.value, None, None, level, n, study.n_clusters, reason=reason)
    if study.n_clusters < fewest_clusters(1 - level):
        # No percentile is beyond the clusters' own means, between which the truth need not lie.
        method = "t"
        half = t_quantile(level, study.df) * study.standard_error
        low, high = study.value - half, study.value + half
    elif method == "percentile":
        low, high = percentile(study.valid, level, study.df)
    else:
        low, high = bca(study.valid, study.value, study.acceleration, level, study.df)
    n_replicates = len(study.valid)
    return Estimate(study.value, low, high, level, n, study.n_clusters, n_replicates, method)


def estimates(
    scores: pl.DataFrame,
    resamples: Resamples,
    *,
    items: pl.DataFrame | None = None,
    by: str | Sequence[str] = "",
    weighting: Weighting = "presence",
    level: float = LEVEL,
) -> pl.DataFrame:
    """Return every mean of some scores with its interval, in both readings.

    Args:
        scores: Rows of ``scores.parquet``.
        resamples: Draws of the design of the whole folder.
        items: Rows of ``items.parquet``; needed for slices by anything but the topic.
        by: What slices are made by; "": means over all items and over topics. Several: the rows
            of each.
        weighting: What an item weighs in each of its groups.
        level: Of the intervals.

    Returns:
        A row for each run × task × metric × judge × mean or slice × reading, with the columns
        :data:`COLUMNS`.

    Raises:
        ScoreError: there are no slices by this attribute.
    """
    import polars as pl

    design = resamples.design
    rows: list[tuple[Any, ...]] = []
    every = panels(scores, design)
    for attribute, panel in product([by] if isinstance(by, str) else by, every):
        if not attribute:
            groups = Groups(("",), np.ones((len(panel.items), 1)))
        elif attribute == "topic":
            groups = topic_groups(panel, design)
        else:
            assert items is not None, "slices are made of items"
            groups = groups_of(panel, items, attribute, weighting)
        for over_topics in (True, False) if not attribute else (False,):
            rows += _rows(panel, groups, resamples, over_topics, attribute, level)
    return pl.DataFrame(rows, schema=_schema(), orient="row")


def _rows(
    panel: Panel, groups: Groups, resamples: Resamples, over_topics: bool, by: str, level: float
) -> Iterator[tuple[Any, ...]]:
    design = resamples.design
    where = list(product(panel.readings, range(len(panel.runs)), range(len(groups.names))))
    above = [panel.total[:, run] * groups.weights[:, group] for _, run, group in where]
    below = [
        panel.weights(reading)[:, run] * groups.weights[:, group] for reading, run, group in where
    ]
    counted = [
        panel.weights(reading)[:, run] * (groups.weights[:, group] > 0)
        for reading, run, group in where
    ]
    n_scores = [int(found.sum()) for found in counted]
    cells = Cells(
        panel.sums(design, np.stack(above, axis=1)),
        panel.sums(design, np.stack(below, axis=1)),
        over_topics,
    )
    for place, study in enumerate(studies(resamples, [(1.0, cells)])):
        reading, run, group = where[place]
        # Where nothing was scored there is no number in either reading.
        if not (panel.scored[:, run] * groups.weights[:, group]).any():
            made = Estimate(None, None, None, level, n_scores[place], 0, reason="nothing scored")
        elif _is_unclustered(panel, cells, place, counted[place]):
            made = wilson_estimate(float(above[place].sum()), n_scores[place], level)
        else:
            made = bca_estimate(study, n_scores[place], level)
        key = (panel.runs[run], panel.task, panel.metric, panel.judge)
        mean = "over-topics" if over_topics else "over-items"
        yield (*key, mean, by, groups.names[group], str(reading), *_ESTIMATED(made))


def _is_unclustered(panel: Panel, cells: Cells, cell: int, counted: Floats) -> bool:
    """Whether the items of a mean are right or wrong, and no two of them share a cluster."""
    if cells.over_topics or not panel.is_proportion:
        return False
    below = cells.denominators[:, cell]
    return counted.sum() > 1 and bool((counted <= 1).all()) and bool((below <= 1).all())


def _schema() -> dict[str, Any]:
    import polars as pl

    numbers = {"value": pl.Float64, "low": pl.Float64, "high": pl.Float64, "level": pl.Float64,
               "n": pl.Int64, "n_clusters": pl.Int64, "n_replicates": pl.Int64}  # fmt: skip
    return {name: numbers.get(name, pl.String) for name in COLUMNS}
