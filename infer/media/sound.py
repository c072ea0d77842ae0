"""Sound of a stretch of a file: decoded by PyAV, mixed to mono by librosa, resampled by soxr.

soxr is what librosa resamples with; fed block by block it gives the same samples, and a stretch
takes hardly more memory than its result. librosa's own loading needs an ffmpeg program for AAC.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infer.errors import DecodeError
from infer.media.probe import CUT_S, audio_of, claimed_end_s, only, open_media, packets

Samples = NDArray[np.float32]

#: Length of the chunks that a budget rung keeps or drops.
CHUNK_S = 10
#: Steps in the track's times that are less than this are rounding, not gaps.
_JITTER_S = 0.1


@dataclass(frozen=True, slots=True)
class Sound:
    """Mono sound of a stretch of media."""

    samples: Samples
    """(n_samples,), in [-1, 1]."""
    sample_rate_hz: int


def read_sound(path: Path, start_s: float, end_s: float, sample_rate_hz: int) -> Sound | None:
    """Decode ``[start_s, end_s)``; None where the file has no sound there.

    Sample k is heard at ``start_s + k / sample_rate_hz``: where the track begins later or has a
    gap, there is silence. Where the track ends earlier, so does the sound.

    Raises:
        DecodeError: the track cannot be decoded, or was cut off within the stretch.
    """
    import av

    with open_media(path) as container:
        stream = audio_of(container)
        if stream is None:
            return None
        only(container, stream)
        rate = stream.codec_context.sample_rate
        origin_s = (container.start_time or 0) / 1_000_000
        claimed_s = claimed_end_s(container, stream)
        if not rate:
            raise DecodeError(f"{path}: the sound track does not say its sample rate")
        length = round((end_s - start_s) * rate)
        try:
            blocks = _mono_blocks(container, stream, origin_s, start_s)
            placed = _placed(blocks, rate, start_s, length)
            samples, taken = _resampled(placed, length, rate, sample_rate_hz)
        except av.error.FFmpegError as error:
            raise DecodeError(f"{path}: {error}") from error
    reached_s = start_s + taken / rate
    if reached_s < min(end_s, claimed_s) - CUT_S:
        raise DecodeError(
            f"{path}: the file is cut off: its sound ends at {reached_s:.2f} s of the "
            f"{claimed_s:.2f} s that it claims; fetch it again"
        )
    return Sound(samples=samples, sample_rate_hz=sample_rate_hz) if taken else None


def keep_chunks(sound: Sound, most: int) -> tuple[Sound, dict[str, Any]]:
    """Keep at most so many chunks of 10 seconds, spread evenly over the sound, in one piece.

    Of M = ⌈seconds / 10⌉ chunks, those numbered ⌊k (M − 1) / (most − 1)⌋, k = 0 … most − 1.

    Returns:
        The kept sound, and which chunks of how many it consists of.
    """
    size = CHUNK_S * sound.sample_rate_hz
    chunks = math.ceil(len(sound.samples) / size)
    if chunks <= most:
        return sound, {"chunks": list(range(chunks)), "chunks_in_all": chunks}
    kept = [k * (chunks - 1) // max(1, most - 1) for k in range(most)]
    samples = np.concatenate([sound.samples[k * size : (k + 1) * size] for k in kept])
    facts = {"chunks": kept, "chunks_in_all": chunks}
    return Sound(samples, sound.sample_rate_hz), facts


def _mono_blocks(
    container: Any, stream: Any, origin_s: float, start_s: float
) -> Iterator[tuple[float, Samples]]:
    """Yield blocks of samples with their times, from the last block that begins by ``start_s``."""
    import av
    import librosa

    rate = stream.codec_context.sample_rate
    to_float = av.AudioResampler(format="fltp", layout=stream.codec_context.layout, rate=rate)
    for at_s, frame in _frames_from(container, stream, origin_s, start_s):
        blocks = [part.to_ndarray() for part in to_float.resample(frame)]
        if at_s + frame.samples / rate > start_s and blocks:
            yield at_s, librosa.to_mono(np.concatenate(blocks, axis=1))


def _frames_from(
    container: Any, stream: Any, origin_s: float, start_s: float
) -> Iterator[tuple[float, Any]]:
    # A decoder needs some sound ahead of what it gets right. Not every container's seeking keeps
    # its word, so where it lands behind the start, begin earlier.
    for ahead_s in (0.1, 10.0, math.inf):
        target_s = max(0.0, start_s - ahead_s)
        container.seek(int((target_s + origin_s) * 1_000_000), backward=True)
        stream.codec_context.flush_buffers()
        frames = (
            (float(frame.pts * stream.time_base) - origin_s, frame)
            for packet in chain(packets(container, stream), (None,))
            for frame in stream.codec_context.decode(packet)
            if frame.pts is not None
        )
        first = next(frames, None)
        if target_s == 0.0 or (first is not None and first[0] <= start_s):
            break
    if first is not None:
        yield first
        yield from frames


def _placed(
    blocks: Iterator[tuple[float, Samples]], rate: int, start_s: float, length: int
) -> Iterator[Samples]:
    """Cut and fill blocks so that they follow each other from ``start_s`` on, to ``length``."""
    position = 0
    for at_s, block in blocks:
        ahead = min(round((at_s - start_s) * rate), length) - position
        if position and abs(ahead) < _JITTER_S * rate:
            ahead = 0
        if ahead < 0:
            block = block[-ahead:]
        elif ahead > 0:
            yield np.zeros(ahead, dtype=np.float32)
            position += ahead
        position += len(block)
        yield block
        if position >= length:
            return


def _resampled(
    blocks: Iterator[Samples], length: int, rate: int, target_rate: int
) -> tuple[Samples, int]:
    """Return at most ``length`` samples at the new rate, and how many of the old were there."""
    import soxr

    stream = soxr.ResampleStream(rate, target_rate, 1, dtype="float32", quality="HQ")
    samples = np.zeros(math.ceil(length * target_rate / rate), dtype=np.float32)
    taken = made = 0
    for block in blocks:
        part = block[: length - taken]
        taken += len(part)
        made = _append(samples, made, stream.resample_chunk(part))
    _append(samples, made, stream.resample_chunk(np.zeros(0, dtype=np.float32), last=True))
    # The length that librosa gives; less than a sample of the old rate more or less.
    return samples[: math.ceil(taken * target_rate / rate)], taken


def _append(samples: Samples, made: int, part: Samples) -> int:
    part = part[: len(samples) - made]
    samples[made : made + len(part)] = part
    return made + len(part)
