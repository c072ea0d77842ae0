"""Gemini through Google's own client: whole files with their sound, sampled by the service.

    [service]
    api_key_env = "GEMINI_API_KEY"   base_url may name another server (infer/service.py)
    [preprocessing]
    as_files = true                  videos are uploaded; a segment is named by its bounds
    fps = 1.0                        at this rate the service samples them
    [settings]
    model = "gemini-3-pro-preview"   the service's model id
    media_resolution = "low"         low, medium or high; the service's own by default
    safety = "BLOCK_NONE"            threshold of every category; the service's own by default
    [settings.thinking]              what ThinkingConfig takes (thinking_budget, thinking_level …)
    [settings.config]                further members of GenerateContentConfig

Without ``as_files``, frames travel as pictures. Sound that no video carries is uploaded as WAV.
The client retries 429, 5xx, time-outs and refused connections by itself.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import json
import os
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from cache.record import Outcome
from cache.request import Request
from infer.breaker import Breaker
from infer.card import ModelCard
from infer.chat import Chat, Given, make_chat
from infer.encode import jpeg, mime_type, open_as_sent, wav
from infer.engine import Answer
from infer.errors import CardError, DecodeError
from infer.fault import Fault, cleaned, of_status, of_transport
from infer.gemini_reply import Reply
from infer.media.decode import Prepared
from infer.media.file import MediaFile
from infer.media.frames import Frames
from infer.media.sound import Sound
from infer.uploads import Source, UploadFailed, Uploads

NEEDS = {"google.genai": "gemini", "av": "infer", "PIL": "infer"}
_RETRIED = [408, 429, 500, 502, 503, 504]
_CATEGORIES = ("HARASSMENT", "HATE_SPEECH", "SEXUALLY_EXPLICIT", "DANGEROUS_CONTENT")


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a card may say under ``[settings]``."""

    model: str
    media_resolution: Literal["", "low", "medium", "high"] = ""
    safety: str = ""
    thinking: dict[str, Any] = {}
    config: dict[str, Any] = {}
    frame_times: bool = False
    """Each picture follows a line of text with its time on the media's clock."""
    jpeg_quality: Annotated[int, msgspec.Meta(ge=1, le=100)] = 90


