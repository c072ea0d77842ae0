"""From a request's media parts to arrays, with what was really decoded beside them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cache.request import Media, Preprocessing, Request
from infer.errors import DecodeError
from infer.media.captions import Cue, read_captions
from infer.media.frames import Frames, read_frames, sample_times
from infer.media.probe import Probe, probe
from infer.media.sound import Sound, read_sound

Decoded = Frames | Sound | tuple[Cue, ...] | None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request's media, ready for an engine."""

    media: tuple[Decoded, ...]
    """One for each media part, in their order; None for sound that the file does not have."""
    effective: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    """Why decoding failed; empty when it did not."""
    decode_s: float = 0.0

    @property
    def end_s(self) -> float:
        """End of the longest decoded stretch, seconds on the media's clock; 0 without media."""
        ends = [facts.get("end_s", 0.0) for kind in self.effective.values() for facts in kind]
        return max(ends, default=0.0)


def prepare(request: Request, files: Mapping[str, str]) -> Prepared:
    """Decode every media part of a request; a failure is part of the result, never raised.

    Args:
        request: The request.
        files: Path of each media file by the sha256 of its bytes.
    """
    began = time.perf_counter()
    parts = [part for message in request.messages for part in message.parts]
    media: list[Decoded] = []
    effective: dict[str, list[dict[str, Any]]] = {}
    try:
        for part in parts:
            if isinstance(part, Media):
                decoded, facts = _decode(part, Path(files[part.sha256]), request.preprocessing)
                media.append(decoded)
                effective.setdefault(part.kind, []).append(facts)
    except DecodeError as error:
        return Prepared((), effective, str(error), time.perf_counter() - began)
    return Prepared(tuple(media), effective, "", time.perf_counter() - began)


def _decode(part: Media, path: Path, asked: Preprocessing) -> tuple[Decoded, dict[str, Any]]:
    if part.kind == "captions":
        end_s = float("inf") if part.end_s is None else part.end_s
        cues = read_captions(path, part.start_s or 0.0, end_s)
        return cues, {"cues": len(cues)}
    probed = probe(path)
    start_s, end_s, facts = _window(part, probed, path)
    if part.kind == "audio":
        sound = read_sound(path, start_s, end_s, asked.sample_rate_hz or 16_000)
        return sound, facts | _sound_facts(sound)
    if part.kind == "image":
        picture, decoder = read_frames(path, probed, np.zeros(1), asked.shorter_edge_px)
        return picture, {"decoder": decoder} | _frame_facts(picture)
    times_s = sample_times(start_s, end_s, asked.frames, asked.fps)
    frames, decoder = read_frames(path, probed, times_s, asked.shorter_edge_px)
    return frames, facts | {"decoder": decoder} | _frame_facts(frames)


def _window(part: Media, probed: Probe, path: Path) -> tuple[float, float, dict[str, Any]]:
    start_s = part.start_s or 0.0
    end_s = probed.duration_s if part.end_s is None else part.end_s
    if start_s >= probed.duration_s:
        raise DecodeError(
            f"{path}: the segment starts at {start_s:g} s, the file ends at {probed.duration_s:g} s"
        )
    clamped = min(end_s, probed.duration_s)
    facts: dict[str, Any] = {"start_s": start_s, "end_s": clamped}
    if clamped < end_s:
        facts["clamped_from_s"] = end_s
    return start_s, clamped, facts


def _frame_facts(frames: Frames) -> dict[str, Any]:
    count, height, width, _ = frames.pixels.shape
    return {
        "frames": count,
        "width": width,
        "height": height,
        "times_s": [round(float(at_s), 3) for at_s in frames.times_s],
        "mean_luma": round(float(frames.pixels.mean()) / 255, 4),
    }


def _sound_facts(sound: Sound | None) -> dict[str, Any]:
    if sound is None:
        return {"audio": "none"}
    rms = float(np.sqrt(np.mean(np.square(sound.samples, dtype=np.float64))))
    return {
        "seconds": round(len(sound.samples) / sound.sample_rate_hz, 3),
        "sample_rate_hz": sound.sample_rate_hz,
        "rms": round(rms, 5),
    }
