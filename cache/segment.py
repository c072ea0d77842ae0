"""A segment of the index: sorted columns that say where the records of some files lie.

Made of files' lines or of other segments, in memory or, by ``segment_file.py``, on disk.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cache.fault import Fault
from cache.lines import Lines
from cache.segment_file import COLUMNS, Column, Stamp, read_segment, write_segment

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Segment:
    """Sorted columns over some files."""

    files: tuple[Stamp, ...]
    columns: dict[str, Column]
    faults: tuple[Fault, ...] = ()
    """Without their bytes, which are in quarantine."""
    path: Path | None = None
    """Where the segment is stored; None: in memory only."""

    def __len__(self) -> int:
        return len(self.columns["head"])

    @classmethod
    def of_lines(cls, files: Sequence[tuple[Stamp, Lines]]) -> Segment:
        """Index some files' lines in memory."""
        lines = Lines.join([lines for _, lines in files])
        counts = [len(found.offsets) for _, found in files]
        order = np.argsort(lines.keys[:, 0], kind="stable")
        columns: dict[str, Column] = {
            "head": np.ascontiguousarray(lines.keys[order, 0]),
            "tail": np.ascontiguousarray(lines.keys[order, 1:]),
            "offset": lines.offsets[order],
            "length": lines.lengths[order],
            "file": np.repeat(np.arange(len(files), dtype=np.uint32), counts)[order],
            "hit": lines.hits[order].view(np.uint8),
        }
        return cls(tuple(stamp for stamp, _ in files), columns, lines.faults)

    @classmethod
    def merge(
        cls,
        segments: Sequence[Segment],
        folder: Path | None,
        *,
        without: Collection[str] = (),
    ) -> Segment:
        """Join segments into one; in ``folder`` where one is given, else in memory.

        Goes column by column, so that 10⁷ rows need a third of their size in memory.

        Args:
            segments: at least one.
            folder: where to store the result.
            without: names of files that the result leaves out.

        Raises:
            OSError: the folder cannot be written.
        """
        stamps = [stamp for segment in segments for stamp in segment.files]
        kept = [stamp.name not in without for stamp in stamps]
        numbers = (np.cumsum(kept) - 1).astype(np.uint32)
        files = tuple(stamp for stamp, keep in zip(stamps, kept, strict=True) if keep)
        faults = tuple(f for segment in segments for f in segment.faults if f.file not in without)
        order = np.argsort(_joined(segments, "head"), kind="stable").astype(np.uint32)
        if without:
            order = order[np.array(kept)[_joined(segments, "file")][order]]
        chunks = (
            (name, numbers[chunk] if name == "file" else chunk)
            for name, chunk in _gathered(segments, order)
        )
        if folder is not None:
            return cls.load(write_segment(folder, files, faults, len(order), chunks))
        pieces: dict[str, list[Column]] = {name: [] for name, _, _ in COLUMNS}
        for name, chunk in chunks:
            pieces[name].append(chunk)
        columns = {name: np.concatenate(found) for name, found in pieces.items()}
        return cls(files, columns, faults)

    def store(self, folder: Path) -> Segment:
        """Write the segment to ``folder`` and return it as it lies there.

        Raises:
            OSError: the folder cannot be written.
        """
        chunks = (
            (name, self.columns[name][at : at + _CHUNK])
            for name, _, _ in COLUMNS
            for at in range(0, len(self), _CHUNK)
        )
        return Segment.load(write_segment(folder, self.files, self.faults, len(self), chunks))

    @classmethod
    def load(cls, path: Path) -> Segment:
        """Read or map a stored segment.

        Raises:
            OSError: the file is gone or cannot be read.
            DamagedIndex: the file was cut off or changed.
            ValueError: the file is of another version.
        """
        found = read_segment(path)
        return cls(found.files, found.columns, found.faults, path)

    def lines(self, number: int) -> Lines:
        """The lines of its file ``number``, in that file's order."""
        rows = np.flatnonzero(self.columns["file"] == number)
        rows = rows[np.argsort(self.columns["offset"][rows], kind="stable")]
        return Lines(
            self.keys(rows),
            self.columns["offset"][rows],
            self.columns["length"][rows],
            self.hits(rows),
        )

    def find(self, keys: NDArray[np.uint64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Find every row of some keys.

        Args:
            keys: (m, 4); sorted keys are found several times faster.

        Returns:
            Two arrays of one length: index into ``keys``, and the row found for it.
        """
        head = self.columns["head"]
        first = np.searchsorted(head, keys[:, 0], "left")
        count = np.searchsorted(head, keys[:, 0], "right") - first
        asked = np.repeat(np.arange(len(keys)), count)
        within = np.arange(len(asked)) - np.repeat(np.cumsum(count) - count, count)
        rows = first[asked] + within
        same = (self.columns["tail"][rows] == keys[asked, 1:]).all(axis=1)
        return asked[same], rows[same]

    def hits(self, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Which rows are hits."""
        found: NDArray[np.bool_] = self.columns["hit"][rows] != 0
        return found

    def keys(self, rows: NDArray[np.intp]) -> NDArray[np.uint64]:
        """The keys of some rows, (n, 4)."""
        head = self.columns["head"][rows]
        return np.column_stack([head, self.columns["tail"][rows]]).astype(np.uint64)

    def places(self, rows: NDArray[np.intp]) -> Iterator[tuple[str, int, int]]:
        """File, offset and length of some rows."""
        for file, offset, length in zip(
            self.columns["file"][rows].tolist(),
            self.columns["offset"][rows].tolist(),
            self.columns["length"][rows].tolist(),
            strict=True,
        ):
            yield self.files[file].name, offset, length


def _joined(segments: Sequence[Segment], name: str) -> Column:
    columns = [segment.columns[name] for segment in segments]
    if name == "file":  # numbers of files go on from segment to segment
        shifts = np.cumsum([0, *(len(segment.files) for segment in segments[:-1])])
        columns = [column + np.uint32(shift) for column, shift in zip(columns, shifts, strict=True)]
    return np.concatenate(columns)


def _gathered(
    segments: Sequence[Segment], order: NDArray[np.uint32]
) -> Iterator[tuple[str, Column]]:
    for name, _, _ in COLUMNS:
        column = _joined(segments, name)
        for at in range(0, max(len(order), 1), _CHUNK):
            yield name, column[order[at : at + _CHUNK]]
