"""Seal parts: check, name by content, make read-only. And adopt the parts of dead writers."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from cache.durable import SEALED, sync_folder, write_file
from cache.layout import IDLE_S, writer_is_gone
from cache.lines import Check, Lines, read_lines
from cache.pack import pack_name
from cache.quarantine import keep_faults
from cache.segment import Segment, Stamp

LineSource = Callable[[], Iterator[bytes]]


def seal_part(root: Path, name: str, check: Check = Check.DIGEST) -> str | None:
    """Turn a part into a pack; return the pack's name, None where nothing is left to seal.

    A part without faults is renamed. Of any other, the records go to the pack, byte for byte, and
    the rest to quarantine. A part that somebody else is sealing at the same time is left to them.

    Args:
        root: the store.
        name: the part.
        check: how closely its lines are looked at. A writer that seals its own part knows that
            each write was whole, and need not.

    Raises:
        OSError: the store cannot be written; the part is then still there.
    """
    try:
        return _seal(root, name, check)
    except FileNotFoundError:
        if (root / name).exists():
            raise
        return None  # sealed by another process in this moment


def _seal(root: Path, name: str, check: Check) -> str | None:
    path = root / name
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        # From here on a writer that is not dead after all opens another part.
        os.fchmod(file.fileno(), SEALED)
        os.fsync(file.fileno())
        lines, _ = read_lines(file, name, check, digest=digest)
        size = file.tell()
    whole = size == int(lines.lengths.sum()) + len(lines.lengths)
    if not len(lines.offsets) and not lines.faults:
        path.unlink()
        return None
    if lines.faults or not whole:
        keep_faults(root, lines.faults)
        pack = rewrite(root, path, lines)
        if path.stat().st_size == size:  # else its writer lives, and the next sealing takes it
            path.unlink()
        return pack
    pack = pack_name(digest.hexdigest())
    (root / pack).parent.mkdir(parents=True, exist_ok=True)
    path.rename(root / pack)
    for folder in ((root / pack).parent, root / "packs", root / "parts"):
        sync_folder(folder)
    store_index(root, pack, lines)
    return pack


def rewrite(root: Path, source: Path, lines: Lines) -> str | None:
    """Write the records of a file, without what else is in it, to a pack; return its name.

    Args:
        root: the store.
        source: the file, which may be another store's.
        lines: its records.

    Raises:
        OSError: the pack cannot be written.
    """
    if not len(lines.offsets):
        return None

    def kept() -> Iterator[bytes]:
        with source.open("rb") as file:
            for offset, length in zip(lines.offsets.tolist(), lines.lengths.tolist(), strict=True):
                file.seek(offset)
                yield file.read(length) + b"\n"

    return write_pack(root, kept)


def write_pack(root: Path, lines: LineSource) -> str:
    """Write lines, each with its newline, to a pack; return its name.

    Args:
        root: the store.
        lines: is called twice: once to name the pack, once to write it.

    Raises:
        OSError: the pack cannot be written.
    """
    digest = hashlib.sha256()
    for line in lines():
        digest.update(line)
    pack = pack_name(digest.hexdigest())
    if not (root / pack).exists():
        write_file(root / pack, lines(), mode=SEALED)
        sync_folder(root / "packs")
    return pack


def store_index(root: Path, pack: str, lines: Lines) -> None:
    """Spare the next reader the pack; a failure costs it only time."""
    with contextlib.suppress(OSError):
        stamp = Stamp.of(root, pack)
        # A writer thought dead may have added a line meanwhile: then the pack is read anew.
        if stamp.size == int(lines.lengths.sum()) + len(lines.lengths):
            Segment.of_lines([(stamp, lines)]).store(root / "index")


def adopt(root: Path, *, idle_s: float = IDLE_S) -> list[str]:
    """Seal the parts of writers that are gone; return the packs.

    Raises:
        OSError: the store cannot be written.
    """
    packs: list[str | None] = []
    for path in sorted(root.glob("parts/[!.]*.jsonl")):
        # What belongs to another user stays a part: it is read all the same.
        with contextlib.suppress(PermissionError):
            if writer_is_gone(path, idle_s=idle_s):
                packs.append(seal_part(root, f"parts/{path.name}"))
    return [pack for pack in packs if pack is not None]
