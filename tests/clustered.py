"""Scores of two runs on made-up videos with several questions each, whose truth is known.

    latent score = √icc · (video) + √(1 − icc) · (question)

Half of either part is shared by both runs, so they are as correlated as models on one benchmark.
The two runs are equally good: the true difference is 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from score.statistics.design import Design, make_design
from score.statistics.ratio import Cells

#: Expected score of one question, by kind of score.
TRUTH = {"accuracy": 0.6, "judge": 5.0, "seconds": float(np.exp(0.5))}
_THRESHOLD = 0.2533471031357997  # quantile of the normal distribution at 0.6


@dataclass(frozen=True)
class Clustered:
    """Independent sets of scores on videos of the same sizes."""

    cluster: np.ndarray
    """Each question's video, ascending, shape (n,)."""
    baseline: np.ndarray
    """Scores, shape (n, n_sets)."""
    candidate: np.ndarray

    def cells(self, values: np.ndarray) -> Cells:
        """Means of each set, by video."""
        starts = np.flatnonzero(np.diff(self.cluster, prepend=-1))
        ones = np.ones_like(values)
        return Cells(*(np.add.reduceat(side, starts, axis=0) for side in (values, ones)))

    @staticmethod
    def item_cells(values: np.ndarray) -> Cells:
        """The same means with each question as if it were independent."""
        return Cells(values, np.ones_like(values))


def clustered(
    rng: np.random.Generator, n_clusters: int, icc: float, n_sets: int, kind: str = "judge"
) -> Clustered:
    """Draw scores; videos have 1 to about 30 questions, 6 on average."""
    sizes = np.maximum(1, np.rint(rng.lognormal(1.6, 0.6, n_clusters))).astype(int)
    cluster = np.repeat(np.arange(n_clusters), sizes)

    def parts(n: int) -> tuple[np.ndarray, ...]:
        shared, *own = rng.normal(size=(3, n, n_sets)) / np.sqrt(2)
        return tuple(shared + one for one in own)

    videos, questions = parts(n_clusters), parts(len(cluster))
    scores = [
        np.sqrt(icc) * video[cluster] + np.sqrt(1 - icc) * question
        for video, question in zip(videos, questions, strict=True)
    ]
    if kind == "seconds":
        return Clustered(cluster, *map(np.exp, scores))
    if kind == "accuracy":
        return Clustered(cluster, *((score < _THRESHOLD).astype(float) for score in scores))
    return Clustered(cluster, *(np.clip(np.rint(5 + 2 * score), 0, 10) for score in scores))


def one_topic(n_clusters: int) -> Design:
    """A design of one stratum."""
    return make_design(("01", f"{number:05}") for number in range(n_clusters))
