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

from typing import Any, Literal

import msgspec

from cache.canonical import canonical_bytes, sha256_hex

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
            if isinstance(value, int) and not isinstance(value, bool):
                msgspec.structs.force_setattr(self, name, float(value))


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
    ladder: tuple[Rung, ...] = ()
    """Budgets tried in this order when the context overflows or memory runs out."""

    def __post_init__(self) -> None:
        self._as_floats("fps")


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


class Request(_Part, frozen=True, kw_only=True):
    """Everything that determines an answer."""

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

    def canonical(self) -> bytes:
        """The bytes whose sha256 is the key.

        Raises:
            CanonicalError: ``settings`` or a text holds a value without canonical form.
        """
        members = msgspec.to_builtins(self)
        for name in NOT_IN_KEY:
            members.pop(name, None)
        return canonical_bytes(members)

    def key(self) -> str:
        """The request's key: sha256 of :meth:`canonical`, 64 hexadecimal digits."""
        return sha256_hex(self.canonical())
