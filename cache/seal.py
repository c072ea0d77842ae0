"""Seal parts: check, name by content, make read-only. And adopt the parts of dead writers."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from pathlib import Path

from cache.durable import SEALED, beside, fill, make_folder, sync_folder
from cache.layout import IDLE_S, list_files, writer_is_gone
from cache.lines import Check, Lines, read_lines
from cache.pack import damaged_packs, pack_name, read_pack
from cache.quarantine import keep_faults
from cache.segment import Segment
from cache.segment_file import Stamp

LineSource = Callable[[], Iterator[bytes]]

#: An empty part of a writer thought dead is left alone for so long: it may be about to write.
_YOUNG_S = 60.0


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
    sealed = _Sealed(root)
    pack = sealed.seal(name, check)
    sealed.finish()
    return pack


class _Sealed:
    """Seals parts one by one; what they have in common is done once, by :meth:`finish`."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._folders: set[Path] = set()
        self._packs: list[tuple[str, Lines]] = []

    def seal(self, name: str, check: Check) -> str | None:
        try:
            found = _seal(self._root, name, check)
        except FileNotFoundError:
            if (self._root / name).exists():
                raise
            return None  # sealed by another process in this moment
        if found is None:
            return None
        pack, lines = found
        self._folders.add((self._root / pack).parent)
        if lines is not None:
            self._packs.append((pack, lines))
        return pack

    def finish(self) -> None:
        """Make the new names durable, and spare the next reader the packs."""
        if not self._folders:
            return
        for folder in (*sorted(self._folders), self._root / "parts"):
            sync_folder(folder)
        store_index(self._root, self._packs)


def _seal(root: Path, name: str, check: Check) -> tuple[str, Lines | None] | None:
    path = root / name
    digest = sha256()
    # From here on a writer that is not dead after all opens another part. Only then is the part
    # opened, so that over a network, too, everything is read that was there before.
    path.chmod(path.stat().st_mode & SEALED)
    with path.open("rb", buffering=0) as file:
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
        return (pack, None) if pack is not None else None
    pack = pack_name(digest.hexdigest())
    make_folder((root / pack).parent)
    clear_way(root, pack, _source(path, lines))
    path.rename(root / pack)
    return pack, lines


def rewrite(root: Path, source: Path, lines: Lines) -> str | None:
    """Write the records of a file, without what else is in it, to a pack; return its name.

    Args:
        root: the store.
        source: the file, which may be another store's.
        lines: its records.

    Raises:
        OSError: the pack cannot be written.
    """
    return write_pack(root, _source(source, lines)) if len(lines.offsets) else None


def _source(path: Path, lines: Lines) -> LineSource:
    def each() -> Iterator[bytes]:
        with path.open("rb") as file:
            for offset, length in zip(lines.offsets.tolist(), lines.lengths.tolist(), strict=True):
                file.seek(offset)
                yield file.read(length) + b"\n"

    return each


def write_pack(root: Path, lines: LineSource) -> str:
    """Write lines, each with its newline, to a pack; return its name.

    Args:
        root: the store.
        lines: is called twice: once to name the pack, once to write it.

    Raises:
        OSError: the pack cannot be written.
    """
    pack = _name(lines())
    _write_named(root, pack, lines, frozenset())
    return pack


def _write_named(root: Path, pack: str, lines: LineSource, on_the_way: frozenset[str]) -> None:
    target = root / pack
    if target.exists() and not damaged_packs(root, [pack]):
        return
    make_folder(target.parent)
    with beside(target) as temporary:
        # Written before the way is cleared, for the lines may come from a pack that is in it.
        fill(temporary, lines(), mode=SEALED)
        clear_way(root, pack, lines, on_the_way)
        temporary.rename(target)
    sync_folder(target.parent)


def clear_way(
    root: Path, pack: str, lines: LineSource, on_the_way: frozenset[str] = frozenset()
) -> None:
    """Before a pack takes its place: keep what a damaged file of that name holds beyond it.

    Records that the pack lacks go to a pack of their own, the rest to quarantine.

    Args:
        root: the store.
        pack: the name.
        lines: what the pack will hold.
        on_the_way: packs that are about to be written, and need not be for the sake of this one.

    Raises:
        OSError: it cannot be kept; nothing was replaced.
    """
    if not damaged_packs(root, [pack]):
        return
    found = read_pack(root, pack, Check.RECORD).lines
    keep_faults(root, found.faults)
    new = {sha256(line).digest() for line in lines()}
    beyond = [line for line in _source(root / pack, found)() if sha256(line).digest() not in new]
    name = _name(beyond)
    if beyond and name not in on_the_way:
        _write_named(root, name, lambda: iter(beyond), on_the_way | {pack})


def _name(lines: Iterable[bytes]) -> str:
    digest = sha256()
    for line in lines:
        digest.update(line)
    return pack_name(digest.hexdigest())


def store_index(root: Path, packs: Iterable[tuple[str, Lines]]) -> None:
    """Spare the next reader the packs; a failure costs it only time."""
    found: dict[Stamp, Lines] = {}
    with contextlib.suppress(OSError):
        for pack, lines in packs:
            stamp = Stamp.of(root, pack)
            # A writer thought dead may have added a line meanwhile: then the pack is read anew.
            if stamp.size == int(lines.lengths.sum()) + len(lines.lengths):
                found[stamp] = lines
        if found:
            Segment.of_lines(list(found.items())).store(root / "index")


def adopt(root: Path, *, idle_s: float = IDLE_S) -> list[str]:
    """Seal the parts of writers that are gone; return the packs.

    Raises:
        OSError: the store cannot be written.
    """
    packs: list[str | None] = []
    sealed = _Sealed(root)
    try:
        for path in list_files(root / "parts", ".jsonl"):
            # What belongs to another user stays a part: it is read all the same.
            with contextlib.suppress(PermissionError, FileNotFoundError):
                if writer_is_gone(path, idle_s=idle_s) and not _is_young_and_empty(path):
                    packs.append(sealed.seal(f"parts/{path.name}", Check.DIGEST))
    finally:
        sealed.finish()
    return [pack for pack in packs if pack is not None]


def _is_young_and_empty(part: Path) -> bool:
    found = part.stat()
    return not found.st_size and time.time() - found.st_mtime < _YOUNG_S
