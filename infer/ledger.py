"""The ledger of a job: what asking did to the engines, and whether to ask on.

    turns(keys) ─► ask      go on
                   alone    it was with an engine that died: begin_alone when nothing else runs
                   stored   it was answered in this job: the store has it
                   again    an engine that died had it, and did not come to it: look into the store
                   give_up  engines died with it again and again, at last of it alone
                   stop     ask nothing more

One Ray actor in a job. It hears of each row of requests once, and of suspects when they begin and
end; what else is begun and ended stands in the engines' own journals (journal.py), which it reads
when their process has died.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from infer.journal import JOB, Journal, read_lines, unended

#: Restarts of engines, with no answer between them, after which the job ends.
RESTARTS = 5
#: Engines that may die with a request before it counts as failed.
DEATHS = 2
#: The same, where jobs that ended as a whole are among them: those may have been killed.
DEATHS_OF_JOBS = 3
#: How often a job shows that it lives.
BEAT_S = 20.0


class Turn(StrEnum):
    """What to do about a request."""

    ASK = "ask"
    ALONE = "alone"
    STORED = "stored"
    AGAIN = "again"
    GIVE_UP = "give_up"
    STOP = "stop"


class Ledger:
    """Keeps count; see the module. Its methods are those of a Ray actor, all in one event loop."""

    def __init__(self, folder: str) -> None:
        """Begin with what earlier jobs of the run left.

        Args:
            folder: Of the journals; it is made if it is not there.
        """
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        self._before = unended(self._folder)
        self._suspects = Journal(self._folder / JOB)
        self._asked_alone = Journal(self._folder / "alone.log")
        self._beating: asyncio.Task[None] | None = None
        self._deaths: Counter[str] = Counter()
        self._given: dict[str, Path] = {}
        self._journals: dict[str, Path] = {}
        self._all: list[Path] = []
        self._read: dict[Path, _Known] = {}
        self._alone: dict[str, str] = {}
        self._open: set[str] = set()
        self._all_closed = asyncio.Event()
        self._restarts = 0
        self._ends = 0
        self._suspects_ended: set[str] = set()
        self._suspects_answered = 0
        self._busy: set[str] = set()
        self._all_quiet = asyncio.Event()
        self._stop = asyncio.Event()
        self._halted = asyncio.Event()
        self._why: tuple[str, str] = ("", "")
        self._told: list[bytes] = []
        self._news = asyncio.Event()

    async def starting(self, actor: str) -> str:
        """Hear that an engine's actor starts; what it was asking before, it died of or with.

        Returns:
            The path of its journal, which is not there yet.
        """
        if self._beating is None:
            self._beating = asyncio.create_task(self._beat())
        last = self._journals.get(actor)
        number = int(last.stem.rpartition("-")[2]) + 1 if last else 1
        journal = self._journals[actor] = self._folder / f"{actor}-{number}.log"
        self._all.append(journal)
        if last is not None:
            for key in list(self._known(last).unended):
                if self._given.get(key) == last:
                    self._deaths[key] += 1
                    self._given[key] = journal
            for key in [key for key, asker in self._alone.items() if asker == actor]:
                self._bury(key)
            self._count_restart()
        self._quieten(actor)
        self._open.add(actor)
        self._all_closed.clear()
        if self._restarts > RESTARTS:
            await self.halt("EngineFailed", f"its process ended {self._restarts} times in a row")
        return str(journal)

    async def closed(self, actor: str) -> None:
        """Hear that an engine closed in order."""
        self._open.discard(actor)
        self._quieten(actor)
        if not self._open:
            self._all_closed.set()

    async def await_closed(self, limit_s: float) -> None:
        """Wait until all engines closed, but no longer than ``limit_s``."""
        if self._open:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._all_closed.wait(), limit_s)

    async def turns(self, actor: str, keys: Sequence[str]) -> list[Turn]:
        """Say what to do about requests that an engine is given."""
        if self._stop.is_set():
            return [Turn.STOP] * len(keys)
        self._busy.add(actor)
        self._all_quiet.clear()
        return [self._turn(key, self._journals[actor]) for key in keys]

    async def begin_alone(self, actor: str, key: str) -> Turn:
        """Say whether to ask a suspect; nothing else is running in its actor now."""
        if self._stop.is_set():
            return Turn.STOP
        if self._is_deadly(key):
            return Turn.GIVE_UP
        self._asked_alone.begin(key)
        self._alone[key] = actor
        return Turn.ASK

    async def end(self, key: str, *, answered: bool = True) -> None:
        """Hear that a suspect ended and is stored, or that it was not asked after all."""
        if answered:
            self._suspects_ended.add(key)
            self._suspects_answered += not self._is_deadly(key)
        self._deaths.pop(key, None)
        self._before.pop(key, None)
        self._suspects.end(key)
        self._alone.pop(key, None)
        self._asked_alone.leave(key)

    async def stops(self, within_s: float) -> bool:
        """Wait until nothing more is to begin, at most ``within_s``; return whether it is so."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stop.wait(), within_s)
        return self._stop.is_set()

    async def quiet(self, actor: str) -> None:
        """Hear that an engine that was to stop has nothing under way."""
        self._quieten(actor)

    async def drain(self, grace_s: float) -> int:
        """Let nothing more begin; wait for what was begun, and return how much did not end."""
        self._stop.set()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace_s):
                if self._busy:
                    await self._all_quiet.wait()
                await self._asked_alone.quiet()
        left = {
            key
            for path in self._journals.values()
            for key in self._known(path).unended
            if self._given.get(key) == path
        }
        # Ended by us: the engine did not die of them. Suspects stay what they were before.
        for key in left:
            self._suspects.end(key)
        for key in self._alone:
            self._asked_alone.end(key)
        return len(left) + len(self._alone)

    async def halt(self, kind: str, why: str) -> None:
        """End the job early: let nothing more begin, and tell :meth:`halted`."""
        if not self._halted.is_set():
            self._why = (kind, why)
            self._stop.set()
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

    def _turn(self, key: str, journal: Path) -> Turn:
        before, self._given[key] = self._given.get(key), journal
        if key in self._alone:
            self._bury(key)
        elif before is not None and key in self._known(before).unended:
            self._deaths[key] += 1
        if self._is_deadly(key):
            return Turn.GIVE_UP
        if self._deaths[key] + self._before[key]:
            return Turn.ALONE
        if before is None:
            return Turn.ASK
        # Ray repeats what a dead actor had not reported.
        ended = key in self._suspects_ended or key in self._known(before).ended
        return Turn.STORED if ended else Turn.AGAIN

    def _is_deadly(self, key: str) -> bool:
        deaths = self._deaths[key]
        return deaths >= DEATHS or deaths + self._before[key] >= DEATHS_OF_JOBS

    def _bury(self, key: str) -> None:
        self._deaths[key] += 1
        del self._alone[key]
        self._asked_alone.leave(key)

    def _count_restart(self) -> None:
        ends = self._suspects_answered + sum(len(self._known(path).ended) for path in self._all)
        if ends > self._ends:
            self._ends, self._restarts = ends, 0
        self._restarts += 1

    async def _beat(self) -> None:
        # For jobs on other machines, which cannot look this process up (attempts.py).
        while True:
            with contextlib.suppress(OSError):
                os.utime(self._folder / JOB)
            await asyncio.sleep(BEAT_S)

    def _quieten(self, actor: str) -> None:
        self._busy.discard(actor)
        if not self._busy:
            self._all_quiet.set()

    def _known(self, journal: Path) -> _Known:
        """What stands in a journal; nothing where its process died before it made it."""
        known = self._read.get(journal, _Known(0, Counter(), set()))
        with contextlib.suppress(FileNotFoundError), journal.open("rb") as file:
            # Over NFS the size is up to date only where the file is opened.
            size = os.fstat(file.fileno()).st_size
            if size != known.size:
                lines = read_lines(file)
                known = self._read[journal] = _Known(size, lines.unended, lines.ended)
        return known


class _Known(NamedTuple):
    size: int
    unended: Counter[str]
    ended: set[str]
