"""OpenAI's responses API."""

from __future__ import annotations

from typing import Any

import msgspec

from cache.record import Outcome, Usage
from cache.request import Request
from score.judge.fault import Fault, fault_of
from score.judge.said import Said, message_texts, named


class _Piece(msgspec.Struct):
    """Text of the reply, a refusal, or a summary of the reasoning."""

    type: str = ""
    text: str = ""
    refusal: str = ""


class _Item(msgspec.Struct):
    type: str
    content: list[_Piece] | None = None
    summary: list[_Piece] | None = None


class _InputDetails(msgspec.Struct):
    cached_tokens: int | None = None


class _OutputDetails(msgspec.Struct):
    reasoning_tokens: int | None = None


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: _InputDetails | None = None
    output_tokens_details: _OutputDetails | None = None


class _Incomplete(msgspec.Struct):
    reason: str | None = None


class _Failed(msgspec.Struct):
    code: str | None = None
    message: str | None = None


class _Response(msgspec.Struct):
    """What is read of a response; further members are the server's own business."""

    status: str
    output: list[_Item]
    usage: _Usage | None = None
    model: str | None = None
    incomplete_details: _Incomplete | None = None
    error: _Failed | None = None


_decoder = msgspec.json.Decoder(_Response)


class Responses:
    """Responses."""

    path = "/responses"

    def body(self, request: Request) -> dict[str, Any]:
        """The HTTP request's body. Nothing is kept at the service: the store is the memory."""
        sampling, settings = request.sampling, request.settings
        asked: dict[str, Any] = {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "max_output_tokens": sampling.max_tokens,
        }
        if effort := settings.get("reasoning_effort"):
            asked["reasoning"] = {"effort": effort}
        if schema := settings.get("response_format"):
            asked["text"] = {"format": {"type": schema["type"], **schema["json_schema"]}}
        return {
            "model": request.model,
            "input": message_texts(request),
            "store": False,
            **{name: value for name, value in asked.items() if value is not None},
            **settings.get("extra_body", {}),
        }

    def read(self, answer: bytes) -> Said:
        """What a response says."""
        response = _decoder.decode(answer)
        said = [piece for item in response.output for piece in item.content or ()]
        thought = [piece for item in response.output for piece in item.summary or ()]
        text = "".join(piece.text for piece in said if piece.type == "output_text")
        return Said(
            text=text,
            reasoning="\n".join(piece.text for piece in thought),
            finish_reason=_finish_reason(response),
            usage=_counted(response.usage or _Usage()),
            effective=named(response.model),
            fault=_fault(response, "".join(piece.refusal for piece in said), text),
        )


def _counted(usage: _Usage) -> Usage:
    return Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=(usage.input_tokens_details or _InputDetails()).cached_tokens,
        reasoning_tokens=(usage.output_tokens_details or _OutputDetails()).reasoning_tokens,
    )


def _finish_reason(response: _Response) -> str:
    incomplete = response.incomplete_details
    return (incomplete.reason if incomplete else None) or response.status


def _fault(response: _Response, refusal: str, text: str) -> Fault | None:
    """What is wrong with a response that arrived; None when it is an answer."""
    if response.error is not None:
        return fault_of(0, response.error.code or "", response.error.message or "no reason given")
    reason = _finish_reason(response)
    if reason == "content_filter":
        return Fault(Outcome.CONTENT_FILTER, "the server's content filter stopped the reply")
    if refusal:
        return Fault(Outcome.REFUSED, f"the judge refused: {refusal}")
    if reason == "max_output_tokens":
        only = "" if text else ", with only reasoning so far"
        return Fault(Outcome.TRUNCATED, f"the reply was cut at the token limit{only}")
    if response.status != "completed":
        return Fault(Outcome.INFRA_ERROR, f"the response ended as {reason!r}")
    return None
