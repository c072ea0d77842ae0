"""Packs: sealed files, named by the sha256 of their bytes."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from cache.fault import Fault
from cache.layout import is_file
from cache.lines import Check, Lines, read_lines
from cache.segment_file import Stamp


def pack_name(digest: str) -> str:
    """A pack's name, relative to the store."""
    return f"packs/{digest[:2]}/{digest}.jsonl"


def list_packs(root: Path) -> dict[str, Stamp]:
    """Every pack of a store with its stamp, by name, sorted.

    Raises:
        OSError: a folder cannot be read.
    """
    found: dict[str, Stamp] = {}
    try:
        with os.scandir(root / "packs") as folders:
            names = sorted(folder.name for folder in folders if folder.is_dir())
    except FileNotFoundError:  # a copy of a store may lack its empty folders
        return found
    for name in names:
        with os.scandir(root / "packs" / name) as entries:
            files = [one for one in entries if one.name.endswith(".jsonl") and one.name.isascii()]
        for entry in sorted(files, key=lambda file: file.name):
            if entry.name.startswith(".") or not is_file(entry):
                continue
            with contextlib.suppress(FileNotFoundError):
                stat = entry.stat()
                path = f"packs/{name}/{entry.name}"
                found[path] = Stamp(path, stat.st_size, stat.st_mtime_ns)
    return found


@dataclass(frozen=True, slots=True)
class PackContent:
    """What a pack holds."""

    stamp: Stamp
    lines: Lines
    intact: bool
    """Whether the bytes are those the name was made from."""


def read_pack(root: Path, name: str, check: Check = Check.SHAPE) -> PackContent:
    """Read a pack's lines.

    A pack whose bytes match its name holds what was sealed, and sealing checked every line: then
    ``check`` decides how closely its lines are looked at. In any other, each line is checked.

    Raises:
        OSError: the pack is gone or cannot be read.
    """
    digest = hashlib.sha256()
    with (root / name).open("rb", buffering=0) as file:
        stamp = Stamp.of(root, name)
        lines, _ = read_lines(file, name, check, digest=digest)
        if digest.hexdigest() == Path(name).stem:
            return PackContent(stamp, lines, intact=True)
        lines, _ = read_lines(file, name, Check.RECORD)
    whole = Fault(name, 0, 0, "the file's bytes are not those that its name is the sha256 of")
    return PackContent(stamp, replace(lines, faults=(whole, *lines.faults)), intact=False)


def damaged_packs(root: Path, names: Iterable[str]) -> list[str]:
    """Those of some packs whose bytes are not those that the name was made from.

    Raises:
        OSError: a pack cannot be read. One that is gone is left out.
    """

    def is_damaged(name: str) -> bool:
        try:
            with (root / name).open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest() != Path(name).stem
        except FileNotFoundError:
            return False

    names = list(names)
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        found = list(pool.map(is_damaged, names))
    return [name for name, damaged in zip(names, found, strict=True) if damaged]


def iterate_lines(root: Path, name: str, lines: Lines | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield offset and bytes (without newline) of every line of a file of the store.

    Args:
        root: the store.
        name: the file.
        lines: yield these of its lines only; None yields all.

    Raises:
        OSError: the file is gone or cannot be read.
    """
    if lines is not None:
        with (root / name).open("rb", buffering=0) as file:
            for at, length in zip(lines.offsets.tolist(), lines.lengths.tolist(), strict=True):
                yield at, os.pread(file.fileno(), length, at)
        return
    with (root / name).open("rb", buffering=1 << 20) as whole:
        offset = 0
        for line in whole:
            yield offset, line.removesuffix(b"\n")
            offset += len(line)
