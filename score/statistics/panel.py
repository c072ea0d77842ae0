"""One metric's scores of all runs, lined up by item.

An item asked several times has one place; its samples are added up there. Items lie in the order
of the design's rows, so that sums over clusters are sums over neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from score.answers import SCORED
from score.categories import PREFIX
from score.statistics.design import Design, Floats, Ints, make_design

if TYPE_CHECKING:
    import polars as pl


class Reading(StrEnum):
    """How answers without a score enter a mean."""

    SCORED_ONLY = "scored-only"
    FAILURES_AS_WRONG = "failures-as-wrong"


class Better(StrEnum):
    """Which values of a metric are better."""

    HIGHER = "higher"
    LOWER = "lower"
    NEITHER = "neither"


@dataclass(frozen=True, eq=False)
class Panel:
    """The scores of one metric."""

    task: str
    metric: str
    judge: str
    runs: tuple[str, ...]
    items: tuple[str, ...]
    row: Ints
    """Each item's row of the design, ascending, shape (n,)."""
    total: Floats
    """Sums of the scores of an item's samples, shape (n, n_runs)."""
    scored: Floats
    """How many samples have a score, shape (n, n_runs)."""
    expected: Floats
    """How many were expected, shape (n, n_runs)."""

    @property
    def better(self) -> Better:
        """Which values are better."""
        if self.metric.startswith(PREFIX):
            return Better.NEITHER
        return Better.LOWER if self.metric.startswith("mae") else Better.HIGHER

    @property
    def is_proportion(self) -> bool:
        """Whether each score is right or wrong."""
        return self.metric == "accuracy" or self.metric.startswith("recall_")

    @property
    def readings(self) -> tuple[Reading, ...]:
        """Readings that mean something: an error has no value for a wrong answer."""
        return tuple(Reading) if self.better is Better.HIGHER else (Reading.SCORED_ONLY,)

    def known_reading(self, asked: Reading) -> Reading:
        """Return the reading asked for, or the only one there is."""
        return asked if asked in self.readings else Reading.SCORED_ONLY

    def column(self, run: str) -> int:
        """Return the number of a run's column."""
        return self.runs.index(run)

    def weights(self, reading: Reading) -> Floats:
        """Return of how many samples an item's part in a mean is, shape (n, n_runs)."""
        return self.scored if reading is Reading.SCORED_ONLY else self.expected

    def means(self, reading: Reading) -> Floats:
        """Return the mean of each item's samples, NaN where there is none, shape (n, n_runs)."""
        weights = self.weights(reading)
        with np.errstate(invalid="ignore"):
            found: Floats = self.total / np.where(weights > 0, weights, np.nan)
        return found

    def sums(self, design: Design, values: Floats) -> Floats:
        """Add up an item's values to its row of the design: (n, k) to (n_rows, k)."""
        found = np.zeros((len(design.row_topic), values.shape[1]))
        if len(self.row):
            found[self.row[self._starts]] = np.add.reduceat(values, self._starts, axis=0)
        return found

    @cached_property
    def _starts(self) -> Ints:
        found: Ints = np.flatnonzero(np.diff(self.row, prepend=-1))
        return found


def design_of(scores: pl.DataFrame) -> Design:
    """Return the design of all scores of a folder, whichever of them are looked at."""
    return make_design(scores.select("topic", "cluster").unique().iter_rows())


def panels(scores: pl.DataFrame, design: Design) -> list[Panel]:
    """Return the scores by task, metric and judge, sorted by these.

    Args:
        scores: Rows of ``scores.parquet``, in any order.
        design: Of these scores, or of all that they were chosen from.
    """
    keys = ("task", "metric", "judge")
    parts = scores.partition_by(keys, as_dict=True)
    return [_panel(key, parts[key], design) for key in sorted(parts)]


def _panel(key: Sequence[object], part: pl.DataFrame, design: Design) -> Panel:
    import polars as pl

    places = part.select("topic", "cluster", "item").unique().sort("topic", "cluster", "item")
    runs = sorted(part["run"].unique())
    order = {run: number for number, run in enumerate(runs)}
    # One order of addition, whatever the order of the rows.
    cells = part.sort("item", "run", "sample").join(
        places.with_row_index("place"), on=("topic", "cluster", "item"), maintain_order="left"
    )
    at = cells["place"].to_numpy().astype(np.int64) * len(runs)
    at += cells["run"].replace_strict(order, return_dtype=pl.Int64).to_numpy()
    is_scored = cells["status"].cast(pl.String).eq(SCORED).to_numpy()
    found = cells["value"].fill_null(0.0).to_numpy()
    shape = (len(places), len(runs))

    def summed(weights: Floats) -> Floats:
        added = np.bincount(at, weights, minlength=shape[0] * shape[1])
        return added.reshape(shape).astype(np.float64)

    rows = [design.row_of[pair] for pair in places.select("topic", "cluster").iter_rows()]
    task, metric, judge = map(str, key)
    return Panel(
        task=task,
        metric=metric,
        judge=judge,
        runs=tuple(runs),
        items=tuple(places["item"]),
        row=np.array(rows, dtype=np.int64),
        total=summed(np.where(is_scored, found, 0.0)),
        scored=summed(is_scored.astype(np.float64)),
        expected=summed(np.ones(len(at))),
    )
