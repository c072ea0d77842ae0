"""When to stop calling a service that answers nobody."""

from __future__ import annotations

REFUSALS = 3
"""Refusals in a row (no key, no money, no such model …) after which no more calls are made."""

FAILURES = 10
"""Other failures in a row, each after its own retries; at least twice the calls in flight."""


class Breaker:
    """Counts failures in a row; any answered call clears the counts.

    Until the first answer, or a failure that is no refusal, ``cautious`` asks for one call at a
    time, so that a wrong key costs a few calls and not as many as may be in flight.
    """

    def __init__(self, concurrency: int) -> None:
        self.cautious = True
        self._failures_allowed = max(FAILURES, 2 * concurrency)
        self._refusals = 0
        self._failures = 0
        self._last = ""

    def answered(self) -> None:
        """Note a call that the service took, whatever it said."""
        self.cautious = False
        self._refusals = self._failures = 0

    def refused(self, error: str) -> None:
        """Note a call that the service refused in a way that would hit any call."""
        self._refusals += 1
        self._last = error

    def failed(self, error: str) -> None:
        """Note a call that failed after its retries, for reasons that may pass."""
        self.cautious = False
        self._failures += 1
        self._last = error

    @property
    def stop(self) -> str:
        """Why no more calls should be made; empty while they should."""
        if self._refusals >= REFUSALS:
            return self._refusing()
        if self._failures >= self._failures_allowed:
            return f"failed {self._failures} requests in a row ({self._last})"
        return ""

    @property
    def final(self) -> str:
        """What to say when there are no more calls to make: also of few that were all refused."""
        return self.stop or (self._refusing() if self.cautious and self._refusals else "")

    def _refusing(self) -> str:
        return f"refuses every request ({self._last})"
