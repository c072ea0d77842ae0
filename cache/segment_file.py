"""The file of a segment: a header, sorted columns, and a check of all bytes.

    index/<sha256 of its files' names>.idx
        {"schema": 2, "rows": n, "files": [[name, size, mtime_ns], …], "faults": […]}  and spaces
        head    uint64[n]        first 8 bytes of the key, sorted      ┐
        tail    uint64[n, 3]     the other 24                          │
        offset  uint64[n]        of the line in its file               │ little-endian, each
        length  uint32[n]        of the line without its newline       │ aligned to 64 bytes
        file    uint32[n]        which of the files                    │
        hit     uint8[n]         whether the outcome is a hit          ┘
        {"crc32": …}             of all bytes before it, and spaces up to 64 bytes

49 bytes a record. The check is made at every opening, for a flipped bit here would hide a record or
let a failure pass for an answer. Small files are read, big ones mapped: 10⁷ records are then in
memory once for all processes of a machine.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from cache.canonical import sha256_hex
from cache.durable import retire, write_file
from cache.fault import Fault

_SCHEMA = 2
_ALIGN = 64
_BLOCK = 8 << 20
#: Segments from this size on are mapped.
_MAPPED_BYTES = 64 << 20
COLUMNS: tuple[tuple[str, str, int], ...] = (
    ("head", "<u8", 1),
    ("tail", "<u8", 3),
    ("offset", "<u8", 1),
    ("length", "<u4", 1),
    ("file", "<u4", 1),
    ("hit", "u1", 1),
)
Column = NDArray[Any]


class DamagedIndex(ValueError):
    """The file of a segment is cut off or was changed."""


class Stamp(msgspec.Struct, frozen=True, array_like=True):
    """A file as it was when it was indexed. Packs never change: another stamp means damage."""

    name: str
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, root: Path, name: str) -> Stamp:
        """The file's stamp now.

        Raises:
            FileNotFoundError: the file is gone.
        """
        found = (root / name).stat()
        return cls(name, found.st_size, found.st_mtime_ns)


class _StoredFault(msgspec.Struct, frozen=True, array_like=True):
    file: str
    line: int
    offset: int
    reason: str


class _Header(msgspec.Struct, frozen=True):
    schema: int
    rows: int
    files: list[Stamp]
    faults: list[_StoredFault]


@dataclass(frozen=True, slots=True)
class SegmentContent:
    """What a file holds."""

    files: tuple[Stamp, ...]
    columns: dict[str, Column]
    faults: tuple[Fault, ...]


def write_segment(
    folder: Path,
    files: tuple[Stamp, ...],
    faults: tuple[Fault, ...],
    rows: int,
    chunks: Iterator[tuple[str, Column]],
) -> Path:
    """Write a segment; return its file, which replaces an older one over the same files.

    Args:
        folder: where to.
        files: that it covers.
        faults: that were found in them.
        rows: length of each column.
        chunks: name of a column and the next rows of it, column by column.

    Raises:
        OSError: the folder cannot be written.
    """
    stored = [_StoredFault(f.file, f.line, f.offset, f.reason) for f in faults]
    head = msgspec.json.encode(_Header(_SCHEMA, rows, list(files), stored))
    names = "\n".join(sorted(stamp.name for stamp in files))
    path = folder / f"{sha256_hex(names.encode())}.idx"
    with contextlib.suppress(FileNotFoundError):
        remove_segment(path)
    write_file(path, _with_check(_file_bytes(head, chunks)))
    return path


def read_segment(path: Path) -> SegmentContent:
    """Read or map a stored segment.

    Raises:
        OSError: the file is gone or cannot be read.
        DamagedIndex: the file was cut off or changed.
        ValueError: the file is of another version.
    """
    with path.open("rb") as file:
        head = file.readline()
        try:
            header = msgspec.json.decode(head, type=_Header)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise DamagedIndex(f"is no index: {error}") from error
        if header.schema != _SCHEMA:
            raise ValueError(f"{path} has index schema {header.schema}")
        sizes = [header.rows * width * np.dtype(kind).itemsize for _, kind, width in COLUMNS]
        end = len(head) + sum(size + (-size % _ALIGN) for size in sizes)
        found = os.fstat(file.fileno()).st_size
        if found != end + _ALIGN:
            raise DamagedIndex(f"has {found} bytes, not {end + _ALIGN}")
        file.seek(0)
        # Before anything is mapped: reading a mapped file that is cut off kills the process.
        whole: NDArray[np.uint8]
        if found < _MAPPED_BYTES:
            data = bytearray(file.read(end))
            check = zlib.crc32(data)
            whole = np.frombuffer(data, np.uint8)
        else:
            check, left = 0, end
            while block := file.read(min(_BLOCK, left)):
                check = zlib.crc32(block, check)
                left -= len(block)
            # The file that was checked, not what has its name by now. A plain view: memmap's
            # own class makes every later slice slower.
            whole = np.asarray(np.memmap(file, np.uint8, mode="r"))
            file.seek(end)
        if file.read() != _check_line(check):
            raise DamagedIndex("does not match the check at its end")
    columns: dict[str, Column] = {}
    at = len(head)
    for (name, kind, width), size in zip(COLUMNS, sizes, strict=True):
        column = whole[at : at + size].view(kind)
        columns[name] = column.reshape(-1, width) if width > 1 else column
        at += size + (-size % _ALIGN)
    faults = tuple(Fault(f.file, f.line, f.offset, f.reason) for f in header.faults)
    return SegmentContent(tuple(header.files), columns, faults)


def remove_segment(path: Path) -> None:
    """Remove a segment's file. A big one, which others may have mapped, gc collects after a day.

    Raises:
        OSError: it cannot be removed.
    """
    # Over a network a mapped file that is removed is gone for those who have it mapped.
    if path.stat().st_size < _MAPPED_BYTES:
        path.unlink()
    else:
        retire(path)


def _file_bytes(head: bytes, chunks: Iterator[tuple[str, Column]]) -> Iterator[bytes]:
    # The header's line ends where the columns begin, so that they are aligned.
    yield head + b" " * (-(len(head) + 1) % _ALIGN) + b"\n"
    kinds = {name: kind for name, kind, _ in COLUMNS}
    last, size = "", 0
    for name, chunk in chunks:
        if name != last:
            yield b"\0" * (-size % _ALIGN)
            last, size = name, 0
        data = np.ascontiguousarray(chunk, dtype=kinds[name]).tobytes()
        size += len(data)
        yield data
    yield b"\0" * (-size % _ALIGN)


def _with_check(chunks: Iterable[bytes]) -> Iterator[bytes]:
    check = 0
    for chunk in chunks:
        check = zlib.crc32(chunk, check)
        yield chunk
    yield _check_line(check)


def _check_line(check: int) -> bytes:
    return b'{"crc32":"%08x"}' % check + b" " * (_ALIGN - 21) + b"\n"
