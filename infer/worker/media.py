"""A request as a worker takes it: plain values, with media as files in a private folder."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from cache.request import Request
from infer.chat import Chat, Given
from infer.media.file import MediaFile
from infer.media.frames import Frames
from infer.media.sound import Sound


def make_folder() -> Path:
    """Make a folder that only this user can read, on the job's own disk where there is one."""
    job = os.environ.get("SLURM_TMPDIR", "")
    place = job if job and os.access(job, os.W_OK) else None
    return Path(tempfile.mkdtemp(prefix="rejudge-worker-", dir=place))


def write_ask(request: Request, chat: Chat, number: int, folder: Path) -> dict[str, Any]:
    """Write a request's media below ``folder``; return the message that asks it."""
    place = folder / str(number)
    (place / "own").mkdir(parents=True)
    names = (place / f"{count}.npy" for count in itertools.count())
    sampling = request.sampling
    return {
        "id": number,
        "folder": str(place / "own"),
        "sampling": {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "max_tokens": sampling.max_tokens,
            "seed": None if sampling.seed is None else sampling.seed + request.sample,
        },
        "turns": [
            [role, [_piece(piece, names) for piece in pieces]] for role, pieces in chat.turns
        ],
    }


def _piece(piece: Given, names: Iterator[Path]) -> dict[str, Any]:
    content = piece.content
    if isinstance(content, Frames):
        pixels = _save(next(names), content.pixels)
        return {"kind": piece.kind, "pixels": pixels, "times_s": content.times_s.tolist()}
    if isinstance(content, Sound):
        samples = _save(next(names), content.samples)
        return {"kind": "audio", "samples": samples, "sample_rate_hz": content.sample_rate_hz}
    if isinstance(content, MediaFile):
        stretch = {"start_s": content.start_s, "end_s": content.end_s}
        return {"kind": "file", "path": content.path, "sound": content.sound, **stretch}
    return {"kind": "text", "text": content}


def _save(path: Path, values: Any) -> str:
    np.save(path, values, allow_pickle=False)
    return str(path)
