"""Exact frames at given times, straight from the source file, scaled while decoding.

A frame is the one a player shows at that time: the last whose presentation time is not later.

    packets of the stretch ──► index: which frames are shown ──► from the key frame before each
    wanted one, decode up to it; of H.264, without the frames that nothing refers to

Where the packets do not tell (no times, or pictures that are never shown), every frame of the
stretch is decoded and its own time counts.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infer.errors import DecodeError
from infer.media.index import FrameIndex, read_index, require_whole
from infer.media.probe import Probe, only, open_media, packets_from, video_of

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]

#: Key frames need not be whole pictures (gradual refresh): where it counts, begin so much earlier.
_AHEAD_S = 10.0
#: Frames that may be shown between a frame's place in the file and its own time (H.264's limit).
_MOST_REORDERED = 16


@dataclass(frozen=True, slots=True)
class Frames:
    """Pictures of a stretch of video."""

    pixels: Pixels
    """(n_frames, height, width, 3), RGB."""
    times_s: Floats
    """(n_frames,), presentation times on the media's clock."""


def sample_times(start_s: float, end_s: float, frames: int | None, fps: float | None) -> Floats:
    """Return the middles of equal bins over ``[start_s, end_s)``.

    Args:
        start_s: Start of the segment, seconds.
        end_s: End of the segment, seconds.
        frames: At most so many bins; None sets no limit.
        fps: Bins a second; None leaves the count to ``frames``.
    """
    length_s = end_s - start_s
    counts = [frames] if frames is not None else []
    if fps is not None:
        counts.append(max(1, round(length_s * fps)))
    if not counts:
        raise ValueError("frames or fps must say how many frames to take")
    count = min(counts)
    middles: Floats = (np.arange(count, dtype=np.float64) + 0.5) * (length_s / count)
    return middles + start_s


def read_frames(path: Path, probed: Probe, times_s: Floats, shorter_edge_px: int | None) -> Frames:
    """Decode the frames shown at ``times_s``, which ascend; one asked twice is returned once.

    Raises:
        DecodeError: no video track, or a frame that cannot be decoded.
    """
    import av

    if not probed.video_codec:
        raise DecodeError(f"{path}: no video track")
    index = read_index(path, probed, float(times_s[0]), float(times_s[-1]))
    require_whole(path, index, times_s)
    size = scaled_size(probed.width, probed.height, shorter_edge_px)
    with open_media(path) as container:
        stream = video_of(container)
        only(container, stream)
        stream.codec_context.thread_count = 1  # Ray runs a decoding task for each core
        try:
            taken = _decode_indexed(container, stream, index, times_s, size)
            if taken is None:
                taken = _decode_all(container, stream, probed.start_s, times_s, size)
        except av.error.FFmpegError as error:
            raise DecodeError(f"{path}: {error}") from error
        if not taken.pts:
            raise DecodeError(f"{path}: no frame can be decoded around {times_s[0]:g} s")
        return taken.frames(float(stream.time_base), probed.start_s)


def scaled_size(width: int, height: int, shorter_edge_px: int | None) -> tuple[int, int]:
    """Return (width, height): the file's own, or even and the shorter at most that many pixels."""
    if shorter_edge_px is None or shorter_edge_px >= min(width, height):
        return width, height
    scale = shorter_edge_px / min(width, height)
    return max(2, round(width * scale / 2) * 2), max(2, round(height * scale / 2) * 2)


