"""Vectors of texts on disk, so that a second scoring encodes nothing.

    FOLDER/embeddings-<encoder digest, 16 digits>-<precision>/<sha256 of its bytes>.npy

A file is an array of rows ``(text: sha256, is_long: bool, vector: float32[d])``. It is written
beside, renamed and never changed, so any number of processes add files without locks. Two that
encode one text write it twice, which costs space only. The folder is a memory, never the truth: it
may be removed at any time, a damaged file is passed over, and where the folder cannot be written
nothing is kept.
"""

from __future__ import annotations

import hashlib
import io
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cache.durable import SEALED, write_file

if TYPE_CHECKING:
    import numpy.typing as npt

_log = logging.getLogger("rejudge.score")


@dataclass(frozen=True, slots=True)
class Vector:
    """What the encoder made of a text."""

    values: npt.NDArray[np.float32]
    """Of length 1, shape (d,)."""
    is_long: bool
    """Whether the text is longer than the encoder's window."""


class Vectors:
    """The vectors that one encoder made in one precision."""

    def __init__(self, folder: Path, digest: str, precision: str) -> None:
        """Look for vectors in ``folder``; it need not exist, and need not be writable."""
        self.folder = folder / f"embeddings-{digest[:16]}-{precision}"

    def get(self, texts: Iterable[str]) -> dict[str, Vector]:
        """Return the vectors of those texts that are there."""
        wanted = {_digest(text): text for text in texts}
        found: dict[str, Vector] = {}
        for path in sorted(self.folder.glob("[!.]*.npy")):
            rows = _read(path)
            if rows is None:
                continue
            names = rows["text"].tobytes()
            longs, values = rows["is_long"].tolist(), rows["vector"]
            for row, is_long in enumerate(longs):
                text = wanted.get(names[32 * row : 32 * row + 32])
                if text is not None:
                    # A copy: a view would keep the whole file in memory.
                    found[text] = Vector(values[row].copy(), is_long)
        return found

    def add(self, vectors: Mapping[str, Vector]) -> bool:
        """Keep vectors for the next time, durably; say whether that was possible."""
        if not vectors:
            return True
        data = _file(vectors)
        try:
            name = hashlib.sha256(data).hexdigest()
            write_file(self.folder / f"{name}.npy", [data], mode=SEALED)
        except OSError as error:
            _log.debug("%s: vectors are not kept: %s", self.folder, error)
            return False
        return True


def _digest(text: str) -> bytes:
    # What is no UTF-8 (a lone surrogate) has a digest, too.
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _file(vectors: Mapping[str, Vector]) -> bytes:
    size = len(next(iter(vectors.values())).values)
    rows = np.zeros(len(vectors), dtype=_row_type(size))
    digests = b"".join(map(_digest, vectors))
    rows["text"] = np.frombuffer(digests, dtype="V32")
    rows["is_long"] = [vector.is_long for vector in vectors.values()]
    rows["vector"] = np.stack([vector.values for vector in vectors.values()])
    file = io.BytesIO()
    np.save(file, rows, allow_pickle=False)
    return file.getvalue()


def _row_type(size: int) -> np.dtype[np.void]:
    return np.dtype([("text", "V32"), ("is_long", "?"), ("vector", "<f4", (size,))])


def _read(path: Path) -> npt.NDArray[np.void] | None:
    try:
        data = path.read_bytes()
    except OSError:  # removed meanwhile, or not for us: its texts are encoded again
        return None
    if hashlib.sha256(data).hexdigest() != path.stem:
        _log.warning("%s is damaged and passed over; it can be removed", path)
        return None
    rows: npt.NDArray[np.void] = np.load(io.BytesIO(data), allow_pickle=False)
    return rows
