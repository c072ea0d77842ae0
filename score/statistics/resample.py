"""The weights: how often each cluster is drawn in each replicate.

Drawn once for a set of scores and used for everything, so that runs, metrics, judges and slices
are compared on the same draws. Counts are whole numbers from a stream that depends on the seed and
the sorted clusters only; ``ratio.py`` keeps the sums exact, so no digit depends on the machine.

Source: the bootstrap of n − 1 of n clusters in each stratum, Rao and Wu, Resampling inference with
complex survey data, JASA 83 (1988); McCarthy and Snowden (1985).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from score.errors import ScoreError
from score.statistics.design import Design, Floats

#: What the benchmarks' papers recommend.
RESAMPLES = 10_000
LEVEL = 0.95
_LEAST = 100
_BLOCK = 512


@dataclass(frozen=True, eq=False)
class Resamples:
    """The draws of one analysis."""

    design: Design
    seed: int
    counts: Floats
    """Whole numbers, shape (n_rows, n_replicates)."""

    @property
    def n_replicates(self) -> int:
        """How many replicates there are."""
        return int(self.counts.shape[1])

    @cached_property
    def signs(self) -> Floats:
        """−1 or 1 for each cluster, shape (n_clusters, n_replicates): for permutation tests."""
        rng = _generator(self.seed, stream=1)
        drawn = rng.integers(0, 2, (len(self.design.clusters), self.n_replicates), dtype=np.int8)
        return np.where(drawn == 1, 1.0, -1.0)

    def signature(self) -> dict[str, Any]:
        """Return what decides the draws."""
        return {
            "resamples": self.n_replicates,
            "seed": self.seed,
            "generator": "numpy PCG64",
            "unit": "cluster",
            "clusters": len(self.design.clusters),
            "strata": int(self.design.stratum.max()) + 1 if self.design.clusters else 0,
            "drawn": "n - 1 of the n clusters of each stratum",
        }


def resample(design: Design, seed: int = 0, n_replicates: int = RESAMPLES) -> Resamples:
    """Draw the weights.

    Args:
        design: The clusters and their strata.
        seed: Any whole number from 0.
        n_replicates: How many replicates.

    Raises:
        ScoreError: the seed is negative, or there are too few replicates for an interval.
    """
    if seed < 0:
        raise ScoreError(f"the seed is {seed}: it must be 0 or more")
    if n_replicates < _LEAST:
        raise ScoreError(f"{n_replicates} resamples are too few: ask for at least {_LEAST}")
    rng = _generator(seed, stream=0)
    counts = np.zeros((len(design.clusters), n_replicates))
    for stratum in range(int(design.stratum.max(initial=-1)) + 1):
        members = np.flatnonzero(design.stratum == stratum)
        n = len(members)
        for start in range(0, n_replicates, _BLOCK):
            some = min(_BLOCK, n_replicates - start)
            drawn = rng.integers(0, n, (some, n - 1)) + n * np.arange(some)[:, None]
            found = np.bincount(drawn.ravel(), minlength=some * n).reshape(some, n)
            counts[members, start : start + some] = found.T
    return Resamples(design, seed, counts[design.row_cluster])


def _generator(seed: int, stream: int) -> np.random.Generator:
    # Two streams, so that how many replicates one takes does not move the other.
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, stream])))
