"""A request as messages of the chat-completions protocol, media in the forms that servers take.

The protocol itself knows pictures and sound; ``video_url`` and ``audio_url`` are additions that
vLLM, DashScope, Ark and MiMo understand. Which form a server takes is said by its model card.
"""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from infer.chat import Chat, Given
from infer.encode import data_url, jpeg, mime_type, mp4, open_as_sent, wav
from infer.errors import FileUncut
from infer.media.file import MediaFile
from infer.media.sound import Sound

Content = dict[str, Any]


class Forms(msgspec.Struct, frozen=True, kw_only=True):
    """The forms in which media travel."""

    video: Literal["images", "video_url"] = "images"
    """Decoded frames as pictures, or encoded as an MP4. Whole files are always a ``video_url``."""
    audio: Literal["input_audio", "input_audio_url", "audio_url", "in_video"] = "input_audio"
    """Bare base64, a data URL in its place, a URL part, or a sound track of the MP4."""
    frame_times: bool = False
    """Each picture follows a line of text with its time on the media's clock."""
    jpeg_quality: Annotated[int, msgspec.Meta(ge=1, le=100)] = 90
    parts: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)
    """Further members of a part, by its type: ``[settings.parts.video_url]``."""

    def as_sent(self) -> dict[str, Any]:
        """Return the forms for the record, defaults included."""
        names = ("video", "audio", "frame_times", "jpeg_quality")
        return {name: getattr(self, name) for name in names}


def make_messages(chat: Chat, forms: Forms) -> list[dict[str, Any]]:
    """Return the messages of a request's body.

    Raises:
        DecodeError: a file cannot be read.
        FileUncut: a stretch of a file is asked for, and the card sends whole files.
    """
    if forms.video == "images":
        chat = chat.with_pictures(timed=forms.frame_times)
    return [{"role": role, "content": _content(pieces, forms)} for role, pieces in chat.turns]


def _content(pieces: tuple[Given, ...], forms: Forms) -> str | list[Content]:
    if all(piece.kind == "text" for piece in pieces):
        return "".join(str(piece.content) for piece in pieces)
    return [_with_members(part, forms) for part in _parts(pieces, forms)]


def _parts(pieces: tuple[Given, ...], forms: Forms) -> Iterator[Content]:
    carried = False
    for number, piece in enumerate(pieces):
        content = piece.content
        if isinstance(content, str):
            yield {"type": "text", "text": content}
        elif isinstance(content, MediaFile):
            yield _url_part("video_url", mime_type(content.path), _file(content))
        elif isinstance(content, Sound):
            if not carried:
                yield _sound(content, forms)
            carried = False
        elif piece.kind == "image":
            data = jpeg(content.pixels[0], forms.jpeg_quality)
            yield _url_part("image_url", "image/jpeg", data)
        else:
            after = pieces[number + 1].content if number + 1 < len(pieces) else None
            track = after if isinstance(after, Sound) and forms.audio == "in_video" else None
            carried = track is not None
            yield _url_part("video_url", "video/mp4", mp4(content, track))


def _sound(sound: Sound, forms: Forms) -> Content:
    data = wav(sound)
    if forms.audio == "audio_url":
        return _url_part("audio_url", "audio/wav", data)
    plain = base64.b64encode(data).decode("ascii")
    text = plain if forms.audio == "input_audio" else f"data:audio/wav;base64,{plain}"
    return {"type": "input_audio", "input_audio": {"data": text, "format": "wav"}}


def _file(file: MediaFile) -> bytes:
    if file.start_s is not None or file.end_s is not None:
        raise FileUncut(
            f"{file.path}: this card sends whole files, and a stretch of one is asked for: "
            "set preprocessing.as_files to false, so that the stretch is encoded"
        )
    with open_as_sent(file, Path(tempfile.gettempdir())) as opened:
        return opened.read()


def _url_part(kind: str, media_type: str, data: bytes) -> Content:
    return {"type": kind, kind: {"url": data_url(media_type, data)}}


def _with_members(part: Content, forms: Forms) -> Content:
    merged = dict(part)
    for name, value in forms.parts.get(part["type"], {}).items():
        merged[name] = part[name] | value if isinstance(part.get(name), dict) else value
    return merged
