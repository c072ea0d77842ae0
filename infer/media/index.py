"""The index of a stretch of a video track: when each frame is shown, read from its packets.

Nothing is decoded for it, and only the stretch is read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from infer.errors import DecodeError
from infer.media.probe import CUT_S, Probe, claimed_end_s, only, open_media, packets_from, video_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class FrameIndex:
    """When frames are shown."""

    pts: Integers
    """(n_frames,), ascending, in the stream's time base."""
    shown_s: Floats
    """(n_frames,), the same in seconds on the media's clock."""
    keys: Integers
    """Times of the key frames, ascending, in the stream's time base."""
    end_s: float
    """When the last of the frames ends; behind the stretch, unless the file ends before."""
    claimed_end_s: float
    """When the track ends by its own account; minus infinity where it does not say."""
    timed: bool
    """Every packet says when its frame is shown. AVI's do not, where frames are reordered."""

    def at(self, times_s: Floats) -> Integers:
        """Return the distinct pts of the frames that a player shows at ``times_s``."""
        return self.pts[shown_at(self.shown_s, times_s)]


def shown_at(shown_s: Floats, times_s: Floats) -> Integers:
    """Return the distinct indices of the frames that a player shows at ``times_s``."""
    # A microsecond absorbs rounding; before the first frame a player shows the first.
    shown = np.searchsorted(shown_s, times_s + 1e-6, side="right") - 1
    return np.unique(np.clip(shown, 0, len(shown_s) - 1))


def require_whole(path: Path, index: FrameIndex, times_s: Floats) -> None:
    """Refuse times that the track claims to have and the file does not.

    Raises:
        DecodeError: the file was cut off before one of ``times_s``.
    """
    lacking = index.claimed_end_s - index.end_s
    if lacking > CUT_S and float(times_s.max()) > index.end_s + CUT_S:
        raise DecodeError(
            f"{path}: the file is cut off: its video ends at {index.end_s:.2f} s of the "
            f"{index.claimed_end_s:.2f} s that it claims; fetch it again"
        )


def read_index(
    path: Path, probed: Probe, start_s: float = 0.0, end_s: float = math.inf
) -> FrameIndex:
    """Index a stretch of a file's video track, by default all of it.

    Raises:
        DecodeError: the packets cannot be read, or there are none.
    """
    return _read_index(path, path.stat().st_mtime_ns, probed, start_s, end_s)


@lru_cache(maxsize=16)
def _read_index(
    path: Path, mtime_ns: int, probed: Probe, start_s: float, end_s: float
) -> FrameIndex:
    import av

    pts: list[int] = []
    keys: list[int] = []
    last = 0
    with open_media(path) as container:
        stream = video_of(container)
        only(container, stream)
        base = float(stream.time_base)
        stop = (end_s + probed.start_s) / base
        timed = container.format.name != "avi" or not stream.codec_context.has_b_frames
        try:
            for packet in packets_from(container, stream, round((start_s + probed.start_s) / base)):
                if packet.pts is None:
                    timed = False
                    continue
                if packet.is_keyframe:
                    keys.append(packet.pts)
                if not packet.is_discard:  # what an edit list hides
                    pts.append(packet.pts)
                    last = max(last, packet.pts + (packet.duration or 0))
                # No later packet is shown before its decoding time.
                if packet.dts is not None and packet.dts > stop:
                    break
        except av.error.FFmpegError as error:
            raise DecodeError(f"{path}: {error}") from error
        claimed_s = claimed_end_s(container, stream)
    if timed and not pts:
        raise DecodeError(f"{path}: the video track holds no frame")
    ordered = np.unique(np.array(pts, dtype=np.int64))
    return FrameIndex(
        pts=ordered,
        shown_s=ordered.astype(np.float64) * base - probed.start_s,
        keys=np.array(sorted(keys), dtype=np.int64),
        end_s=last * base - probed.start_s,
        claimed_end_s=claimed_s,
        timed=timed,
    )
