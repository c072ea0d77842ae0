"""Sound of a stretch of a file as mono samples: decoded by PyAV, mixed and resampled by librosa.

librosa alone would need an ffmpeg binary for AAC; PyAV carries its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infer.errors import DecodeError
from infer.media.index import CUT_S
from infer.media.probe import open_media


@dataclass(frozen=True, slots=True)
class Sound:
    """Mono sound of a stretch of media."""

    samples: NDArray[np.float32]
    """(n_samples,), in [-1, 1]."""
    sample_rate_hz: int


def read_sound(path: Path, start_s: float, end_s: float, sample_rate_hz: int) -> Sound | None:
    """Decode ``[start_s, end_s)``; None where the file has no audio track.

    Raises:
        DecodeError: the track cannot be decoded.
    """
    import av
    import librosa

    with open_media(path) as container:
        if not container.streams.audio:
            return None
        stream = container.streams.audio[0]
        origin_s = (container.start_time or 0) / 1_000_000
        rate = stream.codec_context.sample_rate
        claimed_s = _claimed_end_s(stream, origin_s)
        to_float = av.AudioResampler(format="fltp", layout=stream.codec_context.layout, rate=rate)
        blocks: list[NDArray[np.float32]] = []
        first_s: float | None = None
        try:
            container.seek(max(0, int((start_s + origin_s - 0.1) * 1_000_000)), backward=True)
            for frame in container.decode(stream):
                at_s = float(frame.pts * stream.time_base) - origin_s
                if at_s >= end_s:
                    break
                if at_s + frame.samples / rate <= start_s:
                    continue
                first_s = at_s if first_s is None else first_s
                blocks.extend(part.to_ndarray() for part in to_float.resample(frame))
            blocks.extend(part.to_ndarray() for part in to_float.resample(None))
        except av.error.FFmpegError as error:
            raise DecodeError(f"{path}: {error}") from error
    if first_s is None:
        raise DecodeError(f"{path}: no sound between {start_s:g} s and {end_s:g} s")
    mono = librosa.to_mono(np.concatenate(blocks, axis=1))
    skip = max(0, round((start_s - first_s) * rate))
    mono = mono[skip : skip + round((end_s - start_s) * rate)]
    reached_s = start_s + len(mono) / rate
    if reached_s < min(end_s, claimed_s) - CUT_S:
        raise DecodeError(
            f"{path}: the file is cut off: its sound ends at {reached_s:.2f} s of the "
            f"{claimed_s:.2f} s that it claims; fetch it again"
        )
    samples = librosa.resample(mono, orig_sr=rate, target_sr=sample_rate_hz, res_type="soxr_hq")
    return Sound(samples=samples.astype(np.float32), sample_rate_hz=sample_rate_hz)


def _claimed_end_s(stream: Any, origin_s: float) -> float:
    """When the track ends by its own account; minus infinity where it does not say."""
    if not stream.duration:
        return float("-inf")
    return float(((stream.start_time or 0) + stream.duration) * stream.time_base) - origin_s
