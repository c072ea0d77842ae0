"""A part: the open file of one writer. One ``write`` a record, fsync in groups, no locks.

What no fsync confirmed yet is kept in memory, in one buffer (memory that is taken and given back
for each record costs as much as the writing). When the disk refuses a write or an fsync, the part
is left as it is, and the unconfirmed lines go to a new one with the next call: after a failed fsync
the system may have thrown the pages away and call the next fsync a success.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from pathlib import Path

from cache.durable import sync_folder
from cache.errors import StoreUnavailable
from cache.layout import new_writer

#: A part of this size is sealed and a new one opened.
PART_BYTES = 64 << 20
#: Puts without sync wait for an fsync no longer than this, or than so many bytes.
GROUP_S = 2.0
GROUP_BYTES = 8 << 20

_ROOM = 1 << 20
#: Parts that may be sealed under a living writer's hands, one after the other, before it gives up.
_TRIES = 100
_NEWLINE = 10


class Part:
    """Appends lines to a file that nobody else appends to."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._fd: int | None = None
        self._name = ""
        self._size = 0
        self._waiting = memoryview(bytearray(_ROOM))
        self._filled = 0
        self._unwritten = False
        self._confirmed_size = 0
        self._waiting_since = 0.0

    @property
    def name(self) -> str:
        """The part's file, relative to the store; empty while there is none."""
        return self._name

    @property
    def size(self) -> int:
        """Bytes in the part."""
        return self._size

    def append(self, line: bytes) -> int:
        """Write a line to the part called :attr:`name`; return the offset where it lies.

        Raises:
            StoreUnavailable: the line was not taken; lines taken before are not lost.
        """
        fd = self._fd
        if fd is None or not self._filled or self._pid != os.getpid() or self._unwritten:
            fd = self._ready()
        start, end = self._filled, self._filled + len(line) + 1
        if end > len(self._waiting):
            self._make_room(end)
        self._waiting[start : end - 1] = line
        self._waiting[end - 1] = _NEWLINE
        try:
            self._write(fd, self._waiting[start:end])
            self._filled = end
            offset = self._size
            self._size += end - start
        except BaseException as error:
            # Interrupted (Ctrl-C, a time limit's signal): how much stands in the part is not known.
            if not isinstance(error, StoreUnavailable) and self._fd is not None:
                self._give_up()
            raise
        return offset

    @property
    def is_due(self) -> bool:
        """Whether lines have waited long enough for an fsync."""
        return (
            self._size - self._confirmed_size >= GROUP_BYTES
            or time.monotonic() - self._waiting_since >= GROUP_S
        )

    def sync(self) -> None:
        """Make every line that was taken durable.

        Raises:
            StoreUnavailable: they are not durable; a later call tries again.
        """
        self._leave_parents()
        for _ in range(_TRIES):
            if self._unwritten:
                self._write_again()
            if self._fd is None or not self._filled:
                return
            self._fsync(self._fd)
            if not self._was_sealed(self._fd):
                self._filled = 0
                self._confirmed_size = self._size
                return
            # Somebody took us for dead in the middle of a group, and may have read the part before
            # our last lines were in it: only a part that nobody has touched confirms them.
            self._give_up()
        raise self._unavailable(
            f"{_TRIES} parts of this living writer were sealed by others, one after the other. Two "
            "machines or containers of one host name cannot see each other's processes: give "
            "them different host names"
        )

    def close(self) -> str:
        """Sync, close, and return the name of the file that can be sealed (empty: none).

        Raises:
            StoreUnavailable: lines are not durable; the part stays open.
        """
        self.sync()
        fd, self._fd = self._fd, None
        name, self._name, self._size = self._name, "", 0
        if fd is not None:
            os.close(fd)
        return name

    def _ready(self) -> int:
        """Make sure of a part of our own, and return its file descriptor."""
        self._leave_parents()
        if self._unwritten:
            return self._write_again()
        self._waiting_since = time.monotonic()
        if self._fd is not None:
            # Whoever sealed the part, thinking that we are gone, took its write permission away.
            # Looked at before the first line of a group and when it is confirmed: that is enough.
            if not self._was_sealed(self._fd):
                return self._fd
            self._give_up()
        return self._open()

    def _open(self) -> int:
        name = f"parts/{new_writer()}.jsonl"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        try:
            (self._root / "parts").mkdir(exist_ok=True)
            self._fd = os.open(self._root / name, flags, 0o644)
        except OSError as error:
            raise self._unavailable(f"no part can be opened: {error}") from error
        sync_folder(self._root / "parts")
        self._name, self._size, self._confirmed_size = name, 0, 0
        return self._fd

    def _was_sealed(self, fd: int) -> bool:
        found = os.fstat(fd)
        return not found.st_mode & stat.S_IWUSR or not found.st_nlink

    def _fsync(self, fd: int) -> None:
        try:
            os.fsync(fd)
        except OSError as error:
            self._give_up()
            raise self._unavailable(f"fsync failed: {error}") from error

    def _make_room(self, size: int) -> None:
        larger = memoryview(bytearray(max(size, 2 * len(self._waiting))))
        larger[: self._filled] = self._waiting[: self._filled]
        self._waiting = larger

    def _write(self, fd: int, data: bytes | memoryview) -> None:
        try:
            written = os.write(fd, data)
        except OSError as error:
            raise self._unavailable(f"a record could not be written: {error}") from error
        if written != len(data):
            self._undo(fd, written)
            raise self._unavailable(
                f"only {written} of a record's {len(data)} bytes could be written: the disk is full"
            )

    def _undo(self, fd: int, written: int) -> None:
        """Take the beginning of a line back; where that fails, leave the part for good."""
        try:
            os.ftruncate(fd, os.lseek(fd, 0, os.SEEK_CUR) - written)
        except OSError:
            self._give_up()

    def _give_up(self) -> None:
        assert self._fd is not None
        with contextlib.suppress(OSError):
            os.close(self._fd)
        self._fd = None
        self._unwritten = self._filled > 0

    def _write_again(self) -> int:
        """Write the unconfirmed lines to a new part, and return its file descriptor."""
        if self._fd is not None:  # an earlier try that did not get to its end
            self._give_up()
        fd = self._open()
        for line in bytes(self._waiting[: self._filled]).removesuffix(b"\n").split(b"\n"):
            self._write(fd, line + b"\n")
            self._size += len(line) + 1
        self._unwritten = False
        return fd

    def _leave_parents(self) -> None:
        """In a forked child: let the parent's part, and what it has to confirm, alone."""
        if self._pid == os.getpid():
            return
        if self._fd is not None:
            os.close(self._fd)
        self._begin()

    def _unavailable(self, what: str) -> StoreUnavailable:
        return StoreUnavailable(
            f"{self._root}: {what}. Records that were acknowledged are safe. Make room or make the "
            "store writable, and run the same command again."
        )
