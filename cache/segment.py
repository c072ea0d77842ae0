"""A segment of the index: sorted columns that say where the records of some files lie.

    index/<sha256 of its files' names>.idx
        {"schema": 1, "rows": n, "files": [[name, size, mtime_ns], …], "faults": […]}  and spaces
        head    uint64[n]        first 8 bytes of the key, sorted      ┐
        tail    uint64[n, 3]     the other 24                          │
        offset  uint64[n]        of the line in its file               │ little-endian, each
        length  uint32[n]        of the line without its newline       │ aligned to 64 bytes
        file    uint32[n]        which of the files                    │
        hit     uint8[n]         whether the outcome is a hit          ┘
        {"crc32": …}             of all bytes before it, and spaces up to 64 bytes

49 bytes a record. The check is made at every opening, for a flipped bit here would hide a record or
let a failure pass for an answer. Small segments are read, big ones mapped: 10⁷ records are then in
memory once for all processes of a machine.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from cache.canonical import sha256_hex
from cache.durable import retire, write_file
from cache.fault import Fault
from cache.lines import Lines

_SCHEMA = 2
_ALIGN = 64
_CHUNK = 1 << 20
_BLOCK = 8 << 20
#: Segments from this size on are mapped.
_MAPPED_BYTES = 64 << 20
_COLUMNS: tuple[tuple[str, str, int], ...] = (
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
class Segment:
    """Sorted columns over some files."""

    files: tuple[Stamp, ...]
    columns: dict[str, Column]
    faults: tuple[Fault, ...] = ()
    """Without their bytes, which are in quarantine."""
    path: Path | None = None
    """Where the segment is stored; None: in memory only."""

    def __len__(self) -> int:
        return len(self.columns["head"])

    @classmethod
    def of_lines(cls, files: Sequence[tuple[Stamp, Lines]]) -> Segment:
        """Index some files' lines in memory."""
        lines = Lines.join([lines for _, lines in files])
        counts = [len(found.offsets) for _, found in files]
        order = np.argsort(lines.keys[:, 0], kind="stable")
        columns: dict[str, Column] = {
            "head": np.ascontiguousarray(lines.keys[order, 0]),
            "tail": np.ascontiguousarray(lines.keys[order, 1:]),
            "offset": lines.offsets[order],
            "length": lines.lengths[order],
            "file": np.repeat(np.arange(len(files), dtype=np.uint32), counts)[order],
            "hit": lines.hits[order].view(np.uint8),
        }
        return cls(tuple(stamp for stamp, _ in files), columns, lines.faults)

    @classmethod
    def merge(
        cls,
        segments: Sequence[Segment],
        folder: Path | None,
        *,
        without: Collection[str] = (),
    ) -> Segment:
        """Join segments into one; in ``folder`` where one is given, else in memory.

        Goes column by column, so that 10⁷ rows need a third of their size in memory.

        Args:
            segments: at least one.
            folder: where to store the result.
            without: names of files that the result leaves out.

        Raises:
            OSError: the folder cannot be written.
        """
        stamps = [stamp for segment in segments for stamp in segment.files]
        kept = [stamp.name not in without for stamp in stamps]
        numbers = (np.cumsum(kept) - 1).astype(np.uint32)
        files = tuple(stamp for stamp, keep in zip(stamps, kept, strict=True) if keep)
        faults = tuple(f for segment in segments for f in segment.faults if f.file not in without)
        order = np.argsort(_joined(segments, "head"), kind="stable").astype(np.uint32)
        if without:
            order = order[np.array(kept)[_joined(segments, "file")][order]]
        chunks = (
            (name, numbers[chunk] if name == "file" else chunk)
            for name, chunk in _gathered(segments, order)
        )
        if folder is not None:
            return cls._write(folder, files, faults, len(order), chunks)
        pieces: dict[str, list[Column]] = {name: [] for name, _, _ in _COLUMNS}
        for name, chunk in chunks:
            pieces[name].append(chunk)
        columns = {name: np.concatenate(found) for name, found in pieces.items()}
        return cls(files, columns, faults)

    def store(self, folder: Path) -> Segment:
        """Write the segment to ``folder`` and return it as it lies there.

        Raises:
            OSError: the folder cannot be written.
        """
        chunks = (
            (name, self.columns[name][at : at + _CHUNK])
            for name, _, _ in _COLUMNS
            for at in range(0, len(self), _CHUNK)
        )
        return self._write(folder, self.files, self.faults, len(self), chunks)

    @classmethod
    def _write(
        cls,
        folder: Path,
        files: tuple[Stamp, ...],
        faults: tuple[Fault, ...],
        rows: int,
        chunks: Iterator[tuple[str, Column]],
    ) -> Segment:
        stored = [_StoredFault(f.file, f.line, f.offset, f.reason) for f in faults]
        head = msgspec.json.encode(_Header(_SCHEMA, rows, list(files), stored))
        names = "\n".join(sorted(stamp.name for stamp in files))
        path = folder / f"{sha256_hex(names.encode())}.idx"
        with contextlib.suppress(FileNotFoundError):
            remove_segment(path)
        write_file(path, _with_check(_file_bytes(head, chunks)))
        return cls.load(path)

    @classmethod
    def load(cls, path: Path) -> Segment:
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
            sizes = [header.rows * width * np.dtype(kind).itemsize for _, kind, width in _COLUMNS]
            end = len(head) + sum(size + (-size % _ALIGN) for size in sizes)
            found = path.stat().st_size
            if found != end + _ALIGN:
                raise DamagedIndex(f"has {found} bytes, not {end + _ALIGN}")
            file.seek(0)
            # Before anything is mapped: reading a mapped file that is cut off kills the process.
            whole: NDArray[np.uint8] | None = None
            if found < _MAPPED_BYTES:
                data = bytearray(file.read(end))
                check = zlib.crc32(data)
                whole = np.frombuffer(data, np.uint8)
            else:
                check, left = 0, end
                while block := file.read(min(_BLOCK, left)):
                    check = zlib.crc32(block, check)
                    left -= len(block)
            if file.read() != _check_line(check):
                raise DamagedIndex("does not match the check at its end")
        if whole is None:
            # A plain view: memmap's own class makes every later slice slower.
            whole = np.asarray(np.memmap(path, np.uint8, mode="r"))
        columns: dict[str, Column] = {}
        at = len(head)
        for (name, kind, width), size in zip(_COLUMNS, sizes, strict=True):
            column = whole[at : at + size].view(kind)
            columns[name] = column.reshape(-1, width) if width > 1 else column
            at += size + (-size % _ALIGN)
        faults = tuple(Fault(f.file, f.line, f.offset, f.reason) for f in header.faults)
        return cls(tuple(header.files), columns, faults, path)

    def agrees(self, number: int, lines: Lines) -> bool:
        """Whether the segment says of its file ``number`` what these lines of it say."""
        rows = np.flatnonzero(self.columns["file"] == number)
        rows = rows[np.argsort(self.columns["offset"][rows], kind="stable")]
        return (
            np.array_equal(self.columns["offset"][rows], lines.offsets)
            and np.array_equal(self.columns["length"][rows], lines.lengths)
            and np.array_equal(self.keys(rows), lines.keys)
            and np.array_equal(self.hits(rows), lines.hits)
        )

    def find(self, keys: NDArray[np.uint64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Find every row of some keys.

        Args:
            keys: (m, 4); sorted keys are found several times faster.

        Returns:
            Two arrays of one length: index into ``keys``, and the row found for it.
        """
        head = self.columns["head"]
        first = np.searchsorted(head, keys[:, 0], "left")
        count = np.searchsorted(head, keys[:, 0], "right") - first
        asked = np.repeat(np.arange(len(keys)), count)
        within = np.arange(len(asked)) - np.repeat(np.cumsum(count) - count, count)
        rows = first[asked] + within
        same = (self.columns["tail"][rows] == keys[asked, 1:]).all(axis=1)
        return asked[same], rows[same]

    def hits(self, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Which rows are hits."""
        found: NDArray[np.bool_] = self.columns["hit"][rows] != 0
        return found

    def keys(self, rows: NDArray[np.intp]) -> NDArray[np.uint64]:
        """The keys of some rows, (n, 4)."""
        head = self.columns["head"][rows]
        return np.column_stack([head, self.columns["tail"][rows]]).astype(np.uint64)

    def places(self, rows: NDArray[np.intp]) -> Iterator[tuple[str, int, int]]:
        """File, offset and length of some rows."""
        for file, offset, length in zip(
            self.columns["file"][rows].tolist(),
            self.columns["offset"][rows].tolist(),
            self.columns["length"][rows].tolist(),
            strict=True,
        ):
            yield self.files[file].name, offset, length


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


def _joined(segments: Sequence[Segment], name: str) -> Column:
    columns = [segment.columns[name] for segment in segments]
    if name == "file":  # numbers of files go on from segment to segment
        shifts = np.cumsum([0, *(len(segment.files) for segment in segments[:-1])])
        columns = [column + np.uint32(shift) for column, shift in zip(columns, shifts, strict=True)]
    return np.concatenate(columns)


def _gathered(
    segments: Sequence[Segment], order: NDArray[np.uint32]
) -> Iterator[tuple[str, Column]]:
    for name, _, _ in _COLUMNS:
        column = _joined(segments, name)
        for at in range(0, max(len(order), 1), _CHUNK):
            yield name, column[order[at : at + _CHUNK]]


def _file_bytes(head: bytes, chunks: Iterator[tuple[str, Column]]) -> Iterator[bytes]:
    # The header's line ends where the columns begin, so that they are aligned.
    yield head + b" " * (-(len(head) + 1) % _ALIGN) + b"\n"
    kinds = {name: kind for name, kind, _ in _COLUMNS}
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
