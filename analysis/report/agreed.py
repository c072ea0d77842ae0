"""Agreement of the judges whose verdicts are in the folder, two by two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.report.shown import NOTHING, Metric, number, task_title
from analysis.report.source import Source
from score.agreement.agree import Agreement, agree
from score.agreement.failure import Failure
from score.statistics.estimate import Estimate

MEASURES = {
    "pearson": "Pearson",
    "spearman": "Spearman",
    "weighted_kappa": "weighted κ",
    "alpha_ordinal": "α ordinal",
    "alpha_interval": "α interval",
    "mean_difference": "second − first",
}
#: Steps of a scale up to which a table of counts can be read.
_MOST_STEPS = 11


@dataclass(frozen=True, slots=True)
class Pair:
    """Two judges on one metric of one or all runs."""

    first: str
    second: str
    metric: str
    run: str
    n: int
    measures: tuple[tuple[str, str, str], ...]
    """(value, interval, why there is none), in the order of :data:`MEASURES`."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How often two judges gave which scores."""

    title: str
    steps: tuple[str, ...]
    rows: tuple[tuple[str, tuple[tuple[int, int], ...]], ...]
    """(score of the first, (count, shade from 0 to 9) for each score of the second)."""


@dataclass(frozen=True, slots=True)
class Agreed:
    """What the judges have in common."""

    pairs: tuple[Pair, ...]
    counts: tuple[Counts, ...]
    failures: tuple[Failure, ...]
    note: str


def agreement(source: Source) -> Agreed | None:
    """Compare all judges; None where there are fewer than two with verdicts."""
    judges = sorted(source.verdicts["judge"].unique())
    if len(judges) < 2:
        return None
    found = agree(source.scored, source.verdicts, judges)
    drawn = found.made["resampling"]
    floor = [name for name in judges if _is_formula(source, name)]
    note = (
        f"In brackets {100 * found.made['level']:g}% intervals: {drawn['resamples']} resamples of "
        f"{drawn['clusters']} clusters."
    )
    note += " Differences are in the judges' own scale."
    if floor:
        note += f" {' and '.join(floor)}: a formula, no language model."
    return Agreed(
        tuple(_pair(one) for one in found.agreements),
        tuple(_counts(one) for one in found.agreements if not one.run and _is_small(one)),
        found.failures,
        note,
    )


def _is_formula(source: Source, judge: str) -> bool:
    spec = source.scored.signature.get("judges", {}).get(judge, {})
    return spec.get("engine") in ("lexical", "embedding")


def _title(one: Agreement) -> str:
    return f"{task_title(one.task)}: {Metric(one.task, one.metric).label}"


def _pair(one: Agreement) -> Pair:
    measures = tuple(_measure(one.measures.get(name)) for name in MEASURES)
    return Pair(one.first, one.second, _title(one), one.run or "all", one.n, measures)


def _measure(found: Estimate | None) -> tuple[str, str, str]:
    if found is None or found.value is None:
        return NOTHING, "", "" if found is None else found.reason
    if found.low is None or found.high is None:
        return number(found.value), "", found.reason
    return number(found.value), f"[{number(found.low)}, {number(found.high)}]", ""


def _steps(one: Agreement) -> list[float]:
    return sorted({score for first, second, _ in one.confusion for score in (first, second)})


def _is_small(one: Agreement) -> bool:
    steps = _steps(one)
    return 0 < len(steps) <= _MOST_STEPS and all(float(step).is_integer() for step in steps)


def _counts(one: Agreement) -> Counts:
    known = {(first, second): n for first, second, n in one.confusion}
    steps, most = _steps(one), max(known.values())
    rows = tuple(
        (f"{first:g}", tuple(_shade(known.get((first, second), 0), most) for second in steps))
        for first in steps
    )
    title = f"{_title(one)}: {one.first} (rows) and {one.second} (columns)"
    return Counts(title, _names(steps), rows)


def _names(steps: Sequence[float]) -> tuple[str, ...]:
    return tuple(f"{step:g}" for step in steps)


def _shade(count: int, most: int) -> tuple[int, int]:
    return count, -(-9 * count // most)
