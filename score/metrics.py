"""Metrics of a run's answers: a column of values and statuses for each metric.

    summary        {detailed,short}_{rouge_l,similarity,judge}
    choice         accuracy, rationale_{rouge_l,similarity,judge}
    localization   tiou, recall_{0.3,0.5,0.7}, mae_start, mae_end, mae (s), rationale_…
    assistant      answer_{rouge_l,similarity,judge}

A column has a cell for every answer that is expected to have the metric. A cell without a value
has the status and the reason why, and the value NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from bench.item import ChoiceReference, IntervalReference, TaskType
from score.answers import MISSING, SCORED, UNPARSED, Answer
from score.interval import RECALLS, absolute_errors, recall, tiou
from score.pairs import ASPECTS, answer_text, reference_text
from score.parse.prediction import ChoicePrediction, IntervalPrediction
from score.profile import Profile

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

#: reference texts, answer texts → their values, shape (n,).
TextMetric = Callable[[Sequence[str], Sequence[str]], "Floats"]


@dataclass(frozen=True, slots=True)
class Cells:
    """Which answers a metric concerns, and how scoring each of them ended."""

    positions: npt.NDArray[np.int64]
    """Positions of the answers, shape (n,)."""
    statuses: list[str]
    reasons: list[str]

    @property
    def scored(self) -> npt.NDArray[np.bool_]:
        """Where there is a value, shape (n,)."""
        return np.array([status == SCORED for status in self.statuses], dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class Column:
    """One metric of a run: a value, a status and a reason for each cell."""

    metric: str
    cells: Cells
    values: Floats
    """NaN where the status is not ``scored``."""
    judge: str = ""


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of one aspect of a task, lined up with their cells."""

    aspect: str
    cells: Cells
    references: list[str]
    answers: list[str]
    """Empty where the cell is not scored, or scored as an empty text."""

    def column(self, name: str, metric: TextMetric) -> Column:
        """Score the texts of the scored cells."""
        scored = self.cells.scored
        at = np.flatnonzero(scored)
        values = np.full(len(scored), np.nan)
        values[at] = metric(
            [self.references[index] for index in at], [self.answers[index] for index in at]
        )
        return Column(f"{self.aspect}_{name}", self.cells, values)


def choice_columns(answers: Sequence[Answer], profile: Profile) -> list[Column]:
    """Return the accuracy of choices."""
    positions, statuses, reasons, values = [], [], [], []
    for position, answer in enumerate(answers):
        reference = answer.item.reference
        if not isinstance(reference, ChoiceReference):
            continue
        status, reason, value = answer.status, answer.reason, np.nan
        if isinstance(answer.prediction, ChoicePrediction):
            given = answer.prediction
            if profile.letter_or_index:
                value = float(reference.index in (given.index, given.other_index))
            elif given.index is None:
                status, reason = UNPARSED, given.problem
            else:
                value = float(given.index == reference.index)
        positions.append(position)
        statuses.append(status)
        reasons.append(reason)
        values.append(value)
    if not positions:
        return []
    return [Column("accuracy", Cells(np.array(positions), statuses, reasons), np.array(values))]


@dataclass(frozen=True, slots=True)
class Located:
    """Predicted and accepted intervals of a run's localization answers, in seconds."""

    cells: Cells
    start_s: Floats
    """NaN where no time could be read."""
    end_s: Floats
    ref_start_s: Floats
    ref_end_s: Floats


def located(answers: Sequence[Answer], profile: Profile) -> Located | None:
    """Line up the intervals of localization answers; None where there are none."""
    positions, statuses, reasons, bounds = [], [], [], []
    for position, answer in enumerate(answers):
        reference = answer.item.reference
        if not isinstance(reference, IntervalReference):
            continue
        status, reason = answer.status, answer.reason
        start_s = end_s = None
        if isinstance(answer.prediction, IntervalPrediction):
            given = answer.prediction
            start_s, end_s = given.start_s, given.end_s
            if profile.missing_time_is_zero:
                start_s, end_s = start_s or 0.0, end_s or 0.0
            elif not given.has_times:
                status, reason = UNPARSED, given.problem
        positions.append(position)
        statuses.append(status)
        reasons.append(reason)
        bounds.append((start_s, end_s, reference.start_s, reference.end_s))
    if not positions:
        return None
    columns = np.array(bounds, dtype=np.float64).T  # None becomes NaN
    return Located(Cells(np.array(positions), statuses, reasons), *columns)


