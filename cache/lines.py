"""Find the records in a file's bytes: where each lies, its key, and whether it is a hit.

Lines are found with NumPy, a block at a time, because a store of 10⁷ records is read this way:

    {"key":"<64 hexadecimal digits>","outcome":"ok","request":{… ,"digest":"<64 more>"}
    0      8                       72             85

What does not look like that, or does not match its own digest, is looked at with care: records
glued to a torn line are still found, everything else is a :class:`Fault`. Reading goes on at the
next line.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import IntEnum
from io import BufferedReader, BytesIO, FileIO

import numpy as np
from numpy.typing import NDArray

from cache.errors import RecordError
from cache.fault import Fault
from cache.keys import key_numbers
from cache.record import TAIL_SIZE, Outcome, decode_line
from cache.salvage import salvage

BLOCK = 4 << 20

_NEWLINE = 10
_HEAD = b'{"key":"'
_OUTCOME = b'","outcome":"'
_OUTCOME_AT = len(_HEAD) + 64
_NAME_AT = _OUTCOME_AT + len(_OUTCOME)
_NAME_SIZE = 20
_SHORTEST = _NAME_AT + _NAME_SIZE + TAIL_SIZE

_HIT = {outcome.value.encode(): outcome.is_hit for outcome in Outcome}

_NIBBLE = np.full(256, 255, np.uint8)
for _value, _digit in enumerate(b"0123456789abcdef"):
    _NIBBLE[_digit] = _value


class Check(IntEnum):
    """How closely a line is looked at."""

    SHAPE = 0
    """Key, outcome and digest are where they belong: for bytes that a pack's name vouches for."""
    DIGEST = 1
    """And the line matches its own digest."""
    RECORD = 2
    """And it is a record whose key belongs to its request."""


@dataclass(frozen=True, slots=True)
class Lines:
    """The records of a stretch of a file, in its order."""

    keys: NDArray[np.uint64]
    """(n, 4): a key's 32 bytes as four big-endian numbers."""
    offsets: NDArray[np.uint64]
    lengths: NDArray[np.uint32]
    """Bytes of each line without its newline."""
    hits: NDArray[np.bool_]
    faults: tuple[Fault, ...] = ()

    def agrees(self, other: Lines) -> bool:
        """Whether the other lines lie at the same places, under the same keys."""
        return (
            np.array_equal(self.offsets, other.offsets)
            and np.array_equal(self.lengths, other.lengths)
            and np.array_equal(self.keys, other.keys)
            and np.array_equal(self.hits, other.hits)
        )

    def in_order(self) -> Lines:
        """The lines by where they lie."""
        order = np.argsort(self.offsets, kind="stable")
        return Lines(
            self.keys[order],
            self.offsets[order],
            self.lengths[order],
            self.hits[order],
            self.faults,
        )

    @classmethod
    def join(cls, blocks: list[Lines]) -> Lines:
        """Lines of neighbouring stretches as one."""
        if not blocks:
            return cls(
                np.empty((0, 4), np.uint64),
                np.empty(0, np.uint64),
                np.empty(0, np.uint32),
                np.empty(0, np.bool_),
            )
        return cls(
            np.concatenate([block.keys for block in blocks]),
            np.concatenate([block.offsets for block in blocks]),
            np.concatenate([block.lengths for block in blocks]),
            np.concatenate([block.hits for block in blocks]),
            tuple(fault for block in blocks for fault in block.faults),
        )


@dataclass(frozen=True, slots=True)
class Position:
    """How far a file was read: the start of the first line that was not taken."""

    offset: int = 0
    line: int = 1


def read_lines(
    file: FileIO | BufferedReader | BytesIO,
    name: str,
    check: Check,
    *,
    start: Position = Position(),
    final: bool = True,
    digest: hashlib._Hash | None = None,
) -> tuple[Lines, Position]:
    """Read the records of a file from ``start`` on.

    Args:
        file: opened unbuffered or buffered, in binary.
        name: what faults call the file.
        check: how closely lines are looked at.
        start: where an earlier call ended.
        final: whether nothing more will come: bytes after the last newline are then a record or a
            fault, else they are left for later.
        digest: is fed every byte that is read.

    Raises:
        OSError: the file cannot be read.
    """
    file.seek(start.offset)
    blocks: list[Lines] = []
    buffer, filled, at = bytearray(BLOCK), 0, start
    while count := file.readinto(memoryview(buffer)[filled:]):
        if digest is not None:
            digest.update(memoryview(buffer)[filled : filled + count])
        filled += count
        end = buffer.rfind(b"\n", 0, filled) + 1
        if end:
            found, at = _read_block(memoryview(buffer)[:end], name, check, at)
            blocks.append(found)
            filled -= end
            buffer[:filled] = buffer[end : end + filled]
        if filled == len(buffer):  # one line is longer than the block
            buffer = buffer + bytearray(len(buffer))
    if filled and final:
        found, _ = _read_block(memoryview(buffer)[:filled], name, check, at)
        blocks.append(found)
    return Lines.join(blocks), at


