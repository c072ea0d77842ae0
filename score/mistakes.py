"""Error types of a run's temporal answers, with or without a judge's view of their rationales.

Classed are the questions that were answered: an interval, or times that cannot be read. An answer
that cannot be read at all, was never given or left the question out has no error type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from score.answers import Answer
from score.metrics import Column, Located
from score.taxonomy import ERROR_TYPES, POOR_RATIONALE, Predicted, error_types, reasons

if TYPE_CHECKING:
    import numpy.typing as npt

    from score.judge.spec import JudgeSpec


@dataclass(frozen=True, slots=True)
class Mistakes:
    """The error type of each classed answer."""

    positions: npt.NDArray[np.int64]
    types: list[str]
    reasons: list[str]


def mistakes(
    answers: Sequence[Answer],
    found: Located | None,
    judge: JudgeSpec | None = None,
    judged: Sequence[Column] = (),
) -> Mistakes:
    """Class the localization answers of a run.

    Args:
        answers: The run's answers.
        found: Their intervals.
        judge: The judge whose scores are used; None: no prediction is a wrong event.
        judged: Its columns, of which that of rationales is used.
    """
    if found is None:
        return Mistakes(np.array([], dtype=np.int64), [], [])
    given = np.array([answers[at].prediction is not None for at in found.cells.positions])
    positions = found.cells.positions[given]
    segments = [answers[at].item.clip.segment for at in positions]
    bounds = np.array(
        [(one.start_s, one.end_s) if one is not None else (np.nan, np.nan) for one in segments]
    ).reshape(-1, 2)
    predicted = Predicted(
        found.start_s[given],
        found.end_s[given],
        found.ref_start_s[given],
        found.ref_end_s[given],
        bounds[:, 0],
        bounds[:, 1],
        _rationale_scores(answers, positions, judge, judged),
        np.array([answers[at].item.attributes.duration_s for at in positions], dtype=np.float64),
    )
    codes = error_types(predicted)
    return Mistakes(positions, [ERROR_TYPES[code] for code in codes], reasons(predicted, codes))


def _rationale_scores(
    answers: Sequence[Answer],
    positions: npt.NDArray[np.int64],
    judge: JudgeSpec | None,
    judged: Sequence[Column],
) -> npt.NDArray[np.float64]:
    """Return the judge's scores of rationales on a scale from 0 to 10, NaN where there is none."""
    by_answer = np.full(len(answers), np.nan)
    if judge is None:
        return by_answer[positions]
    low, high = judge.scale.min, judge.scale.max
    for column in judged:
        if column.metric == "rationale_judge":
            at, scored = column.cells.positions, column.cells.scored
            by_answer[at[scored]] = column.values[scored]
    of_ten: npt.NDArray[np.float64] = (
        (by_answer[positions] - low) / (high - low) * 2 * POOR_RATIONALE
    )
    return of_ten
