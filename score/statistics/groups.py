"""Slices as weights of items: how much an item counts in each group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from score.frames import UNKNOWN
from score.slices import Weighting, membership
from score.statistics.design import Design, Floats
from score.statistics.panel import Panel

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups of one attribute that a panel's items belong to."""

    names: tuple[str, ...]
    """Sorted; ``unknown`` among them."""
    weights: Floats
    """Weight of each item in each group, 0 outside it, shape (n, n_groups)."""


def topic_groups(panel: Panel, design: Design) -> Groups:
    """Return a panel's topics as groups."""
    topic = design.row_topic[panel.row]
    present = np.unique(topic)
    weights = (topic[:, None] == present).astype(np.float64)
    return Groups(tuple(design.topics[number] for number in present), weights)


def groups_of(
    panel: Panel, items: pl.DataFrame, attribute: str, weighting: Weighting = "presence"
) -> Groups:
    """Return the groups of an attribute.

    Args:
        panel: The panel.
        items: Rows of ``items.parquet``; an item that is not there is ``unknown``.
        attribute: One of ``score.slices.ATTRIBUTES``.
        weighting: What an item weighs in each of its groups.

    Raises:
        ScoreError: there is no such attribute.
    """
    import polars as pl

    listed = pl.DataFrame({"item": panel.items}).with_row_index("place")
    found = (
        listed.join(membership(items, attribute, weighting), on="item", how="left")
        .with_columns(pl.col("slice").fill_null(UNKNOWN), pl.col("weight").fill_null(1.0))
        .select("place", "slice", "weight")
    )
    names = sorted(found["slice"].unique())
    numbers = {name: number for number, name in enumerate(names)}
    weights = np.zeros((len(panel.items), len(names)))
    for place, name, weight in found.iter_rows():
        weights[place, numbers[name]] += weight
    return Groups(tuple(names), weights)
