"""Read lines out of the store's files; lines that lie near each other are read together."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path

_OPEN_FILES = 64
#: Bytes between two lines that are rather read along than skipped.
_GAP = 4096
_AT_ONCE = 1 << 20

Span = tuple[int, int]
"""Offset and length, in bytes."""


class Reader:
    """Keeps some files open, the last used longest."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._fds: OrderedDict[str, int] = OrderedDict()

    def read(self, file: str, spans: Sequence[Span]) -> Iterator[bytes]:
        """The bytes of each span of a file; fewer than asked where it ends.

        Args:
            file: The file's name within the store.
            spans: In the order of their offsets.

        Raises:
            FileNotFoundError: the file is gone: sealed, or replaced.
            OSError: it cannot be read.
        """
        fd = self._opened(file)
        for near in _together(spans):
            start = near[0][0]
            read = _pread(fd, max(offset + length for offset, length in near) - start, start)
            for offset, length in near:
                yield read[offset - start : offset - start + length]

    def _opened(self, file: str) -> int:
        fd = self._fds.get(file)
        if fd is None:
            fd = self._fds[file] = os.open(self._root / file, os.O_RDONLY | os.O_CLOEXEC)
            while len(self._fds) > _OPEN_FILES:
                os.close(self._fds.popitem(last=False)[1])
        else:
            self._fds.move_to_end(file)
        return fd

    def forget(self, file: str) -> None:
        """Close a file, so that the next read opens what then has its name."""
        fd = self._fds.pop(file, None)
        if fd is not None:
            os.close(fd)

    def close(self) -> None:
        """Close all files."""
        for fd in self._fds.values():
            os.close(fd)
        self._fds.clear()


def _together(spans: Sequence[Span]) -> Iterator[list[Span]]:
    near: list[Span] = []
    start = end = 0
    for offset, length in spans:
        if near and (offset > end + _GAP or offset + length > start + _AT_ONCE):
            yield near
            near = []
        if not near:
            start = offset
        near.append((offset, length))
        end = offset + length
    if near:
        yield near


def _pread(fd: int, length: int, offset: int) -> bytes:
    read = os.pread(fd, length, offset)
    # Some file systems return less than there is.
    while len(read) < length and (more := os.pread(fd, length - len(read), offset + len(read))):
        read += more
    return read
