"""How a request ended, told by the words of another suite's error."""

from __future__ import annotations

from cache.record import Outcome

#: What other suites write into their errors → how the request ended, the first that is found.
_OUTCOMES = (
    (("out of memory", "outofmemory", "oom"), Outcome.OUT_OF_MEMORY),
    (("context length", "maximum context", "too many tokens", "max_model_len", "exceeds the max"),
     Outcome.CONTEXT_OVERFLOW),
    (("content filter", "content_filter", "content policy", "safety", "blocked"),
     Outcome.CONTENT_FILTER),
    (("timeout", "timed out", "deadline"), Outcome.TIMEOUT),
    (("decode", "moov", "corrupt", "ffmpeg", "no such file", "cannot open"), Outcome.DECODE_ERROR),
)  # fmt: skip


def failure_outcome(error: str) -> Outcome:
    """The outcome that an error's words tell of; ``infra_error`` where they do not."""
    words = error.lower()
    for signs, outcome in _OUTCOMES:
        if any(sign in words for sign in signs):
            return outcome
    return Outcome.INFRA_ERROR
