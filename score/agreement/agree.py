"""One ``rejudge agree``: a folder of scores and judges to everything that tells how far to trust.

Agreement is measured pair by pair, for every metric, over all runs and in each run. Judges that are
formulas and have verdicts in the folder are compared, too, as a floor: a judge that agrees with
another no better than with a formula has shown little.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from score.agreement.failure import Failure, Repeated, failures, repeated
from score.agreement.interval import estimated
from score.agreement.labels import read_labels
from score.agreement.measures import (
    MEASURES,
    SAME_SCALE,
    Measure,
    alpha_interval,
    alpha_ordinal,
    kendall,
)
from score.agreement.units import Units, judged_rows, units_of
from score.errors import ScoreError
from score.statistics.design import Design, Floats
from score.statistics.estimate import Estimate
from score.statistics.folder import Scored
from score.statistics.panel import design_of
from score.statistics.resample import LEVEL, RESAMPLES, Resamples, resample

if TYPE_CHECKING:
    import polars as pl

FORMULAS = ("lexical", "embedding")


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two raters on one metric."""

    first: str
    second: str
    task: str
    metric: str
    run: str
    """Empty: all runs."""
    n: int
    """Units that both have scored."""
    measures: Mapping[str, Estimate]
    confusion: tuple[tuple[float, float, int], ...] = ()
    """(score of the first, of the second, how often), over all runs."""


@dataclass(frozen=True, slots=True)
class Joint:
    """All judges together on one metric."""

    raters: tuple[str, ...]
    task: str
    metric: str
    measures: Mapping[str, Estimate]
    """``alpha_ordinal`` and ``alpha_interval``; units that one judge lacks count for the others."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The runs under two judges, by the units that both have scored."""

    first: str
    second: str
    task: str
    metric: str
    means: Mapping[str, tuple[float, float]]
    """Run → its mean by each of the two."""
    tau: Estimate
    """Kendall's τ-b of the two orders."""


@dataclass(frozen=True, slots=True)
class Agreed:
    """Everything that was found, and how."""

    agreements: tuple[Agreement, ...]
    joints: tuple[Joint, ...]
    rankings: tuple[Ranking, ...]
    failures: tuple[Failure, ...]
    repeated: tuple[Repeated, ...]
    made: Mapping[str, Any]
    """What decides the numbers: judges, floor, labels, draws."""


def agree(
    found: Scored,
    verdicts: pl.DataFrame,
    judges: Sequence[str],
    *,
    labels: Path | None = None,
    seed: int = 0,
    n_replicates: int = RESAMPLES,
    level: float = LEVEL,
) -> Agreed:
    """Compare judges.

    Args:
        found: The scores.
        verdicts: Rows of ``verdicts.parquet``.
        judges: Two or more of them, or one and labels.
        labels: A CSV of people's labels.
        seed: Of the draws.
        n_replicates: How many draws.
        level: Of the intervals.

    Raises:
        ScoreError: too few judges, or one that is not in the scores.
        LabelsError: the labels do not hold.
    """
    import polars as pl

    judges = list(judges)
    for name in judges:
        if judges.count(name) > 1:
            raise ScoreError(f"judge {name!r} stands twice: name each --judge once")
    if len(judges) + (labels is not None) < 2:
        raise ScoreError("agreement takes two: name another --judge, or give --labels")
    rows = judged_rows(found, judges)
    floor = [name for name in FORMULAS if name in found.judges and name not in judges]
    told = None if labels is None else read_labels(labels, rows, _scale(found, judges[0]))
    people = [] if told is None else sorted(told["judge"].unique())
    raters = [*judges, *people]
    resamples = resample(design_of(found.scores), seed, n_replicates)
    every = list(_units(rows, found, floor, raters, resamples.design, told))
    scales = found.scales | dict.fromkeys(people, found.scales.get(judges[0], ""))
    pairs = [*combinations(raters, 2), *((name, low) for name in judges for low in floor)]
    look = _Look(resamples, level, scales)
    theirs = verdicts.filter(pl.col("judge").is_in(judges))
    return Agreed(
        agreements=tuple(one for units in every for one in look.agreements(units, pairs)),
        joints=tuple(one for units in every for one in look.joints(units, judges)),
        rankings=tuple(one for units in every for one in look.rankings(units, pairs)),
        failures=tuple(failures(theirs)),
        repeated=tuple(repeated(theirs)),
        made={
            "judges": judges,
            "floor": floor,
            "labels": None if labels is None else str(labels),
            "people": people,
            "scales": {name: scales.get(name) for name in (*raters, *floor)},
            "level": level,
            "resampling": resamples.signature(),
        },
    )


