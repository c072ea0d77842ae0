"""How long work shows its progress: it is handed in, so that a library call stays silent."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

#: Yields what it is given unchanged; told how many there are and what they are.
Track = Callable[[Iterable[Any], int, str], Iterable[Any]]


def untracked(rows: Iterable[Any], total: int, what: str) -> Iterable[Any]:
    """Show nothing."""
    return rows
