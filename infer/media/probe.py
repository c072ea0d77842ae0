"""What a media file holds, read from its container without decoding."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infer.errors import DecodeError


@dataclass(frozen=True, slots=True)
class Probe:
    """A file's streams, times in seconds on the clock that a player shows."""

    duration_s: float
    start_s: float
    """Container time of the player's zero."""
    video_codec: str
    """Empty: no video track."""
    width: int
    height: int
    rotation: int
    """Degrees by which a player turns the picture; 0 for none."""
    audio_codec: str
    """Empty: no audio track."""


def probe(path: Path) -> Probe:
    """Read a file's container.

    Raises:
        DecodeError: the file is missing, empty, cut off or no media file.
    """
    with open_media(path) as container:
        return probe_container(container, path)


def probe_container(container: Any, path: Path) -> Probe:
    """Like :func:`probe`, of a container that is open."""
    start_s = (container.start_time or 0) / 1_000_000
    duration_s = (container.duration or 0) / 1_000_000
    video = container.streams.video[0] if container.streams.video else None
    audio = container.streams.audio[0] if container.streams.audio else None
    if video is None and audio is None:
        raise DecodeError(f"{path}: neither a video nor an audio track")
    if "matroska" in container.format.name:  # its duration counts from 0, not from the start
        duration_s -= start_s
    if duration_s <= 0:  # some containers only know it per stream
        duration_s = max(
            float(stream.duration * stream.time_base) if stream.duration else 0.0
            for stream in (video, audio)
            if stream is not None
        )
    return Probe(
        duration_s=duration_s,
        start_s=start_s,
        video_codec=video.codec_context.name if video else "",
        width=video.codec_context.width if video else 0,
        height=video.codec_context.height if video else 0,
        rotation=_rotation(container, video) if video else 0,
        audio_codec=audio.codec_context.name if audio else "",
    )


def open_media(path: Path) -> Any:
    """Open a container with PyAV.

    Raises:
        DecodeError: the file cannot be opened.
    """
    import av

    try:
        return av.open(str(path))
    except (av.error.FFmpegError, OSError) as error:
        raise DecodeError(f"{path}: cannot be opened as media: {error}") from error


def _rotation(container: Any, video: Any) -> int:
    # The display matrix is side data of decoded frames in PyAV; one frame tells.
    import av

    try:
        frame = next(container.decode(video))
        rotation = int(frame.rotation)
        container.seek(0)
    except (av.error.FFmpegError, StopIteration):
        return 0
    return rotation
