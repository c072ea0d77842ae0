"""Calls that cost the same for one as for many: what comes up while one is under way goes together.

Nothing waits for company: the first begins at once, and the next takes along all that came up
meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Together(Generic[T, R]):
    """One kind of call. Used in one event loop."""

    def __init__(self, call: Callable[[list[T]], Awaitable[Sequence[R]]]) -> None:
        """Call nothing yet.

        Args:
            call: Takes several and gives a result for each, in their order.
        """
        self._call = call
        self._waiting: list[tuple[T, asyncio.Future[R]]] = []
        self._calling: asyncio.Task[None] | None = None

    async def __call__(self, one: T) -> R:
        """Return the result for one.

        Raises:
            Exception: what the call for all of them raised.
        """
        result: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._waiting.append((one, result))
        if self._calling is None:
            self._calling = asyncio.create_task(self._go_on())
        return await result

    async def _go_on(self) -> None:
        try:
            while self._waiting:
                some, self._waiting = self._waiting, []
                try:
                    found = await self._call([one for one, _ in some])
                except Exception as error:  # whoever waits hears it
                    for _, result in some:
                        if not result.done():
                            result.set_exception(error)
                    continue
                for (_, result), value in zip(some, found, strict=True):
                    if not result.done():  # cancelled, otherwise
                        result.set_result(value)
        finally:
            self._calling = None
