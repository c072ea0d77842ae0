"""Decoding apart: in a process of its own, which may crash or hang without taking the job along."""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from cache.request import Media, Preprocessing, Request, Rung
from infer.media.child import Job
from infer.media.decode import Decoded, Prepared, media_of, sound_facts
from infer.media.process import DecodingProcess, Died
from infer.media.sound import Sound, keep_chunks

#: Starting, opening a file on a slow disk and finding its streams may take so long in any case.
LEAST_LIMIT_S = 60.0
#: Where a whole file is asked, its length is taken to be its size at so many bytes a second.
BYTES_A_SECOND = 100_000


def prepare_apart(
    request: Request, files: Mapping[str, str], timeout_s: float | None = None
) -> Prepared:
    """Like :func:`infer.media.decode.prepare`, in a process that may die or hang.

    Either is the result's ``error``. What is asked again about the same media is at hand.

    Args:
        request: The request.
        files: Path of each media file by the sha256 of its bytes.
        timeout_s: When decoding counts as hung; None derives it from the stretch that is asked.

    Raises:
        EngineFailed: decoding does not start at all, so that no item could be answered.
    """
    return _apart(media_of(request), request.preprocessing, files, timeout_s)


def at_rung(
    request: Request,
    files: Mapping[str, str],
    prepared: Prepared,
    rung: Rung,
    timeout_s: float | None = None,
) -> Prepared:
    """Return a request's media cut down to a step of the budget ladder.

    The frames are decoded again: the middles of fewer bins are other times than a selection from
    more, and what a rung gives must not depend on the way there. Of the sound, chunks are kept.

    Args:
        request: The request.
        files: Path of each media file by the sha256 of its bytes.
        prepared: What :func:`prepare_apart` gave for the request: all of it, not another rung.
        rung: The step.
        timeout_s: As in :func:`prepare_apart`.
    """
    if prepared.error:
        return prepared
    asked = request.preprocessing
    most = rung.frames if asked.frames is None else min(asked.frames, rung.frames)
    video = tuple(part for part in media_of(request) if part.kind == "video")
    again = _apart(video, msgspec.structs.replace(asked, frames=most), files, timeout_s)
    if again.error:
        return again
    videos = iter(again.media)
    media: list[Decoded] = []
    sounds: list[dict[str, Any]] = []
    for part, decoded in zip(media_of(request), prepared.media, strict=True):
        if part.kind == "audio":
            facts = prepared.effective["audio"][len(sounds)]
            decoded, facts = _cut(decoded, facts, rung)
            sounds.append(facts)
        media.append(next(videos) if part.kind == "video" else decoded)
    effective = prepared.effective | again.effective
    if sounds:
        effective["audio"] = sounds
    return Prepared(tuple(media), effective, decode_s=again.decode_s)


def _cut(decoded: Decoded, facts: dict[str, Any], rung: Rung) -> tuple[Decoded, dict[str, Any]]:
    if rung.audio_chunks is None or not isinstance(decoded, Sound):
        return decoded, facts
    kept, which = keep_chunks(decoded, rung.audio_chunks)
    return kept, facts | sound_facts(kept) | which


def _apart(
    media: tuple[Media, ...],
    asked: Preprocessing,
    files: Mapping[str, str],
    timeout_s: float | None,
) -> Prepared:
    if not media:
        return Prepared()
    paths = {part.sha256: files[part.sha256] for part in media}
    limit_s = time_limit_s(media, files) if timeout_s is None else timeout_s
    job = Job(media, asked, paths)
    began = time.perf_counter()
    try:
        with _lock:
            try:
                return _child.run(job, limit_s)
            except Died:  # of what an earlier item left behind, perhaps: once more in a new process
                return _child.run(job, limit_s)
    except Died as died:
        happened = f"decoding it crashed twice ({died})"
    except TimeoutError:
        happened = f"decoding it took longer than {limit_s:g} s and was ended"
    names = ", ".join(dict.fromkeys(paths.values()))
    return Prepared(error=f"{names}: {happened}", decode_s=time.perf_counter() - began)


def time_limit_s(media: tuple[Media, ...], files: Mapping[str, str]) -> float:
    """Seconds after which decoding counts as hung: 60, and as long as playing the media takes."""
    return LEAST_LIMIT_S + sum(_length_s(part, Path(files[part.sha256])) for part in media)


def _length_s(part: Media, path: Path) -> float:
    if part.end_s is not None:
        return max(0.0, part.end_s - (part.start_s or 0.0))
    try:
        return path.stat().st_size / BYTES_A_SECOND
    except OSError:  # the child says so in its own words
        return 0.0


_child, _lock = DecodingProcess(), threading.Lock()


def _start_anew() -> None:
    # A copy of this process made by fork must not talk to the first one's child.
    global _child, _lock
    _child.forget()
    _child, _lock = DecodingProcess(), threading.Lock()


os.register_at_fork(after_in_child=_start_anew)
atexit.register(lambda: _child.end())
