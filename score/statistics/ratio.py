"""Means as ratios of sums, in every replicate at once: matrix products.

    over items     Σ w n / Σ w d                      n: a row's sum, d: what it is a mean of
    over topics    Σ ω r / Σ ω,  r the same within    ω: 1, where a topic is a stratum of its own;
                   each topic                            else the mean weight of its clusters

Rows are the design's (topic, cluster) pairs and w how often a row's cluster was drawn. Clusters of
unequal size need no correction: numerator and denominator move together.

Sums are exact. Each column is rounded to a binary grid so fine that the sum of any draws fits a
float (a relative change of at most 1e-13): products have the same bits in whatever order, on
whatever machine, and with however many threads they are added up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from score.statistics.design import Design, Floats, Ints
from score.statistics.resample import Resamples

Bools = npt.NDArray[np.bool_]

#: Values are said to be alike when they differ by less than this part of them.
ALIKE = 1e-11
_LARGEST = 1e150
#: The smallest step between floats, to which no column can be too small.
_SMALLEST = np.finfo(float).smallest_subnormal
#: Multiplications up to which OpenBLAS takes one thread, and replicates below which parts of a
#: product are not worth their calls.
_ONE_THREAD = 2**18
_NARROWEST = 64


@dataclass(frozen=True, eq=False)
class Cells:
    """What some means are made of, k columns."""

    numerators: Floats
    """Sums of values, shape (n_rows, k)."""
    denominators: Floats
    """What they are means of; 0 where a row has nothing, shape (n_rows, k)."""
    over_topics: bool = False

    def part(self, start: int, stop: int) -> Cells:
        """Return some of the columns."""
        columns = slice(start, stop)
        return Cells(self.numerators[:, columns], self.denominators[:, columns], self.over_topics)


def values(design: Design, cells: Cells) -> Floats:
    """Return the means themselves, shape (k,); NaN where there is nothing."""
    if not cells.over_topics:
        return _divide(cells.numerators.sum(axis=0), cells.denominators.sum(axis=0))
    total: Floats = np.zeros(cells.numerators.shape[1])
    weight: Floats = np.zeros(cells.numerators.shape[1])
    for rows in design.rows_of_topic:
        found = _divide(cells.numerators[rows].sum(axis=0), cells.denominators[rows].sum(axis=0))
        total += np.nan_to_num(found)
        weight += ~np.isnan(found)
    return _divide(total, weight)


def replicates(resamples: Resamples, cells: Cells) -> Floats:
    """Return the means in every replicate, shape (k, n_replicates).

    NaN where a replicate lacks what the mean needs: all rows of a slice, or of a topic.
    """
    design = resamples.design
    n_draws = max(len(design.clusters), 1)
    numerators = exact(cells.numerators * design.scale[:, None], n_draws)
    denominators = exact(cells.denominators * design.scale[:, None], n_draws)
    if not cells.over_topics:
        return _pooled(resamples, numerators, denominators)
    shape = (numerators.shape[1], resamples.n_replicates)
    total = np.zeros(shape)
    weight: Floats = np.zeros((shape[0], 1))
    for rows, whole in zip(design.rows_of_topic, design.is_whole, strict=True):
        counts = resamples.counts[rows]
        found = _ratios(counts, numerators[rows], denominators[rows])
        present: Bools = np.any(denominators[rows] > 0, axis=0, keepdims=False)
        found[~present] = 0.0
        if whole:
            total += found
            weight = weight + present[:, None]
            continue
        mean_weight = counts.sum(axis=0) * float(design.scale[rows][0]) / counts.shape[0]
        found[:, mean_weight == 0] = 0.0
        total += found * mean_weight
        weight = weight + present[:, None] * mean_weight
    return _divide(total, weight)


def jackknife(design: Design, cells: Cells) -> Floats:
    """Return the means without each cluster in turn, shape (k, n_clusters).

    The other clusters of its stratum weigh n / (n − 1) for it.
    """
    n_clusters, k = len(design.clusters), cells.numerators.shape[1]
    size = design.stratum_size
    scale = np.where(size > 1, size / np.maximum(size - 1, 1), 1.0)
    if not cells.over_topics:
        left = [_left_out(design, scale, sums) for sums in (cells.numerators, cells.denominators)]
        return _divide(*left).T
    total, weight = np.zeros((n_clusters, k)), np.zeros((n_clusters, k))
    for rows in design.rows_of_topic:
        numerators, denominators = cells.numerators[rows], cells.denominators[rows]
        sums = numerators.sum(axis=0), denominators.sum(axis=0)
        members = design.row_cluster[rows]
        n_members = len(members)
        around = design.stratum == design.stratum[members[0]]
        omega = np.where(around, scale[members[0]], 1.0)
        omega[members] *= (n_members - 1) / n_members
        if n_members == size[members[0]]:
            omega[:] = 1.0
        present = sums[1] > 0
        found = np.tile(_divide(*sums), (n_clusters, 1))
        found[members] = _divide(sums[0] - numerators, sums[1] - denominators)
        found[:, ~present] = 0.0
        found[omega == 0] = 0.0
        total += found * omega[:, None]
        weight += present * omega[:, None]
    return _divide(total, weight).T


def exact(sums: Floats, n_draws: int) -> Floats:
    """Round columns to a grid on which the sum of ``n_draws`` of their rows is exact.

    Args:
        sums: Shape (n_rows, k).
        n_draws: Rows that are added up at most.
    """
    largest = np.abs(sums).max(axis=0, initial=0.0)
    _, exponent = np.frexp(largest * n_draws)
    unit = np.maximum(np.ldexp(1.0, exponent - 53), _SMALLEST)
    rounded: Floats = np.rint(sums / unit) * unit
    return rounded


def too_large(cells: Cells) -> Bools:
    """Whether sums could be beyond a float's range: a model may answer 1e308 s, shape (k,)."""
    found: Bools = np.abs(cells.numerators).max(axis=0, initial=0.0) > _LARGEST
    return found


