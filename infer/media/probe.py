"""What a media file holds, read from its container; and how its packets are read from a time on."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from infer.errors import DecodeError

#: A track that is shorter than it claims by more than this was cut off.
CUT_S = 0.5


@dataclass(frozen=True, slots=True)
class Probe:
    """A file's streams, times in seconds on the clock that a player shows."""

    duration_s: float
    start_s: float
    """Container time of the player's zero."""
    video_codec: str
    """Empty: no video track."""
    width: int
    """As a player shows it before it turns the picture: wide pixels are taken into account."""
    height: int
    rotation: int
    """Degrees by which a player turns the picture; 0 for none."""
    audio_codec: str
    """Empty: no audio track."""


def probe(path: Path) -> Probe:
    """Read a file's container; the latest files' are kept in memory.

    Raises:
        DecodeError: the file is missing, empty, cut off or no media file.
    """
    try:
        changed = path.stat()
    except OSError as error:
        raise DecodeError(f"{path}: {error.strerror}") from error
    return _probe(path, changed.st_mtime_ns, changed.st_size)


@lru_cache(maxsize=64)
def _probe(path: Path, mtime_ns: int, size: int) -> Probe:
    with open_media(path) as container:
        return probe_container(container, path)


def probe_container(container: Any, path: Path) -> Probe:
    """Like :func:`probe`, of a container that is open."""
    start_s = (container.start_time or 0) / 1_000_000
    video, audio = video_of(container), audio_of(container)
    if video is None and audio is None:
        raise DecodeError(f"{path}: neither a video nor an audio track that can be decoded")
    rotation = _rotation(container, video) if video else 0
    # Wide pixels, as of DVDs; most files have square ones or do not say.
    wide = float((video and video.sample_aspect_ratio) or 1)
    return Probe(
        duration_s=_duration_s(container, start_s, path),
        start_s=start_s,
        video_codec=video.codec_context.name if video else "",
        width=round(video.codec_context.width * wide) if video else 0,
        height=video.codec_context.height if video else 0,
        rotation=rotation,
        audio_codec=audio.codec_context.name if audio else "",
    )


def open_media(path: Path) -> Any:
    """Open a container with PyAV.

    Raises:
        DecodeError: the file cannot be opened.
    """
    import av

    try:
        # Titles in old encodings are no reason to refuse a file.
        return av.open(str(path), metadata_errors="replace")
    except (av.error.FFmpegError, OSError) as error:
        raise DecodeError(f"{path}: cannot be opened as media: {error}") from error


def video_of(container: Any) -> Any:
    """Return the first video track that can be decoded and is no sound file's cover, or None."""
    from av.stream import Disposition

    for stream in container.streams.video:
        if stream.codec_context and not stream.disposition & Disposition.attached_pic:
            return stream
    return None


def audio_of(container: Any) -> Any:
    """Return the first sound track that can be decoded, or None."""
    return next((stream for stream in container.streams.audio if stream.codec_context), None)


def only(container: Any, stream: Any) -> None:
    """Have a container skip the data of all other streams; most formats then do not read them."""
    from av.stream import Discard

    for other in container.streams:
        if other.index != stream.index:
            other.discard = Discard.all


def packets(container: Any, *streams: Any) -> Iterator[Any]:
    """Yield the packets of some streams, or of all, from where the container is read."""
    try:
        # The last one is a dummy, for decoders.
        yield from (packet for packet in container.demux(*streams) if packet.size)
    except IndexError:  # PyAV's, at the end of a file in which a stream appeared late
        return


def packets_from(container: Any, stream: Any, pts: int) -> Iterator[Any]:
    """Yield a stream's packets from a key frame on that is shown at ``pts`` or before.

    It is the last such key frame where the container's seeking is good. Not every one's is: where
    it lands behind, begin earlier.
    """
    import av

    for ahead_s in (0, 3, 30, math.inf):
        try:
            if ahead_s < math.inf:
                ahead = round(ahead_s / stream.time_base)
                container.seek(pts - ahead, stream=stream, backward=True)
            else:
                container.seek(container.start_time or 0, backward=True)
        except av.error.PermissionError:  # AVI: no such time
            continue
        found = packets(container, stream)
        first = next((packet for packet in found if packet.is_keyframe), None)
        if first is not None and (ahead_s == math.inf or (first.pts or first.dts or 0) <= pts):
            yield first
            yield from found
            return


def claimed_end_s(container: Any, stream: Any) -> float:
    """When a track ends by its own account, on the player's clock; minus infinity: not known."""
    origin_s = (container.start_time or 0) / 1_000_000
    if stream.duration:
        return float(((stream.start_time or 0) + stream.duration) * stream.time_base) - origin_s
    # Matroska's tag: when the track ends.
    if tag := re.fullmatch(r"(\d+):(\d+):(\d+\.?\d*)", stream.metadata.get("DURATION", "")):
        hours, minutes, seconds = map(float, tag.groups())
        return hours * 3600 + minutes * 60 + seconds - origin_s
    if len(container.streams) == 1 and container.duration:
        return _container_s(container, origin_s)
    return -math.inf


def _duration_s(container: Any, start_s: float, path: Path) -> float:
    duration_s = _container_s(container, start_s)
    if duration_s <= 0:  # some containers only know it per stream
        duration_s = max(claimed_end_s(container, stream) for stream in container.streams)
    if duration_s <= 0:  # a recording that was never closed: its packets tell
        duration_s = _end_s(container, path) - start_s
    return duration_s


def _container_s(container: Any, start_s: float) -> float:
    duration_s: float = (container.duration or 0) / 1_000_000
    # Matroska's counts from 0, not from the start.
    return duration_s - start_s if "matroska" in container.format.name else duration_s


def _end_s(container: Any, path: Path) -> float:
    import av

    end_s = 0.0
    try:
        for packet in packets(container):
            if packet.pts is not None and packet.stream.type in ("video", "audio"):
                end_s = max(end_s, float((packet.pts + (packet.duration or 0)) * packet.time_base))
    except av.error.FFmpegError as error:
        raise DecodeError(f"{path}: {error}") from error
    return end_s


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
