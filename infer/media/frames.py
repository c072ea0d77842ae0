"""Exact frames at given times, straight from the source file, scaled while decoding.

A frame is the one a player shows at that time: the last whose presentation time is not later.
decord reads the files on which it is exact, PyAV the rest (see index.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infer.errors import DecodeError
from infer.media.index import FrameIndex, decoder_for, read_index, require_whole
from infer.media.probe import Probe, open_media

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]


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


def read_frames(
    path: Path, probed: Probe, times_s: Floats, shorter_edge_px: int | None
) -> tuple[Frames, str]:
    """Decode the frames shown at ``times_s``; a frame asked twice is returned once.

    Returns:
        The frames, in time order, and the library that decoded them.

    Raises:
        DecodeError: no video track, or a frame that cannot be decoded.
    """
    if not probed.video_codec:
        raise DecodeError(f"{path}: no video track")
    size = scaled_size(probed.width, probed.height, shorter_edge_px)
    index = read_index(path, probed)
    require_whole(path, index, times_s)
    indices = index.at(times_s)
    decoder = decoder_for(probed, index)
    if decoder == "decord":
        pixels = _read_decord(path, indices, size)
    else:
        pixels = _read_pyav(path, index, indices, size)
    return Frames(pixels=pixels, times_s=index.shown_s[indices]), decoder


def scaled_size(width: int, height: int, shorter_edge_px: int | None) -> tuple[int, int]:
    """Return an even (width, height), the shorter edge at most ``shorter_edge_px``."""
    shorter = min(width, height)
    scale = 1.0 if shorter_edge_px is None else min(1.0, shorter_edge_px / shorter)
    return max(2, round(width * scale / 2) * 2), max(2, round(height * scale / 2) * 2)


def _read_decord(path: Path, indices: NDArray[np.int64], size: tuple[int, int]) -> Pixels:
    import decord

    try:
        reader = decord.VideoReader(str(path), width=size[0], height=size[1], num_threads=1)
        pixels: Pixels = reader.get_batch(indices.tolist()).asnumpy()
    except (decord.DECORDError, RuntimeError, IndexError) as error:
        raise DecodeError(f"{path}: {error}") from error
    return pixels


def _read_pyav(
    path: Path, index: FrameIndex, indices: NDArray[np.int64], size: tuple[int, int]
) -> Pixels:
    import av

    with open_media(path) as container:
        stream = container.streams.video[0]
        stream.thread_type = "AUTO"
        try:
            pixels = list(_decode_at(container, stream, index, index.pts[indices].tolist(), size))
        except av.error.FFmpegError as error:
            raise DecodeError(f"{path}: {error}") from error
    if len(pixels) < len(indices):
        raise DecodeError(
            f"{path}: {len(indices) - len(pixels)} of {len(indices)} frames are not in the file"
        )
    return np.stack(pixels)


def _decode_at(
    container: Any, stream: Any, index: FrameIndex, wanted: list[int], size: tuple[int, int]
) -> Iterator[Pixels]:
    # Seek only when a key frame lies between the last decoded frame and the next wanted one.
    position: int | None = None
    frames: Any = iter(())
    for pts in wanted:
        before = int(np.searchsorted(index.keys, pts, side="right")) - 1
        key = int(index.keys[max(0, before)]) if len(index.keys) else int(index.pts[0])
        if position is None or key > position:
            container.seek(key, stream=stream, backward=True)
            frames = container.decode(stream)
        for frame in frames:
            if frame.pts is None:
                continue
            position = frame.pts
            if frame.pts == pts:
                yield _upright(frame, size)
            if frame.pts >= pts:
                break


def _upright(frame: Any, size: tuple[int, int]) -> Pixels:
    pixels = frame.reformat(width=size[0], height=size[1], format="rgb24").to_ndarray()
    return np.ascontiguousarray(np.rot90(pixels, k=(frame.rotation // 90) % 4))
