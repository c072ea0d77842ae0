"""Judged files of OmniAssistBench as scores: what ``rejudge score`` would have written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.item import Item, TaskType
from cache.run import IMPORT_ENGINE, RunHeader
from score.answers import JUDGE_FAILED, MISSING, SCORED, Answer
from score.assistant import BEST, METRIC
from score.errors import ScoreError
from score.frames import base_frame, errors_frame, items_frame, predictions_frame, scores_frame
from score.grades import Judged, verdicts_frame
from score.judged import JudgedRow, is_scored
from score.metrics import Cells, Column
from score.profile import OMNIASSIST_REFERENCE
from score.signature import signature

if TYPE_CHECKING:
    from score.judge.verdict import JudgeFailure, Verdict
    from score.scoring import Scores


def scores_of(
    files: Mapping[str, Sequence[JudgedRow]], items: Sequence[Item], judge: str, benchmark: str
) -> Scores:
    """Return judged files as scores: what ``rejudge score`` would have written.

    Args:
        files: Run → its rows.
        items: The benchmark's items.
        judge: Name of the judge that wrote them.
        benchmark: Name of the benchmark.

    Raises:
        ScoreError: a row names an item that is not among ``items``.
    """
    import polars as pl

    from score.scoring import Scores

    scored, predicted, said, headers = [], [], [], []
    for run, rows in files.items():
        header = RunHeader(
            name=run,
            benchmark=benchmark,
            model=run,
            tasks=(str(TaskType.ASSISTANT),),
            settings={"engine": IMPORT_ENGINE},
        )
        answers, column, judged = _columns(run, rows, items, judge)
        base = base_frame(header, answers)
        headers.append(header)
        scored.append(scores_frame(base, [column]))
        predicted.append(predictions_frame(base, answers))
        said.append(verdicts_frame(base, judged, judge))
    scores = pl.concat(scored)
    made = signature(
        scores,
        headers=headers,
        profile=OMNIASSIST_REFERENCE,
        judges=[],
        encoder=None,
        truncated={},
    )
    none = np.array([], dtype=np.int64)
    errors = errors_frame(predicted[0].select(base.columns), none, [], [], "")
    tables = (scores, pl.concat(predicted), pl.concat(said), errors, items_frame(items))
    signed = made | {
        "judges": {judge: _judge(judge, files)},
        "imported": {"judge": judge, "runs": sorted(files)},
    }
    return Scores(*tables, signed)


def _judge(name: str, files: Mapping[str, Sequence[JudgedRow]]) -> dict[str, Any]:
    """What is known of the judge: its scale. The rubric it was given is not in its files."""
    whole = all(row.score.is_integer() for rows in files.values() for row in rows)
    scale = {"min": 0.0, "max": BEST, "integer": whole}
    return {"name": name, "engine": IMPORT_ENGINE, "model": name, "samples": 1, "scale": scale}


def _columns(
    run: str, rows: Sequence[JudgedRow], items: Sequence[Item], judge: str
) -> tuple[list[Answer], Column, list[Judged]]:
    by_item = {row.item: row for row in rows}
    strangers = sorted(set(by_item) - {item.id for item in items})
    if strangers:
        raise ScoreError(
            f"judged file of {run}: {len(strangers)} of its videos are not in the benchmark, for "
            f"example {', '.join(strangers[:3])}; name the data it was made from with --data"
        )
    answers = [Answer(item, 0, "", SCORED if item.id in by_item else MISSING) for item in items]
    positions, statuses, reasons, values = [], [], [], []
    judged: list[Judged] = []
    for position, item in enumerate(items):
        if not is_scored(item):
            continue
        row = by_item.get(item.id)
        positions.append(position)
        if row is None:
            statuses.append(MISSING)
            reasons.append("the judged file has no row of it")
            values.append(np.nan)
            continue
        has_score = row.score >= 0
        statuses.append(SCORED if has_score else JUDGE_FAILED)
        reasons.append("" if has_score else f"no verdict: {row.rationale}".removesuffix(": "))
        values.append(row.score if has_score else np.nan)
        judged.append(Judged(position, "answer", _result(row)))
    cells = Cells(np.array(positions, dtype=np.int64), statuses, reasons)
    return answers, Column(METRIC, cells, np.array(values), judge), judged


def _result(row: JudgedRow) -> Verdict | JudgeFailure:
    from score.judge.verdict import JudgeFailure, Verdict

    if row.score < 0:
        return JudgeFailure("judge_failed", row.rationale)
    said = {
        name: (None if value < 0 else value)
        for name, value in row.aspects.items()
        if value is not None
    }
    return Verdict(row.score, row.rationale, said)
