"""An engine's side of the ledger: what it may ask, and what it is asking.

An object of its own, because it listens as long as the engine is there: who listens is not deleted,
and an actor's deletion is what closes its engine.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from infer.journal import Journal
from infer.ledger import Turn

#: How long to wait for the job's stop at a time: Ray ends an actor in order only when no call of
#: its own is under way.
_LISTEN_S = 0.5
#: How long the ledger may take to hear that an engine closed.
_CLOSED_S = 5.0


class Turns:
    """What the ledger said about requests, and this process's journal of them."""

    def __init__(self, ledger: Any, actor: str) -> None:
        """Tell the ledger that the actor starts.

        Args:
            ledger: Ray's handle of it.
            actor: Name of this actor, which it keeps when its process is replaced.
        """
        import ray

        self._ledger = ledger
        self._actor = actor
        self._journal = Journal(Path(ray.get(ledger.starting.remote(actor))))
        self._suspects: set[str] = set()
        self._stopping = False
        self._listening: asyncio.Task[None] | None = None
        self._close: Callable[[], None] | None = None

    def close_with(self, close: Callable[[], None]) -> None:
        """Be told how to close the engine, which stands now."""
        self._close = close

    async def of(self, keys: Sequence[str]) -> list[Turn]:
        """Ask what to do about requests that this engine is given."""
        if self._listening is None:
            self._listening = asyncio.create_task(self._listen())
        turns: list[Turn] = await self._ledger.turns.remote(self._actor, keys)
        self._suspects |= {
            key for key, turn in zip(keys, turns, strict=True) if turn is Turn.GIVE_UP
        }
        return turns

    async def alone(self, key: str) -> Turn:
        """Ask again about a suspect, when nothing else runs here; with ``ask`` it is begun."""
        turn: Turn = await self._ledger.begin_alone.remote(self._actor, key)
        if turn is not Turn.STOP:
            self._suspects.add(key)
        return turn

    def is_suspect(self, key: str) -> bool:
        """Whether engines died with a request."""
        return key in self._suspects

    def stops(self, key: str) -> bool:
        """Whether a request is not to begin any more, whatever was said about it."""
        return self._stopping and key not in self._suspects

    def begin(self, key: str) -> None:
        """Note that a request begins."""
        if key not in self._suspects:
            self._journal.begin(key)

    async def end(self, key: str, *, answered: bool = True) -> None:
        """Note that a request ended: its answer is stored, or it was not asked after all."""
        if key in self._suspects:
            self._suspects.discard(key)
            await self._ledger.end.remote(key, answered=answered)
        elif key in self._journal.asking:
            self._journal.end(key)

    async def halt(self, error: Exception) -> None:
        """End the job early, because of an error that any other request would meet, too."""
        self._stopping = True
        await self._ledger.halt.remote(type(error).__name__, str(error))

    def close(self) -> None:
        """Close the engine, if it is not closed, and tell the ledger: the driver waits for this."""
        import ray

        if self._closes():
            with suppress(ray.exceptions.RayError):
                ray.get(self._ledger.closed.remote(self._actor), timeout=_CLOSED_S)

    def _closes(self) -> bool:
        close, self._close = self._close, None
        if close is not None:
            close()
        return close is not None

    async def _listen(self) -> None:
        import ray

        with suppress(ray.exceptions.RayError):
            while not await self._ledger.stops.remote(_LISTEN_S):
                pass
            self._stopping = True
            self._journal.sync()
            await self._journal.quiet()
            await self._ledger.quiet.remote(self._actor)
            # A job that is stopped does not end its actors in order.
            while self._suspects:
                await asyncio.sleep(_LISTEN_S)
            if self._closes():
                await self._ledger.closed.remote(self._actor)
