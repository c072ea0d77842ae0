"""A request and its media as the chat models' libraries take them: a prompt text, and arrays.

The processor's own chat template renders the messages. Where a model's template does not know the
content lists (or is used without media), the card gives the placeholders that stand for media; the
tokenizer's template renders them as text. ``{n}`` is the number of the piece among its kind:

    [settings.placeholders]
    video = "<|vision_bos|><|VIDEO|><|vision_eos|>"
    image = "<|image_{n}|>"
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from cache.request import Media, Message, Request
from infer.errors import CardError
from infer.media.captions import Cue
from infer.media.decode import Decoded, Prepared
from infer.media.file import MediaFile
from infer.media.frames import Frames
from infer.media.sound import Sound


@dataclass(frozen=True, slots=True)
class Given:
    """One piece of a message: text, or media that were decoded."""

    kind: Literal["text", "video", "image", "audio"]
    content: str | Frames | Sound | MediaFile


@dataclass(frozen=True, slots=True)
class Chat:
    """A request with its media in place."""

    turns: tuple[tuple[str, tuple[Given, ...]], ...]
    """(role, pieces) of each message."""

    def of(self, kind: str) -> list[Any]:
        """Return the media of a kind, in the order in which the messages name them."""
        return [piece.content for _, pieces in self.turns for piece in pieces if piece.kind == kind]

    def messages(self, placeholders: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return what a chat template takes: content lists, or plain texts with placeholders."""
        seen: Counter[str] = Counter()
        return [
            {"role": role, "content": _content(pieces, placeholders, seen)}
            for role, pieces in self.turns
        ]

    def with_pictures(self, *, timed: bool) -> Chat:
        """Return the chat with every video as one picture a frame.

        Args:
            timed: Each picture follows a line of text with its time on the media's clock.
        """
        return Chat(
            tuple(
                (role, tuple(piece for whole in pieces for piece in _pictures(whole, timed)))
                for role, pieces in self.turns
            )
        )


def make_chat(request: Request, prepared: Prepared) -> Chat:
    """Put decoded media in the place of a request's media parts.

    Sound that a file does not have leaves no piece; captions become text with their times.
    """
    decoded = iter(prepared.media)
    return Chat(
        tuple((message.role, tuple(_pieces(message, decoded))) for message in request.messages)
    )


def frame_rate(frames: Frames) -> float:
    """Return how many frames a second the frames are apart; 1 for a single one."""
    length_s = float(frames.times_s[-1] - frames.times_s[0])
    return (len(frames.times_s) - 1) / length_s if length_s else 1.0


def captions_text(cues: Iterable[Cue]) -> str:
    """Render captions as lines of text with their times in seconds."""
    lines = [f"[{cue.start_s:.2f}-{cue.end_s:.2f}] {cue.text}" for cue in cues]
    return "\n".join(["Captions, with times in seconds:", *(lines or ["(none)"])]) + "\n"


def _pieces(message: Message, decoded: Iterator[Decoded]) -> Iterator[Given]:
    for part in message.parts:
        if not isinstance(part, Media):
            yield Given("text", part.text)
            continue
        content = next(decoded)
        if isinstance(content, Frames):
            yield Given("image" if part.kind == "image" else "video", content)
        elif isinstance(content, MediaFile):
            yield Given("video", content)
        elif isinstance(content, Sound):
            yield Given("audio", content)
        elif content is not None:
            yield Given("text", captions_text(content))


def _content(pieces: Iterable[Given], placeholders: Mapping[str, str], seen: Counter[str]) -> Any:
    if placeholders:
        return "".join(_written(piece, placeholders, seen) for piece in pieces)
    return [
        {"type": "text", "text": piece.content} if piece.kind == "text" else {"type": piece.kind}
        for piece in pieces
    ]


def _written(piece: Given, placeholders: Mapping[str, str], seen: Counter[str]) -> str:
    if piece.kind == "text":
        return str(piece.content)
    if piece.kind not in placeholders:
        raise CardError(f"settings.placeholders of the model card lack {piece.kind!r}")
    seen[piece.kind] += 1
    return placeholders[piece.kind].replace("{n}", str(seen[piece.kind]))


def _pictures(piece: Given, timed: bool) -> Iterator[Given]:
    if piece.kind != "video" or not isinstance(piece.content, Frames):
        yield piece
        return
    frames = piece.content
    for number, at_s in enumerate(frames.times_s):
        if timed:
            yield Given("text", f"Frame at {at_s:.2f} s:")
        at = slice(number, number + 1)
        yield Given("image", Frames(frames.pixels[at], frames.times_s[at]))
