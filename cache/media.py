"""Digests of media files, remembered so that a big file is hashed once.

    media/digests.jsonl       what earlier sealings brought together
    media/<writer>.jsonl      one writer's new digests
        {"path": …, "size": …, "mtime_ns": …, "ctime_ns": …, "inode": …, "sha256": …, "check": …}

Who copies a file may give it the old time of change, but not the old ``ctime``.

A memory, never the truth: a line that does not verify is as good as none.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from cache.canonical import sha256_hex
from cache.durable import write_file
from cache.layout import list_files, new_writer, writer_is_gone

#: A file changed within so many seconds may be changed again without its time telling.
_SETTLED_S = 2.0
#: And one whose ctime is so young may be changed, and its time put back, in the same tick.
_TICK_S = 0.1


_Place = tuple[str, int, int, int, int]


class _Line(msgspec.Struct, frozen=True):
    path: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    sha256: str
    check: str = ""

    @property
    def place(self) -> _Place:
        return self.path, self.size, self.mtime_ns, self.ctime_ns, self.inode

    @property
    def expected_check(self) -> str:
        return sha256_hex(repr((*self.place, self.sha256)).encode())[:16]


_decoder = msgspec.json.Decoder(_Line)


class MediaDigests:
    """Sha256 of files' bytes, by path, size and time of change."""

    def __init__(self, root: Path, *, writable: bool) -> None:
        self._root = root
        self._writable = writable
        self._known: dict[_Place, str] | None = None
        self._pid = os.getpid()
        self._file: Path | None = None

    def digest(self, path: Path) -> str:
        """Sha256 of a file's bytes, 64 hexadecimal digits.

        Raises:
            OSError: the file cannot be read.
        """
        if self._known is None:
            self._known = {line.place: line.sha256 for line in _read(self._root)}
        place = _place(path)
        if place in self._known:
            return self._known[place]
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        now = time.time()
        settled = now - place[2] / 1e9 > _SETTLED_S and now - place[3] / 1e9 > _TICK_S
        if settled and _place(path) == place:
            self._known[place] = found
            self._remember(_Line(*place, found))
        return found

    def _remember(self, line: _Line) -> None:
        if not self._writable:
            return
        if self._file is None or self._pid != os.getpid():
            self._pid = os.getpid()
            self._file = self._root / "media" / f"{new_writer()}.jsonl"
        checked = msgspec.structs.replace(line, check=line.expected_check)
        # Not being able to remember costs the next process time, nothing else. A path that is not
        # UTF-8 has no JSON.
        with contextlib.suppress(OSError, UnicodeEncodeError):
            data = msgspec.json.encode(checked) + b"\n"
            with self._file.open("ab", buffering=0) as file:
                file.write(data)


def _place(path: Path) -> _Place:
    found = path.stat()
    return (
        str(path.resolve()),
        found.st_size,
        found.st_mtime_ns,
        found.st_ctime_ns,
        found.st_ino,
    )


def gather_digests(root: Path) -> None:
    """Bring the digests of ended writers together in ``media/digests.jsonl``.

    Raises:
        OSError: the folder cannot be written.
    """
    ended = [
        path
        for path in list_files(root / "media", ".jsonl")
        if path.name != "digests.jsonl" and writer_is_gone(path)
    ]
    if ended:
        lines = {line.place: line for line in _read(root)}
        data = [msgspec.json.encode(line) + b"\n" for line in lines.values()]
        write_file(root / "media" / "digests.jsonl", data)
        for path in ended:
            path.unlink(missing_ok=True)


def _read(root: Path) -> list[_Line]:
    found: list[_Line] = []
    files: list[Path] = []
    with contextlib.suppress(OSError):
        files = list_files(root / "media", ".jsonl")
    for path in files:
        with contextlib.suppress(OSError):
            found += _sound_lines(path.read_bytes())
    return found


def _sound_lines(data: bytes) -> Iterator[_Line]:
    for piece in data.split(b"\n"):
        with contextlib.suppress(msgspec.MsgspecError):
            line = _decoder.decode(piece)
            if line.check == line.expected_check:
                yield line
