"""P-values of differences: whether zero is among what other videos would have shown.

    bootstrap     replicates moved to a mean of zero, how many are as far out as what was found
    permutation   the two runs swapped in clusters by chance, how many are as far out

Both count what was found as one more replicate, so that none is 0. The bootstrap's is carried over
to the t distribution, as its intervals are: with few clusters it would be too small.

Sources: Davison and Hinkley (1997), 4.2 and 4.4 (add one, centred); Fisher (1935), sign changes.
"""

from __future__ import annotations

import math

import numpy as np

from score.statistics.design import Floats
from score.statistics.ratio import ALIKE, exact


def bootstrap_p(replicates: Floats, value: float, df: float = math.inf) -> float:
    """Return the two-sided p of a value against 0.

    Args:
        replicates: Those that are valid.
        value: The difference itself.
        df: Degrees of freedom.
    """
    from scipy.special import ndtri, stdtr

    # Replicates that are level with the value differ from it by rounding only; they count.
    alike = ALIKE * max(abs(float(replicates.min())), abs(float(replicates.max())))
    least = abs(value) - alike
    if least <= 0:
        return 1.0
    reached = np.count_nonzero(replicates >= value + least)
    reached += np.count_nonzero(replicates <= value - least)
    p = (1 + int(reached)) / (len(replicates) + 1)
    return p if math.isinf(df) else float(2 * stdtr(df, ndtri(p / 2)))


def permutation_p(signs: Floats, parts: Floats) -> Floats:
    """Return the two-sided p of sums whose parts could as well have had the other sign.

    Args:
        signs: −1 or 1, shape (n_clusters, n_replicates).
        parts: What each cluster adds to a difference, shape (n_clusters, k).

    Returns:
        Shape (k,).
    """
    parts = exact(parts, len(parts))
    least = np.abs(parts.sum(axis=0)) - ALIKE * np.abs(parts).sum(axis=0)
    found = np.abs(parts.T @ signs)
    reached = (found >= least[:, None]).sum(axis=1)
    p: Floats = (1 + reached) / (signs.shape[1] + 1)
    return p


def fewest_clusters(alpha: float) -> int:
    """Return how many clusters a two-sided test at ``alpha`` takes at least.

    Of n clusters that all point the same way, swapped by chance, 2 in 2**n are as far out.
    """
    return math.ceil(1 - math.log2(alpha))


def detectable(standard_error: float, level: float, df: float, power: float = 0.8) -> float:
    """Return the least true difference that a test would find with probability ``power``.

    Args:
        standard_error: Of the difference.
        level: 1 − α of the two-sided test.
        df: Degrees of freedom.
        power: How often it is found.

    Source: Bloom, Minimum detectable effects, Evaluation Review 19 (1995).
    """
    from scipy.special import stdtrit

    return standard_error * float(stdtrit(df, (1 + level) / 2) + stdtrit(df, power))
