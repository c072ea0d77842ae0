"""Predictions: the values read from a response.

Prediction
├── SummaryPrediction      two texts
├── ChoicePrediction       an option's index, and why
├── IntervalPrediction     two times, and why
└── AssistantPrediction    a reply
ParseFailure               nothing could be read, and the reason

A prediction may be partly readable: a choice with a rationale but no letter, a question answered
without times. What is missing is None or empty, and ``problem`` says why.
"""

from __future__ import annotations

import msgspec


class ParseFailure(msgspec.Struct, frozen=True):
    """Nothing could be read with certainty."""

    reason: str


class SummaryPrediction(msgspec.Struct, frozen=True):
    """A detailed and a short summary; empty where the answer has none."""

    detailed: str = ""
    short: tuple[str, ...] = ()
    """Bullets."""
    flags: tuple[str, ...] = ()
    problem: str = ""
    """Why a text is empty."""

    @property
    def short_text(self) -> str:
        """The bullets as one text, joined by one space."""
        return " ".join(self.short)


class ChoicePrediction(msgspec.Struct, frozen=True):
    """The chosen option."""

    index: int | None
    """0 is A; None when no option could be read."""
    rationale: str = ""
    flags: tuple[str, ...] = ()
    problem: str = ""
    other_index: int | None = None
    """The option that ``answer_index`` names where it is not the letter's."""
    confidence: float | None = None
    """How sure the model says it is, from 0 to 1; None where it says nothing that can be read."""


class IntervalPrediction(msgspec.Struct, frozen=True):
    """An interval in seconds as the model gave it, be it reversed or empty."""

    start_s: float | None
    end_s: float | None
    rationale: str = ""
    flags: tuple[str, ...] = ()
    problem: str = ""
    confidence: float | None = None
    """As of a choice."""

    @property
    def has_times(self) -> bool:
        """Whether both bounds could be read."""
        return self.start_s is not None and self.end_s is not None


class AssistantPrediction(msgspec.Struct, frozen=True):
    """A reply of the assistant; ``[KEEP QUIET]`` where it stays silent."""

    text: str
    flags: tuple[str, ...] = ()
    problem: str = ""


Prediction = SummaryPrediction | ChoicePrediction | IntervalPrediction | AssistantPrediction
