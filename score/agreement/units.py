"""Units: the texts that were judged, each with what every rater said of it.

A unit is a run × item × sample × metric. A rater is a judge, or a column of people's labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from score.answers import SCORED
from score.errors import ScoreError
from score.statistics.design import Design, Floats, Ints
from score.statistics.folder import Scored

if TYPE_CHECKING:
    import polars as pl

KEYS = ("task", "metric", "run", "item", "sample", "topic", "cluster")


@dataclass(frozen=True, eq=False)
class Units:
    """Units of one metric."""

    task: str
    metric: str
    raters: tuple[str, ...]
    runs: tuple[str, ...]
    run: Ints
    """Number of each unit's run, shape (n,)."""
    row: Ints
    """Each unit's row of the design, shape (n,)."""
    scores: Floats
    """NaN where a rater said nothing, shape (n, n_raters)."""

    def of(self, run: str) -> Units:
        """Return the units of one run."""
        of_run: npt.NDArray[np.bool_] = np.equal(self.run, self.runs.index(run))
        return self._where(of_run)

    def rated_by(self, *raters: str) -> Units:
        """Return the units of which all these raters said something, with their scores alone."""
        chosen = self.scores[:, [self.raters.index(rater) for rater in raters]]
        said = np.asarray(np.isfinite(chosen).all(axis=1), dtype=np.bool_)
        kept = self._where(said)
        return Units(self.task, self.metric, raters, self.runs, kept.run, kept.row, chosen[said])

    def of_raters(self, raters: Sequence[str]) -> Units:
        """Return the units with the scores of these raters, NaN included."""
        chosen = self.scores[:, [self.raters.index(rater) for rater in raters]]
        return Units(self.task, self.metric, tuple(raters), self.runs, self.run, self.row, chosen)

    def _where(self, kept: npt.NDArray[np.bool_]) -> Units:
        return Units(
            self.task,
            self.metric,
            self.raters,
            self.runs,
            self.run[kept],
            self.row[kept],
            self.scores[kept],
        )


def judged_rows(found: Scored, judges: Sequence[str]) -> pl.DataFrame:
    """Return the rows of scores that are these judges'.

    Raises:
        ScoreError: the scores have no such judge.
    """
    import polars as pl

    for judge in judges:
        if judge not in found.judges:
            known = ", ".join(found.judges) or "none"
            raise ScoreError(
                f"no verdicts of judge {judge!r} here; there are: {known}. Score with --judge "
                f"{judge} first"
            )
    return found.scores.filter(
        pl.col("judge").is_in(list(judges)) & pl.col("metric").str.ends_with("_judge")
    )


def units_of(
    rows: pl.DataFrame, raters: Sequence[str], design: Design, labels: pl.DataFrame | None = None
) -> Iterator[Units]:
    """Yield the units by task and metric, sorted.

    Args:
        rows: Of :func:`judged_rows`.
        raters: Judges and labels, in the order in which they are shown.
        design: Of all scores of the folder.
        labels: :data:`KEYS`, ``judge`` (the label's name) and ``value``.
    """
    import polars as pl

    said = rows.filter(pl.col("status").cast(pl.String) == SCORED).select(*KEYS, "judge", "value")
    if labels is not None:
        said = pl.concat([said, labels.select(said.columns)])
    wide = said.pivot("judge", index=KEYS, values="value").sort(*KEYS)
    missing = [rater for rater in raters if rater not in wide.columns]
    wide = wide.with_columns(pl.lit(None, dtype=pl.Float64).alias(name) for name in missing)
    for (task, metric), part in wide.partition_by(
        "task", "metric", as_dict=True, maintain_order=True
    ).items():
        runs = tuple(sorted(part["run"].unique()))
        number = {run: at for at, run in enumerate(runs)}
        places = part.select("topic", "cluster").iter_rows()
        yield Units(
            task=str(task),
            metric=str(metric),
            raters=tuple(raters),
            runs=runs,
            run=np.array([number[run] for run in part["run"]], dtype=np.int64),
            row=np.array([design.row_of[place] for place in places], dtype=np.int64),
            scores=part.select(raters).to_numpy().astype(np.float64),
        )
