"""A request: everything that determines a model's output, and nothing else.

Its key is the sha256 of its canonical JSON. Members at their default are left out, so a later
version can add a member without moving the keys of today. Paths, times and tool versions never
enter a key: media are named by the sha256 of their bytes.

    Request
    ├── engine, model, revision, settings     who answers, and with what engine settings
    ├── messages: Message(role, parts: Text | Media)
    ├── preprocessing                         what was asked of the media, with the fallback ladder
    ├── sampling                              temperature, top_p, max_tokens, seed
    ├── sample                                0, 1, 2 … for several answers to one prompt
    └── transport                             base URL, timeouts …: never part of the key
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from cache.canonical import canonical_bytes, canonical_struct, sha256_hex
from cache.errors import CanonicalError

#: Members of a request that cannot change the answer. The only ones that are not in the key.
NOT_IN_KEY = frozenset({"transport"})

MediaKind = Literal["video", "audio", "image", "captions"]
Role = Literal["system", "user", "assistant"]


class _Part(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    def _as_floats(self, *names: str) -> None:
        # 3 and 3.0 are one number of seconds, but two different canonical forms.
        for name in names:
            value = getattr(self, name)
            if value is None or isinstance(value, bool) or (type(value) is float and value):
                continue
            if isinstance(value, int | float):
                # Adding 0.0 turns -0.0, which equals 0.0, into it.
                msgspec.structs.force_setattr(self, name, float(value) + 0.0)


class Text(_Part, frozen=True, kw_only=True, tag="text", tag_field="type"):
    """A stretch of text in a message."""

    text: str
    name: str = ""
    """What the text is (``question``, ``answer``), for readers that are no chat model."""


class Media(_Part, frozen=True, kw_only=True, tag="media", tag_field="type"):
    """A media file in a message, or a stretch of it."""

    kind: MediaKind
    sha256: str
    """Digest of the file's bytes."""
    start_s: float | None = None
    end_s: float | None = None

    def __post_init__(self) -> None:
        self._as_floats("start_s", "end_s")


class Message(_Part, frozen=True, kw_only=True):
    """One turn of a conversation, as it was really sent."""

    role: Role
    parts: tuple[Text | Media, ...]


class Rung(_Part, frozen=True, kw_only=True):
    """One step of the budget ladder."""

    frames: int
    audio_chunks: int | None = None
    """10-second chunks kept; None keeps the whole track."""


class Preprocessing(_Part, frozen=True, kw_only=True):
    """What was asked of the media before the model saw them."""

    modality: str = ""
    """``video+audio``, ``video``, ``audio``, ``video+captions``, ``captions``; empty: text only."""
    frames: int | None = None
    """At most so many frames, spread evenly over the segment."""
    fps: float | None = None
    """Frames a second; with ``frames``, the smaller count wins."""
    shorter_edge_px: int | None = None
    """Frames are scaled down to this shorter edge; None keeps the file's own size."""
    sample_rate_hz: int | None = None
    decoder: Literal["", "decord"] = ""
    """``decord``: as the reference suites decode, which is not exact. Empty: exact frames."""
    as_files: bool = False
    """Videos travel as the files they are; the service that answers samples them."""
    context_tokens: int | None = None
    """Of a dialogue: input tokens beyond which its oldest 10 seconds are dropped, and so on; None
    leaves the limit to the engine."""
    ladder: tuple[Rung, ...] = ()
    """Budgets tried in this order when the context overflows or memory runs out."""

    def __post_init__(self) -> None:
        self._as_floats("fps")
        msgspec.structs.force_setattr(self, "ladder", tuple(self.ladder))


class Sampling(_Part, frozen=True, kw_only=True):
    """How tokens are drawn. None leaves a setting to the server, which is itself a setting."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        self._as_floats("temperature", "top_p")


class Transport(_Part, frozen=True, kw_only=True):
    """How the request travels. It cannot change the answer and is not in the key."""

    base_url: str = ""
    timeout_s: float | None = None
    concurrency: int | None = None


class Request(_Part, frozen=True, kw_only=True, dict=True):
    """Everything that determines an answer. Its key is computed once and kept beside it."""

    engine: str
    model: str
    revision: str = ""
    messages: tuple[Message, ...]
    preprocessing: Preprocessing = Preprocessing()
    sampling: Sampling = Sampling()
    settings: dict[str, Any] = {}
    """Engine settings that can change the answer (dtype, response format, reasoning effort …)."""
    sample: int = 0
    transport: Transport = Transport()

    def __post_init__(self) -> None:
        # A member that equals its default is left out only if it *is* the default: equal requests
        # must have one form.
        for name, default in _DEFAULTS:
            if getattr(self, name) == default:
                msgspec.structs.force_setattr(self, name, default)
        if not isinstance(self.messages, tuple):
            msgspec.structs.force_setattr(self, "messages", tuple(self.messages))

    def canonical(self) -> bytes:
        """The bytes whose sha256 is the key.

        Raises:
            CanonicalError: ``settings`` or a text holds a value without canonical form.
        """
        return self._canonical(canonical_bytes(self.settings))

    def _canonical(self, settings: bytes) -> bytes:
        ready = msgspec.Raw(settings) if self.settings else {}
        quick = msgspec.structs.replace(self, **_LEFT_OUT, settings=ready)
        found = canonical_struct(quick, self._floats())
        if found is not None:
            return found
        members = msgspec.to_builtins(msgspec.structs.replace(self, **_LEFT_OUT, settings={}))
        if self.settings:
            members["settings"] = self.settings
        return canonical_bytes(members)

    def _floats(self) -> Iterator[float | None]:
        yield self.preprocessing.fps
        yield self.sampling.temperature
        yield self.sampling.top_p
        for message in self.messages:
            for part in message.parts:
                if isinstance(part, Media):
                    yield part.start_s
                    yield part.end_s

    def key(self) -> str:
        """The request's key: sha256 of :meth:`canonical`, 64 hexadecimal digits.

        Raises:
            CanonicalError: a member has no canonical form, or is not of its type. What has a key
                can be stored and read back.
        """
        return self._key(from_line=False)

    def _key(self, *, from_line: bool) -> str:
        if not isinstance(self.settings, dict):
            raise CanonicalError(f"settings are an object of names; found {self.settings!r}")
        # Settings are the one member that can be changed in place.
        settings = canonical_bytes(self.settings) if self.settings else b""
        known: tuple[bytes, str] | None = self.__dict__.get("key_of_settings")
        if known is not None and known[0] == settings:
            return known[1]
        canonical = self._canonical(settings)
        if not from_line:
            try:
                _decoder.decode(canonical)
            except msgspec.MsgspecError as error:
                raise CanonicalError(f"no key for this request: {error}") from error
        key = sha256_hex(canonical)
        self.__dict__["key_of_settings"] = settings, key
        return key


def key_of_decoded(request: Request) -> str:
    """The key of a request that was read from JSON, and so has members of the right types."""
    return request._key(from_line=True)


_decoder = msgspec.json.Decoder(Request)
_DEFAULTS: tuple[tuple[str, Any], ...] = tuple(
    (field.name, field.default)
    for field in msgspec.structs.fields(Request)
    if isinstance(field.default, msgspec.Struct)
)
_LEFT_OUT: dict[str, Any] = {
    field.name: field.default
    for field in msgspec.structs.fields(Request)
    if field.name in NOT_IN_KEY
}
