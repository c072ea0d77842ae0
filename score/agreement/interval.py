"""Any measure of weighted units → its estimate, by the draws that all statistics share.

Clusters are drawn, not units: what one video's answers have in common moves them together. The
interval is the bias-corrected and accelerated one, for most measures have an end to their range;
of very few clusters it is a t interval.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from score.statistics.design import Design, Floats, Ints
from score.statistics.estimate import Estimate, bca_estimate
from score.statistics.limits import acceleration
from score.statistics.pvalue import fewest_clusters
from score.statistics.ratio import ALIKE, Cells, stratum_sums
from score.statistics.resample import Resamples
from score.statistics.study import Study, degrees

_BLOCK = 256

#: Weights of the design's rows, shape (n_rows, r) → values, shape (r,).
OfRows = Callable[[Floats], Floats]


def estimated(of_rows: OfRows, row: Ints, resamples: Resamples, level: float) -> Estimate:
    """Estimate a measure.

    Args:
        of_rows: The measure, as a function of how often each row of the design is there.
        row: The row of each unit, shape (n,).
        resamples: The draws.
        level: Of the interval.
    """
    design = resamples.design
    clusters = np.unique(design.row_cluster[row])
    n = len(row)
    if not n:
        return _undefined(None, level, n, 0, "nothing that both have scored")
    value = float(of_rows(np.ones((len(design.row_cluster), 1)))[0])
    if np.isnan(value):
        return _undefined(None, level, n, len(clusters), "one of them does not vary")
    if len(clusters) == 1:
        why = "1 cluster: the spread between clusters cannot be known"
        return _undefined(value, level, n, 1, why)
    left = of_rows(_left_out(design))[:, None]
    if len(clusters) < fewest_clusters(1 - level) and np.isnan(left).any():
        # Their spread is all that a t interval has; one that lacks would pass for no spread.
        why = f"{len(clusters)} clusters, and without one of them it is undefined"
        return _undefined(value, level, n, len(clusters), why)
    left = np.where(np.isnan(left), value, left)
    off = left - stratum_sums(design, left) / design.stratum_size[:, None]
    if np.abs(off).max() <= ALIKE * max(abs(value), 1.0):
        why = f"all {len(clusters)} clusters are alike"
        return _undefined(value, level, n, len(clusters), why)
    drawn = [
        of_rows(resamples.counts[:, start : start + _BLOCK] * design.scale[:, None])
        for start in range(0, resamples.n_replicates, _BLOCK)
    ]
    replicates = np.concatenate(drawn)
    size = design.stratum_size.astype(np.float64)
    error = float(np.sqrt((((size - 1) / size)[:, None] * off**2).sum()))
    own = np.bincount(row, minlength=len(design.row_cluster)).astype(np.float64)[:, None]
    study = Study(
        value,
        replicates,
        len(clusters),
        df=float(degrees(design, Cells(own, own))[0]),
        standard_error=error,
        acceleration=float(acceleration(off, design.stratum_size)[0]),
    )
    return bca_estimate(study, n, level)


def _left_out(design: Design) -> Floats:
    """Weights without each cluster in turn; the others of its stratum weigh n / (n − 1)."""
    n_clusters = len(design.clusters)
    size = design.stratum_size.astype(np.float64)
    same = design.stratum[:, None] == design.stratum[None, :]
    weights = np.where(same, size / np.maximum(size - 1, 1), 1.0)
    weights[np.arange(n_clusters), np.arange(n_clusters)] = 0.0
    found: Floats = weights[design.row_cluster]
    return found


def _undefined(value: float | None, level: float, n: int, n_clusters: int, reason: str) -> Estimate:
    return Estimate(value, None, None, level, n, n_clusters, reason=reason)
