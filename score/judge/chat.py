"""The chat-completions API, which most servers speak."""

from __future__ import annotations

from typing import Any

import msgspec

from cache.record import Outcome, Usage
from cache.request import Request
from score.judge.fault import Fault
from score.judge.said import Said, message_texts, named


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _InputDetails(msgspec.Struct):
    cached_tokens: int | None = None


class _OutputDetails(msgspec.Struct):
    reasoning_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _InputDetails | None = None
    completion_tokens_details: _OutputDetails | None = None


class _Completion(msgspec.Struct):
    """What is read of a chat completion; further members are the server's own business."""

    choices: list[_Choice]
    usage: _Usage | None = None
    model: str | None = None
    system_fingerprint: str | None = None


_decoder = msgspec.json.Decoder(_Completion)


class Chat:
    """Chat completions."""

    path = "/chat/completions"

    def body(self, request: Request) -> dict[str, Any]:
        """The HTTP request's body."""
        sampling = request.sampling
        drawn = {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            # max_tokens is the older name of the same limit; reasoning models refuse it.
            "max_completion_tokens": sampling.max_tokens,
            "seed": sampling.seed,
        }
        asked = {name: value for name, value in drawn.items() if value is not None}
        settings = dict(request.settings)
        more = settings.pop("extra_body", {})
        messages = message_texts(request)
        return {"model": request.model, "messages": messages, **asked, **settings, **more}

    def read(self, answer: bytes) -> Said:
        """What a completion says."""
        completion = _decoder.decode(answer)
        effective = named(completion.model, completion.system_fingerprint)
        usage = _counted(completion.usage or _Usage())
        if not completion.choices:
            fault = Fault(Outcome.INFRA_ERROR, "the server's answer has no choices")
            return Said(usage=usage, effective=effective, fault=fault)
        choice = completion.choices[0]
        message = choice.message
        return Said(
            text=message.content or "",
            reasoning=message.reasoning_content or message.reasoning or "",
            finish_reason=choice.finish_reason or "",
            usage=usage,
            effective=effective,
            fault=_fault(choice),
        )


def _counted(usage: _Usage) -> Usage:
    return Usage(
        input_tokens=usage.prompt_tokens,
        output_tokens=usage.completion_tokens,
        cached_tokens=(usage.prompt_tokens_details or _InputDetails()).cached_tokens,
        reasoning_tokens=(usage.completion_tokens_details or _OutputDetails()).reasoning_tokens,
    )


def _fault(choice: _Choice) -> Fault | None:
    """What is wrong with a completion that arrived; None when it is an answer."""
    if choice.finish_reason == "content_filter":
        return Fault(Outcome.CONTENT_FILTER, "the server's content filter stopped the reply")
    if choice.message.refusal:
        return Fault(Outcome.REFUSED, f"the judge refused: {choice.message.refusal}")
    if choice.finish_reason == "length":
        only = "" if choice.message.content else ", with only reasoning so far"
        return Fault(Outcome.TRUNCATED, f"the reply was cut at the token limit{only}")
    return None
