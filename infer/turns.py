"""The ledger as an engine actor asks it: what comes up while it is being asked travels together.

A call between processes costs about as much as ten of these questions. Engines end answers in
bursts, and each end lets another request begin; so one call is under way at a time, and the next
one takes along all that came up meanwhile.
"""

from __future__ import annotations

import asyncio
from typing import Any

from infer.ledger import Entry, Turn


class Turns:
    """Begins and ends of one actor's requests. Used in one event loop."""

    def __init__(self, ledger: Any, actor: str) -> None:
        self._ledger = ledger
        self._actor = actor
        self._waiting: list[tuple[Entry, asyncio.Future[Turn]]] = []
        self._sending: asyncio.Task[None] | None = None

    async def begin(self, key: str, *, alone: bool = False) -> Turn:
        """Ask what to do about a request; see :meth:`infer.ledger.Ledger.begin`."""
        return await self._enter(Entry(key, begins=True, flag=alone))

    async def end(self, key: str, *, answered: bool = True) -> None:
        """Tell that a request ended; see :meth:`infer.ledger.Ledger.end`."""
        await self._enter(Entry(key, begins=False, flag=answered))

    async def _enter(self, entry: Entry) -> Turn:
        answer: asyncio.Future[Turn] = asyncio.get_running_loop().create_future()
        self._waiting.append((entry, answer))
        if self._sending is None:
            self._sending = asyncio.create_task(self._send())
        return await answer

    async def _send(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                try:
                    turns = await self._ledger.settle.remote(
                        self._actor, [entry for entry, _ in batch]
                    )
                except Exception as error:  # Ray's, when the ledger is gone: whoever waits hears it
                    for _, answer in batch:
                        answer.set_exception(error)
                    continue
                for (_, answer), turn in zip(batch, turns, strict=True):
                    answer.set_result(turn)
        finally:
            self._sending = None
