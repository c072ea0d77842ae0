"""Models behind an OpenAI-compatible server: OpenAI, DashScope, Ark, MiMo, a ``vllm serve``.

    [service]                        where it is and whose key it takes (infer/service.py)
    [settings]
    model = "gpt-4o-2024-11-20"      the service's model id
    video = "images"                 how media travel, with audio, frame_times … (infer/parts.py)
    stream = true                    for servers that only stream
    limit = "max_tokens"             name of the token limit, for servers that know the older one
    [settings.body]                  further members of the request's body
    [settings.parts.video_url]       further members of the parts of this type

The official client retries 429 (as Retry-After says), 5xx, time-outs and lost connections by
itself; what is left after that is an answer with its outcome.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from cache.record import Outcome, Response, Usage
from cache.request import Request
from infer.breaker import Breaker
from infer.card import ModelCard
from infer.chat import Chat, make_chat
from infer.engine import Answer
from infer.errors import CardError, DecodeError
from infer.fault import Fault, cleaned, of_status, of_transport, of_words
from infer.media.decode import Prepared
from infer.parts import Forms, make_messages

NEEDS = {"av": "infer", "PIL": "infer"}
_NO_KEY = "none"
#: Members of a request's body that rejudge itself writes.
_OURS = frozenset({"model", "messages", "n", "stream", "temperature", "top_p", "seed"}) | {
    "max_tokens",
    "max_completion_tokens",
}


class Settings(Forms, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a card may say under ``[settings]``."""

    model: str
    stream: bool = False
    limit: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    body: dict[str, Any] = msgspec.field(default_factory=dict)


class _Said(msgspec.Struct):
    """A message, or a piece of one."""

    content: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None


class _Choice(msgspec.Struct):
    message: _Said = msgspec.field(default_factory=_Said)
    delta: _Said = msgspec.field(default_factory=_Said)
    finish_reason: str | None = None


class _InputDetails(msgspec.Struct):
    cached_tokens: int | None = None


class _OutputDetails(msgspec.Struct):
    reasoning_tokens: int | None = None


