"""Small sounds that are no speech, each made from sines and noise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bench.demo.make.voice import SAMPLE_RATE_HZ, Samples, audible


def effect(name: str) -> Samples:
    """The sound ``name`` as mono samples in [−1, 1], cut to what can be heard."""
    return audible(_EFFECTS[name](np.random.default_rng(len(name))))


def _times(length_s: float) -> Samples:
    return np.arange(round(length_s * SAMPLE_RATE_HZ)) / SAMPLE_RATE_HZ


def _tone(frequency_hz: float, length_s: float, fade_s: float = 0.02) -> Samples:
    t = _times(length_s)
    edge = np.minimum(1.0, np.minimum(t, length_s - t) / fade_s)
    return np.asarray(np.sin(2 * np.pi * frequency_hz * t) * edge)


def _silence(length_s: float) -> Samples:
    return np.zeros(round(length_s * SAMPLE_RATE_HZ))


def _struck(frequency_hz: float, length_s: float, decay_s: float) -> Samples:
    t = _times(length_s)
    return np.asarray(np.sin(2 * np.pi * frequency_hz * t) * np.exp(-t / decay_s))


def _ring(_: np.random.Generator) -> Samples:
    t = _times(0.9)
    warble = np.sin(2 * np.pi * np.where((t * 20).astype(int) % 2 == 0, 880, 1100) * t)
    return np.concatenate([0.25 * warble, _silence(0.4), 0.25 * warble])


def _siren(_: np.random.Generator) -> Samples:
    t = _times(3.0)
    pitch = np.where((t / 0.5).astype(int) % 2 == 0, 440.0, 587.0)
    return np.asarray(0.3 * np.sin(2 * np.pi * np.cumsum(pitch) / SAMPLE_RATE_HZ) * (t / 3.0))


def _bell(_: np.random.Generator) -> Samples:
    high = _struck(1320, 0.5, 0.2)
    low = _struck(1047, 0.9, 0.35)
    return 0.35 * np.concatenate([high, low])


def _beep(_: np.random.Generator) -> Samples:
    return 0.3 * np.concatenate([_tone(1500, 0.18), _silence(0.12), _tone(1500, 0.18)])


def _alarm(_: np.random.Generator) -> Samples:
    return 0.3 * np.concatenate([_tone(2600, 0.3), _silence(0.15)] * 5)


def _crash(rng: np.random.Generator) -> Samples:
    t = _times(0.9)
    noise = rng.normal(size=t.size) * np.exp(-t / 0.12)
    shards = sum(_struck(f, 0.9, 0.25) for f in (2100, 2750, 3400))
    return np.clip(0.35 * noise + 0.15 * shards, -0.9, 0.9)


def _hiss(rng: np.random.Generator) -> Samples:
    t = _times(1.6)
    return np.asarray(0.12 * rng.normal(size=t.size) * np.minimum(1.0, (1.6 - t) / 0.5))


def _kettle(rng: np.random.Generator) -> Samples:
    t = _times(1.6)
    return 0.2 * _tone(1900, 1.6, 0.5) + 0.02 * rng.normal(size=t.size)


def _click(rng: np.random.Generator) -> Samples:
    return np.asarray(
        0.5 * rng.normal(size=round(0.06 * SAMPLE_RATE_HZ)) * np.exp(-_times(0.06) / 0.01)
    )


_EFFECTS: dict[str, Callable[[np.random.Generator], Samples]] = {
    "alarm": _alarm,
    "beep": _beep,
    "bell": _bell,
    "click": _click,
    "crash": _crash,
    "hiss": _hiss,
    "kettle": _kettle,
    "ring": _ring,
    "siren": _siren,
}
