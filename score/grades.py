"""A judge's verdicts on a run, lined up with its answers, and as a table.

verdicts      one row a run × item × sample × metric × judge that had something to judge: the score,
              its samples and their spread, what was said of each aspect, and the judge's reasons
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from score.answers import SCORED, STATUSES, Answer
from score.metrics import Grade
from score.pairs import numbered_pairs
from score.silence import BY_RULE, is_silence_rightly

if TYPE_CHECKING:
    import polars as pl

    from cache.store import Store
    from score.judge.spec import JudgeSpec
    from score.judge.verdict import JudgeFailure, Verdict


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of one text before a judge."""

    position: int
    """Of the answer that has the text."""
    aspect: str
    result: Verdict | JudgeFailure


def run_verdicts(store: Store, spec: JudgeSpec, answers: Sequence[Answer]) -> list[Judged]:
    """Read what the store knows of a judge's verdicts; no judge is called."""
    from score.judge.lookup import verdicts

    numbered = list(numbered_pairs(answers))
    found = verdicts(store, spec, [pair for _, pair in numbered])
    judged = [
        Judged(position, pair.aspect, result)
        for (position, pair), result in zip(numbered, found, strict=True)
    ]
    return judged + list(_by_rule(spec, answers))


def _by_rule(spec: JudgeSpec, answers: Sequence[Answer]) -> Iterator[Judged]:
    from score.judge.verdict import Verdict

    for position, answer in enumerate(answers):
        if is_silence_rightly(answer):
            yield Judged(position, "answer", Verdict(spec.scale.max, BY_RULE))


def grades_of(judged: Iterable[Judged]) -> dict[str, dict[int, Grade]]:
    """Return aspect → position of the answer → grade."""
    from score.judge.verdict import Verdict

    grades: dict[str, dict[int, Grade]] = defaultdict(dict)
    for one in judged:
        grades[one.aspect][one.position] = (
            Grade(one.result.score)
            if isinstance(one.result, Verdict)
            else Grade(np.nan, one.result.status, one.result.reason)
        )
    return grades


def verdicts_frame(base: pl.DataFrame, judged: Sequence[Judged], judge: str) -> pl.DataFrame:
    """Return the rows of ``verdicts.parquet`` for one run and judge.

    Args:
        base: A row for each answer of the run.
        judged: What became of its texts.
        judge: The judge's name.
    """
    import polars as pl

    rows = base[[one.position for one in judged]]
    found = pl.DataFrame(
        [_row(one.result) for one in judged], schema=verdicts_schema(), orient="row"
    )
    return rows.with_columns(
        pl.Series("metric", [f"{one.aspect}_judge" for one in judged], dtype=pl.String),
        pl.lit(judge).alias("judge"),
        *found.get_columns(),
    )


def _row(result: Verdict | JudgeFailure) -> tuple[Any, ...]:
    from score.judge.verdict import Verdict

    if not isinstance(result, Verdict):
        return None, [], None, [], "", result.status, result.reason
    said = [{"name": name, "value": value} for name, value in result.aspects.items()]
    samples = list(result.samples or (result.score,))
    return result.score, samples, result.spread, said, result.justification, SCORED, ""


def verdicts_schema() -> Mapping[str, Any]:
    """Columns of ``verdicts.parquet`` beside those of every table, with their types."""
    import polars as pl

    return {
        "score": pl.Float64,
        "samples": pl.List(pl.Float64),
        "spread": pl.Float64,
        "aspects": pl.List(pl.Struct({"name": pl.String, "value": pl.Float64})),
        "justification": pl.String,
        "status": pl.Enum(STATUSES),
        "reason": pl.String,
    }
