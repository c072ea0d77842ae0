"""From a request's media parts to arrays, with what was really decoded beside them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from cache.request import Media, Preprocessing, Request
from infer.errors import DecodeError
from infer.media.captions import Cue, read_captions
from infer.media.decord_frames import read_frames_by_decord
from infer.media.file import MediaFile, take_file
from infer.media.frames import Frames, read_frames, sample_times
from infer.media.probe import Probe, probe
from infer.media.recent import Recent
from infer.media.sound import Sound, read_sound

Decoded = Frames | Sound | MediaFile | tuple[Cue, ...] | None
#: What was decoded of one media part, and the facts about it.
Part = tuple[Decoded, dict[str, Any]]

_BLOCK = 1_000_000
#: Containers and metadata differ by so much about how long a file is.
_TOLERANCE_S = 1.0
#: A file that ends so much before the asked stretch does, or before half of it, says so.
_SHORT_S = 10.0


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request's media, ready for an engine."""

    media: tuple[Decoded, ...] = ()
    """One for each media part, in their order; None for sound that the file does not have, or that
    the video before it carries."""
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
    return prepare_media(media_of(request), request.preprocessing, files, Recent(0))


def media_of(request: Request) -> tuple[Media, ...]:
    """Return the media parts of a request, in the order in which they are prepared."""
    parts = (part for message in request.messages for part in message.parts)
    return tuple(part for part in parts if isinstance(part, Media))


def prepare_media(
    media: tuple[Media, ...], asked: Preprocessing, files: Mapping[str, str], recent: Recent[Part]
) -> Prepared:
    """Like :func:`prepare`, of media without the request around them.

    Args:
        media: The parts.
        asked: What is asked of them.
        files: Path of each media file by the sha256 of its bytes.
        recent: What was decoded for earlier requests.
    """
    began = time.perf_counter()
    decoded: list[Decoded] = []
    effective: dict[str, list[dict[str, Any]]] = {}
    try:
        for part in media:
            before = decoded[-1] if decoded else None
            if part.kind == "audio" and isinstance(before, MediaFile) and before.sound:
                decoded.append(None)
                effective.setdefault(part.kind, []).append({"audio": "in the video file"})
                continue
            path = Path(files[part.sha256])
            whole, facts = recent.get(
                _identity(part, asked), partial(_decode, part, path, asked), _size
            )
            decoded.append(whole)
            effective.setdefault(part.kind, []).append(facts)
        _require_any(media, decoded, files)
    except DecodeError as error:
        return Prepared((), effective, str(error), time.perf_counter() - began)
    return Prepared(tuple(decoded), effective, "", time.perf_counter() - began)


def _require_any(
    media: tuple[Media, ...], decoded: list[Decoded], files: Mapping[str, str]
) -> None:
    """Refuse media of which nothing is left: a model would answer without having been shown any."""
    if media and all(content is None for content in decoded):
        names = ", ".join(dict.fromkeys(files[part.sha256] for part in media))
        raise DecodeError(f"{names}: no sound where it is asked for, and nothing else is asked for")


def _identity(part: Media, asked: Preprocessing) -> tuple[object, ...]:
    # What decoding depends on; the settings of the other kinds do not matter.
    if part.kind == "audio":
        return part, asked.sample_rate_hz
    if asked.as_files:
        return part, "audio" in asked.modality
    return part, asked.frames, asked.fps, asked.shorter_edge_px, asked.decoder


def _size(part: Part) -> int:
    decoded, _ = part
    if isinstance(decoded, Frames):
        return decoded.pixels.nbytes
    return decoded.samples.nbytes if isinstance(decoded, Sound) else 0


def _decode(part: Media, path: Path, asked: Preprocessing) -> Part:
    if part.kind == "captions":
        end_s = float("inf") if part.end_s is None else part.end_s
        cues = read_captions(path, part.start_s or 0.0, end_s)
        return cues, {"cues": len(cues)}
    probed = probe(path)
    if part.kind == "image":
        picture = read_frames(path, probed, np.zeros(1), asked.shorter_edge_px)
        return picture, _pyav() | _frame_facts(picture)
    start_s, end_s, facts = _window(part, probed, path)
    if part.kind == "audio":
        sound = read_sound(path, start_s, end_s, asked.sample_rate_hz or 16_000)
        return sound, facts | sound_facts(sound)
    if asked.as_files:
        with_sound = "audio" in asked.modality
        file = take_file(path, part.sha256, probed, start_s, end_s, with_sound=with_sound)
        return file, facts | {"file": "with its sound" if file.sound else "without sound"}
    times_s = sample_times(start_s, end_s, asked.frames, asked.fps)
    if asked.decoder == "decord":
        frames = read_frames_by_decord(path, probed, times_s, asked.shorter_edge_px)
        return frames, facts | {"decoder": "decord"} | _frame_facts(frames)
    frames = read_frames(path, probed, times_s, asked.shorter_edge_px)
    return frames, facts | _pyav() | _frame_facts(frames)


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
    asked_s, missing_s = end_s - start_s, end_s - clamped
    if missing_s > _TOLERANCE_S:
        if missing_s > 0.9 * asked_s:
            raise DecodeError(
                f"{path}: the file ends at {probed.duration_s:g} s, so of the {asked_s:g} s that "
                f"are asked for only {asked_s - missing_s:.2g} s are there: fetch the file again, "
                "or correct where the segment ends"
            )
        if missing_s > min(_SHORT_S, 0.5 * asked_s):
            facts["missing_s"] = round(missing_s, 3)
    return start_s, clamped, facts


def _pyav() -> dict[str, Any]:
    import av

    return {"decoder": f"PyAV {av.__version__}"}


def _frame_facts(frames: Frames) -> dict[str, Any]:
    count, height, width, _ = frames.pixels.shape
    return {
        "frames": count,
        "width": width,
        "height": height,
        "times_s": [round(float(at_s), 3) for at_s in frames.times_s],
        "mean_luma": round(float(frames.pixels.mean()) / 255, 4),
    }


def sound_facts(sound: Sound | None) -> dict[str, Any]:
    """Say what a sound is: its length, rate and loudness."""
    if sound is None:
        return {"audio": "none"}
    blocks = range(0, len(sound.samples), _BLOCK)  # hours of sound are not copied for a figure
    energy = sum(
        float(np.square(sound.samples[at : at + _BLOCK], dtype=np.float64).sum()) for at in blocks
    )
    rms = (energy / max(1, len(sound.samples))) ** 0.5
    return {
        "seconds": round(len(sound.samples) / sound.sample_rate_hz, 3),
        "sample_rate_hz": sound.sample_rate_hz,
        "rms": round(rms, 5),
    }