class _Counted(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _InputDetails | None = None
    completion_tokens_details: _OutputDetails | None = None


class _Completion(msgspec.Struct):
    """What is read of a completion or a chunk; further members are the server's own business."""

    choices: list[_Choice] = []
    usage: _Counted | None = None
    model: str | None = None
    system_fingerprint: str | None = None


@dataclass(slots=True)
class _Reply:
    """What has arrived of an answer so far."""

    text: str = ""
    refusal: str = ""
    reasoning: str = ""
    finish_reason: str = ""
    choices: int = 0
    counted: _Counted = field(default_factory=_Counted)
    served: dict[str, Any] = field(default_factory=dict)

    def take(self, completion: _Completion, *, piece: bool) -> None:
        """Add a whole completion, or a piece of a streamed one."""
        for choice in completion.choices[:1]:
            said = choice.delta if piece else choice.message
            self.text += said.content or ""
            self.refusal += said.refusal or ""
            self.reasoning += said.reasoning_content or said.reasoning or ""
            self.finish_reason = choice.finish_reason or self.finish_reason
            self.choices = 1
        self.counted = completion.usage or self.counted
        served = {"model": completion.model, "fingerprint": completion.system_fingerprint}
        self.served |= {name: value for name, value in served.items() if value}


class OpenAIEngine:
    """Asks over the chat-completions protocol."""

    def __init__(self, card: ModelCard, settings: Settings, environ: Mapping[str, str]) -> None:
        import openai

        service = card.service
        address = service.address(environ)
        if not address:
            raise CardError(
                f"model card {card.name!r}: set service.base_url, or the environment variable that "
                "service.base_url_env names"
            )
        self._secret = service.secret(card.name, environ)
        self._settings = settings
        self._breaker = Breaker(
            f"the service of model {card.name!r} at {address}", card.resources.concurrency
        )
        self._deadline_s = service.deadline_s
        self._client = openai.AsyncOpenAI(
            api_key=self._secret or _NO_KEY,
            base_url=address,
            timeout=service.timeout_s,
            max_retries=service.max_retries,
        )

    async def answer(self, request: Request, prepared: Prepared) -> Answer:
        """Return what the server says, or why it does not.

        Raises:
            CardError: the card sends whole files, and a stretch of one is asked for.
            ServiceRefused: the server would turn down any other request too.
        """
        try:
            chat = make_chat(request, prepared)
            body = await asyncio.to_thread(self._body, request, chat)
        except DecodeError as error:
            return Answer(Outcome.DECODE_ERROR, Response(error=str(error)))
        reply = _Reply()
        async with self._breaker.turn():
            fault = await self._ask(body, reply)
            self._breaker.note(fault)
        return self._answer(reply, fault)

    def close(self) -> None:
        """Nothing outlives the process: the server sees the connections end."""

    async def _ask(self, body: dict[str, Any], reply: _Reply) -> Fault | None:
        import openai

        try:
            async with asyncio.timeout(self._deadline_s):
                if self._settings.stream:
                    await self._stream(body, reply)
                else:
                    create = self._client.chat.completions.with_raw_response.create
                    raw = await create(**body)
                    reply.take(msgspec.json.decode(raw.content, type=_Completion), piece=False)
            return _fault_of(reply)
        except openai.APIStatusError as error:
            text = cleaned(_words(error), self._secret)
            return of_status(error.status_code, f"{error.code} {error.type}", text)
        except openai.APITimeoutError as error:
            return Fault(Outcome.TIMEOUT, cleaned(error.message, self._secret))
        except openai.APIError as error:  # a lost connection, or an error amid a stream
            return of_words(str(error.code), cleaned(_words(error), self._secret))
        except TimeoutError:
            return Fault(Outcome.TIMEOUT, f"no whole answer within {self._deadline_s:g} s")
        except (msgspec.MsgspecError, ValueError) as error:
            text = cleaned(f"the server's answer is no chat completion: {error}", self._secret)
            return Fault(Outcome.INFRA_ERROR, text)
        except Exception as error:  # the HTTP library's own, while an answer is streamed
            fault = of_transport(error, self._secret)
            if fault is None:
                raise
            return fault

    async def _stream(self, body: dict[str, Any], reply: _Reply) -> None:
        options = {"include_usage": True}
        chunks: AsyncIterator[Any] = await self._client.chat.completions.create(
            **({"stream_options": options} | body), stream=True
        )
        async for chunk in chunks:
            piece = chunk.model_dump(mode="json", warnings=False)
            reply.take(msgspec.convert(piece, _Completion), piece=True)

    def _body(self, request: Request, chat: Chat) -> dict[str, Any]:
        """Return the arguments of the client's call; encoding media takes a while."""
        asked, settings = request.sampling, self._settings
        drawn = {
            "temperature": asked.temperature,
            "top_p": asked.top_p,
            settings.limit: asked.max_tokens,
            "seed": None if asked.seed is None else asked.seed + request.sample,
        }
        return {
            "model": settings.model,
            "messages": make_messages(chat, settings),
            **{name: value for name, value in drawn.items() if value is not None},
            "extra_body": settings.body,
        }

    def _answer(self, reply: _Reply, fault: Fault | None) -> Answer:
        counted = reply.counted
        read = counted.prompt_tokens_details or _InputDetails()
        written = counted.completion_tokens_details or _OutputDetails()
        return Answer(
            fault.outcome if fault else Outcome.OK,
            Response(
                text=reply.text,
                reasoning=reply.reasoning,
                finish_reason=reply.finish_reason,
                error=fault.error if fault else "",
            ),
            Usage(
                input_tokens=counted.prompt_tokens,
                output_tokens=counted.completion_tokens,
                cached_tokens=read.cached_tokens,
                reasoning_tokens=written.reasoning_tokens,
            ),
            {"sent": self._settings.as_sent()} | reply.served,
        )


def create(card: ModelCard) -> OpenAIEngine:
    """Return a client of the card's service.

    Raises:
        CardError: a setting does not hold, or there is no base URL.
        FeatureMissing: the variable of the API key is not set.
    """
    try:
        settings = msgspec.convert(card.settings, Settings)
    except msgspec.ValidationError as error:
        raise CardError(f"model card {card.name!r}: settings: {error}") from error
    if twice := sorted(_OURS & settings.body.keys()):
        raise CardError(
            f"model card {card.name!r}: settings.body.{twice[0]}: rejudge itself writes this "
            "member of a request; set it under [settings] or [sampling]"
        )
    return OpenAIEngine(card, settings, os.environ)


def _fault_of(reply: _Reply) -> Fault | None:
    """What is wrong with a reply that arrived; None when it is an answer."""
    if not reply.choices:
        return Fault(Outcome.INFRA_ERROR, "the server's answer has no choices")
    if reply.finish_reason == "content_filter":
        return Fault(Outcome.CONTENT_FILTER, "the server's content filter stopped the answer")
    if reply.refusal:
        return Fault(Outcome.REFUSED, f"the model refused: {reply.refusal}")
    if reply.finish_reason == "length":
        only = "" if reply.text else ", with only reasoning so far"
        return Fault(Outcome.TRUNCATED, f"the answer was cut at the token limit{only}")
    if not reply.finish_reason:
        return Fault(Outcome.INFRA_ERROR, "the answer ended before the server said that it did")
    return None


def _words(error: Any) -> str:
    """The server's own words where there are any, else the client's."""
    if isinstance(error.body, dict) and isinstance(error.body.get("message"), str):
        return str(error.body["message"])
    cause = f" ({error.__cause__})" if error.__cause__ is not None else ""
    return f"{error.message}{cause}"
