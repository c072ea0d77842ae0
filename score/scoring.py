"""Scoring: stored answers of runs to scores, with how each number was made.

    store ── answers ─► options, intervals, texts ── metrics ─► columns ── frames ─► tables
                                └─ verdicts of judges, from the store ─┘

No model is called. A judge that was not asked yet leaves cells ``missing``; ``rejudge judge`` asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.item import Item, TaskType
from cache.run import RunHeader
from score.answers import Answer, run_answers
from score.categories import category_columns
from score.cider import cider
from score.collector import collector_paused
from score.frames import base_frame, errors_frame, items_frame, predictions_frame, scores_frame
from score.grades import grades_of, run_verdicts, verdicts_frame
from score.metrics import (
    Column,
    Located,
    Texts,
    choice_columns,
    interval_columns,
    judge_column,
    located,
    texts,
)
from score.mistakes import mistakes
from score.overwrite import overwritten
from score.profile import STRICT, Profile
from score.rouge import RougeL
from score.signature import signature
from score.similarity import Encoder, cosine
from score.statistics.estimate import estimates
from score.statistics.panel import design_of
from score.statistics.resample import resample
from score.track import Track, untracked

if TYPE_CHECKING:
    import numpy.typing as npt
    import polars as pl

    from cache.store import Store
    from score.dictionary import Dictionary
    from score.judge.spec import JudgeSpec


@dataclass(frozen=True, slots=True)
class Scores:
    """Everything that scoring found, and how each number was made."""

    scores: pl.DataFrame
    predictions: pl.DataFrame
    verdicts: pl.DataFrame
    """What judges said of each text, in full."""
    errors: pl.DataFrame
    items: pl.DataFrame
    signature: dict[str, Any]
    estimates: pl.DataFrame | None = None
    """Every mean with its interval, overall and by topic; None: not asked for."""


@dataclass(slots=True)
class _Run:
    """One run on its way to scores."""

    header: RunHeader
    answers: list[Answer]
    base: pl.DataFrame
    texts: list[Texts]
    located: Located | None
    columns: list[Column] = field(default_factory=list)


@collector_paused()
def score(
    store: Store,
    items: Sequence[Item],
    runs: Sequence[str],
    *,
    judges: Sequence[JudgeSpec] = (),
    profile: Profile = STRICT,
    encoder: Encoder | None = None,
    dictionary: Dictionary | None = None,
    track: Track = untracked,
) -> Scores:
    """Score the stored answers of runs.

    Args:
        store: The store; it is only read.
        items: The benchmark's items, of all task types that the runs ask.
        runs: Names of the runs.
        judges: Judges whose verdicts are looked up in the store.
        profile: Which reading of the definitions is scored.
        encoder: The sentence encoder; None leaves similarity out.
        dictionary: The word categories; None leaves empathic summaries unscored.
        track: Shows how far the encoder is.

    Raises:
        ScoreError: a run asked items that are not among ``items``.
        FeatureMissing: the encoder or what it needs is not installed.
    """
    prepared = [_prepare(store, run, items, profile, dictionary) for run in runs]
    if encoder is not None:
        encoder.encode(_all_texts(prepared), track=track)
    rouge = RougeL()
    tables = [_finish(store, run, judges, profile, rouge, encoder) for run in prepared]
    joined = [_joined(parts) for parts in zip(*tables, strict=True)]
    scores, predictions, verdicts, errors = joined
    made = signature(
        scores,
        headers=[run.header for run in prepared],
        profile=profile,
        judges=judges,
        encoder=encoder,
        truncated=_truncated(prepared, encoder) if encoder is not None else {},
        dictionary=dictionary,
    )
    return Scores(scores, predictions, verdicts, errors, items_frame(items), made)


def with_intervals(found: Scores) -> Scores:
    """Add the interval of every mean to scores, and to their signature how it was made."""
    resamples = resample(design_of(found.scores))
    made = estimates(found.scores, resamples, by=("", "topic"))
    signed = {**found.signature, "resampling": resamples.signature()}
    return replace(found, estimates=made, signature=signed)


def _prepare(
    store: Store,
    run: str,
    items: Sequence[Item],
    profile: Profile,
    dictionary: Dictionary | None,
) -> _Run:
    header, answers = run_answers(store, run, items)
    if profile.last_entry_only:
        answers = overwritten(answers)
    found = [aspect for task in TaskType for aspect in texts(answers, task, profile)]
    intervals = located(answers, profile)
    columns = choice_columns(answers, profile)
    if intervals is not None:
        columns += interval_columns(intervals, profile)
    if dictionary is not None:
        columns += category_columns(answers, dictionary)
    return _Run(header, answers, base_frame(header, answers), found, intervals, columns)


def _finish(
    store: Store,
    run: _Run,
    judges: Sequence[JudgeSpec],
    profile: Profile,
    rouge: RougeL,
    encoder: Encoder | None,
) -> tuple[pl.DataFrame, ...]:
    for found in run.texts:
        run.columns.append(found.column("rouge_l", rouge.scores))
        if encoder is not None:
            run.columns.append(found.column("similarity", partial(_similarity, encoder)))
        if profile.with_cider:
            run.columns.append(_cider(found, run.answers))
    errors = [_errors(run, None)] if not judges else []
    tables = [verdicts_frame(run.base[:0], [], "")]
    for spec in judges:
        verdicts = run_verdicts(store, spec, run.answers)
        grades = grades_of(verdicts)
        tables.append(verdicts_frame(run.base, verdicts, spec.name))
        judged = [
            judge_column(found, spec.name, grades.get(found.aspect, {}), profile)
            for found in run.texts
        ]
        run.columns += judged
        errors.append(_errors(run, spec, judged))
    scores = scores_frame(run.base, run.columns)
    predictions = predictions_frame(run.base, run.answers)
    return scores, predictions, _joined(tables), _joined(errors)


def _errors(run: _Run, judge: JudgeSpec | None, judged: Sequence[Column] = ()) -> pl.DataFrame:
    found = mistakes(run.answers, run.located, judge, judged)
    name = judge.name if judge is not None else ""
    return errors_frame(run.base, found.positions, found.types, found.reasons, name)


def _similarity(
    encoder: Encoder, references: Sequence[str], answers: Sequence[str]
) -> npt.NDArray[np.float64]:
    if not references:
        return np.zeros(0)
    return cosine(encoder.encode(references), encoder.encode(answers))


def _cider(found: Texts, answers: Sequence[Answer]) -> Column:
    """CIDEr with document frequencies of the topic, as the published scorer has them."""
    topics = np.array([answers[position].item.topic for position in found.cells.positions])
    values = np.full(len(topics), np.nan)
    for topic in dict.fromkeys(topics.tolist()):
        at = np.flatnonzero((topics == topic) & found.cells.scored)
        references, said = ([side[i] for i in at] for side in (found.references, found.answers))
        values[at] = cider(references, said)
    return Column(f"{found.aspect}_cider", found.cells, values)


def _all_texts(runs: Sequence[_Run]) -> list[str]:
    return list(
        dict.fromkeys(
            text
            for run in runs
            for found in run.texts
            for index in np.flatnonzero(found.cells.scored)
            for text in (found.references[index], found.answers[index])
        )
    )


def _truncated(runs: Sequence[_Run], encoder: Encoder) -> dict[str, dict[str, int]]:
    """Count, for each similarity, the scored pairs of which the encoder saw only the beginning."""
    counts: dict[str, dict[str, int]] = {}
    for run in runs:
        for found in run.texts:
            name = f"{found.aspect}_similarity"
            count = counts.setdefault(name, {"pairs": 0, "truncated": 0})
            for index in np.flatnonzero(found.cells.scored):
                both = found.references[index], found.answers[index]
                count["pairs"] += 1
                count["truncated"] += any(map(encoder.is_truncated, both))
    return counts


def _joined(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    import polars as pl

    return pl.concat(parts)
