"""A baseline without a GPU: it reads the captions and compares sentence embeddings.

Windows are runs of one to three neighbouring cues. Every text is embedded once by
all-MiniLM-L6-v2 (unit length, so a dot product is the cosine).

* summary       the cues closest to the mean of all, without near repeats, in time order
* choice        the option whose best window is the most similar to question and option; "not enough
                evidence" when no window is similar to the question
* localization  the window most similar to the target event, on the side of the anchor's window that
                the question's relation asks for
* assistant     keeps quiet: what is asked of an assistant is in the sound, and it does not listen

It never looks at frames or sound, though both are decoded like any model's.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.item import Segment
from bench.labels import SILENCE
from cache.record import Outcome, Response
from cache.request import Request
from infer.asked import Asked, read_asked
from infer.card import ModelCard
from infer.checkpoint import locate
from infer.engine import Answer
from infer.media.captions import Cue
from infer.media.decode import Prepared
from infer.relation import split_question

NEEDS = {"sentence_transformers": "embed"}
_NO_EVIDENCE = "not enough evidence"
#: Below this cosine between a question and its best window, the captions do not speak of it.
_EVIDENCE_FLOOR = 0.2
#: Cues more similar than this say the same thing twice.
_REPEAT = 0.8

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Window:
    """Neighbouring cues read as one text."""

    start_s: float
    end_s: float
    text: str


class CaptionsEngine:
    """Answers from captions alone."""

    def __init__(self, encoder: Any) -> None:
        self._encoder = encoder
        self._embed_all = lru_cache(maxsize=256)(self._encode)

    async def answer(self, request: Request, prepared: Prepared) -> Answer:
        """Return the answer that the captions suggest."""
        asked = read_asked(request)
        if SILENCE in asked.instruction:
            return Answer(Outcome.OK, Response(text=SILENCE, finish_reason="stop"))
        cues = next((part for part in prepared.media if isinstance(part, tuple)), ())
        answer = self._answer(asked, cues, prepared)
        return Answer(Outcome.OK, Response(text=json.dumps(answer), finish_reason="stop"))

    def close(self) -> None:
        """Nothing outlives the process."""

    def _answer(self, asked: Asked, cues: tuple[Cue, ...], prepared: Prepared) -> dict[str, Any]:
        if asked.questions:
            segment = asked.segment or Segment(0.0, prepared.end_s)
            found = [
                {"question_id": name, **self._locate(question, cues, segment)}
                for name, question in asked.questions.items()
            ]
            return {"questions": found}
        if asked.options:
            return self._choose(asked, cues)
        return self._summarize(cues, "summary_detailed_empathic" in asked.instruction)

    def _summarize(self, cues: tuple[Cue, ...], empathic: bool) -> dict[str, Any]:
        field = "summary_detailed_empathic" if empathic else "summary_detailed"
        if not cues:
            return {field: "", "summary_short": [], "confidence": 0.0}
        vectors = self._embed([cue.text for cue in cues])
        central = vectors @ vectors.mean(axis=0)
        chosen: list[int] = []
        words = 0
        for index in np.argsort(-central, kind="stable").tolist():
            repeated = any(float(vectors[index] @ vectors[other]) > _REPEAT for other in chosen)
            if not repeated and words < 200:
                chosen.append(index)
                words += len(cues[index].text.split())
        texts = [cues[index].text for index in sorted(chosen)]
        bullets = [cues[index].text for index in sorted(chosen[:4])]
        confidence = round(float(central.mean()), 3)
        return {field: " ".join(texts), "summary_short": bullets, "confidence": confidence}

    def _choose(self, asked: Asked, cues: tuple[Cue, ...]) -> dict[str, Any]:
        letters = sorted(asked.options)
        evidence = next(
            (letter for letter in letters if _NO_EVIDENCE in asked.options[letter].lower()), ""
        )
        windows = make_windows(cues)
        if not windows:
            return _choice(letters, evidence or letters[0], "There are no captions.", 0.0)
        candidates = [letter for letter in letters if letter != evidence]
        texts = [f"{asked.question} {asked.options[letter]}" for letter in candidates]
        vectors = self._embed([window.text for window in windows])
        scores = self._embed([asked.question, *texts]) @ vectors.T
        if evidence and float(scores[0].max()) < _EVIDENCE_FLOOR:
            return _choice(letters, evidence, "No caption speaks of this.", 0.5)
        best = scores[1:].max(axis=1)
        winner = int(best.argmax())
        window = windows[int(scores[1 + winner].argmax())]
        return _choice(
            letters, candidates[winner], f'The captions say: "{window.text}"', float(best[winner])
        )

    def _locate(self, question: str, cues: tuple[Cue, ...], segment: Segment) -> dict[str, Any]:
        windows = make_windows(cues)
        if not windows:
            return {
                "start_s": segment.start_s,
                "end_s": segment.end_s,
                "confidence": 0.0,
                "rationale_model": "There are no captions; the whole segment is given.",
            }
        target, relation, anchor = split_question(question)
        vectors = self._embed([window.text for window in windows])
        similar = vectors @ self._embed([target])[0]
        if anchor:
            anchored = windows[int((vectors @ self._embed([anchor])[0]).argmax())]
            allowed = np.array([_holds(relation, window, anchored) for window in windows])
            if allowed.any():
                similar = np.where(allowed, similar, -np.inf)
        best = int(similar.argmax())
        window = windows[best]
        return {
            "start_s": max(window.start_s, segment.start_s),
            "end_s": min(window.end_s, segment.end_s),
            "confidence": round(float(similar[best]), 3),
            "rationale_model": f'The captions say: "{window.text}"',
        }

    def _embed(self, texts: list[str]) -> Vectors:
        return self._embed_all(tuple(texts))

    def _encode(self, texts: tuple[str, ...]) -> Vectors:
        vectors: Vectors = self._encoder.encode(
            list(texts), normalize_embeddings=True, show_progress_bar=False
        )
        return vectors


def create(card: ModelCard) -> CaptionsEngine:
    """Load the sentence encoder that the card names.

    Raises:
        FeatureMissing: the weights are not there, or are others.
    """
    from sentence_transformers import SentenceTransformer

    return CaptionsEngine(SentenceTransformer(locate(card).place, device="cpu"))


def make_windows(cues: tuple[Cue, ...], longest: int = 3) -> list[Window]:
    """Return every run of 1 to ``longest`` neighbouring cues."""
    windows = []
    for size in range(1, longest + 1):
        for first in range(len(cues) - size + 1):
            run = cues[first : first + size]
            text = " ".join(cue.text for cue in run)
            windows.append(Window(run[0].start_s, run[-1].end_s, text))
    return windows


def _holds(relation: str, window: Window, anchor: Window) -> bool:
    if relation == "before":
        return window.end_s <= anchor.start_s + 0.5
    if relation == "after":
        return window.start_s >= anchor.end_s - 0.5
    return window.start_s < anchor.end_s and window.end_s > anchor.start_s


def _choice(letters: list[str], letter: str, rationale: str, confidence: float) -> dict[str, Any]:
    return {
        "answer_letter": letter,
        "answer_index": letters.index(letter),
        "rationale": rationale,
        "confidence": round(confidence, 3),
    }
