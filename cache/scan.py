"""Go through a store, one record a key, in the order of its files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING

from cache.errors import RecordError
from cache.keys import key_texts
from cache.lines import Lines
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
    done: dict[str, Callable[[], Lines]] = {}
    repeated: set[str] = set()
    yielded: set[str] = set()
    """Of the keys that may be met again: those that lie in parts or in several places."""
    chosen: dict[str, tuple[str, int]] = {}
    while True:
        with store.lock:
            store.refresh()
            store.check_packs()
            looks = store.index.looks
            # What was read is joined with other packs by now, and its keys will be met again.
            for file in done.keys() - set(store.index.files):
                if file.startswith("packs/"):
                    keys = key_texts(done.pop(file)().keys)
                    yielded.update(key for key in keys if chosen.get(key, (file, 0))[0] == file)
            now: dict[str, tuple[str, int]] = {}
            for key, found in _several(store):
                first = answer(found)
                now[key] = first.file, first.offset
                if key not in repeated and any(one.file in done for one in found):
                    yielded.add(key)  # it had only one then
            files = _files(store, done)
            if store.index.looks != looks:  # a line did not verify, or a file was gone
                continue
        chosen = now
        repeated |= chosen.keys()
        moved = False
        for file, (lines, known) in files.items():
            try:
                for one in _records(store, file, lines):
                    key, place = one.record.key, (one.file, one.offset)
                    if chosen.get(key, place) == place and key not in yielded:
                        yield one
                        if lines is not None or key in chosen:
                            yielded.add(key)
            except FileNotFoundError:
                moved = True
                continue
            done[file] = known
        if not moved:
            return


def known_lines(store: Store, file: str) -> Iterator[bytes]:
    """Yield the lines of a file's records, as far as the index knows them, each verified.

    Raises:
        OSError: the file is gone or cannot be read.
    """
    for found in _records(store, file, store.index.lines(file)):
        yield found.line


def _several(store: Store) -> Iterator[tuple[str, list[Found]]]:
    """The records of the keys that have several."""
    keys = store.index.repeated()
    for at in range(0, len(keys), _KEYS_AT_ONCE):
        yield from store.find(keys[at : at + _KEYS_AT_ONCE]).items()


def _files(
    store: Store, done: Collection[str]
) -> dict[str, tuple[Lines | None, Callable[[], Lines]]]:
    """The files to go through: the lines to look at, and what gives the lines that are known.

    None for the lines stands for all that are there.
    """
    faulty = {fault.file for fault in store.faults}
    files: dict[str, tuple[Lines | None, Callable[[], Lines]]] = {}
    for file, lines in store.index.lines_by_file().items():
        if file not in done:
            # A part grows while it is read, and a damaged pack holds what is no record.
            some = lines() if file.startswith("parts/") or file in faulty else None
            files[file] = some, lines
    return files


def _records(store: Store, file: str, lines: Lines | None) -> Iterator[Found]:
    for offset, line in iterate_lines(store.path, file, lines):
        try:
            record = parse_line(line)
        except RecordError:
            with store.lock:
                store.index.distrust(file)  # reports it
            continue
        yield Found(file, offset, line, record)
