"""Seeded guesses: the level that any model must beat.

The guess depends on the request's key and nothing else, so it is the same on every machine and for
every shard. A choice is drawn evenly over the options; an interval has its middle drawn evenly over
the segment and a length between 5% and 35% of it; a summary is words of the prompt, shuffled; an
assistant keeps quiet half of the time, and else says some of them.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from bench.item import Segment
from bench.labels import SILENCE
from cache.record import Outcome, Response
from cache.request import Request
from infer.asked import Asked, read_asked
from infer.card import ModelCard
from infer.engine import Answer
from infer.media.decode import Prepared


class ChanceEngine:
    """Draws an answer of the right form."""

    async def answer(self, request: Request, prepared: Prepared) -> Answer:
        """Return a guess drawn from a generator that the request's key seeds."""
        generator = np.random.default_rng(int(request.key(), 16))
        asked = read_asked(request)
        if SILENCE in asked.instruction:
            said = SILENCE if generator.random() < 0.5 else _words(asked.instruction, generator, 12)
            return Answer(Outcome.OK, Response(text=said, finish_reason="stop"))
        guess = _guess(asked, prepared, generator)
        return Answer(Outcome.OK, Response(text=json.dumps(guess), finish_reason="stop"))

    def close(self) -> None:
        """Nothing outlives the process."""


def create(card: ModelCard) -> ChanceEngine:
    """Return the engine; it has nothing to load."""
    return ChanceEngine()


def _guess(asked: Asked, prepared: Prepared, generator: np.random.Generator) -> dict[str, Any]:
    if asked.questions:
        segment = asked.segment or Segment(0.0, prepared.end_s)
        return {
            "questions": [
                {"question_id": name, **_interval(segment, generator), "confidence": 0.0}
                for name in asked.questions
            ]
        }
    if asked.options:
        letters = sorted(asked.options)
        index = int(generator.integers(len(letters)))
        rationale = _words(asked.question, generator)
        return {"answer_letter": letters[index], "answer_index": index, "rationale": rationale}
    words = _words(asked.instruction, generator)
    return {"summary_detailed": words, "summary_short": [words], "confidence": 0.0}


def _interval(segment: Segment, generator: np.random.Generator) -> dict[str, Any]:
    length_s = segment.end_s - segment.start_s
    middle_s = segment.start_s + generator.random() * length_s
    half_s = generator.uniform(0.05, 0.35) * length_s / 2
    return {
        "start_s": round(max(segment.start_s, middle_s - half_s), 2),
        "end_s": round(min(segment.end_s, middle_s + half_s), 2),
        "rationale_model": "A guess.",
    }


def _words(text: str, generator: np.random.Generator, most: int | None = None) -> str:
    words = text.split()
    return " ".join(words[index] for index in generator.permutation(len(words))[:most])
