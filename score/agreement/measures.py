"""Measures of agreement, in every replicate at once.

Scores come as patterns: tuples of what the raters said of a unit, each distinct one once. Weights
say how often a pattern is there, shape (m, r), a column a replicate; each function returns one
number a column, NaN where it is undefined.

    pearson           of the scores
    spearman          of their midranks
    weighted_kappa    1 − E(a − b)² / the same by chance: Cohen's, with quadratic weights
    alpha_interval    1 − observed / expected disagreement, squared distance of scores
    alpha_ordinal     the same with the distance of midranks among all scores of all raters
    mean_difference   E(b − a)

Sources: Cohen, Weighted kappa, Psychological Bulletin 70 (1968); Krippendorff, Computing
Krippendorff's alpha-reliability (2011).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from score.statistics.design import Floats

#: Patterns, shape (m, n_raters); weights, shape (m, r) → values, shape (r,).
Measure = Callable[[Floats, Floats], Floats]

#: A variance below this part of the largest square is one of rounding.
_FLAT = 1e-12


def pearson(patterns: Floats, weights: Floats) -> Floats:
    """Return the product-moment correlation of two raters."""
    first, second = _centred(patterns)
    return _correlation(first[:, None], second[:, None], weights)


def spearman(patterns: Floats, weights: Floats) -> Floats:
    """Return the rank correlation of two raters, ties at their middle rank."""
    first, second = (_midranks(column[:, None], weights)[:, 0] for column in patterns.T)
    return _correlation(first, second, weights)


def weighted_kappa(patterns: Floats, weights: Floats) -> Floats:
    """Return Cohen's kappa of two raters with quadratic weights, on the scores' own distances."""
    first, second = _centred(patterns)
    total = weights.sum(axis=0)
    means = [_ratio(side @ weights, total) for side in (first, second)]
    squares = [_ratio(side**2 @ weights, total) for side in (first, second)]
    by_chance = squares[0] + squares[1] - 2 * means[0] * means[1]
    return 1 - _ratio(_ratio((first - second) ** 2 @ weights, total), _real(by_chance, patterns))


def mean_difference(patterns: Floats, weights: Floats) -> Floats:
    """Return how much higher the second rater scores."""
    return _ratio((patterns[:, 1] - patterns[:, 0]) @ weights, weights.sum(axis=0))


def alpha_interval(patterns: Floats, weights: Floats) -> Floats:
    """Return Krippendorff's alpha of any number of raters; NaN where one said nothing."""
    centred = patterns - np.nanmean(patterns)
    return _alpha(centred[:, :, None], weights, patterns)


def alpha_ordinal(patterns: Floats, weights: Floats) -> Floats:
    """Return Krippendorff's alpha for scores of which only the order means something."""
    paired = (~np.isnan(patterns)).sum(axis=1) > 1
    # What one rater alone said of a unit is compared with nothing, and moves no rank.
    alone = np.where(paired[:, None], weights, 0.0)
    total = np.maximum(alone.sum(axis=0), 1.0)
    return _alpha(_midranks(patterns, alone) / total, weights, None)


#: Two raters, in the order in which they are shown.
MEASURES: Mapping[str, Measure] = {
    "pearson": pearson,
    "spearman": spearman,
    "weighted_kappa": weighted_kappa,
    "alpha_ordinal": alpha_ordinal,
    "alpha_interval": alpha_interval,
    "mean_difference": mean_difference,
}
#: Those that need both raters on one scale.
SAME_SCALE = frozenset({"weighted_kappa", "alpha_ordinal", "alpha_interval", "mean_difference"})


def kendall(first: Floats, second: Floats) -> Floats:
    """Return Kendall's τ-b of two orders.

    Args:
        first: What one judge gives each of n runs, shape (n, r).
        second: What another gives them.
    """
    one, other = np.triu_indices(first.shape[0], 1)
    signs = [np.sign(_steps(side[one] - side[other])) for side in (first, second)]
    untied = [(side**2).sum(axis=0) for side in signs]
    return _ratio((signs[0] * signs[1]).sum(axis=0), np.sqrt(untied[0] * untied[1]))


def _steps(off: Floats) -> Floats:
    # Equal means of other sums may differ by rounding.
    return np.where(np.abs(off) < _FLAT, 0.0, off)


def _centred(patterns: Floats) -> tuple[Floats, Floats]:
    """Two raters' scores around one point near both: sums of squares stay small."""
    centred = patterns - np.mean(patterns)
    return centred[:, 0], centred[:, 1]


def _correlation(first: Floats, second: Floats, weights: Floats) -> Floats:
    """Of values of shape (m, r), or (m, 1) where they are the same in every replicate."""
    total = weights.sum(axis=0)
    means = [_ratio((side * weights).sum(axis=0), total) for side in (first, second)]
    off = [side - mean for side, mean in zip((first, second), means, strict=True)]
    variances = [
        _real((part**2 * weights).sum(axis=0), side)
        for part, side in zip(off, (first, second), strict=True)
    ]
    return _ratio((off[0] * off[1] * weights).sum(axis=0), np.sqrt(variances[0] * variances[1]))


def _midranks(patterns: Floats, weights: Floats) -> Floats:
    """Middle ranks among all scores of all raters, shape (m, n_raters, r); NaN stays NaN."""
    known = ~np.isnan(patterns)
    values, which = np.unique(patterns[known], return_inverse=True)
    units, _ = np.nonzero(known)
    counts = np.zeros((len(values), weights.shape[1]))
    np.add.at(counts, which, weights[units])
    middle = np.cumsum(counts, axis=0) - counts / 2
    ranks = np.full((*patterns.shape, weights.shape[1]), np.nan)
    ranks[known] = middle[which]
    return ranks


def _alpha(values: Floats, weights: Floats, patterns: Floats | None) -> Floats:
    """Krippendorff's alpha with squared distances of ``values``, shape (m, n_raters, r or 1)."""
    n_raters = (~np.isnan(values)).sum(axis=1)
    paired = n_raters[:, 0] > 1
    values, n_raters, weights = values[paired], n_raters[paired], weights[paired]
    sums, squares = np.nansum(values, axis=1), np.nansum(values**2, axis=1)
    total = (weights * n_raters).sum(axis=0)
    within = 2 * (n_raters * squares - sums**2) / np.maximum(n_raters - 1, 1)
    observed = _ratio((weights * within).sum(axis=0), total)
    among = total * (weights * squares).sum(axis=0) - (weights * sums).sum(axis=0) ** 2
    expected = _ratio(2 * among, total * (total - 1))
    scale = patterns if patterns is not None else values
    return 1 - _ratio(observed, _real(expected, scale))


def _real(variance: Floats, values: Floats) -> Floats:
    """A variance, 0 where it is one of rounding."""
    reach = float(np.nanmax(np.abs(values))) if values.size else 0.0
    found: Floats = np.where(variance > _FLAT * reach**2, variance, 0.0)
    return found


def _ratio(above: Floats, below: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = np.where(below > 0, above / below, np.nan)
    return found
