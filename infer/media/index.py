"""The index of a video track: when each frame is shown, read from its packets without decoding.

It also tells whether decord can be trusted with the file. decord seeks to key frames and counts
frames from there; where frames shown before a key frame are stored after it (open GOP: leading
pictures), or where an edit list hides frames, it returns other frames than asked, without a word.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from infer.errors import DecodeError
from infer.media.probe import Probe, open_media

#: Codecs on which decord was found exact, at constant and variable rate, when the GOPs are closed.
DECORD_CODECS = frozenset({"h264", "vp9", "av1"})


#: A track that is shorter than it claims by more than this was cut off.
CUT_S = 0.5


@dataclass(frozen=True, slots=True)
class FrameIndex:
    """When frames are shown."""

    pts: NDArray[np.int64]
    """(n_frames,), ascending, in the stream's time base."""
    shown_s: NDArray[np.float64]
    """(n_frames,), the same in seconds on the media's clock."""
    keys: NDArray[np.int64]
    """Times of the key frames, ascending, in the stream's time base."""
    end_s: float
    """When the last frame that the file really holds ends."""
    claimed_end_s: float
    """When the track ends by its own account; minus infinity where it does not say."""
    closed: bool
    """No frame is shown before a key frame that is stored ahead of it, and none is hidden."""

    def at(self, times_s: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the distinct indices of the frames that a player shows at ``times_s``."""
        # A microsecond absorbs rounding; before the first frame a player shows the first.
        shown = np.searchsorted(self.shown_s, times_s + 1e-6, side="right") - 1
        return np.unique(np.clip(shown, 0, len(self.shown_s) - 1))


def require_whole(path: Path, index: FrameIndex, times_s: NDArray[np.float64]) -> None:
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


def read_index(path: Path, probed: Probe) -> FrameIndex:
    """Index a file's video track; the latest files' indices are kept in memory.

    Raises:
        DecodeError: the packets cannot be read, or there are none.
    """
    return _read_index(path, probed, path.stat().st_mtime_ns)


def decoder_for(probed: Probe, index: FrameIndex) -> str:
    """Return the library that decodes this file's frames exactly: ``decord`` or ``pyav``."""
    exact = probed.video_codec in DECORD_CODECS and index.closed and probed.rotation % 360 == 0
    return "decord" if exact else "pyav"


@lru_cache(maxsize=16)
def _read_index(path: Path, probed: Probe, mtime_ns: int) -> FrameIndex:
    import av

    pts: list[int] = []
    keys: list[int] = []
    closed, last = True, 0
    with open_media(path) as container:
        stream = container.streams.video[0]
        try:
            for packet in container.demux(stream):
                if packet.pts is None:
                    continue
                closed &= not packet.is_discard and (not keys or packet.pts >= keys[-1])
                pts.append(packet.pts)
                last = max(last, packet.pts + (packet.duration or 0))
                if packet.is_keyframe:
                    keys.append(packet.pts)
        except av.error.FFmpegError as error:
            raise DecodeError(f"{path}: {error}") from error
        base = float(stream.time_base)
        claimed_s = -np.inf
        if stream.duration:
            claimed_s = ((stream.start_time or 0) + stream.duration) * base - probed.start_s
    if not pts:
        raise DecodeError(f"{path}: the video track holds no frame")
    ordered = np.unique(np.array(pts, dtype=np.int64))
    return FrameIndex(
        pts=ordered,
        shown_s=ordered.astype(np.float64) * base - probed.start_s,
        keys=np.array(sorted(keys), dtype=np.int64),
        end_s=last * base - probed.start_s,
        claimed_end_s=claimed_s,
        closed=closed and len(ordered) == len(pts),
    )
