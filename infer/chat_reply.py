"""Reading a chat completion: whole, or the pieces of a streamed one.

Servers differ in what they add and leave out. The text is what was paid for, so it is all that has
to be as the protocol says: of the rest, what cannot be read is taken to be absent.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from cache.record import Outcome, Usage
from infer.fault import Fault


@dataclass(slots=True)
class Reply:
    """What has arrived of an answer so far."""

    text: str = ""
    refusal: str = ""
    reasoning: str = ""
    finish_reason: str = ""
    choices: int = 0
    counted: dict[str, Any] = field(default_factory=dict)
    """The server's ``usage``, as it came."""
    served: dict[str, Any] = field(default_factory=dict)
    """Model and fingerprint, as the server names them."""

    def take(self, completion: Any, *, piece: bool) -> None:
        """Add a whole completion, or a piece of a streamed one.

        Raises:
            ValueError: it is no completion, or its text is none.
        """
        found = _object(completion, "it")
        choices = found.get("choices") or []
        if not isinstance(choices, list):
            raise ValueError(f"choices is {choices!r:.100}")
        for choice in choices[:1]:
            self._take_choice(_object(choice, "choices[0]"), "delta" if piece else "message")
        self.counted = _members(found.get("usage")) or self.counted
        served = {"model": found.get("model"), "fingerprint": found.get("system_fingerprint")}
        self.served |= {
            name: value for name, value in served.items() if value and isinstance(value, str)
        }

    @property
    def usage(self) -> Usage:
        """The tokens that the server counted, as it wrote them."""
        read = _members(self.counted.get("prompt_tokens_details"))
        written = _members(self.counted.get("completion_tokens_details"))
        return Usage(
            input_tokens=self.counted.get("prompt_tokens"),
            output_tokens=self.counted.get("completion_tokens"),
            cached_tokens=read.get("cached_tokens"),
            reasoning_tokens=written.get("reasoning_tokens"),
        )

    @property
    def fault(self) -> Fault | None:
        """What is wrong with a reply that has arrived; None when it is an answer."""
        if not self.choices:
            return Fault(Outcome.INFRA_ERROR, "the server's answer has no choices")
        if self.finish_reason == "content_filter":
            return Fault(Outcome.CONTENT_FILTER, "the server's content filter stopped the answer")
        if self.refusal:
            return Fault(Outcome.REFUSED, f"the model refused: {self.refusal}")
        if self.finish_reason == "length":
            only = "" if self.text else ", with only reasoning so far"
            return Fault(Outcome.TRUNCATED, f"the answer was cut at the token limit{only}")
        if not self.finish_reason:
            return Fault(Outcome.INFRA_ERROR, "the answer ended before the server said that it did")
        if self.finish_reason in ("tool_calls", "function_call") and not self.text:
            return Fault(Outcome.INFRA_ERROR, "the model called a tool instead of answering")
        return None

    def _take_choice(self, choice: dict[str, Any], name: str) -> None:
        said = _object(choice.get(name) or {}, name)
        content = said.get("content")
        text = _text(content)
        if text is None:
            raise ValueError(f"{name}.content is {content!r:.100}")
        self.text += text
        self.refusal += _text(said.get("refusal")) or ""
        self.reasoning += _text(said.get("reasoning_content")) or _text(said.get("reasoning")) or ""
        finish_reason = choice.get("finish_reason")
        if isinstance(finish_reason, str):
            self.finish_reason = finish_reason or self.finish_reason
        self.choices = 1


def read_json(body: bytes) -> Any:
    """Decode a body; Python's own reader lets half a pair of surrogates pass.

    Raises:
        ValueError: it is no JSON.
    """
    return json.loads(body.decode("utf-8", "replace"))


def _object(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{name} is {value!r:.100}, not an object")
    return value


def _members(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(content: Any) -> str | None:
    """The text of a member that is one, a list of parts, or absent; else None."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        return None
    parts = [part.get("text") if isinstance(part, dict) else part for part in content]
    return "".join(part for part in parts if isinstance(part, str))
