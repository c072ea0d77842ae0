"""The ledger of a job: what is being asked, what that did to the engines, and whether to ask on.

    begin(key) ─► ask      go on
                  alone    it was with an engine that died: come back when nothing else is running
                  stored   it was answered in this job: look into the store
                  give_up  engines died with it again and again, at last of it alone
                  stop     ask nothing more
    end(key)

Begins and ends go to a file, one line each, so that a request that takes the whole job down is
known to the next start of the same run. One write and no fsync: the file has to survive processes,
not the machine. In a job the ledger is one Ray actor, which hears of every request twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

#: Restarts of engines, with no answer between them, after which the job ends.
RESTARTS = 5
#: Engines that may die with a request before it counts as failed.
DEATHS = 2
#: The same, where jobs that ended as a whole are among them: those may have been killed.
DEATHS_OF_JOBS = 3

_LINE = re.compile(rb"([+-])([0-9a-f]{64})")


class Turn(StrEnum):
    """What to do about a request."""

    ASK = "ask"
    ALONE = "alone"
    STORED = "stored"
    GIVE_UP = "give_up"
    STOP = "stop"


class Entry(NamedTuple):
    """A begin or an end, as it travels."""

    key: str
    begins: bool
    flag: bool
    """``alone`` of a begin, ``answered`` of an end."""


class Ledger:
    """Keeps count; see the module. Its methods are those of a Ray actor, all in one event loop."""

    def __init__(self, path: str) -> None:
        """Open the ledger of a run, with what an earlier job of it left.

        Args:
            path: The file; it is made if it is not there.
        """
        self._before = unended(Path(path))
        self._deaths: Counter[str] = Counter()
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._asking: dict[str, str] = {}
        self._ended: set[str] = set()
        self._started: set[str] = set()
        self._open: set[str] = set()
        self._all_closed = asyncio.Event()
        self._restarts = 0
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._halted = asyncio.Event()
        self._stopping = False
        self._why: tuple[str, str] = ("", "")
        self._told: list[bytes] = []
        self._news = asyncio.Event()

    async def starting(self, actor: str) -> None:
        """Hear that an engine's actor starts; what it was asking before, it died of or with."""
        for key in [key for key, asker in self._asking.items() if asker == actor]:
            self._bury(key)
        self._restarts += actor in self._started
        self._started.add(actor)
        self._open.add(actor)
        if self._restarts > RESTARTS:
            await self.halt("EngineFailed", f"its process ended {self._restarts} times in a row")

    async def closed(self, actor: str) -> None:
        """Hear that an engine closed in order."""
        self._open.discard(actor)
        if not self._open:
            self._all_closed.set()

    async def await_closed(self, limit_s: float) -> None:
        """Wait until all engines closed, but no longer than ``limit_s``."""
        if self._open:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._all_closed.wait(), limit_s)

    async def settle(self, actor: str, entries: Sequence[Entry]) -> list[Turn]:
        """Take begins and ends of an actor in their order; return a turn for each."""
        turns = []
        for entry in entries:
            if entry.begins:
                turns.append(await self.begin(entry.key, actor, alone=entry.flag))
            else:
                await self.end(entry.key, answered=entry.flag)
                turns.append(Turn.ASK)
        return turns

    async def begin(self, key: str, actor: str, *, alone: bool = False) -> Turn:
        """Say what to do about a request; with ``ask``, it counts as being asked from now on.

        Args:
            key: The request's.
            actor: Who would ask.
            alone: Nothing else is running in this actor.
        """
        if self._stopping:
            return Turn.STOP
        if key in self._ended:
            return Turn.STORED
        if key in self._asking:
            self._bury(key)
        if self._is_deadly(key):
            return Turn.GIVE_UP
        if self._deaths[key] + self._before[key] and not alone:
            return Turn.ALONE
        self._write("+", key)
        self._asking[key] = actor
        self._quiet.clear()
        return Turn.ASK

    async def end(self, key: str, *, answered: bool = True) -> None:
        """Hear that a request ended and is stored, or that it was not asked after all."""
        if answered:
            self._ended.add(key)
            if not self._is_deadly(key):
                self._restarts = 0
        self._deaths.pop(key, None)
        self._before.pop(key, None)
        self._write("-", key)
        self._leave(key)

    async def drain(self, grace_s: float) -> int:
        """Let nothing more begin; wait for what was begun, and return how much did not end."""
        self._stopping = True
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._quiet.wait(), grace_s)
        left = list(self._asking)
        for key in left:  # ended by us: the engine did not die of them
            self._write("-", key)
        return len(left)

    async def halt(self, kind: str, why: str) -> None:
        """End the job early: let nothing more begin, and tell :meth:`halted`."""
        if not self._halted.is_set():
            self._stopping, self._why = True, (kind, why)
            self._halted.set()

    async def halted(self) -> tuple[str, str]:
        """Wait for :meth:`halt`; return its arguments."""
        await self._halted.wait()
        return self._why

    async def tell(self, said: bytes) -> None:
        """Hear of an answered turn of a dialogue, for :meth:`news`."""
        self._told.append(said)
        self._news.set()

    async def news(self) -> list[bytes]:
        """Wait for turns that were answered; return those that were not returned before."""
        await self._news.wait()
        self._news.clear()
        told, self._told = self._told, []
        return told

    def _is_deadly(self, key: str) -> bool:
        deaths = self._deaths[key]
        return deaths >= DEATHS or deaths + self._before[key] >= DEATHS_OF_JOBS

    def _bury(self, key: str) -> None:
        self._deaths[key] += 1
        self._leave(key)

    def _leave(self, key: str) -> None:
        self._asking.pop(key, None)
        if not self._asking:
            self._quiet.set()

    def _write(self, sign: str, key: str) -> None:
        os.write(self._file, f"{sign}{key}\n".encode())


def unended(path: Path) -> Counter[str]:
    """Count, from a ledger's file, how often each request was begun since it last ended."""
    begun: Counter[str] = Counter()
    if not path.exists():
        return begun
    with path.open("rb") as file:
        for line in file:
            if found := _LINE.fullmatch(line.strip()):
                key = found[2].decode()
                begun[key] = begun[key] + 1 if found[1] == b"+" else 0
    return +begun