def interval_columns(found: Located, profile: Profile) -> list[Column]:
    """Return tIoU, recalls and absolute errors of intervals."""
    times = (found.start_s, found.end_s, found.ref_start_s, found.ref_end_s)
    overlap = tiou(*times, same=profile.same_interval_tiou)
    start_off, end_off, off = absolute_errors(*times)
    named = {
        "tiou": overlap,
        **{f"recall_{threshold}": recall(overlap, threshold) for threshold in RECALLS},
        "mae_start": start_off,
        "mae_end": end_off,
        "mae": off,
    }
    scored = found.cells.scored
    return [
        Column(name, found.cells, np.where(scored, values, np.nan))
        for name, values in named.items()
    ]


def texts(answers: Sequence[Answer], task: TaskType, profile: Profile) -> list[Texts]:
    """Return the texts of each aspect of a task; an item without a reference text has no cell."""
    return [
        found
        for aspect in ASPECTS[task]
        if (found := _texts(answers, task, aspect, profile)).references
    ]


def _texts(answers: Sequence[Answer], task: TaskType, aspect: str, profile: Profile) -> Texts:
    found = Texts(aspect, Cells(np.array([]), [], []), [], [])
    positions = []
    keep_empty = profile.empty_summary_is_scored and task is TaskType.SUMMARY
    for position, answer in enumerate(answers):
        if answer.item.task is not task:
            continue
        reference = reference_text(answer.item, aspect)
        if not reference:
            continue
        status, reason, said = answer.status, answer.reason, ""
        if answer.prediction is not None:
            said = answer_text(answer.prediction, aspect)
            if not said.strip() and not keep_empty:
                status, reason = UNPARSED, answer.prediction.problem or f"no {aspect} text"
        positions.append(position)
        found.cells.statuses.append(status)
        found.cells.reasons.append(reason)
        found.references.append(reference)
        found.answers.append(said)
    return replace(found, cells=replace(found.cells, positions=np.array(positions, dtype=np.int64)))


@dataclass(frozen=True, slots=True)
class Grade:
    """A judge's score, or the status and reason why there is none."""

    value: float
    status: str = SCORED
    reason: str = ""


def judge_column(found: Texts, judge: str, grades: Mapping[int, Grade], profile: Profile) -> Column:
    """Return a judge's scores of one aspect.

    Args:
        found: The texts of the aspect.
        judge: The judge's name.
        grades: Position of an answer → its grade. An answer with texts and no grade here was
            never judged.
        profile: Whether a failed call counts as 0.
    """
    cells = replace(
        found.cells, statuses=list(found.cells.statuses), reasons=list(found.cells.reasons)
    )
    values = np.full(len(cells.statuses), np.nan)
    for index, position in enumerate(cells.positions):
        if cells.statuses[index] != SCORED:
            continue
        if not found.answers[index].strip():
            cells.statuses[index], cells.reasons[index] = UNPARSED, "an empty text is not judged"
            continue
        grade = grades.get(int(position), Grade(np.nan, MISSING, "not judged yet"))
        if profile.judge_failure_is_zero and grade.status not in (SCORED, MISSING):
            grade = Grade(0.0, SCORED, f"counted as 0: {grade.status}: {grade.reason}")
        values[index], cells.statuses[index], cells.reasons[index] = (
            grade.value,
            grade.status,
            grade.reason,
        )
    return Column(f"{found.aspect}_judge", cells, values, judge)
