"""The items of two runs side by side: what their difference is a mean of, and what is counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from score.statistics.design import Floats, Ints
from score.statistics.panel import Panel, Reading
from score.statistics.ratio import Bools, Cells
from score.statistics.resample import Resamples

#: Differences of means of equal samples may differ from 0 by rounding.
TIE = 1e-12


@dataclass(frozen=True, eq=False)
class Pairs:
    """The items of a baseline and its candidates, side by side."""

    panel: Panel
    candidates: tuple[str, ...]
    before: Floats
    """The baseline's mean of each item's samples, NaN where there is none, shape (n, 1)."""
    after: Floats
    """The candidates', shape (n, n_candidates)."""

    @classmethod
    def of(cls, panel: Panel, baseline: str, candidates: Sequence[str], reading: Reading) -> Pairs:
        """Line up runs of a panel."""
        means = panel.means(panel.known_reading(reading))
        before, after = (
            means[:, [panel.column(run) for run in runs]] for runs in ((baseline,), candidates)
        )
        return cls(panel, tuple(candidates), before, after)

    @cached_property
    def off(self) -> Floats:
        """Candidate − baseline, NaN where one of them is missing, shape (n, n_candidates)."""
        return self.after - self.before

    @cached_property
    def paired(self) -> Bools:
        """Where both have a score, shape (n, n_candidates)."""
        found: Bools = ~np.isnan(self.off)
        return found

    def cells(
        self, resamples: Resamples, weights: Floats, of: Floats, over_topics: bool = False
    ) -> Cells:
        """Return means over the pairs.

        Args:
            resamples: The draws.
            weights: Of each item in each group, shape (n, n_groups).
            of: What the means are of, shape (n, n_candidates) or (n, 1).
            over_topics: Whether they are means over topics.

        Returns:
            A column for each candidate and group, all of the first candidate first.
        """
        sums = self.panel.sums
        values = np.where(self.paired, of, 0.0)
        return Cells(
            sums(resamples.design, each(values, weights)),
            sums(resamples.design, each(self.paired.astype(np.float64), weights)),
            over_topics,
        )


def each(values: Floats, weights: Floats) -> Floats:
    """Return each column of values times each of weights: (n, a) and (n, b) to (n, a × b)."""
    return (values[:, :, None] * weights[:, None, :]).reshape(len(values), -1)


@dataclass(frozen=True, eq=False)
class Counts:
    """What is counted of the items of each candidate and group."""

    numbers: Ints
    """Pairs, higher, lower, only the baseline's, only the candidate's, shape (5, k)."""
    spread: Floats
    """Standard deviation of the items' differences, shape (k,)."""


def counted(pairs: Pairs, inside: Floats) -> Counts:
    """Count the items of each candidate and group.

    Args:
        pairs: The items.
        inside: 1 where an item is in a group, shape (n, n_groups).
    """
    off = np.where(pairs.paired, pairs.off, 0.0)
    lacks_before, lacks_after = np.isnan(pairs.before), np.isnan(pairs.after)
    marks = (
        pairs.paired,
        off > TIE,
        off < -TIE,
        lacks_after & ~lacks_before,
        lacks_before & ~lacks_after,
    )
    # Whole numbers, so that a product of matrices counts exactly.
    numbers = np.stack([(mark.astype(np.float64).T @ inside).ravel() for mark in marks])
    n = np.maximum(numbers[0], 1)
    mean = each(off, inside).sum(axis=0) / n
    squares = each(pairs.paired.astype(np.float64), inside)
    squares *= (np.repeat(off, inside.shape[1], axis=1) - mean) ** 2
    spread = np.sqrt(squares.sum(axis=0) / np.maximum(n - 1, 1))
    return Counts(numbers.astype(np.int64), spread)
