"""Judges that are no language models: formulas, deterministic, offline.

    lexical    f = (ROUGE-L F1 + token F1) / 2    stems in order; lower-case words in any order
    embedding  f = max(0, cosine)                 of the texts' all-MiniLM-L6-v2 embeddings

    score = min + f · (max − min), on an integer scale rounded to the nearest step, halves up

Words are runs of [a-z0-9]. Both judges ignore the question. They stand in for a
judge in tests and in the demo, and show what a real judge adds; no number of theirs is a grade.
Their replies have a judge's form, so that everything after the engine is the same.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from itertools import islice

import msgspec
import numpy as np

from cache.record import Outcome, Record, Response, Times
from cache.request import Request
from score.judge.engine import now, producer
from score.judge.request import named_text
from score.judge.spec import Scale
from score.rouge import RougeL
from score.similarity import Encoder, cosine

_BATCH = 256
_WORD = re.compile(r"[a-z0-9]+")


class LexicalEngine:
    """Grades by shared words."""

    async def answers(self, requests: Iterable[Request]) -> AsyncIterator[Record]:
        """Yield a record for each request; see :class:`JudgeEngine`."""
        rouge_l = RougeL()
        for request in requests:
            start = time.monotonic()
            reference, answer = named_text(request, "reference"), named_text(request, "answer")
            longest, tokens = rouge_l.f1(reference, answer), token_f1(reference, answer)
            why = f"ROUGE-L F1 {longest:.3f}, token F1 {tokens:.3f}; a formula, no language model"
            seconds = time.monotonic() - start
            yield _record(request, (longest + tokens) / 2, why, seconds, "rouge-score")

    async def close(self) -> None:
        """Nothing to let go of."""


class EmbeddingEngine:
    """Grades by the cosine of sentence embeddings."""

    async def answers(self, requests: Iterable[Request]) -> AsyncIterator[Record]:
        """Yield a record for each request; see :class:`JudgeEngine`.

        Raises:
            FeatureMissing: sentence-transformers or the model's weights are not there.
        """
        encoder = Encoder()
        for batch in _batches(requests):
            start = time.monotonic()
            texts = [named_text(request, "reference") for request in batch]
            texts += [named_text(request, "answer") for request in batch]
            cosines = cosine(*np.split(encoder.encode(texts), 2)).tolist()
            seconds = (time.monotonic() - start) / len(batch)
            for request, value in zip(batch, cosines, strict=True):
                why = f"cosine {value:.3f}; a formula, no language model"
                yield _record(request, max(0.0, value), why, seconds, "sentence-transformers")

    async def close(self) -> None:
        """Nothing to let go of."""


def rescaled(fraction: float, scale: Scale) -> float:
    """A fraction in [0, 1] on a judge's scale; on an integer scale the nearest step, halves up."""
    value = scale.min + fraction * (scale.max - scale.min)
    return float(math.floor(value + 0.5)) if scale.integer else round(value, 4)


def token_f1(reference: str, answer: str) -> float:
    """F1 of the words that two texts share, each as often as both have it; 0 without words."""
    expected, said = (Counter(_WORD.findall(text.lower())) for text in (reference, answer))
    shared = (expected & said).total()
    return 2 * shared / (expected.total() + said.total()) if shared else 0.0


def _batches(requests: Iterable[Request]) -> Iterator[list[Request]]:
    rest = iter(requests)
    while batch := list(islice(rest, _BATCH)):
        yield batch


def _record(request: Request, fraction: float, why: str, seconds: float, package: str) -> Record:
    scale = msgspec.convert(request.settings["scale"], Scale)
    score = rescaled(fraction, scale)
    shown = int(score) if scale.integer else score
    return Record(
        key=request.key(),
        request=request,
        outcome=Outcome.OK,
        response=Response(text=json.dumps({"score": shown, "justification": why})),
        times=Times(answer_s=round(seconds, 6)),
        producer=producer(package),
        created=now(),
    )
