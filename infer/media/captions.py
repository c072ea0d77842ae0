"""Captions of a stretch of media, read with pysubs2."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from infer.errors import DecodeError


@dataclass(frozen=True, slots=True)
class Cue:
    """One caption: text shown during ``[start_s, end_s)``."""

    start_s: float
    end_s: float
    text: str


def read_captions(path: Path, start_s: float, end_s: float) -> tuple[Cue, ...]:
    """Return the cues that overlap ``[start_s, end_s)``, in time order.

    Raises:
        DecodeError: the file is no caption file, or not UTF-8.
    """
    import pysubs2

    try:
        subtitles = pysubs2.load(str(path), encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError, pysubs2.Pysubs2Error) as error:
        raise DecodeError(f"{path}: not readable as captions: {error}") from error
    cues = [
        Cue(event.start / 1000, event.end / 1000, " ".join(event.plaintext.split()))
        for event in subtitles
        if not event.is_comment
    ]
    inside = [cue for cue in cues if cue.text and cue.start_s < end_s and cue.end_s > start_s]
    return tuple(sorted(inside, key=lambda cue: cue.start_s))
