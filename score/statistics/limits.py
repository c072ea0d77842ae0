"""Limits of intervals: percentile, BCa, Wilson.

    percentile   quantiles of the replicates
    bca          the same, moved for bias and for spread that changes with the value
    wilson       proportions of unclustered items: no resampling

The tails of the first two are those of a t distribution: a bootstrap of few clusters is as narrow
as if their spread were known. Infinite degrees of freedom are the plain methods.

Sources: Efron, Better bootstrap confidence intervals, JASA 82 (1987); expanded percentiles:
Hesterberg, What teachers should know about the bootstrap, American Statistician 69 (2015); Wilson,
Probable inference, JASA 22 (1927).
"""

from __future__ import annotations

import math

import numpy as np

from score.statistics.design import Floats, Ints

Limits = tuple[float, float]


def t_quantile(level: float, df: float) -> float:
    """Return the two-sided t quantile: 1.96 for 0.95 and infinite degrees of freedom."""
    from scipy.special import ndtri, stdtrit

    tail = (1 + level) / 2
    return float(ndtri(tail) if math.isinf(df) else stdtrit(df, tail))


def percentile(replicates: Floats, level: float, df: float = math.inf) -> Limits:
    """Return the percentile interval.

    Args:
        replicates: Those that are valid, in any order.
        level: 0.95, for example.
        df: Degrees of freedom.
    """
    from scipy.special import ndtr

    z = t_quantile(level, df)
    return _quantiles(replicates, (float(ndtr(-z)), float(ndtr(z))))


def bca(
    replicates: Floats, value: float, acceleration: float, level: float, df: float = math.inf
) -> Limits:
    """Return the bias-corrected and accelerated interval.

    Args:
        replicates: Those that are valid, in any order.
        value: The estimate itself.
        acceleration: Of :func:`acceleration`.
        level: 0.95, for example.
        df: Degrees of freedom.
    """
    from scipy.special import ndtr, ndtri

    z = t_quantile(level, df)
    n = len(replicates)
    alike = 1e-12 * float(np.abs(replicates).max())
    below = int((replicates < value - alike).sum())
    level_with = int((replicates <= value + alike).sum())
    # A value beyond all replicates would move the limits to infinity.
    bias = float(ndtri(min(max((below + level_with) / (2 * n), 0.5 / n), 1 - 0.5 / n)))

    def moved(tail: float) -> float:
        off = bias + tail
        return float(ndtr(bias + off / max(1 - acceleration * off, 1e-6)))

    return _quantiles(replicates, (moved(-z), moved(z)))


def acceleration(off: Floats, size: Ints) -> Floats:
    """Return how fast the spread changes with the value, shape (k,).

    Args:
        off: Estimates without each cluster in turn, less their mean in its stratum, shape
            (n_clusters, k).
        size: Clusters in each cluster's stratum, shape (n_clusters,).

    Source: Davison and Hinkley, Bootstrap methods and their application (1997), 5.3 and, for
    several strata, 3.2.
    """
    influence = -off * ((size - 1) / size)[:, None]
    cubes, squares = (influence**3).sum(axis=0), (influence**2).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = np.where(squares > 0, cubes / (6 * squares**1.5), 0.0)
    return found


def wilson(successes: float, n: int, level: float) -> Limits:
    """Return Wilson's interval of a proportion of independent items."""
    z = t_quantile(level, math.inf)
    share, extra = successes / n, z * z / n
    centre = (share + extra / 2) / (1 + extra)
    half = z * math.sqrt(share * (1 - share) / n + extra / (4 * n)) / (1 + extra)
    return max(centre - half, 0.0), min(centre + half, 1.0)


def _quantiles(replicates: Floats, levels: Limits) -> Limits:
    """Quantiles between neighbours in the order, as ``numpy.quantile`` has them by default."""
    last = len(replicates) - 1
    at = [level * last for level in levels]
    below = [min(int(position), max(last - 1, 0)) for position in at]
    kth = sorted({*below, *(min(position + 1, last) for position in below)})
    ordered = np.partition(replicates, kth)
    low, high = (
        float(
            ordered[lower] + (position - lower) * (ordered[min(lower + 1, last)] - ordered[lower])
        )
        for position, lower in zip(at, below, strict=True)
    )
    return low, high
