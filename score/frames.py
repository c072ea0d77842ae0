"""Scores as tables: what ``scores.parquet``, ``items.parquet`` and their neighbours hold.

scores        one row a run × item × sample × metric × judge: value, status, reason
predictions   one row a run × item × sample: what was read from the answer, and how
errors        one row a localization prediction × judge: its error type
items         one row an item: what slices are made of
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.item import Item
from cache.run import RunHeader
from score.answers import STATUSES, Answer
from score.metrics import Column
from score.parse.option import LETTERS
from score.parse.prediction import ChoicePrediction, IntervalPrediction

if TYPE_CHECKING:
    import polars as pl

#: Columns of ``scores.parquet``, in their order.
SCORE_COLUMNS = (
    "run", "model", "benchmark", "task", "item", "sample", "topic", "cluster", "metric", "judge",
    "value", "status", "reason",
)  # fmt: skip
DEMOGRAPHICS: tuple[str, ...] = ("race", "gender", "age", "language")
UNKNOWN = "unknown"
_SEPARATOR = "\x1f"


def base_frame(header: RunHeader, answers: Sequence[Answer]) -> pl.DataFrame:
    """Return a row for each answer, with what all of its metrics share."""
    import polars as pl

    return pl.DataFrame(
        {
            "task": [str(answer.item.task) for answer in answers],
            "item": [answer.item.id for answer in answers],
            "sample": [answer.sample for answer in answers],
            "topic": [answer.item.topic for answer in answers],
            "cluster": [answer.item.cluster for answer in answers],
        },
        schema={
            "task": pl.String,
            "item": pl.String,
            "sample": pl.Int64,
            "topic": pl.String,
            "cluster": pl.String,
        },
    ).select(
        pl.lit(header.name).alias("run"),
        pl.lit(header.model).alias("model"),
        pl.lit(header.benchmark).alias("benchmark"),
        pl.all(),
    )


def scores_frame(base: pl.DataFrame, columns: Sequence[Column]) -> pl.DataFrame:
    """Return the rows of ``scores.parquet`` for one run.

    Args:
        base: :func:`base_frame` of the run's answers.
        columns: Its metrics.
    """
    import polars as pl

    status = pl.Enum(STATUSES)
    schema: dict[str, Any] = dict(base.schema) | {
        "metric": pl.String, "judge": pl.String, "value": pl.Float64, "status": status,
        "reason": pl.String,
    }  # fmt: skip
    parts = [
        base[column.cells.positions].with_columns(
            pl.lit(column.metric).alias("metric"),
            pl.lit(column.judge).alias("judge"),
            pl.Series("value", column.values, dtype=pl.Float64, nan_to_null=True),
            pl.Series("status", column.cells.statuses, dtype=status),
            pl.Series("reason", column.cells.reasons, dtype=pl.String),
        )
        for column in columns
    ]
    frame = pl.concat(parts) if parts else pl.DataFrame(schema=schema)
    return frame.select(SCORE_COLUMNS)


def predictions_frame(base: pl.DataFrame, answers: Sequence[Answer]) -> pl.DataFrame:
    """Return what was read from each answer: option or interval, how sure the model said it is."""
    import polars as pl

    choices = [_choice(answer) for answer in answers]
    intervals = [_interval(answer) for answer in answers]
    return base.with_columns(
        pl.Series("key", [answer.key for answer in answers], dtype=pl.String),
        pl.Series("status", [answer.status for answer in answers], dtype=pl.Enum(STATUSES)),
        pl.Series("reason", [_reason(answer) for answer in answers], dtype=pl.String),
        _lists("flags", [answer.flags for answer in answers]),
        pl.Series("option", choices, dtype=pl.String),
        pl.Series("start_s", [start for start, _ in intervals], dtype=pl.Float64),
        pl.Series("end_s", [end for _, end in intervals], dtype=pl.Float64),
        pl.Series("confidence", [_confidence(answer) for answer in answers], dtype=pl.Float64),
    )


def _reason(answer: Answer) -> str:
    return answer.reason or (answer.prediction.problem if answer.prediction is not None else "")


def _choice(answer: Answer) -> str | None:
    given = answer.prediction
    if isinstance(given, ChoicePrediction) and given.index is not None:
        return LETTERS[given.index]
    return None


def _interval(answer: Answer) -> tuple[float | None, float | None]:
    given = answer.prediction
    return (given.start_s, given.end_s) if isinstance(given, IntervalPrediction) else (None, None)


def _confidence(answer: Answer) -> float | None:
    given = answer.prediction
    if isinstance(given, ChoicePrediction | IntervalPrediction):
        return given.confidence
    return None


def errors_frame(
    base: pl.DataFrame, positions: np.ndarray[Any, Any], types: Sequence[str],
    reasons: Sequence[str], judge: str,
) -> pl.DataFrame:  # fmt: skip
    """Return the error type of each localization prediction, and why it is that one."""
    import polars as pl

    return base[positions].with_columns(
        pl.lit(judge).alias("judge"),
        pl.Series("error_type", types, dtype=pl.String),
        pl.Series("why", reasons, dtype=pl.String),
    )


def items_frame(items: Sequence[Item]) -> pl.DataFrame:
    """Return a row for each item: what slices are made of.

    ``race``, ``gender``, ``age`` and ``language`` list the groups that are present, each once and
    sorted; ``["unknown"]`` where the annotations name none. ``demographics`` keeps the counts.
    """
    import polars as pl

    person = pl.Struct({**dict.fromkeys(DEMOGRAPHICS, pl.String), "count": pl.Int64})
    groups = {name: _lists(name, [_present(item, name) for item in items]) for name in DEMOGRAPHICS}
    return pl.DataFrame(
        {
            "item": pl.Series([item.id for item in items], dtype=pl.String),
            "benchmark": pl.Series([item.benchmark for item in items], dtype=pl.String),
            "task": pl.Series([str(item.task) for item in items], dtype=pl.String),
            "topic": pl.Series([item.topic for item in items], dtype=pl.String),
            "cluster": pl.Series([item.cluster for item in items], dtype=pl.String),
            **{
                name: pl.Series([getattr(item.attributes, name) for item in items], dtype=kind)
                for name, kind in _attribute_types(pl).items()
            },
            **groups,
            "demographics": pl.Series(
                [
                    json.dumps([asdict(one) for one in item.attributes.demographics])
                    for item in items
                ],
                dtype=pl.String,
            ).str.json_decode(pl.List(person)),
        }
    )


def _attribute_types(pl: Any) -> dict[str, Any]:
    texts = ("duration", "relation", "sub_task", "major_task", "tier")
    return {**dict.fromkeys(texts, pl.String), "requires_audio": pl.Boolean}


def _lists(name: str, values: Sequence[Sequence[str]]) -> pl.Series:
    """A column of lists of texts. Polars takes a long time over Python lists of lists."""
    import polars as pl

    if any(_SEPARATOR in text for value in values for text in value):  # somebody's data have it
        return pl.Series(name, values, dtype=pl.List(pl.String))
    joined = pl.Series(name, [_SEPARATOR.join(value) for value in values], dtype=pl.String)
    empty = pl.Series([[]], dtype=pl.List(pl.String))
    parted = joined.str.split(_SEPARATOR).alias(name)
    return parted.zip_with(joined != "", empty.new_from_index(0, len(values)))


def _present(item: Item, name: str) -> list[str]:
    found = {getattr(people, name) or UNKNOWN for people in item.attributes.demographics}
    return sorted(found) or [UNKNOWN]
