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
from typing import Any, Literal

import msgspec

from cache.record import Outcome, Response
from cache.request import Request
from infer.breaker import Breaker
from infer.card import ModelCard
from infer.chat import Chat, make_chat
from infer.chat_reply import Reply, read_json
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
            FileUncut: the card sends whole files, and a stretch of one is asked for.
            ServiceRefused: the server would turn down any other request too.
        """
        try:
            chat = make_chat(request, prepared)
            body = await asyncio.to_thread(self._body, request, chat)
        except DecodeError as error:
            return Answer(Outcome.DECODE_ERROR, Response(error=str(error)))
        reply = Reply()
        async with self._breaker.turn():
            fault = await self._ask(body, reply)
            self._breaker.note(fault)
        return self._answer(reply, fault)

    def close(self) -> None:
        """Nothing outlives the process: the server sees the connections end."""

    async def _ask(self, body: dict[str, Any], reply: Reply) -> Fault | None:
        import openai

        try:
            async with asyncio.timeout(self._deadline_s):
                if self._settings.stream:
                    await self._stream(body, reply)
                else:
                    create = self._client.chat.completions.with_raw_response.create
                    raw = await create(**body)
                    reply.take(read_json(raw.content), piece=False)
            return reply.fault
        except openai.APIStatusError as error:
            text = cleaned(_words(error), self._secret)
            return of_status(error.status_code, f"{error.code} {error.type}", text)
        except openai.APITimeoutError as error:
            return Fault(Outcome.TIMEOUT, cleaned(error.message, self._secret))
        except openai.APIError as error:  # a lost connection, or an error amid a stream
            return of_words(str(error.code), cleaned(_words(error), self._secret))
        except TimeoutError:
            return Fault(Outcome.TIMEOUT, f"no whole answer within {self._deadline_s:g} s")
        except ValueError as error:
            text = cleaned(f"the server's answer is no chat completion: {error}", self._secret)
            return Fault(Outcome.INFRA_ERROR, text)
        except Exception as error:  # the HTTP library's own, while an answer is streamed
            fault = of_transport(error, self._secret)
            if fault is None:
                raise
            return fault

    async def _stream(self, body: dict[str, Any], reply: Reply) -> None:
        from openai import BaseModel

        options = {"include_usage": True}
        chunks: AsyncIterator[Any] = await self._client.chat.completions.create(
            **({"stream_options": options} | body), stream=True
        )
        async for chunk in chunks:
            # What is no object is handed on by the client as it came.
            reply.take(
                chunk.to_dict(warnings=False) if isinstance(chunk, BaseModel) else chunk, piece=True
            )

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

    def _answer(self, reply: Reply, fault: Fault | None) -> Answer:
        return Answer(
            fault.outcome if fault else Outcome.OK,
            Response(
                text=reply.text or reply.refusal,  # a refusal in words is what was said
                reasoning=reply.reasoning,
                finish_reason=reply.finish_reason,
                error=fault.error if fault else "",
            ),
            reply.usage,
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


def _words(error: Any) -> str:
    """The server's own words where there are any, else the client's."""
    if isinstance(error.body, dict) and isinstance(error.body.get("message"), str):
        return str(error.body["message"])
    cause = f" ({error.__cause__})" if error.__cause__ is not None else ""
    return f"{error.message}{cause}"
