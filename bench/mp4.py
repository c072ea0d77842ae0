"""Whether an MP4 file is whole, told from its outermost boxes; nothing is decoded.

An MP4 file is a row of boxes, each with its length and a name of four letters. A download that
stopped leaves a box that would end beyond the file, or no ``moov``, without which nothing plays.

Source: ISO/IEC 14496-12, section 4.2.
"""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

_HEADER = 8
_FIRST = frozenset({b"ftyp", b"styp", b"moov", b"mdat", b"free", b"skip", b"wide", b"pnot"})


def mp4_fault(path: Path) -> str:
    """Return why an MP4 file is not whole; empty where it is, or where the file is no MP4.

    Args:
        path: A regular file.

    Raises:
        OSError: it cannot be read.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        return _walk(file, size)


def _walk(file: BinaryIO, size: int) -> str:
    names: set[bytes] = set()
    at = 0
    while at + _HEADER <= size:
        file.seek(at)
        header = file.read(2 * _HEADER)
        length, name = int.from_bytes(header[:4]), header[4:8]
        if not names and name not in _FIRST:
            return ""
        if length == 1:  # the real one follows the name, in eight bytes
            length = int.from_bytes(header[8:16])
        elif length == 0:  # up to the end of the file
            length = size - at
        if length < _HEADER or not name.isalnum():
            break  # what follows is no box: padding, which players pass over
        names.add(name)
        at += length
        if at > size:
            what = f"the end of its {name.decode('ascii')} box"
            return f"found {size} bytes; expected {at} or more, {what}: the file is cut off"
    if names and b"moov" not in names:
        return f"found {size} bytes without a moov box; expected one: the file is cut off"
    return ""
