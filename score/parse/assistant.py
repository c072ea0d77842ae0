"""Replies of the assistant: what is said to the user, or silence."""

from __future__ import annotations

from bench.labels import SILENCE, is_silence
from score.parse.prediction import AssistantPrediction, ParseFailure
from score.parse.visible import visible


def parse_assistant(text: str) -> AssistantPrediction | ParseFailure:
    """Read a reply. ``KEEP QUIET`` with or without brackets is silence."""
    said = visible(text)
    if not said:
        return ParseFailure("nothing but thinking" if text.strip() else "the response is empty")
    if is_silence(said):
        return AssistantPrediction(SILENCE)
    return AssistantPrediction(said)