class _Pictures:
    """Room for pictures, filled one by one: nothing is held twice."""

    def __init__(self, most: int, size: tuple[int, int]) -> None:
        from av.video.reformatter import VideoReformatter

        self._most, (self._width, self._height) = most, size
        self._scaler = VideoReformatter()
        self._pixels: Pixels | None = None
        self.pts: list[int] = []

    def add_once(self, pts: int, frame: Any) -> None:
        """Keep a decoded frame, scaled and turned as players do; not if it is the last one kept."""
        if self.pts and self.pts[-1] == pts:
            return
        scaled = self._scaler.reformat(
            frame, width=self._width, height=self._height, format="rgb24", threads=1
        )
        upright = np.rot90(scaled.to_ndarray(), k=(frame.rotation // 90) % 4)
        if self._pixels is None:
            self._pixels = np.empty((self._most, *upright.shape), dtype=np.uint8)
        self._pixels[len(self.pts)] = upright
        self.pts.append(pts)

    def frames(self, time_base: float, start_s: float) -> Frames:
        """Return what was added."""
        assert self._pixels is not None
        times_s = np.array(self.pts, dtype=np.float64) * time_base - start_s
        return Frames(self._pixels[: len(self.pts)], times_s)


def _decode_indexed(
    container: Any, stream: Any, index: FrameIndex, times_s: Floats, size: tuple[int, int]
) -> _Pictures | None:
    """Decode what the index says is shown; None where the index does not tell the truth."""
    if not index.timed:
        return None
    wanted = index.at(times_s)
    taken = _Pictures(len(wanted), size)
    before = np.searchsorted(index.keys, wanted, side="right") - 1
    for key in np.unique(before):
        group = set(wanted[before == key].tolist())
        start = int(index.keys[max(0, key)])
        for frame in _decoded(container, stream, start, max(group), group):
            if frame.pts in group:
                taken.add_once(frame.pts, frame)
                group.remove(frame.pts)
            if not group:
                break
        if group:
            return None
    return taken


def _decode_all(
    container: Any, stream: Any, start_s: float, times_s: Floats, size: tuple[int, int]
) -> _Pictures:
    """Decode every frame from ahead of the first time on, and take those that their times tell."""
    base = float(stream.time_base)
    waiting = ((times_s + start_s + 1e-6) / base).tolist()[::-1]
    begin = round((float(times_s[0]) + start_s - _AHEAD_S) / base)
    taken, shown = _Pictures(len(times_s), size), None
    for pts, frame in _in_order(_decoded(container, stream, begin, None, None)):
        if shown is None:  # before the first frame a player shows the first
            shown = pts, frame
        while waiting and pts > waiting[-1]:
            waiting.pop()
            taken.add_once(*shown)
        if not waiting:
            return taken
        shown = pts, frame
    if shown is not None:
        taken.add_once(*shown)
    return taken


def _in_order(frames: Iterator[Any]) -> Iterator[tuple[int, Any]]:
    """Yield frames, which come in the order of showing, with ascending times.

    AVI gives reordered frames the times of their places in the file: right as a set.
    """
    held: deque[Any] = deque()
    times: list[int] = []
    for frame in frames:
        if frame.pts is None:
            continue
        held.append(frame)
        heapq.heappush(times, frame.pts)
        if len(held) > _MOST_REORDERED:
            yield heapq.heappop(times), held.popleft()
    while held:
        yield heapq.heappop(times), held.popleft()


def _decoded(
    container: Any, stream: Any, begin: int, last: int | None, wanted: set[int] | None
) -> Iterator[Any]:
    """Decode from a key frame at ``begin`` or before, to the frame that is shown at ``last``.

    With ``wanted``, frames that are neither wanted nor needed for others may be left out.
    """
    decoder = stream.codec_context
    packets = packets_from(container, stream, begin)
    # In H.264 a picture that no other refers to says so. HEVC's may still be referred to.
    skips = wanted is not None and decoder.name == "h264"
    decoder.skip_frame = "DEFAULT"
    for number, packet in enumerate(packets):
        if number == 0:
            decoder.flush_buffers()  # what an earlier stretch left; seeking came before
        if last is not None and packet.dts is not None and packet.dts > last:
            break
        if skips and wanted is not None:
            decoder.skip_frame = "DEFAULT" if packet.pts in wanted else "NONREF"
        yield from decoder.decode(packet)
    yield from decoder.decode(None)
