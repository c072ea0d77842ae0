"""What was decoded last, at hand while the next items ask for the same.

Several questions about one segment follow each other in a benchmark, each in a request of its own.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Recent(Generic[Value]):
    """Values made lately, as many as fit into a bound of bytes; the oldest use goes first."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._held: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: Hashable, make: Callable[[], Value], size: Callable[[Value], int]) -> Value:
        """Return the value of ``key``, made now if it is not at hand."""
        if key in self._held:
            self._held.move_to_end(key)
            return self._held[key][0]
        value = make()
        needed = size(value)
        if needed <= self._most_bytes:
            while self._bytes + needed > self._most_bytes:
                _, (_, freed) = self._held.popitem(last=False)
                self._bytes -= freed
            self._held[key] = value, needed
            self._bytes += needed
        return value
