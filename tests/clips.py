"""Small real clips whose frames carry their own number, made with PyAV for tests of decoding."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.stream import Disposition

_BITS = 10
_SIDE = 32
WIDTH, HEIGHT = _BITS * _SIDE, 96


def numbered_frame(number: int) -> np.ndarray:
    """A picture that shows ``number`` as ten white or black squares, lowest bit on the left.

    Below them stripes move, so that a wrongly decoded frame differs from the right one.
    """
    pixels = np.full((HEIGHT, WIDTH, 3), 90, dtype=np.uint8)
    stripes = (np.arange(WIDTH) * 3 + number * 5) % 97
    pixels[_SIDE:] += stripes.astype(np.uint8)[:, None]
    for bit in range(_BITS):
        shade = 235 if number >> bit & 1 else 16
        pixels[:_SIDE, bit * _SIDE : (bit + 1) * _SIDE] = shade
    return pixels


def read_number(pixels: np.ndarray) -> int:
    """The number that a decoded frame shows, whatever its size."""
    height, width, _ = pixels.shape
    row = int(_SIDE / HEIGHT / 2 * height)
    bits = [pixels[row, int((bit + 0.5) * width / _BITS)].mean() > 125 for bit in range(_BITS)]
    return sum(1 << bit for bit, is_set in enumerate(bits) if is_set)


def make_clip(
    path: Path,
    *,
    codec: str = "libx264",
    options: dict[str, str] | None = None,
    frames: int = 200,
    rate: int = 25,
    times_s: list[float] | None = None,
    tone_hz: float | None = 440.0,
    tone_s: float | None = None,
    tone_from_s: float = 0.0,
    index_first: bool = False,
    live: bool = False,
    wide: Fraction = Fraction(1),
    cover: bool = False,
) -> Path:
    """Write a clip; frame i shows i and is shown at ``times_s[i]`` (i / rate by default).

    The tone is as long as the pictures, or ``tone_s``, and its track begins at ``tone_from_s``.
    ``index_first`` puts the index ahead of the media, as files made for streaming have it.
    A ``live`` Matroska file says neither how long it is nor where its key frames are.
    ``wide`` is the width of a pixel by its height. A ``cover`` is no film but belongs to the sound.
    """
    base = Fraction(1, rate) if times_s is None else Fraction(1, 12_800)
    times_s = times_s or [number / rate for number in range(frames)]
    flags = {"movflags": "faststart"} if index_first else {"live": "1"} if live else {}
    with av.open(str(path), "w", options=flags) as container:
        video = container.add_stream(codec, rate=rate, options={"g": "50", **(options or {})})
        video.width, video.height = WIDTH, HEIGHT
        video.pix_fmt = "rgb24" if codec == "png" else "yuv420p"
        if cover:
            video.disposition = Disposition.attached_pic
        video.codec_context.sample_aspect_ratio = wide
        video.codec_context.time_base = base
        audio = None
        if tone_hz is not None:
            audio = container.add_stream(
                "libopus" if path.suffix == ".webm" else "aac", rate=48_000
            )
        for number, at_s in enumerate(times_s):
            frame = av.VideoFrame.from_ndarray(numbered_frame(number), format="rgb24")
            frame.pts, frame.time_base = round(at_s / base), base
            container.mux(video.encode(frame))
        container.mux(video.encode())
        if audio is not None:
            _add_tone(
                container,
                audio,
                tone_s or times_s[-1] + 1 / rate,
                tone_hz or 0.0,
                first=round(tone_from_s * 48_000),
            )
    return path


def make_tone(path: Path, length_s: float, tone_hz: float = 440.0) -> Path:
    """Write a sound-only file whose tone is silent in its first half."""
    with av.open(str(path), "w") as container:
        _add_tone(
            container, container.add_stream("aac", rate=48_000), length_s, tone_hz, length_s / 2
        )
    return path


def _add_tone(
    container, stream, length_s: float, tone_hz: float, silent_s: float = 0.0, first: int = 0
) -> None:
    at_s = np.arange(int(length_s * 48_000)) / 48_000
    wave = (0.5 * np.sin(2 * np.pi * tone_hz * at_s) * (at_s >= silent_s)).astype(np.float32)
    for at in range(0, len(wave), 960):
        block = wave[at : at + 960]
        frame = av.AudioFrame.from_ndarray(np.stack([block, block]), format="fltp", layout="stereo")
        frame.sample_rate, frame.pts, frame.time_base = 48_000, first + at, Fraction(1, 48_000)
        container.mux(stream.encode(frame))
    container.mux(stream.encode())
