"""What a service said to one request, whichever API carried it, and the record of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from cache.record import Outcome, Record, Response, Times, Usage
from cache.request import Request
from score.judge.engine import now, producer
from score.judge.fault import Fault

_UNKNOWN = Usage()


@dataclass(frozen=True, slots=True)
class Said:
    """An answer, or what went wrong instead."""

    text: str = ""
    reasoning: str = ""
    finish_reason: str = ""
    usage: Usage = _UNKNOWN
    effective: dict[str, Any] = field(default_factory=dict)
    """The model and its fingerprint, as far as the server names them."""
    fault: Fault | None = None

    def record(self, request: Request, seconds: float | None = None) -> Record:
        """The record of the request that was answered so, after ``seconds`` of waiting."""
        fault = self.fault
        return Record(
            key=request.key(),
            request=request,
            outcome=fault.outcome if fault else Outcome.OK,
            response=Response(
                text=self.text,
                reasoning=self.reasoning,
                finish_reason=self.finish_reason,
                error=fault.error if fault else "",
            ),
            effective=self.effective,
            usage=self.usage,
            times=Times() if seconds is None else Times(answer_s=round(seconds, 3)),
            producer=producer("openai"),
            created=now(),
        )


class Api(Protocol):
    """How a request is put to a service, and how its answer reads."""

    path: str
    """After the base URL: ``/chat/completions``."""

    def body(self, request: Request) -> dict[str, Any]:
        """The HTTP request's body."""
        ...

    def read(self, answer: bytes) -> Said:
        """What an answer with status 200 says.

        Raises:
            msgspec.MsgspecError, UnicodeDecodeError: it is no answer of this API.
        """
        ...


def api_of(request: Request) -> Api:
    """The API that a judge's request asks for."""
    if request.settings.get("api") == "responses":
        from score.judge.responses import Responses

        return Responses()
    from score.judge.chat import Chat

    return Chat()


def message_texts(request: Request) -> list[dict[str, str]]:
    """The request's messages as both APIs take them."""
    return [
        {
            "role": message.role,
            "content": "".join(getattr(part, "text", "") for part in message.parts),
        }
        for message in request.messages
    ]


def named(model: str | None, fingerprint: str | None = None) -> dict[str, Any]:
    """What the server says of who answered."""
    served = {"model": model, "fingerprint": fingerprint}
    return {name: value for name, value in served.items() if value}
