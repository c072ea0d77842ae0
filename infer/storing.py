"""The store as an engine's actor uses it: a thread of its own, answers written down together.

A store belongs to one thread, and its syncs must not hold up the engine's event loop.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from cache.errors import RecordError
from cache.record import Record
from cache.store import Store
from infer.together import Together

T = TypeVar("T")

#: How old what is known of other jobs' answers may be.
_LOOK_EVERY_S = 2.0


class Storing:
    """A store, opened for one actor. Used in one event loop."""

    def __init__(self, path: Path) -> None:
        """Open the store.

        Raises:
            StoreUnavailable: there is none, or it cannot be written.
        """
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store")
        self._store = self._thread.submit(Store, path).result()
        self._known = set(self._store.index.files)
        self._looked_s = -_LOOK_EVERY_S
        self._beside = False
        self._put = Together(self._put_all)

    async def put(self, record: Record) -> RecordError | None:
        """Make a record durable; return what is wrong with it, where it cannot be stored."""
        return await self._put(record)

    async def get(self, key: str) -> Record | None:
        """Return what is stored now, whatever became of the request."""
        return await self._in_thread(self._fresh, key, self._store.get)

    async def lasting(self, key: str) -> Record | None:
        """Return what is stored now, if it answers the request for good."""
        return await self._in_thread(self._fresh, key, self._lasting)

    async def elsewhere(self, key: str) -> Record | None:
        """Return a lasting answer that another job stored, as far as is known."""
        if time.monotonic() - self._looked_s > _LOOK_EVERY_S:
            self._looked_s = time.monotonic()
            self._beside = await self._in_thread(self._look) or self._beside
        return await self._in_thread(self._lasting, key) if self._beside else None

    def _fresh(self, key: str, read: Callable[[str], Record | None]) -> Record | None:
        self._store.refresh()
        return read(key)

    def _lasting(self, key: str) -> Record | None:
        return None if self._store.missing([key]) else self._store.get(key)

    def _look(self) -> bool:
        """Whether others write to the store."""
        self._store.refresh()
        others = set(self._store.index.files) - {self._store.part}
        return bool(others - self._known) or any(file.startswith("parts/") for file in others)

    async def _put_all(self, records: list[Record]) -> list[RecordError | None]:
        def put() -> list[RecordError | None]:
            faults: list[RecordError | None] = []
            for record in records:
                try:
                    self._store.put(record, sync=False)
                    faults.append(None)
                except RecordError as error:
                    faults.append(error)
            self._store.flush()
            return faults

        return await self._in_thread(put)

    async def _in_thread(self, work: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)
