"""Means: within each topic first, then the plain mean over topics.

Every mean comes in two readings with its counts, so that nothing leaves the denominator unseen:

    mean        of the scored cells
    mean_all    of all expected cells, each one without a score counting as wrong (0)

``mean_all`` exists for scores where more is better; an absolute error has no value for "wrong".
Where nothing at all was scored both are null: there is no table of zeros.

Source: SONIC-O1, Appendix E.5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from score.answers import SCORED

if TYPE_CHECKING:
    import numpy.typing as npt
    import polars as pl

    Floats = npt.NDArray[np.float64]

#: What a mean is a mean of.
WHOLE = ("run", "model", "benchmark", "task", "metric", "judge")


def topic_means(
    scores: pl.DataFrame, *, by: Sequence[str] = ("topic",), exact_sums: bool = True
) -> pl.DataFrame:
    """Return the means within each topic.

    Args:
        scores: Rows of ``scores.parquet``.
        by: Columns that part the rows of a run and metric; empty for the mean over all items.
        exact_sums: Whether sums are rounded once (``math.fsum``), so that means do not depend on
            the order of the items; else numpy adds them up as they come.

    Returns:
        A row for each run × metric × judge × ``by``: n_expected, n_scored, mean, mean_all, median,
        std (population).
    """
    import polars as pl

    groups = [*WHOLE, *by]
    listed = (
        scores.lazy()
        .with_columns(pl.when(pl.col("status") == SCORED).then(pl.col("value")).alias("value"))
        .group_by(groups, maintain_order=True)
        .agg(pl.len().cast(pl.Int64).alias("n_expected"), pl.col("value").drop_nulls())
        .collect()
    )
    total = _total(exact_sums)
    values = [np.asarray(found, dtype=np.float64) for found in listed["value"]]
    sums = [total(found) for found in values]
    means = [_ratio(whole, len(found)) for whole, found in zip(sums, values, strict=True)]
    return listed.with_columns(
        pl.Series("n_scored", [len(found) for found in values], dtype=pl.Int64),
        _floats("mean", means),
        _floats("mean_all", map(_ratio, sums, listed["n_expected"])),
        _floats("median", [float(np.median(found)) if len(found) else None for found in values]),
        _floats("std", [_std(found, total) for found in values]),
    ).select(*groups, "n_expected", "n_scored", "mean", _of_both_kinds("mean_all"), "median", "std")


def macro_means(topics: pl.DataFrame, *, exact_sums: bool = True) -> pl.DataFrame:
    """Return the plain means over topics.

    Args:
        topics: :func:`topic_means`, or published means of topics in the same columns.
        exact_sums: As there.

    Returns:
        A row for each run × metric × judge: n_expected, n_scored, n_topics (with a score), mean
        (over those), mean_all (over all topics; one without a score counts 0 there).
    """
    import polars as pl

    total = _total(exact_sums)
    all_topics = pl.when(pl.col("n_scored") == 0).then(0.0).otherwise(pl.col("mean_all"))
    listed = topics.group_by(WHOLE, maintain_order=True).agg(
        pl.col("n_expected").sum(),
        pl.col("n_scored").sum(),
        pl.col("mean").drop_nulls(),
        all_topics.alias("mean_all"),
    )
    means = [np.asarray(found, dtype=np.float64) for found in listed["mean"]]
    alls = [np.asarray(found, dtype=np.float64) for found in listed["mean_all"]]
    return listed.with_columns(
        pl.Series("n_topics", [len(found) for found in means], dtype=pl.Int64),
        _floats("mean", [_ratio(total(found), len(found)) for found in means]),
        _floats("mean_all", [_ratio(total(found), len(found)) for found in alls]),
    ).select(*WHOLE, "n_topics", "n_expected", "n_scored", "mean", _of_both_kinds("mean_all"))


def item_means(scores: pl.DataFrame, *, exact_sums: bool = True) -> pl.DataFrame:
    """Return the plain means over items, topics aside: the columns of :func:`topic_means`."""
    return topic_means(scores, by=(), exact_sums=exact_sums)


def _of_both_kinds(column: str) -> pl.Expr:
    """Keep the reading in which failures are wrong only where it means something."""
    import polars as pl

    more_is_better = ~pl.col("metric").str.starts_with("mae")
    return pl.when(more_is_better & (pl.col("n_scored") > 0)).then(pl.col(column)).alias(column)


def _floats(name: str, values: Iterable[float | None]) -> pl.Series:
    import polars as pl

    found = [None if value is None or math.isnan(value) else value for value in values]
    return pl.Series(name, found, dtype=pl.Float64)


def _ratio(whole: float, n: int) -> float | None:
    return whole / n if n else None


def _std(values: Floats, total: Callable[[Floats], float]) -> float | None:
    if len(values) == 0:
        return None
    centre = total(values) / len(values)
    return math.sqrt(total((values - centre) ** 2) / len(values))


def _total(exact: bool) -> Callable[[Floats], float]:
    return (
        (lambda values: math.fsum(values.tolist()))
        if exact
        else (lambda values: float(np.sum(values)))
    )
