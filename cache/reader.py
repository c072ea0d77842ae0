"""Read single lines out of the store's files."""

from __future__ import annotations

import os
from collections import OrderedDict
from pathlib import Path

_OPEN_FILES = 64


class Reader:
    """Keeps some files open, the last used longest."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._fds: OrderedDict[str, int] = OrderedDict()

    def read(self, file: str, offset: int, length: int) -> bytes:
        """Bytes of a file; fewer than asked where it ends.

        Raises:
            FileNotFoundError: the file is gone: sealed, or replaced.
            OSError: it cannot be read.
        """
        fd = self._fds.get(file)
        if fd is None:
            fd = self._fds[file] = os.open(self._root / file, os.O_RDONLY | os.O_CLOEXEC)
            while len(self._fds) > _OPEN_FILES:
                os.close(self._fds.popitem(last=False)[1])
        else:
            self._fds.move_to_end(file)
        return os.pread(fd, length, offset)

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
