"""A judge behind an OpenAI-compatible server, through the official client.

The client retries 429, 5xx, timeouts and lost connections itself and honours Retry-After; what is
left after that becomes a record with a typed outcome. At most ``spec.concurrency`` calls are in
flight. The key comes from the environment, goes to the client and nowhere else.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from cache.record import Outcome, Record, Response, Times, Usage
from cache.request import Message, Request
from score.errors import JudgeUnavailable
from score.judge.breaker import Breaker
from score.judge.engine import now, producer
from score.judge.fault import Fault, classify, cleaned
from score.judge.spec import JudgeSpec


class _Said(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None


class _Choice(msgspec.Struct):
    message: _Said
    finish_reason: str | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Completion(msgspec.Struct):
    """What is read of a chat completion; further members are the server's own business."""

    choices: list[_Choice]
    usage: _Usage | None = None
    model: str | None = None
    system_fingerprint: str | None = None


@dataclass(frozen=True, slots=True)
class _Answer:
    record: Record
    refusal: bool


class ChatEngine:
    """Answers requests over the chat-completions protocol."""

    def __init__(self, spec: JudgeSpec, environ: Mapping[str, str]) -> None:
        import openai

        self._secret = environ.get(spec.api_key_env, "") if spec.api_key_env else ""
        if spec.api_key_env and not self._secret:
            raise JudgeUnavailable(
                f"judge {spec.name!r} needs an API key: set the environment variable "
                f"{spec.api_key_env}"
            )
        self._spec = spec
        self._client = openai.AsyncOpenAI(
            api_key=self._secret or "none",
            base_url=spec.base_url,
            timeout=spec.timeout_s,
            max_retries=spec.max_retries,
        )

    async def answers(self, requests: Iterable[Request]) -> AsyncIterator[Record]:
        """Yield a record for each request as it is answered; see :class:`JudgeEngine`."""
        breaker = Breaker(self._spec.concurrency)
        waiting = iter(requests)
        calls: set[asyncio.Task[_Answer]] = set()
        try:
            while True:
                self._fill(calls, waiting, breaker)
                if not calls:
                    break
                done, calls = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
                for call in done:
                    answer = call.result()
                    _note(breaker, answer)
                    yield answer.record
        finally:
            for call in calls:
                call.cancel()
        if breaker.final:
            raise JudgeUnavailable(
                f"the service of judge {self._spec.name!r} at {self._spec.base_url} {breaker.final}"
            )

    def _fill(
        self, calls: set[asyncio.Task[_Answer]], waiting: Iterator[Request], breaker: Breaker
    ) -> None:
        width = 1 if breaker.cautious else self._spec.concurrency
        while len(calls) < width and not breaker.stop:
            request = next(waiting, None)
            if request is None:
                return
            calls.add(asyncio.create_task(self._call(request)))

    async def close(self) -> None:
        """Close the client's connections."""
        await self._client.close()

    async def _call(self, request: Request) -> _Answer:
        import openai

        start = time.monotonic()
        completion: _Completion | None = None
        try:
            raw = await self._client.chat.completions.with_raw_response.create(**_body(request))
            completion = msgspec.json.decode(raw.content, type=_Completion)
            fault = _fault_of(completion)
        except openai.APIError as error:
            fault = classify(error, self._secret)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            text = cleaned(f"the server's answer is no chat completion: {error}", self._secret)
            fault = Fault(Outcome.INFRA_ERROR, text)
        record = self._record(request, completion, fault, time.monotonic() - start)
        return _Answer(record, fault is not None and fault.refusal)

    def _record(
        self, request: Request, completion: _Completion | None, fault: Fault | None, seconds: float
    ) -> Record:
        said = _Said()
        usage = Usage()
        effective: dict[str, Any] = {}
        finish_reason = ""
        if completion is not None:
            counted = completion.usage or _Usage()
            usage = Usage(
                input_tokens=counted.prompt_tokens, output_tokens=counted.completion_tokens
            )
            served = {"model": completion.model, "fingerprint": completion.system_fingerprint}
            effective = {name: value for name, value in served.items() if value}
            if completion.choices:
                said = completion.choices[0].message
                finish_reason = completion.choices[0].finish_reason or ""
        return Record(
            key=request.key(),
            request=request,
            outcome=fault.outcome if fault else Outcome.OK,
            response=Response(
                text=said.content or "",
                reasoning=said.reasoning_content or said.reasoning or "",
                finish_reason=finish_reason,
                error=fault.error if fault else "",
            ),
            effective=effective,
            usage=usage,
            times=Times(answer_s=round(seconds, 3)),
            producer=producer("openai"),
            created=now(),
        )


def _note(breaker: Breaker, answer: _Answer) -> None:
    if answer.refusal:
        breaker.refused(answer.record.response.error)
    elif answer.record.outcome.is_hit:
        breaker.answered()
    else:
        breaker.failed(answer.record.response.error)


def _fault_of(completion: _Completion) -> Fault | None:
    """What is wrong with a completion that arrived; None when it is an answer."""
    if not completion.choices:
        return Fault(Outcome.INFRA_ERROR, "the server's answer has no choices")
    choice = completion.choices[0]
    if choice.finish_reason == "content_filter":
        return Fault(Outcome.CONTENT_FILTER, "the server's content filter stopped the reply")
    if choice.message.refusal:
        return Fault(Outcome.REFUSED, f"the judge refused: {choice.message.refusal}")
    if choice.finish_reason == "length":
        only = "" if choice.message.content else ", with only reasoning so far"
        return Fault(Outcome.TRUNCATED, f"the reply was cut at the token limit{only}")
    return None


def _body(request: Request) -> dict[str, Any]:
    """The members of the HTTP request's body."""
    sampling = request.sampling
    drawn = {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        # max_tokens is the older name of the same limit; reasoning models refuse it.
        "max_completion_tokens": sampling.max_tokens,
        "seed": sampling.seed,
    }
    asked = {name: value for name, value in drawn.items() if value is not None}
    messages = [_message(message) for message in request.messages]
    return {"model": request.model, "messages": messages, **asked, **request.settings}


def _message(message: Message) -> dict[str, str]:
    text = "".join(getattr(part, "text", "") for part in message.parts)
    return {"role": message.role, "content": text}
