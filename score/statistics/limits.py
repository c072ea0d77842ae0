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
    alike = 1e-12 * max(abs(float(replicates.min())), abs(float(replicates.max())))
    below = int(np.count_nonzero(replicates < value - alike))
    level_with = int(np.count_nonzero(replicates <= value + alike))
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
    squared = influence * influence
    cubes, squares = (squared * influence).sum(axis=0), squared.sum(axis=0)
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
    found = []
    for level in levels:
        position = level * last
        below = min(int(position), max(last - 1, 0))
        lower, upper = _neighbours(replicates, below)
        found.append(lower + (position - below) * (upper - lower))
    low, high = found
    return low, high


#: Values of which some are looked at, to tell where the tails begin.
_SAMPLE = 200


def _neighbours(values: Floats, k: int) -> Limits:
    """Return the k-th smallest value, from 0, and the next one; of a lone value that one twice.

    In a tail they are sought among the few values beyond one that a sample says is far enough: a
    quarter of the time that putting all in order around them takes, and the same values.
    """
    n = len(values)
    step = n // _SAMPLE
    from_top = n - 1 - k
    if step > 1 and min(k, from_top) < n // 8:
        sample = np.sort(values[::step])
        enough = min(k, from_top) * 3 // (2 * step) + 8
        if k < from_top:
            part = values[values <= sample[enough]]
            at = k
        else:
            part = values[values >= sample[-1 - enough]]
            at = len(part) - 1 - from_top
        if 0 <= at < len(part) - 1:
            values, k = part, at
    following = min(k + 1, len(values) - 1)
    ordered = np.partition(values, (k, following))
    return float(ordered[k]), float(ordered[following])
