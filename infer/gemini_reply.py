"""Reading what Gemini generated, from the JSON of its interface.

Google's client refuses an answer as a whole where one member is of another type than it knows.
The text is what was paid for: here, of the rest, what cannot be read is taken to be absent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cache.record import Outcome, Response, Usage
from infer.engine import Answer
from infer.fault import Fault
from infer.storable import token_count

_FILTERED = frozenset({"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"})


@dataclass(slots=True)
class Reply:
    """What has arrived of an answer: of one generation, or of several that continue each other."""

    text: str = ""
    reasoning: str = ""
    finish_reason: str = ""
    model: str = ""
    blocked: str = ""
    """Why the prompt was not let through."""
    called: bool = False
    """The model called a function."""
    candidates: int = 0
    continuation: str = ""
    """With this the service goes on where it stopped."""
    counts: dict[str, int] = field(default_factory=dict)

    def take(self, generated: Any) -> None:
        """Add a generation.

        Raises:
            ValueError: it is none, or its text is none.
        """
        found = _object(generated, "it")
        feedback = _members(found.get("promptFeedback"))
        if reason := feedback.get("blockReason"):
            self.blocked = str(feedback.get("blockReasonMessage") or reason)
        candidates = found.get("candidates") or []
        if not isinstance(candidates, list):
            raise ValueError(f"candidates is {candidates!r:.100}")
        self.continuation = ""
        for candidate in candidates[:1]:
            self._take_candidate(_object(candidate, "candidates[0]"))
        self.model = _word(found.get("modelVersion")) or self.model
        for name, value in _members(found.get("usageMetadata")).items():
            if (count := token_count(value)) is not None:
                self.counts[name] = self.counts.get(name, 0) + count

    @property
    def fault(self) -> Fault | None:
        """What is wrong with a reply that has arrived; None when it is an answer."""
        if self.blocked:
            return Fault(Outcome.CONTENT_FILTER, f"the prompt was blocked: {self.blocked}")
        if not self.candidates:
            return Fault(Outcome.INFRA_ERROR, "the service's answer has no candidates")
        reason = self.finish_reason
        if reason == "MAX_TOKENS":
            return Fault(Outcome.TRUNCATED, "the answer was cut at the token limit")
        if reason in _FILTERED:
            return Fault(Outcome.CONTENT_FILTER, f"the answer was stopped by a filter: {reason}")
        if reason != "STOP":
            words = f"the answer ended without an end: {reason or 'no reason'}"
            return Fault(Outcome.INFRA_ERROR, words)
        if self.called and not self.text:
            return Fault(Outcome.INFRA_ERROR, "the model called a function instead of answering")
        return None

    def answer(self, fault: Fault | None) -> Answer:
        """Return what has arrived as an answer that ended so."""
        return Answer(
            fault.outcome if fault else Outcome.OK,
            Response(
                text=self.text,
                reasoning=self.reasoning,
                finish_reason=self.finish_reason,
                error=fault.error if fault else "",
            ),
            self._usage(),
            {"model": self.model} if self.model else {},
        )

    def _take_candidate(self, candidate: dict[str, Any]) -> None:
        self.candidates = 1
        self.finish_reason = _word(candidate.get("finishReason"))
        if self.finish_reason in ("", "CONTINUATION"):
            self.continuation = _word(candidate.get("continuationToken"))
        parts = _object(candidate.get("content") or {}, "content").get("parts") or []
        if not isinstance(parts, list):
            raise ValueError(f"content.parts is {parts!r:.100}")
        for part in parts:
            text = _object(part, "a part of the content").get("text") or ""
            if not isinstance(text, str):
                raise ValueError(f"a part's text is {text!r:.100}")
            if part.get("thought"):
                self.reasoning += text
            else:
                self.text += text
            self.called |= "functionCall" in part

    def _usage(self) -> Usage:
        counts = self.counts
        written = [counts.get("candidatesTokenCount"), counts.get("thoughtsTokenCount")]
        return Usage(
            input_tokens=counts.get("promptTokenCount"),
            output_tokens=None if written == [None, None] else sum(count or 0 for count in written),
            cached_tokens=counts.get("cachedContentTokenCount"),
            reasoning_tokens=counts.get("thoughtsTokenCount"),
        )


def _object(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{name} is {value!r:.100}, not an object")
    return value


def _members(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""