def cluster_sums(design: Design, sums: Floats) -> Floats:
    """Add up the rows of each cluster, shape (n_clusters, k)."""
    return _added(design.row_cluster, sums, len(design.clusters))


def stratum_sums(design: Design, sums: Floats) -> Floats:
    """Add up the clusters of each stratum, for each cluster of it, shape (n_clusters, k)."""
    found = _added(design.stratum, sums, int(design.stratum.max(initial=-1)) + 1)
    around: Floats = found[design.stratum]
    return around


def _added(number: Ints, sums: Floats, n: int) -> Floats:
    """Add up, in their order, the rows of each number from 0 to n − 1; none is without."""
    order = np.argsort(number, kind="stable")
    starts = np.searchsorted(number[order], np.arange(n))
    found: Floats = np.add.reduceat(sums[order], starts, axis=0) if n else sums[:0]
    return found


def _left_out(design: Design, scale: Floats, sums: Floats) -> Floats:
    """Sums over all rows without each cluster in turn, shape (n_clusters, k)."""
    own = cluster_sums(design, sums)
    around = stratum_sums(design, own)
    left: Floats = own.sum(axis=0) - around + scale[:, None] * (around - own)
    return left


def _pooled(resamples: Resamples, numerators: Floats, denominators: Floats) -> Floats:
    """Ratios over all topics, of which each is multiplied only where a column has something."""
    groups: dict[tuple[int, int], list[int]] = {}
    used = (numerators != 0) | (denominators != 0)
    rows_of_topic = resamples.design.rows_of_topic
    in_topic = np.stack([used[rows].any(axis=0) for rows in rows_of_topic])
    for column, topics in enumerate(in_topic.T):
        present = np.flatnonzero(topics).tolist() or [0]
        first, last = rows_of_topic[present[0]], rows_of_topic[present[-1]]
        groups.setdefault((first.start, last.stop), []).append(column)
    if len(groups) == 1:
        [(start, stop)] = groups
        return _ratios(
            resamples.counts[start:stop], numerators[start:stop], denominators[start:stop]
        )
    found = np.empty((numerators.shape[1], resamples.n_replicates))
    for (start, stop), columns in groups.items():
        above, below = numerators[start:stop, columns], denominators[start:stop, columns]
        found[columns] = _ratios(resamples.counts[start:stop], above, below)
    return found


def _ratios(counts: Floats, numerators: Floats, denominators: Floats) -> Floats:
    """Ratios in every replicate; each distinct denominator is multiplied once."""
    distinct, which = _distinct(denominators)
    below = _product(distinct, counts)
    found = _product(numerators, counts)
    if len(distinct.T) == 1:
        return _divide(found, below, out=found)
    for cell, column in enumerate(which):
        _divide(found[cell], below[column], out=found[cell])
    return found


def _product(sums: Floats, counts: Floats) -> Floats:
    """Return ``sums.T @ counts``, a small one in one thread.

    Two threads of a small product wait for each other longer than they work; below a size, BLAS
    takes one. Sums are exact, so in parts they have the same bits.
    """
    width = _ONE_THREAD // max(sums.size, 1)
    if not _NARROWEST <= width < counts.shape[1]:
        whole: Floats = sums.T @ counts
        return whole
    found = np.empty((sums.shape[1], counts.shape[1]))
    for start in range(0, counts.shape[1], width):
        part = slice(start, start + width)
        np.matmul(sums.T, counts[:, part], out=found[:, part])
    return found


def _distinct(columns: Floats) -> tuple[Floats, Ints]:
    seen: dict[bytes, int] = {}
    which = [seen.setdefault(column.tobytes(), len(seen)) for column in columns.T]
    first = [which.index(number) for number in range(len(seen))]
    return columns[:, first], np.array(which, dtype=np.int64)


def _divide(above: Floats, below: Floats, out: Floats | None = None) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = np.divide(above, below, out=out)
    # A sum of nothing is 0 / 0, which is NaN already.
    return found
