"""Pairs: the texts of a run's answers beside their references, for metrics and for judges.

    summary        detailed, short (bullets joined by one space)
    choice         rationale
    localization   rationale
    assistant      answer (the first accepted answer is the reference; a judge is given them all,
                   and the key points)

Silence where silence is right is settled by rule (silence.py), and no pair either.
An item without an answer, or with an empty text, has no pair: there is nothing to compare, and its
status says so. An item whose reference has no such text is not expected to have a pair either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from bench.item import (
    AssistantReference,
    ChoiceReference,
    IntervalReference,
    Item,
    SummaryReference,
    TaskType,
)
from score.answers import SCORED, Answer, run_answers
from score.pair import Pair
from score.parse.prediction import (
    AssistantPrediction,
    ChoicePrediction,
    IntervalPrediction,
    Prediction,
    SummaryPrediction,
)
from score.silence import is_silence_rightly

if TYPE_CHECKING:
    from cache.store import Store

#: The texts that are compared, by task type. An empathic summary has no reference.
ASPECTS: dict[TaskType, tuple[str, ...]] = {
    TaskType.SUMMARY: ("detailed", "short"),
    TaskType.EMPATHIC: (),
    TaskType.CHOICE: ("rationale",),
    TaskType.LOCALIZATION: ("rationale",),
    TaskType.ASSISTANT: ("answer",),
}


def run_pairs(store: Store, run: str, items: Sequence[Item]) -> list[Pair]:
    """Return what a judge grades of a run, in the order of ``items``; equal pairs stay apart.

    Raises:
        ScoreError: the run asked items that are not among ``items``.
    """
    _, answers = run_answers(store, run, items)
    return pairs(answers)


def pairs(answers: Iterable[Answer]) -> list[Pair]:
    """Return the pairs of the answers that have one."""
    return [pair for _, pair in numbered_pairs(answers)]


def numbered_pairs(answers: Iterable[Answer]) -> Iterator[tuple[int, Pair]]:
    """Yield each pair with the position of its answer."""
    for position, answer in enumerate(answers):
        if answer.status != SCORED or answer.prediction is None or is_silence_rightly(answer):
            continue
        for aspect in ASPECTS[answer.item.task]:
            reference = reference_text(answer.item, aspect)
            said = answer_text(answer.prediction, aspect)
            if reference and said.strip():
                yield position, _pair(answer.item, aspect, reference, said)


def _pair(item: Item, aspect: str, reference: str, said: str) -> Pair:
    if isinstance(item.reference, AssistantReference):
        others, points = item.reference.answers[1:], item.reference.key_points
        return Pair(item.id, aspect, item.question, reference, said, others, points)
    return Pair(item.id, aspect, item.question, reference, said)


def reference_text(item: Item, aspect: str) -> str:
    """Return the reference of an aspect; empty where the item has none."""
    match item.reference:
        case SummaryReference(detailed, short):
            text = detailed if aspect == "detailed" else " ".join(short)
        case ChoiceReference(_, rationale) | IntervalReference(_, _, rationale):
            text = rationale
        case AssistantReference(answers):
            text = answers[0] if answers else ""
        case None:
            text = ""
    return text if text.strip() else ""


def answer_text(prediction: Prediction, aspect: str) -> str:
    """Return the text of an aspect in a prediction; empty where it has none."""
    match prediction:
        case SummaryPrediction():
            return prediction.detailed if aspect == "detailed" else prediction.short_text
        case ChoicePrediction() | IntervalPrediction():
            return prediction.rationale
        case AssistantPrediction():
            return prediction.text
