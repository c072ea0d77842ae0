"""Means: within each topic first, then the plain mean over topics.

Every mean comes in two readings with its counts, so that nothing leaves the denominator unseen:

    mean        of the scored cells
    mean_all    of all expected cells, each one without a score counting as wrong (0)

``mean_all`` exists for scores where more is better. An absolute error has no value for "wrong", and
of words in a category there is no right number.
Where nothing at all was scored both are null: there is no table of zeros.

Source: SONIC-O1, Appendix E.5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from score.answers import SCORED
from score.categories import PREFIX

if TYPE_CHECKING:
    import numpy.typing as npt
    import polars as pl

    Floats = npt.NDArray[np.float64]

#: What a mean is a mean of.
WHOLE = ("run", "model", "benchmark", "task", "metric", "judge")

_LARGE = 1e150


def more_is_better() -> pl.Expr:
    """Whether more of a row's metric is better, so that a failure can count as 0."""
    import polars as pl

    name = pl.col("metric")
    return ~(name.str.starts_with("mae") | name.str.starts_with(PREFIX))


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
    values = [found.to_numpy() for found in listed["value"]]
    expected = listed["n_expected"].to_list()
    means = [_means(found, n, total) for found, n in zip(values, expected, strict=True)]
    return listed.with_columns(
        pl.Series("n_scored", [len(found) for found in values], dtype=pl.Int64),
        _floats("mean", [mean for mean, _ in means]),
        _floats("mean_all", [mean_all for _, mean_all in means]),
        _floats("median", [_median(found) for found in values]),
        _floats(
            "std",
            [_std(found, mean, total) for found, (mean, _) in zip(values, means, strict=True)],
        ),
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
        _floats("mean", [_mean(found, len(found), total) for found in means]),
        _floats("mean_all", [_mean(found, len(found), total) for found in alls]),
    ).select(*WHOLE, "n_topics", "n_expected", "n_scored", "mean", _of_both_kinds("mean_all"))


def item_means(scores: pl.DataFrame, *, exact_sums: bool = True) -> pl.DataFrame:
    """Return the plain means over items, topics aside: the columns of :func:`topic_means`."""
    return topic_means(scores, by=(), exact_sums=exact_sums)


def _of_both_kinds(column: str) -> pl.Expr:
    """Keep the reading in which failures are wrong only where it means something."""
    import polars as pl

    means_something = more_is_better() & (pl.col("n_scored") > 0)
    return pl.when(means_something).then(pl.col(column)).alias(column)


def _floats(name: str, values: Iterable[float | None]) -> pl.Series:
    import polars as pl

    found = [None if value is None or math.isnan(value) else value for value in values]
    return pl.Series(name, found, dtype=pl.Float64)


def _mean(values: Floats, n: int, total: Callable[[Floats], float]) -> float | None:
    """The sum of ``values`` over ``n``."""
    if n == 0:
        return None
    if _is_large(values):
        return total(values / n)
    return total(values) / n


def _means(
    values: Floats, n_expected: int, total: Callable[[Floats], float]
) -> tuple[float | None, float | None]:
    """The sum of ``values`` over how many they are, and over how many were expected."""
    if _is_large(values):
        return _mean(values, len(values), total), _mean(values, n_expected, total)
    summed = total(values)
    return summed / len(values) if len(values) else None, summed / n_expected


def _median(values: Floats) -> float | None:
    if not len(values):
        return None
    ordered = np.sort(values)
    # Halved first: the sum of the two in the middle could be beyond a float's range.
    return float(ordered[(len(values) - 1) // 2] / 2 + ordered[len(values) // 2] / 2)


def _std(values: Floats, centre: float | None, total: Callable[[Floats], float]) -> float | None:
    if centre is None:
        return None
    off = values - centre
    if _is_large(off):
        widest = float(np.abs(off).max())
        return widest * math.sqrt(total((off / widest) ** 2) / len(values))
    return math.sqrt(total(off**2) / len(values))


def _is_large(values: Floats) -> bool:
    """Whether squares or sums could be beyond a float's range: a model may answer 1e308 seconds."""
    return len(values) > 0 and float(np.abs(values).max()) > _LARGE


def _total(exact: bool) -> Callable[[Floats], float]:
    return (
        (lambda values: math.fsum(values.tolist()))
        if exact
        else (lambda values: float(np.sum(values)))
    )
