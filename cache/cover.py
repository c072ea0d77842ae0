"""Cover the packs with segments: which packs are indexed by which stored segment.

Every sealed pack adds a small segment; when there are more than a few, the small ones are joined
into a bigger one, so a look-up searches few segments however many packs there are. A segment that
is damaged, or says of a pack what it no longer is, is dropped, and its packs are read anew.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cache.fault import Fault
from cache.layout import list_files
from cache.lines import Check
from cache.pack import PackContent, list_packs, read_pack
from cache.quarantine import keep_faults
from cache.segment import Segment
from cache.segment_file import DamagedIndex, Stamp, remove_segment

_SEGMENTS = 8
#: Packs come and go while they are listed; not for ever.
_TRIES = 10
_ROWS_AT_ONCE = 2_000_000


class Cover:
    """The segments over a store's packs."""

    def __init__(self, root: Path, *, writable: bool) -> None:
        self._root = root
        self._writable = writable
        self._segments: list[Segment] = []
        self._suspects: set[str] = set()
        self.damaged: list[Fault] = []
        """Segments that were found damaged since opening; each was dropped and made anew."""

    @property
    def segments(self) -> Sequence[Segment]:
        """Together they cover each pack once."""
        return self._segments

    def distrust(self, pack: str) -> None:
        """Read a pack anew with the next :meth:`refresh`, every line as closely as can be."""
        self._suspects.add(pack)
        self._segments = [self._without(segment, {pack}) for segment in self._segments]

    def refresh(self) -> None:
        """Take in the packs that came, and leave out those that went.

        Raises:
            OSError: a pack cannot be read.
        """
        packs = list_packs(self._root)
        for _ in range(_TRIES):
            self._take_in(packs)
            again = list_packs(self._root)
            if packs.keys() == again.keys():
                break
            # Packs are being joined or replaced: a listing can miss the old one, which is gone when
            # its folder is looked at, and the new one, whose folder was looked at before.
            packs = again
        self._join_small()

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
        found = {segment.path: segment for segment in self._segments if segment.path is not None}
        loaded = set(found)
        for _ in range(_TRIES):
            paths: list[Path] = []
            with contextlib.suppress(OSError):  # it is no more than a help
                paths = list_files(self._root / "index", ".idx")
            gone = [path for path in paths if path not in found and not self._load(path, found)]
            if not any(not path.exists() for path in gone):
                break
            # Others joined or collected segments between our look at the folder and at the file.
            # What replaces them is there by now: far cheaper than to read the packs.
        # Where segments overlap, the biggest serves and the rest is cut down.
        new = [segment for path, segment in found.items() if path not in loaded]
        for segment in sorted(new, key=len, reverse=True):
            yield self._without(segment, self._suspects)

    def _load(self, path: Path, found: dict[Path, Segment]) -> bool:
        with contextlib.suppress(OSError, ValueError):  # gone, or of another version
            try:
                found[path] = Segment.load(path)
            except DamagedIndex as error:
                self.damaged.append(Fault(f"index/{path.name}", 0, 0, f"the index {error}"))
                if self._writable:
                    remove_segment(path)
        return path in found

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
