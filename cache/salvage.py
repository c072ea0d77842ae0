"""Salvage the records of a line that is none: two on one line, or one glued to a torn one."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator

from cache.errors import RecordError
from cache.fault import Fault
from cache.record import Record, parse_line

_HEAD = re.compile(rb'\{"key":"')
_TAIL = re.compile(rb',"digest":"[0-9a-f]{64}"\}')
#: A digest may also sit deep inside a record's own texts: so many are tried as a record's end.
_ENDS_TRIED = 8


def salvage(
    piece: bytes, name: str, line: int, offset: int
) -> tuple[list[tuple[int, int, Record]], list[Fault]]:
    """Take the records out of a damaged line, and report the rest of it.

    Args:
        piece: the line without its newline.
        name: the file it is from.
        line: its number there.
        offset: where it starts there.

    Returns:
        Start, end and content of each record within the line; and what else is there.
    """
    found: list[tuple[int, int, Record]] = []
    faults: list[Fault] = []
    at = 0
    for start, end, record in _records_within(piece):
        if piece[at:start]:
            faults.append(Fault(name, line, offset + at, _reason(piece[at:start]), piece[at:start]))
        found.append((start, end, record))
        at = end
    if piece[at:]:
        faults.append(Fault(name, line, offset + at, _reason(piece[at:]), piece[at:]))
    elif len(found) > 1:
        # Nothing is lost, but somebody wrote past the rules: one object a line.
        faults.append(Fault(name, line, offset, f"{len(found)} records on one line", piece))
    return found, faults


def _records_within(piece: bytes) -> Iterator[tuple[int, int, Record]]:
    whole = _record(piece)
    if whole is not None:
        yield 0, len(piece), whole
        return
    ends = [match.end() for match in _TAIL.finditer(piece)]
    after = 0
    for match in _HEAD.finditer(piece):
        start = match.start()
        if start < after:
            continue
        nearest = bisect.bisect_right(ends, start)
        for end in ends[nearest : nearest + _ENDS_TRIED]:
            record = _record(piece[start:end])
            if record is not None:
                yield start, end, record
                after = end
                break


def _record(piece: bytes) -> Record | None:
    try:
        return parse_line(piece)
    except RecordError:
        return None


def _reason(piece: bytes) -> str:
    try:
        parse_line(piece)
    except RecordError as error:
        reason = str(error)
    else:
        reason = "not a record on a line of its own"
    try:
        piece.decode("utf-8")
    except UnicodeDecodeError as error:
        reason += f"; not UTF-8 at its byte {error.start}"
    return reason