def _units(
    rows: pl.DataFrame,
    found: Scored,
    floor: Sequence[str],
    raters: Sequence[str],
    design: Design,
    labels: pl.DataFrame | None,
) -> Iterator[Units]:
    """The units of judges, labels and floor; metrics that only the floor has are left out."""
    import polars as pl

    metrics = rows.select("task", "metric").unique()
    low = judged_rows(found, floor).join(metrics, on=["task", "metric"], how="semi")
    yield from units_of(pl.concat([rows, low]), [*raters, *floor], design, labels)


def _scale(found: Scored, judge: str) -> Mapping[str, float] | None:
    signed = found.signature.get("judges", {}).get(judge, {})
    scale = signed.get("scale")
    return scale if isinstance(scale, dict) else None


class _Look:
    """Measures units by one set of draws."""

    def __init__(self, resamples: Resamples, level: float, scales: Mapping[str, str]) -> None:
        self._resamples = resamples
        self._level = level
        self._scales = scales

    def agreements(self, units: Units, pairs: Sequence[tuple[str, str]]) -> Iterator[Agreement]:
        """Yield each pair over all runs and, where there are several, in each."""
        for first, second in pairs:
            both = units.rated_by(first, second)
            if not len(both.row):
                continue
            for run in ("", *(units.runs if len(units.runs) > 1 else ())):
                some = both.of(run) if run else both
                if not len(some.row):
                    continue
                yield Agreement(
                    first, second, units.task, units.metric, run, len(some.row),
                    {name: self._measure(name, some) for name in MEASURES},
                    () if run else _confusion(some),
                )  # fmt: skip

    def joints(self, units: Units, judges: Sequence[str]) -> Iterator[Joint]:
        """Yield what three or more judges have in common."""
        if len(judges) < 3 or len({self._scales.get(name) for name in judges}) > 1:
            return
        some = units.of_raters(judges)
        measures = {"alpha_ordinal": alpha_ordinal, "alpha_interval": alpha_interval}
        found = {name: self._estimate(one, some) for name, one in measures.items()}
        yield Joint(tuple(judges), units.task, units.metric, found)

    def rankings(self, units: Units, pairs: Sequence[tuple[str, str]]) -> Iterator[Ranking]:
        """Yield how each pair orders the runs."""
        for first, second in pairs:
            both = units.rated_by(first, second)
            runs = np.unique(both.run)
            if len(runs) < 2:
                continue
            of_rows = _RunMeans(both, len(self._resamples.design.row_cluster))
            means = of_rows.means(np.ones((of_rows.n_rows, 1)))[:, :, 0]
            yield Ranking(
                first, second, units.task, units.metric,
                {
                    units.runs[run]: (float(means[0, at]), float(means[1, at]))
                    for at, run in enumerate(runs)
                },
                estimated(
                    lambda rows, of=of_rows: kendall(*of.means(rows)),  # type: ignore[misc]
                    both.row, self._resamples, self._level,
                ),
            )  # fmt: skip

    def _measure(self, name: str, units: Units) -> Estimate:
        scales = [self._scales.get(rater) for rater in units.raters]
        if name in SAME_SCALE and scales[0] != scales[1]:
            n_clusters = len(np.unique(self._resamples.design.row_cluster[units.row]))
            why = f"the scales differ: {scales[0]} and {scales[1]}"
            return Estimate(None, None, None, self._level, len(units.row), n_clusters, reason=why)
        return self._estimate(MEASURES[name], units)

    def _estimate(self, measure: Measure, units: Units) -> Estimate:
        if not len(units.row):
            return estimated(lambda rows: rows[0], units.row, self._resamples, self._level)
        n_rows = len(self._resamples.design.row_cluster)
        patterns, which = np.unique(units.scores, axis=0, return_inverse=True)
        counts = np.zeros((len(patterns), n_rows))
        np.add.at(counts, (which.ravel(), units.row), 1.0)
        return estimated(
            lambda rows: measure(patterns, counts @ rows), units.row, self._resamples, self._level
        )


class _RunMeans:
    """Means of runs by two raters, in every replicate."""

    def __init__(self, units: Units, n_rows: int) -> None:
        self.n_rows = n_rows
        runs, run = np.unique(units.run, return_inverse=True)
        self._sums = np.zeros((2, len(runs), n_rows))
        self._counts = np.zeros((len(runs), n_rows))
        np.add.at(self._counts, (run, units.row), 1.0)
        for rater in range(2):
            np.add.at(self._sums[rater], (run, units.row), units.scores[:, rater])

    def means(self, rows: Floats) -> Floats:
        """Return them, shape (2, n_runs, r)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found: Floats = (self._sums @ rows) / (self._counts @ rows)
        return found


def _confusion(units: Units) -> tuple[tuple[float, float, int], ...]:
    pairs = Counter(map(tuple, units.scores.tolist()))
    return tuple((first, second, n) for (first, second), n in sorted(pairs.items()))
