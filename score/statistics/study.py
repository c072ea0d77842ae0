"""What an interval or a test of one mean needs, or the reason why there can be none.

A mean may be a difference of two (a gap between groups): terms with their signs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from score.statistics.design import Design, Floats, Ints
from score.statistics.limits import acceleration
from score.statistics.ratio import (
    ALIKE,
    Cells,
    cluster_sums,
    jackknife,
    replicates,
    stratum_sums,
    too_large,
    values,
)
from score.statistics.resample import Resamples

#: Cells whose replicates are in memory at once.
_BLOCK = 128

Terms = Sequence[tuple[float, Cells]]


@dataclass(frozen=True, eq=False)
class Study:
    """One mean, or difference of means, under resampling."""

    value: float | None
    """None where there is nothing to take a mean of."""
    replicates: Floats
    """NaN where one is not valid; empty where ``reason`` says why none are of use."""
    n_clusters: int
    """Clusters that have a part in it; of a difference, in the smaller of its terms."""
    reason: str = ""
    df: float = 0.0
    standard_error: float = 0.0
    acceleration: float = 0.0

    @cached_property
    def valid(self) -> Floats:
        """The replicates that hold something of every part of the mean."""
        lacking = np.isnan(self.replicates)
        return self.replicates[~lacking] if lacking.any() else self.replicates


def studies(resamples: Resamples, terms: Terms) -> Iterator[Study]:
    """Study k means, or k sums of means with signs.

    Args:
        resamples: The draws.
        terms: (sign, cells of k columns) pairs; one of them for a plain mean.
    """
    k = terms[0][1].numerators.shape[1]
    for start in range(0, k, _BLOCK):
        some = [(sign, cells.part(start, start + _BLOCK)) for sign, cells in terms]
        yield from _block(resamples, some)


def _block(resamples: Resamples, terms: Terms) -> Iterator[Study]:
    design = resamples.design
    size = design.stratum_size
    # What is too large for a float, or has nothing in it, gets its reason below.
    with np.errstate(over="ignore", invalid="ignore"):
        value = np.sum([sign * values(design, cells) for sign, cells in terms], axis=0)
        left = np.sum([sign * jackknife(design, cells).T for sign, cells in terms], axis=0)
        off = left - stratum_sums(design, left) / size[:, None]
        error = np.sqrt((((size - 1) / size)[:, None] * off**2).sum(axis=0))
        speed = acceleration(off, size)
    n_clusters = np.min([_n_clusters(design, cells) for _, cells in terms], axis=0)
    df = np.min([degrees(design, cells) for _, cells in terms], axis=0)
    whys = [_reasons(design, cells) for _, cells in terms]
    reasons = [next(filter(None, found), "") for found in zip(*whys, strict=True)]
    spread = np.abs(off).max(axis=0)
    level = np.max([_magnitude(cells) for _, cells in terms], axis=0)
    for cell in np.flatnonzero(spread <= ALIKE * level).tolist():
        reasons[cell] = reasons[cell] or f"all {n_clusters[cell]} clusters are alike"
    usable = np.flatnonzero([not reason for reason in reasons])
    drawn = np.zeros((0, 0))
    for sign, cells in terms:
        chosen = Cells(
            cells.numerators[:, usable], cells.denominators[:, usable], cells.over_topics
        )
        found = replicates(resamples, chosen)
        found *= sign
        drawn = drawn + found if drawn.size else found
    rows = iter(drawn)
    for cell, reason in enumerate(reasons):
        number = float(value[cell]) if np.isfinite(value[cell]) else None
        if reason:
            yield Study(number, np.zeros(0), int(n_clusters[cell]), reason)
            continue
        yield Study(
            number,
            next(rows),
            int(n_clusters[cell]),
            df=float(df[cell]),
            standard_error=float(error[cell]),
            acceleration=float(speed[cell]),
        )


def _n_clusters(design: Design, cells: Cells) -> Ints:
    found: Ints = (cluster_sums(design, cells.denominators) > 0).sum(axis=0)
    return found


def degrees(design: Design, cells: Cells) -> Floats:
    """Degrees of freedom: the effective number of clusters, less what their strata cost.

    Clusters of unequal weight v count as (Σv)² / Σv² equal ones: Kish, Survey sampling (1965).
    """
    weights = cells.denominators
    if cells.over_topics:
        weights = weights.copy()
        for rows in design.rows_of_topic:
            total = weights[rows].sum(axis=0)
            weights[rows] /= np.where(total > 0, total, 1.0)
    own = cluster_sums(design, weights)
    size = design.stratum_size
    total, squares = own.sum(axis=0), (own**2).sum(axis=0)
    kept = (own * ((size - 1) / size)[:, None]).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        df: Floats = np.where(squares > 0, total * kept / squares, 1.0)
    return np.maximum(df, 1.0)


def _reasons(design: Design, cells: Cells) -> list[str]:
    """Why each mean has no interval; empty where it may have one."""
    n_clusters = _n_clusters(design, cells)
    large = too_large(cells)
    lonely = _lonely_topics(design, cells) if cells.over_topics else {}
    reasons = []
    for cell, n in enumerate(n_clusters.tolist()):
        if n == 0:
            reasons.append("nothing scored")
        elif n == 1:
            reasons.append("1 cluster: the spread between clusters cannot be known")
        elif large[cell]:
            reasons.append("values beyond 1e150")
        elif cell in lonely:
            reasons.append(f"topic {lonely[cell]} has 1 cluster: its spread cannot be known")
        else:
            reasons.append("")
    return reasons


def _lonely_topics(design: Design, cells: Cells) -> dict[int, str]:
    """Column → a topic of which only one of its several clusters has a part in it."""
    found: dict[int, str] = {}
    for topic, rows, whole in zip(
        design.topics, design.rows_of_topic, design.is_whole, strict=True
    ):
        if not whole:
            continue  # its weight varies, and its cluster's part with it
        alone = (cells.denominators[rows] > 0).sum(axis=0) == 1
        for cell in np.flatnonzero(alone).tolist():
            found.setdefault(cell, topic)
    return found


def _magnitude(cells: Cells) -> Floats:
    """The largest mean of a row, shape (k,)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.abs(cells.numerators) / cells.denominators
    found: Floats = np.nan_to_num(means).max(axis=0, initial=0.0)
    return found
