"""More hits under one key than one: counted, and where they differ, kept in quarantine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cache.errors import StoreUnavailable
from cache.fault import Fault
from cache.order import Found, surplus
from cache.quarantine import CONFLICT, keep_faults

if TYPE_CHECKING:
    from cache.store import Store

_KEYS_AT_ONCE = 4096
_TRIES = 10


def find_surplus(store: Store) -> tuple[list[Found], list[Found]]:
    """Hits beyond the first of their key: those that answer the same, and those that do not."""
    store.refresh()
    several = store.index.repeated()
    same: list[Found] = []
    otherwise: list[Found] = []
    for at in range(0, len(several), _KEYS_AT_ONCE):
        for found in store.find(several[at : at + _KEYS_AT_ONCE]).values():
            alike, different = surplus(found)
            same += alike
            otherwise += different
    return same, otherwise


def find_conflicts(store: Store) -> tuple[int, list[Fault]]:
    """How many later hits say the same as the first; and those that do not, with file and line.

    Raises:
        StoreUnavailable: a file cannot be read.
    """
    for _ in range(_TRIES):
        same, otherwise = find_surplus(store)
        try:
            return len(same), _as_faults(store.path, otherwise)
        except FileNotFoundError:  # sealed, or joined with others, in this moment
            continue
        except OSError as error:
            raise StoreUnavailable(f"{store.path} cannot be read: {error}") from error
    raise StoreUnavailable(f"{store.path}: files come and go too fast to count conflicts")


def _as_faults(root: Path, conflicts: Sequence[Found]) -> list[Fault]:
    by_file: dict[str, list[Found]] = defaultdict(list)
    for one in conflicts:
        by_file[one.file].append(one)
    faults = []
    for file, found in sorted(by_file.items()):
        found.sort(key=lambda one: one.offset)
        lines = _line_numbers(root / file, [one.offset for one in found])
        for one, line in zip(found, lines, strict=True):
            reason = f"{CONFLICT}: {one.record.key}"
            faults.append(Fault(file, line, one.offset, reason, one.line))
    return faults


def keep_conflicts(store: Store) -> list[Fault]:
    """Copy the later of two answers to quarantine; return all there are.

    Raises:
        StoreUnavailable: a file cannot be read, or the quarantine not written.
    """
    _, faults = find_conflicts(store)
    try:
        keep_faults(store.path, faults)
    except OSError as error:
        raise StoreUnavailable(
            f"{store.path}: conflicting answers cannot be copied to quarantine: {error}"
        ) from error
    return faults


def _line_numbers(path: Path, offsets: list[int]) -> list[int]:
    ends: list[np.ndarray] = []
    at = 0
    with path.open("rb", buffering=0) as file:
        while block := file.read(16 << 20):
            ends.append(np.flatnonzero(np.frombuffer(block, np.uint8) == 10) + at)
            at += len(block)
    return (np.searchsorted(np.concatenate(ends), offsets) + 1).tolist() if ends else []
