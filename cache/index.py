"""The index: which file and offset hold the records of a key, for all packs and parts.

It is made from the files and is never the truth: removing ``index/`` costs time, nothing else.
Packs are covered by stored segments (``cover.py``), the open parts by one in memory
(``live.py``), and what this process put since it last looked by a dictionary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cache.cover import Cover
from cache.fault import Fault
from cache.keys import key_texts, sorted_numbers
from cache.lines import Check, Lines
from cache.live import LiveParts
from cache.segment import Segment


class Place(NamedTuple):
    """Where a record lies."""

    file: str
    offset: int
    length: int
    hit: bool


class Index:
    """Finds records by key."""

    def __init__(self, root: Path, *, writable: bool) -> None:
        self._root = root
        self._cover = Cover(root, writable=writable)
        self._live = LiveParts(root)
        self._added: list[tuple[str, str, int, int, bool]] = []
        self._fresh: dict[str, tuple[Place, ...]] = {}
        self.looks = 0
        """How often the files were looked at: what was read in between is of one state."""

    @property
    def faults(self) -> list[Fault]:
        """Everything found in packs and parts that does not verify."""
        stored = [fault for segment in self._cover.segments for fault in segment.faults]
        return sorted(stored + self._live.faults, key=lambda fault: (fault.file, fault.offset))

    @property
    def files(self) -> list[str]:
        """Every pack and part, relative to the store."""
        packs = [stamp.name for segment in self._cover.segments for stamp in segment.files]
        return sorted(packs) + self._live.names

    @property
    def damaged(self) -> list[Fault]:
        """Segments that were found damaged since opening; each was dropped and made anew."""
        return self._cover.damaged

    @property
    def segment_paths(self) -> set[Path]:
        """The stored segments in use."""
        return {segment.path for segment in self._cover.segments if segment.path is not None}

    @property
    def rows(self) -> int:
        """How many records the files hold, several under one key included."""
        return sum(len(segment) for segment in self._all())

    def add(self, key: str, file: str, offset: int, length: int, hit: bool) -> None:
        """Take note of a record that this process wrote."""
        self._added.append((key, file, offset, length, hit))

    def _take_note(self) -> dict[str, tuple[Place, ...]]:
        """What this process put since the last refresh; sorted into place only when asked for."""
        for key, file, offset, length, hit in self._added:
            # Tuples, for a million lists would keep the garbage collector busy.
            place = Place(file, offset, length, hit)
            self._fresh[key] = (*self._fresh.get(key, ()), place)
        self._added.clear()
        return self._fresh

    def _forget_notes(self) -> None:
        self._added.clear()
        self._fresh.clear()

    def _all(self) -> list[Segment]:
        return [segment for segment in (*self._cover.segments, self._live.segment) if len(segment)]

    # --- looking up ---------------------------------------------------------------------------

    def places(self, keys: Iterable[str]) -> dict[str, list[Place]]:
        """Where the records of each key lie; keys without a record are left out."""
        asked = list(dict.fromkeys(keys))
        fresh = self._take_note()
        found = {key: [*fresh[key]] for key in asked if key in fresh}
        order, numbers = sorted_numbers(asked)
        for segment in self._all():
            which, rows = segment.find(numbers)
            places = zip(segment.places(rows), segment.hits(rows).tolist(), strict=True)
            for number, (place, hit) in zip(order[which].tolist(), places, strict=True):
                found.setdefault(asked[number], []).append(Place(*place, hit))
        return found

    def missing(self, keys: Iterable[str]) -> list[str]:
        """The distinct keys without a hit, in the order given."""
        asked = list(dict.fromkeys(keys))
        fresh = self._take_note()
        order, numbers = sorted_numbers(asked)
        hit = np.zeros(len(asked), np.bool_)
        for segment in self._all():
            which, rows = segment.find(numbers)
            hit[order[which[segment.hits(rows)]]] = True
        without = [asked[number] for number in np.flatnonzero(~hit).tolist()]
        return [key for key in without if not any(place.hit for place in fresh.get(key, ()))]

    def starting_with(self, prefix: str, limit: int) -> list[str]:
        """Up to ``limit`` keys that start with ``prefix`` (hexadecimal digits), sorted."""
        low = int(prefix[:16].ljust(16, "0"), 16)
        high = int(prefix[:16].ljust(16, "f"), 16)
        found = {key for key in self._take_note() if key.startswith(prefix)}
        for segment in self._all():
            head = segment.columns["head"]
            start = int(np.searchsorted(head, np.uint64(low), "left"))
            end = int(np.searchsorted(head, np.uint64(high), "right"))
            texts = (key for at in range(start, end, 1024) for key in _texts(segment, at, end))
            distinct = dict.fromkeys(key for key in texts if key.startswith(prefix))
            found.update(islice(distinct, limit))
        return sorted(found)[:limit]

    def repeated(self) -> list[str]:
        """Keys under which more than one record lies, after a :meth:`refresh`."""
        segments = self._all()
        if not segments:
            return []
        heads = np.sort(np.concatenate([segment.columns["head"] for segment in segments]))
        twice = np.unique(heads[1:][heads[1:] == heads[:-1]])
        if not len(twice):
            return []
        keys: list[str] = []
        for segment in segments:
            head = segment.columns["head"]
            at = np.minimum(np.searchsorted(twice, head), len(twice) - 1)
            keys += key_texts(segment.keys(np.flatnonzero(twice[at] == head)))
        # Two keys may share their first 8 bytes.
        names, counts = np.unique(np.array(keys), return_counts=True)
        return [str(name) for name in names[counts > 1]]

    def counts(self) -> tuple[int, int]:
        """Distinct keys, and how many of them have a hit, after a :meth:`refresh`."""
        repeated = self.repeated()
        rows = hits = 0
        for segment in self._all():
            rows += len(segment)
            hits += int(np.count_nonzero(segment.columns["hit"]))
        for found in self.places(repeated).values():
            rows -= len(found) - 1
            with_hit = sum(place.hit for place in found)
            hits -= max(with_hit - 1, 0)
        return rows, hits

    # --- following the files ------------------------------------------------------------------

    def refresh(self) -> None:
        """Take in what was written, sealed, merged or removed since the last time.

        Raises:
            OSError: a file cannot be read.
        """
        self.looks += 1
        # Parts before packs: a part that is sealed in between is then seen twice, never missed.
        self._live.refresh()
        self._forget_notes()
        self._cover.refresh()

    def distrust(self, file: str) -> None:
        """Read a file again, every line as closely as can be, for one of them did not verify.

        Raises:
            OSError: a file cannot be read.
        """
        self._forget_notes()
        if file.startswith("parts/"):
            self.looks += 1
            self._live.forget(file)
            self._live.refresh(check=Check.RECORD)
            return
        self._cover.distrust(file)
        self.refresh()

    def check_parts(self) -> None:
        """Look at every line of the parts as closely as can be.

        Raises:
            OSError: a part cannot be read.
        """
        self.looks += 1
        self._forget_notes()
        self._live.forget_all()
        self._live.refresh(check=Check.RECORD)

    def lines_by_file(self) -> dict[str, Callable[[], Lines]]:
        """Every pack and part, in order, with what gives its lines as they are known now."""
        found: dict[str, Callable[[], Lines]] = {}
        for segment in self._cover.segments:
            for number, stamp in enumerate(segment.files):
                found[stamp.name] = partial(segment.lines, number)
        for name in self._live.names:
            found[name] = partial(_same, self._live.lines(name))
        return {file: found[file] for file in self.files}

    def lines(self, file: str) -> Lines | None:
        """The lines of a pack or part, as far as they are known; None where it came later."""
        if file in self._live.names:
            return self._live.lines(file)
        for segment in self._cover.segments:
            for number, stamp in enumerate(segment.files):
                if stamp.name == file:
                    return segment.lines(number)
        return None

    def agrees(self, pack: str, lines: Lines) -> bool:
        """Whether the index says of a pack what these lines of it say."""
        known = self.lines(pack)
        return known is None or known.agrees(lines)


def _same(lines: Lines) -> Lines:
    return lines


def _texts(segment: Segment, at: int, end: int) -> list[str]:
    return key_texts(segment.keys(np.arange(at, min(at + 1024, end))))
