"""Judges that are no language models: formulas, deterministic, offline.

    lexical    f = (ROUGE-L F1 + token F1) / 2    stems in order; lower-case words in any order
    embedding  f = max(0, cosine)                 of the texts' all-MiniLM-L6-v2 embeddings

    score = min + f · (max − min), on an integer scale rounded to the nearest step, halves up

Words are runs of [a-z0-9]. Both judges ignore the question and key points; of several references
the closest counts. They stand in for a judge in tests and in the demo, and show what a real judge
adds; no number of theirs is a grade. Their replies have a judge's form, so that everything after
the engine is the same.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections import Counter
from collections.abc import AsyncGenerator
from itertools import islice

import msgspec
import numpy as np

from cache.record import Outcome, Record, Response, Times
from cache.request import Request
from score.judge.engine import now, producer
from score.judge.request import named_texts
from score.judge.spec import Scale
from score.judge.work import Work
from score.rouge import RougeL
from score.similarity import Encoder, cosine

_BATCH = 256
_WORD = re.compile(r"[a-z0-9]+")


class LexicalEngine:
    """Grades by shared words."""

    async def answers(self, work: Work) -> AsyncGenerator[list[Record], None]:
        """Yield a record for each request; see :class:`JudgeEngine`."""
        rouge_l = RougeL()
        while batch := list(islice(iter(work.take, None), _BATCH)):
            records = [self._record(request, rouge_l) for request in batch]
            for record in records:
                work.done(record)
            yield records

    async def close(self) -> None:
        """Nothing to let go of."""

    def _record(self, request: Request, rouge_l: RougeL) -> Record:
        start = time.monotonic()
        [answer] = named_texts(request, "answer")
        longest, tokens = max(
            ((rouge_l.f1(text, answer), token_f1(text, answer)) for text in _references(request)),
            key=sum,
        )
        why = f"ROUGE-L F1 {longest:.3f}, token F1 {tokens:.3f}; a formula, no language model"
        seconds = time.monotonic() - start
        return _record(request, (longest + tokens) / 2, why, seconds, "rouge-score")


class EmbeddingEngine:
    """Grades by the cosine of sentence embeddings."""

    async def answers(self, work: Work) -> AsyncGenerator[list[Record], None]:
        """Yield a record for each request; see :class:`JudgeEngine`.

        Raises:
            FeatureMissing: sentence-transformers or the model's weights are not there.
        """
        encoder = Encoder()
        while batch := list(islice(iter(work.take, None), _BATCH)):
            start = time.monotonic()
            sizes = [len(_references(request)) for request in batch]
            references = [text for request in batch for text in _references(request)]
            answers = [
                text
                for request, size in zip(batch, sizes, strict=True)
                for text in named_texts(request, "answer") * size
            ]
            cosines = cosine(*np.split(encoder.encode(references + answers), 2))
            closest = np.maximum.reduceat(cosines, np.cumsum([0, *sizes[:-1]])).tolist()
            seconds = (time.monotonic() - start) / len(batch)
            records = [
                _record(
                    request,
                    max(0.0, value),
                    f"cosine {value:.3f}; a formula, no language model",
                    seconds,
                    "sentence-transformers",
                )
                for request, value in zip(batch, closest, strict=True)
            ]
            for record in records:
                work.done(record)
            yield records

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


def _references(request: Request) -> list[str]:
    return named_texts(request, "reference")


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
