"""P-values of many tests: Holm for a family that was declared, Benjamini–Hochberg for exploration.

A test without a p-value (None) keeps none and is not counted.

Sources: Holm, A simple sequentially rejective multiple test procedure, Scand. J. Statist. 6 (1979);
Benjamini and Hochberg, Controlling the false discovery rate, JRSS B 57 (1995).
"""

from __future__ import annotations

from collections.abc import Sequence

P = float | None


def holm(p_values: Sequence[P]) -> list[P]:
    """Return p-values that keep the chance of any false finding in the family below α."""
    order = _order(p_values)
    adjusted: list[P] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, index) in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - rank) * p))
        adjusted[index] = highest
    return adjusted


def benjamini_hochberg(p_values: Sequence[P]) -> list[P]:
    """Return p-values that keep the share of false findings among the findings below α."""
    order = _order(p_values)
    adjusted: list[P] = [None] * len(p_values)
    lowest = 1.0
    for rank in range(len(order), 0, -1):
        p, index = order[rank - 1]
        lowest = min(lowest, p * len(order) / rank)
        adjusted[index] = lowest
    return adjusted


def _order(p_values: Sequence[P]) -> list[tuple[float, int]]:
    return sorted((p, index) for index, p in enumerate(p_values) if p is not None and p == p)
