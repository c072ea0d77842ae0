"""What a job is asking, on disk: begins and ends, so that what takes a process down is known.

    <job>/job.log              suspects that earlier jobs left, and ends; written by the ledger
    <job>/alone.log            suspects that are asked alone; written by the ledger
    <job>/<actor>-<n>.log      all others: one file for each process of an engine, written by it

    +<key>     it begins
    -<key>     it ended

One write a line and no fsync: the files have to survive processes, not the machine. Nobody asks
anybody before a request; the ledger reads a file when its writer has died. An end in ``job.log``
holds for all files.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

JOB = "job.log"

_LINE = re.compile(rb"([+-])([0-9a-f]{64})")


class Journal:
    """A file of begins and ends, and what is under way. Used in one event loop."""

    def __init__(self, path: Path) -> None:
        """Go on with a file that nobody else writes to, or make it."""
        # Not O_APPEND: over NFS each write would first ask the server how long the file is.
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
        os.lseek(self._file, 0, os.SEEK_END)
        self.asking: set[str] = set()
        """Keys that began here and did not end."""
        self._quiet = asyncio.Event()
        self._quiet.set()

    def begin(self, key: str) -> None:
        """Note that a request begins."""
        self._write("+", key)
        self.asking.add(key)
        self._quiet.clear()

    def end(self, key: str) -> None:
        """Note that a request ended: stored, or not asked after all."""
        self._write("-", key)
        self.leave(key)

    def leave(self, key: str) -> None:
        """Forget a request whose process died: it is under way no longer, and did not end."""
        self.asking.discard(key)
        if not self.asking:
            self._quiet.set()

    def sync(self) -> None:
        """Let other machines see what was noted."""
        os.fsync(self._file)

    async def quiet(self) -> None:
        """Wait until nothing is under way."""
        await self._quiet.wait()

    def _write(self, sign: str, key: str) -> None:
        os.write(self._file, f"{sign}{key}\n".encode())


@dataclass(frozen=True, slots=True)
class Lines:
    """A file of begins and ends, as read."""

    unended: Counter[str]
    """How often each key was begun since it last ended."""
    ended: set[str]
    """Keys that ended at least once."""


def read_lines(lines: Iterable[bytes]) -> Lines:
    """Read a file's lines; what is no whole one, because a kill cut it off, is no request."""
    begun: Counter[str] = Counter()
    ended: set[str] = set()
    for line in lines:
        if not (found := _LINE.fullmatch(line.rstrip(b"\n"))):
            continue
        key = found[2].decode()
        if found[1] == b"+":
            begun[key] += 1
        else:
            begun.pop(key, None)
            ended.add(key)
    return Lines(begun, ended)


def unended(job: Path) -> Counter[str]:
    """Count, from the files of a job, how often each request was begun since it last ended."""
    suspects = left_over(job)
    found = Counter(suspects.unended)
    for path in sorted(job.glob("*.log")):
        if path.name != JOB and path.is_file():
            lines = _read(path).unended
            found.update({key: n for key, n in lines.items() if key not in suspects.ended})
    return found


def left_over(job: Path) -> Lines:
    """Read what earlier jobs left to a job, and what of that and of others ended."""
    return _read(job / JOB) if (job / JOB).is_file() else Lines(Counter(), set())


def _read(path: Path) -> Lines:
    with path.open("rb") as file:
        return read_lines(file)