def _read_block(data: memoryview, name: str, check: Check, at: Position) -> tuple[Lines, Position]:
    view = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(view == _NEWLINE)
    if data[-1] != _NEWLINE:
        ends = np.append(ends, len(data))
    starts = np.concatenate([[0], ends[:-1] + 1])
    sizes = ends - starts
    keys, hits, sound = _shapes(view, starts, sizes)
    if check is not Check.SHAPE:
        _drop_changed(data, view, starts, ends, sound, check)
    after = Position(at.offset + len(data), at.line + len(ends))
    chosen = Lines(
        keys[sound],
        (starts[sound] + at.offset).astype(np.uint64),
        sizes[sound].astype(np.uint32),
        hits[sound],
    )
    odd = np.flatnonzero(~sound & (sizes > 0))
    if not len(odd):
        return chosen, after
    blocks = [chosen]
    for row in odd.tolist():
        piece = bytes(data[starts[row] : ends[row]])
        blocks.append(_salvaged(piece, name, at.line + row, at.offset + int(starts[row])))
    return Lines.join(blocks).in_order(), after


def _shapes(
    view: NDArray[np.uint8], starts: NDArray[np.intp], sizes: NDArray[np.intp]
) -> tuple[NDArray[np.uint64], NDArray[np.bool_], NDArray[np.bool_]]:
    """Keys (n, 4), whether each is a hit, and which lines have a record's shape."""
    count = len(starts)
    keys = np.zeros((count, 4), np.uint64)
    hits = np.zeros(count, np.bool_)
    sound = sizes >= _SHORTEST
    rows = np.flatnonzero(sound)
    if not len(rows):
        return keys, hits, sound
    head = view[starts[rows, None] + np.arange(_NAME_AT + _NAME_SIZE)]
    tail_at = starts[rows] + sizes[rows] - TAIL_SIZE
    tail = view[tail_at[:, None] + np.arange(TAIL_SIZE)]
    digits = _NIBBLE[head[:, len(_HEAD) : _OUTCOME_AT]]
    fits = (
        (head[:, : len(_HEAD)] == np.frombuffer(_HEAD, np.uint8)).all(axis=1)
        & (head[:, _OUTCOME_AT:_NAME_AT] == np.frombuffer(_OUTCOME, np.uint8)).all(axis=1)
        & (digits != 255).all(axis=1)
        & (tail[:, :11] == np.frombuffer(b',"digest":"', np.uint8)).all(axis=1)
        & (tail[:, -2:] == np.frombuffer(b'"}', np.uint8)).all(axis=1)
    )
    names = np.ascontiguousarray(head[:, _NAME_AT:]).view(f"S{_NAME_SIZE}").ravel()
    known, inverse = np.unique(names, return_inverse=True)
    values = [_is_hit(name) for name in known]
    fits &= np.array([value is not None for value in values])[inverse]
    hits[rows] = np.array([bool(value) for value in values])[inverse]
    keys[rows] = _numbers(digits)
    sound[rows] = fits
    return keys, hits, sound


def _is_hit(name: bytes) -> bool | None:
    return _HIT.get(name.partition(b'"')[0])


def _numbers(digits: NDArray[np.uint8]) -> NDArray[np.uint64]:
    octets = np.ascontiguousarray(digits[:, 0::2] << 4 | digits[:, 1::2])
    return octets.view(">u8").astype(np.uint64)


def _drop_changed(
    data: memoryview,
    view: NDArray[np.uint8],
    starts: NDArray[np.intp],
    ends: NDArray[np.intp],
    sound: NDArray[np.bool_],
    check: Check,
) -> None:
    """Unmark the lines that do not match their digest or, at ``Check.RECORD``, are no record."""
    rows = np.flatnonzero(sound)
    if not len(rows):
        return
    sha256 = hashlib.sha256
    bounds = zip(starts[rows].tolist(), (ends[rows] - TAIL_SIZE).tolist(), strict=True)
    made = np.frombuffer(
        b"".join([sha256(data[start:end]).digest() for start, end in bounds]), np.uint8
    ).reshape(-1, 32)
    digits = _NIBBLE[view[(ends[rows] - 66)[:, None] + np.arange(64)]]
    sound[rows] = (digits != 255).all(axis=1) & (
        (digits[:, 0::2] << 4 | digits[:, 1::2]) == made
    ).all(axis=1)
    if check is Check.RECORD:
        for row in np.flatnonzero(sound).tolist():
            try:
                decode_line(bytes(data[starts[row] : ends[row]]))
            except RecordError:
                sound[row] = False


def _salvaged(piece: bytes, name: str, line: int, offset: int) -> Lines:
    found, faults = salvage(piece, name, line, offset)
    return Lines(
        key_numbers([record.key for _, _, record in found]),
        np.array([offset + start for start, _, _ in found], np.uint64),
        np.array([end - start for start, end, _ in found], np.uint32),
        np.array([record.outcome.is_hit for _, _, record in found], np.bool_),
        tuple(faults),
    )
