"""Go through a store, one record a key, in the order of its files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cache.errors import RecordError
from cache.order import Found, answer
from cache.pack import iterate_lines
from cache.record import parse_line

if TYPE_CHECKING:
    from cache.store import Store

_KEYS_AT_ONCE = 4096


def scan_found(store: Store) -> Iterator[Found]:
    """Yield the record that answers for each key.

    Parts that are sealed by others meanwhile are followed to their packs.

    Raises:
        StoreUnavailable: a file cannot be read.
    """
    store.refresh()
    done: set[str] = set()
    from_parts: set[str] = set()
    while True:
        moved = False
        store.check_packs()
        chosen = _chosen(store)
        faulty = {fault.file for fault in store.faults}
        for file in store.index.files:
            if file in done:
                continue
            is_part = file.startswith("parts/")
            try:
                for found in _records(store, file, careful=file in faulty):
                    key, place = found.record.key, (found.file, found.offset)
                    if chosen.get(key, place) == place and key not in from_parts:
                        yield found
                        if is_part:
                            from_parts.add(key)
            except FileNotFoundError:
                moved = True
                continue
            done.add(file)
        if not moved:
            return
        store.refresh()


def _chosen(store: Store) -> dict[str, tuple[str, int]]:
    """Where the answer lies, for the keys with several records."""
    several = store.index.repeated()
    chosen: dict[str, tuple[str, int]] = {}
    for at in range(0, len(several), _KEYS_AT_ONCE):
        for key, found in store.find(several[at : at + _KEYS_AT_ONCE]).items():
            one = answer(found)
            chosen[key] = one.file, one.offset
    return chosen


def _records(store: Store, file: str, *, careful: bool) -> Iterator[Found]:
    for offset, line in iterate_lines(store.path, file, careful=careful):
        try:
            record = parse_line(line)
        except RecordError:
            store.index.distrust(file)  # reports it
            continue
        yield Found(file, offset, line, record)
