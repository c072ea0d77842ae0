"""The index: which file and offset hold the records of a key, for all packs and parts.

It is made from the files and is never the truth: removing ``index/`` costs time, nothing else.
Packs are covered by stored segments (``segment.py``), the open parts by one in memory
(``live.py``), and what this process put since it last looked by a dictionary.

Every sealed pack adds a small segment; when there are more than a few, the small ones are joined
into a bigger one, so a look-up searches few segments however many packs there are.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cache.fault import Fault
from cache.keys import key_texts, sorted_numbers
from cache.lines import Check, Lines
from cache.live import LiveParts
from cache.pack import PackContent, list_packs, read_pack
from cache.quarantine import keep_faults
from cache.segment import DamagedIndex, Segment, Stamp, remove_segment

_SEGMENTS = 8
_ROWS_AT_ONCE = 2_000_000


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
        self._writable = writable
        self._segments: list[Segment] = []
        self._live = LiveParts(root)
        self._added: list[tuple[str, str, int, int, bool]] = []
        self._fresh: dict[str, tuple[Place, ...]] = {}
        self._suspects: set[str] = set()
        self.damaged: list[Fault] = []
        """Segments that were found damaged since opening; each was dropped and made anew."""

    @property
    def faults(self) -> list[Fault]:
        """Everything found in packs and parts that does not verify."""
        stored = [fault for segment in self._segments for fault in segment.faults]
        return sorted(stored + self._live.faults, key=lambda fault: (fault.file, fault.offset))

    @property
    def files(self) -> list[str]:
        """Every pack and part, relative to the store."""
        packs = [stamp.name for segment in self._segments for stamp in segment.files]
        return sorted(packs) + self._live.names

    @property
    def segment_paths(self) -> set[Path]:
        """The stored segments in use."""
        return {segment.path for segment in self._segments if segment.path is not None}

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
        return [segment for segment in (*self._segments, self._live.segment) if len(segment)]

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
        # Parts before packs: a part that is sealed in between is then seen twice, never missed.
        self._live.refresh()
        self._forget_notes()
        packs = list_packs(self._root)
        while True:
            self._take_in(packs)
            again = list_packs(self._root)
            if packs.keys() <= again.keys():
                break
            packs = again  # one was removed while we looked: what replaces it may be new
        self._join_small()

    def distrust(self, file: str) -> None:
        """Read a file again, every line as closely as can be, for one of them did not verify.

        Raises:
            OSError: a file cannot be read.
        """
        self._forget_notes()
        if file.startswith("parts/"):
            self._live.forget(file)
            self._live.refresh(check=Check.RECORD)
            return
        self._suspects.add(file)
        self._segments = [self._without(segment, {file}) for segment in self._segments]
        self.refresh()

    def agrees(self, pack: str, lines: Lines) -> bool:
        """Whether the index says of a pack what these lines of it say."""
        for segment in self._segments:
            for number, stamp in enumerate(segment.files):
                if stamp.name == pack:
                    return segment.agrees(number, lines)
        return True  # it came after the last refresh

    def _take_in(self, packs: dict[str, Stamp]) -> None:
        kept: list[Segment] = []
        open_packs = dict(packs)
        for segment in (*self._segments, *self._stored(open_packs)):
            useless = {s.name for s in segment.files if open_packs.get(s.name) != s}
            if len(useless) == len(segment.files):
                continue
            if useless:
                segment = self._without(segment, useless)
            kept.append(segment)
            for stamp in segment.files:
                del open_packs[stamp.name]
        self._segments = kept
        for contents in self._read(list(open_packs)):
            segment = Segment.of_lines([(content.stamp, content.lines) for content in contents])
            if self._writable:
                with contextlib.suppress(OSError):
                    keep_faults(self._root, segment.faults)
                    segment = segment.store(self._root / "index")
            self._segments.append(segment)

    def _stored(self, packs: dict[str, Stamp]) -> Iterator[Segment]:
        covered = {s.name for segment in self._segments for s in segment.files}
        if packs.keys() <= covered:
            return
        loaded = {segment.path for segment in self._segments}
        found: list[Segment] = []
        for path in sorted(self._root.glob("index/[!.]*.idx")):
            if path in loaded:
                continue
            with contextlib.suppress(OSError, ValueError):  # gone, or of another version
                try:
                    found.append(Segment.load(path))
                except DamagedIndex as error:
                    self.damaged.append(Fault(f"index/{path.name}", 0, 0, f"the index {error}"))
                    if self._writable:
                        remove_segment(path)
        # Where segments overlap, the biggest serves and the rest is cut down.
        for segment in sorted(found, key=len, reverse=True):
            yield self._without(segment, self._suspects)

    def _without(self, segment: Segment, names: set[str]) -> Segment:
        if not names & {stamp.name for stamp in segment.files}:
            return segment
        cut_down = Segment.merge([segment], None, without=names)
        if self._writable and segment.path is not None:
            with contextlib.suppress(OSError):
                remove_segment(segment.path)
                if cut_down.files:
                    cut_down = cut_down.store(self._root / "index")
        return cut_down

    def _read(self, names: Sequence[str]) -> Iterator[list[PackContent]]:
        """Read packs, as many at a time as make a segment of some size."""

        def read(name: str) -> PackContent | None:
            check = Check.RECORD if name in self._suspects else Check.SHAPE
            with contextlib.suppress(FileNotFoundError):
                return read_pack(self._root, name, check)
            return None

        batch: list[PackContent] = []
        rows = 0
        workers = min(8, os.cpu_count() or 1)
        with ThreadPoolExecutor(workers) as pool:
            # A few packs at a time, so that few are in memory.
            for at in range(0, len(names), workers):
                for content in pool.map(read, names[at : at + workers]):
                    if content is not None:
                        batch.append(content)
                        rows += len(content.lines.offsets)
                if rows >= _ROWS_AT_ONCE:
                    yield batch
                    batch, rows = [], 0
        if batch:
            yield batch

    def _join_small(self) -> None:
        if len(self._segments) <= _SEGMENTS:
            return
        self._segments.sort(key=len)
        count, total = 0, 0
        for segment in self._segments:
            few_enough = len(self._segments) - count <= _SEGMENTS // 2
            if few_enough and len(segment) > 2 * total:
                break
            count += 1
            total += len(segment)
        small, rest = self._segments[:count], self._segments[count:]
        folder = self._root / "index" if self._writable else None
        try:
            joined = Segment.merge(small, folder)
        except OSError:  # a full or read-only disk: the index is then made anew the next time
            joined = Segment.merge(small, None)
        self._segments = [joined, *rest]
        for segment in small:
            if segment.path is not None and joined.path not in (None, segment.path):
                with contextlib.suppress(OSError):
                    remove_segment(segment.path)


def _texts(segment: Segment, at: int, end: int) -> list[str]:
    return key_texts(segment.keys(np.arange(at, min(at + 1024, end))))
