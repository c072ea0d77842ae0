"""What a request asks, read back from the names of its text parts.

For the engines that are no chat models. Chat models see the same parts as plain text.
"""

from __future__ import annotations

from dataclasses import dataclass

from bench.item import Segment
from cache.request import Media, Request, Text


@dataclass(frozen=True, slots=True)
class Asked:
    """A request's questions."""

    questions: dict[str, str]
    """Temporal questions by their id; empty for other kinds."""
    question: str
    options: dict[str, str]
    """Option texts by letter; empty where there is nothing to choose."""
    instruction: str
    segment: Segment | None


def read_asked(request: Request) -> Asked:
    """Collect the named parts of a request's messages."""
    parts = [part for message in request.messages for part in message.parts]
    texts = [part for part in parts if isinstance(part, Text)]
    named = {part.name: part.text for part in texts if part.name}
    media = next((part for part in parts if isinstance(part, Media)), None)
    segment = None
    if media is not None and media.start_s is not None and media.end_s is not None:
        segment = Segment(media.start_s, media.end_s)
    return Asked(
        questions=_with_prefix(named, "question:"),
        question=named.get("question", ""),
        options=_with_prefix(named, "option:"),
        instruction=named.get("instruction", ""),
        segment=segment,
    )


def _with_prefix(named: dict[str, str], prefix: str) -> dict[str, str]:
    return {
        name.removeprefix(prefix): text for name, text in named.items() if name.startswith(prefix)
    }
