"""When to stop asking a service that answers nobody.

A wrong key would turn thousands of pending requests into thousands of failures. So the first
requests go out one at a time, and what would hit any request ends the run.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from infer.errors import ServiceRefused
from infer.fault import Fault

REFUSALS = 3
"""Refusals in a row (no key, no money, no such model) of a service that did answer before."""
FAILURES = 10
"""Other failures in a row, each after its own retries; at least twice the requests in flight."""


class Breaker:
    """Watches how the requests of one engine end."""

    def __init__(self, service: str, concurrency: int) -> None:
        self._service = service
        self._failures_allowed = max(FAILURES, 2 * concurrency)
        self._refusals = 0
        self._failures = 0
        self._answered = False
        self._cautious = True
        self._first = asyncio.Lock()
        self._why = ""

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait until a request may go out: one at a time until the service was heard to work.

        Raises:
            ServiceRefused: it turned down others meanwhile.
        """
        self._check()
        if not self._cautious:
            yield
            return
        await self._first.acquire()
        if not self._cautious:
            self._first.release()
            yield
            return
        try:
            self._check()
            yield
        finally:
            self._first.release()

    def note(self, fault: Fault | None) -> None:
        """Count how a request ended; None is an answer.

        Raises:
            ServiceRefused: the service would turn down any other request too.
        """
        if fault is None or fault.outcome.is_hit:
            self._answered, self._cautious = True, False
            self._refusals = self._failures = 0
            return
        if fault.refusal:
            self._refusals += 1
            if not self._answered or self._refusals >= REFUSALS:
                self._trip(f"refuses every request ({fault.error})")
        else:
            self._cautious = False
            self._failures += 1
            if self._failures >= self._failures_allowed:
                self._trip(f"failed {self._failures} requests in a row ({fault.error})")

    def _trip(self, why: str) -> None:
        self._why = f"{self._service} {why}; the same command goes on once that is mended"
        self._check()

    def _check(self) -> None:
        if self._why:
            raise ServiceRefused(self._why)
