"""Speech by espeak-ng: the same text and voice give the same samples on every run."""

from __future__ import annotations

import io
import subprocess
import wave
from functools import cache

import numpy as np
import numpy.typing as npt

from bench.demo.make.script import Voice

SAMPLE_RATE_HZ = 22_050
"""What espeak-ng gives, and what the sound tracks of the videos keep."""

_SILENCE = 0.012
_LOUDNESS = 0.11

Samples = npt.NDArray[np.float64]


@cache
def speak(text: str, voice: Voice) -> Samples:
    """``text`` as mono samples in [−1, 1], without silence before and after it.

    Raises:
        subprocess.CalledProcessError: espeak-ng failed; FileNotFoundError if it is not installed.
    """
    command = ["espeak-ng", "-v", voice.name, "-p", str(voice.pitch)]
    command += ["-s", str(voice.words_per_minute), "--stdout", text]
    # Both the program and its arguments are this package's own.
    done = subprocess.run(command, check=True, capture_output=True)  # noqa: S603
    # espeak-ng cannot know the length when it writes the header, so the data chunk is cut out here.
    with wave.open(io.BytesIO(done.stdout)) as sound:
        if sound.getframerate() != SAMPLE_RATE_HZ or sound.getnchannels() != 1:
            raise ValueError(f"espeak-ng gave {sound.getparams()}, expected 22.05 kHz mono")
    raw = done.stdout[done.stdout.index(b"data") + 8 :]
    samples = np.frombuffer(raw[: len(raw) // 2 * 2], dtype="<i2").astype(np.float64) / 32_768
    samples = audible(samples)
    level = float(np.sqrt(np.mean(samples**2)))
    return np.clip(samples * (_LOUDNESS / level), -0.95, 0.95)


def audible(samples: Samples) -> Samples:
    """``samples`` from the first to the last one that can be heard."""
    loud = np.flatnonzero(np.abs(samples) > _SILENCE)
    return samples[loud[0] : loud[-1] + 1]


def loudness(samples: Samples, frame_rate: int) -> npt.NDArray[np.float64]:
    """How wide the mouth is open in each video frame while ``samples`` are spoken, 0 to 1."""
    step = SAMPLE_RATE_HZ // frame_rate
    n_frames = -(-len(samples) // step)
    padded = np.zeros(n_frames * step)
    padded[: len(samples)] = samples
    level = np.sqrt((padded.reshape(n_frames, step) ** 2).mean(axis=1))
    return np.asarray(np.minimum(level / 0.2, 1.0))
