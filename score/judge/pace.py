"""How fast a service may be asked: requests and tokens a minute, spread evenly.

A call waits until both its own place and its tokens are free; then the next place is free
60 / requests_per_minute seconds later, and the next tokens as many seconds later as these take at
tokens_per_minute. So no minute, wherever it begins, has more than its share, and no burst meets a
service that counts by the second. Tokens are a guess when a call starts and known when it ends: the
difference moves what comes after.

(aiolimiter, the usual library, limits one quantity, lets a minute's worth go at once, and can give
nothing back.)
"""

from __future__ import annotations

from score.judge.spec import Limits


class Pace:
    """When the next call may start."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._place_free = 0.0
        self._tokens_free = 0.0

    def start(self, now: float, tokens: int) -> float:
        """Take the next place; return at what time the call may start.

        Args:
            now: Seconds on any clock that only goes forward.
            tokens: Those that the call will take, input and output.
        """
        at = max(now, self._place_free, self._tokens_free)
        if self._limits.requests_per_minute:
            self._place_free = at + 60 / self._limits.requests_per_minute
        self._tokens_free = at + self._seconds(tokens)
        return at

    def correct(self, expected: int, taken: int) -> None:
        """Note how many tokens a call took that was expected to take others."""
        self._tokens_free += self._seconds(taken - expected)

    def _seconds(self, tokens: int) -> float:
        limit = self._limits.tokens_per_minute
        return 60 * tokens / limit if limit else 0.0