class GeminiEngine:
    """Asks with google-genai."""

    def __init__(self, card: ModelCard, settings: Settings, environ: Mapping[str, str]) -> None:
        from google import genai
        from google.genai import types

        service = card.service
        address = service.address(environ)
        self._secret = service.secret(card.name, environ)
        self._settings = settings
        self._deadline_s = service.deadline_s
        self._breaker = Breaker(
            f"the service of model {card.name!r}{f' at {address}' if address else ''}",
            card.resources.concurrency,
        )
        retries = types.HttpRetryOptions(
            attempts=service.max_retries + 1, http_status_codes=_RETRIED
        )
        self._client = genai.Client(
            api_key=self._secret,
            vertexai=False,
            http_options=types.HttpOptions(
                base_url=address or None,
                timeout=round(service.timeout_s * 1000),
                retry_options=retries,
            ),
        )
        self._uploads = Uploads(self._client, service.timeout_s)

    async def answer(self, request: Request, prepared: Prepared) -> Answer:
        """Return what the model says, or why it does not.

        Raises:
            ServiceRefused: the service would turn down any other request too.
        """
        chat = make_chat(request, prepared).with_pictures(timed=self._settings.frame_times)
        reply = Reply()
        async with self._breaker.turn():
            fault = await self._ask(request, chat, reply)
            if fault is None or fault.outcome is not Outcome.DECODE_ERROR:  # the file's own
                self._breaker.note(fault)
        return reply.answer(fault)

    def close(self) -> None:
        """Delete the files that were uploaded."""
        self._uploads.close()

    async def _ask(self, request: Request, chat: Chat, reply: Reply) -> Fault | None:
        from google.genai import errors

        try:
            async with asyncio.timeout(self._deadline_s), self._contents(request, chat) as contents:
                await self._generate(contents, self._config(request, chat), reply)
            return reply.fault
        except DecodeError as error:
            return Fault(Outcome.DECODE_ERROR, str(error))
        except UploadFailed as error:
            outcome = Outcome.TIMEOUT if error.timed_out else Outcome.INFRA_ERROR
            return Fault(outcome, cleaned(str(error), self._secret))
        except errors.APIError as error:
            text = cleaned(str(error.message or error), self._secret)
            return of_status(error.code or 0, f"{error.status} {error.details}", text)
        except TimeoutError:
            return Fault(Outcome.TIMEOUT, f"no answer within {self._deadline_s:g} s")
        except (ValueError, KeyError, TypeError, AttributeError) as error:  # of no known form
            text = cleaned(f"the service's answer is not of its protocol: {error}", self._secret)
            return Fault(Outcome.INFRA_ERROR, text)
        except Exception as error:  # the HTTP library's own
            fault = of_transport(error, self._secret)
            if fault is None:
                raise
            return fault

    async def _generate(self, contents: list[Any], config: Any, reply: Reply) -> None:
        """Generate until the service says that it is done."""
        while True:
            generated = await self._client.aio.models.generate_content(
                model=self._settings.model, contents=contents, config=config
            )
            # The client gives the answer's bytes as text.
            reply.take(json.loads(generated.sdk_http_response.body or "{}"))
            if not reply.continuation:
                return
            token = base64.b64decode(reply.continuation)
            config = config.model_copy(update={"continuation_token": token})

    @asynccontextmanager
    async def _contents(self, request: Request, chat: Chat) -> AsyncIterator[list[Any]]:
        """Give the turns of a conversation; the files they name stay at the service meanwhile."""
        from google.genai import types

        async with AsyncExitStack() as held:
            contents = []
            for role, pieces in chat.turns:
                if role != "system":
                    fps = request.preprocessing.fps
                    parts = [await self._part(piece, fps, held) for piece in pieces]
                    name = "model" if role == "assistant" else "user"
                    contents.append(types.Content(role=name, parts=parts))
            yield contents

    async def _part(self, piece: Given, fps: float | None, held: AsyncExitStack) -> Any:
        from google.genai import types

        content = piece.content
        if isinstance(content, str):
            return types.Part(text=content)
        if isinstance(content, Frames):
            picture = await asyncio.to_thread(jpeg, content.pixels[0], self._settings.jpeg_quality)
            return types.Part.from_bytes(data=picture, mime_type="image/jpeg")
        file = await held.enter_async_context(self._uploads.hold(await _source(content)))
        data = types.FileData(file_uri=file.uri, mime_type=file.mime_type)
        metadata = _metadata(content, fps) if isinstance(content, MediaFile) else None
        return types.Part(file_data=data, video_metadata=metadata)

    def _config(self, request: Request, chat: Chat) -> Any:
        from google.genai import types

        asked = request.sampling
        system = [piece.content for role, some in chat.turns if role == "system" for piece in some]
        drawn = {
            "temperature": asked.temperature,
            "top_p": asked.top_p,
            "max_output_tokens": asked.max_tokens,
            "seed": None if asked.seed is None else asked.seed + request.sample,
            "system_instruction": "".join(map(str, system)) or None,
            "should_return_http_response": True,
        }
        return types.GenerateContentConfig(**(drawn | _members(self._settings)))


def create(card: ModelCard) -> GeminiEngine:
    """Return a client of the card's service.

    Raises:
        CardError: a setting does not hold.
        FeatureMissing: the variable of the API key is not set.
    """
    from google.genai import types

    try:
        settings = msgspec.convert(card.settings, Settings)
        types.GenerateContentConfig(**_members(settings))
    except ValueError as error:  # msgspec's and pydantic's errors both are
        raise CardError(f"model card {card.name!r}: settings: {error}") from error
    return GeminiEngine(card, settings, os.environ)


def _members(settings: Settings) -> dict[str, Any]:
    """Members of the configuration that the card sets."""
    members: dict[str, Any] = dict(settings.config)
    if settings.media_resolution:
        members["media_resolution"] = f"MEDIA_RESOLUTION_{settings.media_resolution.upper()}"
    if settings.thinking:
        members["thinking_config"] = settings.thinking
    if settings.safety:
        members["safety_settings"] = [
            {"category": f"HARM_CATEGORY_{name}", "threshold": settings.safety}
            for name in _CATEGORIES
        ]
    return members


async def _source(content: MediaFile | Sound) -> Source:
    if isinstance(content, Sound):
        data = await asyncio.to_thread(wav, content)
        digest = hashlib.sha256(data).hexdigest()
        return Source(digest, "audio/wav", len(data), lambda: io.BytesIO(data))
    return Source(
        key=f"{content.sha256} without sound" if content.silence else content.sha256,
        mime_type=mime_type(content.path),
        size=Path(content.path).stat().st_size,
        open=lambda: open_as_sent(content, Path(tempfile.gettempdir())),
    )


def _metadata(file: MediaFile, fps: float | None) -> Any:
    from google.genai import types

    bounds = {"start_offset": file.start_s, "end_offset": file.end_s}
    offsets = {name: f"{at_s:.3f}s" for name, at_s in bounds.items() if at_s is not None}
    return types.VideoMetadata(fps=fps, **offsets) if offsets or fps is not None else None
