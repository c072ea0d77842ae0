"""Silence by rule: where it is right and the reply is silent, there is nothing to judge.

Such a reply has the judge's highest score, and no judge is asked. Every other reply goes to the
judge, be it words where silence was right or silence where words were.

Source: OmniAssistBench, appendix A: the exact token is the full score.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.item import AssistantReference
from bench.labels import SILENCE
from score.parse.prediction import AssistantPrediction

if TYPE_CHECKING:
    from score.answers import Answer

BY_RULE = "silence was right, and the reply is silent: settled by rule, no judge was asked"


def is_silence_rightly(answer: Answer) -> bool:
    """Whether a reply is silent at a turn at which silence is an accepted answer."""
    reference, given = answer.item.reference, answer.prediction
    return (
        isinstance(reference, AssistantReference)
        and isinstance(given, AssistantPrediction)
        and given.text == SILENCE
        and SILENCE in reference.answers
    )
