"""Where judges gave no verdict, and how steady they are where they were asked several times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from score.answers import INFRA_FAILED, JUDGE_FAILED, MISSING, SCORED

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Failure:
    """What became of the texts of one run before one judge."""

    judge: str
    run: str
    n: int
    """Texts that there were to judge."""
    scored: int
    judge_failed: int
    infra_failed: int
    missing: int
    rate: float | None
    """judge_failed of all that the judge answered; None where it answered none."""
    reasons: Mapping[str, int]
    """Why the judge failed, the most frequent first."""


@dataclass(frozen=True, slots=True)
class Repeated:
    """What a judge says to the same text again."""

    judge: str
    run: str
    metric: str
    n: int
    """Texts with two or more samples."""
    mean_spread: float
    """Mean of the samples' standard deviations, in points of the scale."""
    unanimous: float
    """Share of texts to which all samples gave one score."""


def failures(verdicts: pl.DataFrame) -> Iterator[Failure]:
    """Count, for each judge and run; what the model did not answer was not to judge."""
    import polars as pl

    asked = verdicts.with_columns(pl.col("status").cast(pl.String))
    for (judge, run), part in sorted(asked.partition_by("judge", "run", as_dict=True).items()):
        count = dict(part["status"].value_counts().iter_rows())
        failed = part.filter(pl.col("status") == JUDGE_FAILED)["reason"]
        scored, unjudged = count.get(SCORED, 0), count.get(JUDGE_FAILED, 0)
        yield Failure(
            judge=str(judge),
            run=str(run),
            n=len(part),
            scored=scored,
            judge_failed=unjudged,
            infra_failed=count.get(INFRA_FAILED, 0),
            missing=count.get(MISSING, 0),
            rate=unjudged / (scored + unjudged) if scored + unjudged else None,
            reasons=dict(failed.value_counts(sort=True).head(5).iter_rows()),
        )


def repeated(verdicts: pl.DataFrame) -> Iterator[Repeated]:
    """Sum up, for each judge, run and metric, the verdicts that are of several samples."""
    import polars as pl

    several = verdicts.filter(pl.col("spread").is_not_null())
    keys = ("judge", "run", "metric")
    for (judge, run, metric), part in sorted(several.partition_by(keys, as_dict=True).items()):
        spread = part["spread"].to_numpy()
        yield Repeated(
            judge=str(judge),
            run=str(run),
            metric=str(metric),
            n=len(part),
            mean_spread=float(spread.mean()),
            unanimous=float((spread == 0).mean()),
        )
