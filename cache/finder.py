"""Find records: the index says where they may lie, and only what verifies there is believed."""

from __future__ import annotations

import logging
from itertools import groupby
from pathlib import Path

from cache.errors import RecordError, StoreUnavailable
from cache.fault import readable
from cache.index import Index, Place
from cache.order import Found
from cache.reader import Reader
from cache.record import Record, parse_line

_log = logging.getLogger("rejudge.store")
#: Files may be sealed, merged or damaged while they are read; nobody does so for ever.
_TRIES = 10


class Finder:
    """Reads and verifies what the index points to, and tells it where it is wrong."""

    def __init__(self, root: Path, index: Index, reader: Reader) -> None:
        self._root = root
        self._index = index
        self._reader = reader

    def find(self, keys: list[str]) -> dict[str, list[Found]]:
        """Every record under each key that verifies. A line that does not is no longer indexed.

        Raises:
            OSError: a file cannot be read.
            StoreUnavailable: files are gone again and again before they can be read.
        """
        found: dict[str, list[Found]] = {}
        for _ in range(_TRIES):
            found, gone, bad = self._read(self._index.places(keys))
            if not gone and not bad:
                break
            if gone:
                self._reader.close()
                self._index.refresh()
            for file in sorted(bad):
                _log.warning("%s: a line of %s does not verify", self._root, readable(file))
                self._reader.forget(file)
                self._index.distrust(file)
        else:
            if gone:
                raise StoreUnavailable(f"{self._root}: files come and go too fast to be read")
        return found

    def _read(
        self, places: dict[str, list[Place]]
    ) -> tuple[dict[str, list[Found]], set[str], set[str]]:
        found: dict[str, list[Found]] = {key: [] for key in places}
        gone: set[str] = set()
        bad: set[str] = set()
        # In the order of the files: a disk's head, or a network's read-ahead, goes forward.
        ordered = sorted((place, key) for key, some in places.items() for place in some)
        for file, here in groupby(ordered, key=lambda entry: entry[0].file):
            wanted = list(here)
            spans = [(place.offset, place.length) for place, _ in wanted]
            try:
                for (place, key), line in zip(wanted, self._reader.read(file, spans), strict=True):
                    record = _parsed(line)
                    if record is not None and record.key == key:
                        found[key].append(Found(file, place.offset, line, record))
                    else:
                        bad.add(file)
            except FileNotFoundError:
                gone.add(file)
        return {key: records for key, records in found.items() if records}, gone, bad


def _parsed(line: bytes) -> Record | None:
    try:
        return parse_line(line)
    except RecordError:
        return None
