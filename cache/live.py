"""The parts of writers that are still at work, or died at it, as far as they were read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cache.fault import Fault
from cache.layout import list_files, writer_is_gone
from cache.lines import Check, Lines, Position, read_lines
from cache.segment import Segment
from cache.segment_file import Stamp

_START = Position()
_NO_LINES = Lines.join([])


@dataclass(slots=True)
class _Part:
    stamp: Stamp | None = None
    position: Position = _START
    lines: Lines = _NO_LINES
    rest: Lines = _NO_LINES
    """What stands after the last newline, once the writer is gone: a record, or a fault."""
    ended: bool = False
    """Whether the writer was gone when the part was read."""


class LiveParts:
    """Reads what was added to the parts since the last time."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._parts: dict[str, _Part] = {}
        self.segment = Segment.of_lines([])
        """The complete records of all parts."""

    @property
    def faults(self) -> list[Fault]:
        """What does not verify in the parts. The unfinished line of a live writer is no fault."""
        return [
            fault
            for part in self._parts.values()
            for fault in (*part.lines.faults, *part.rest.faults)
        ]

    @property
    def names(self) -> list[str]:
        """The parts, relative to the store."""
        return sorted(self._parts)

    def lines(self, name: str) -> Lines:
        """The complete records of a part."""
        part = self._parts[name]
        return Lines.join([part.lines, part.rest])

    def forget(self, name: str) -> None:
        """Read a part from its start the next time, as closely as can be."""
        self._parts.pop(name, None)

    def forget_all(self) -> None:
        """Read every part from its start the next time."""
        self._parts.clear()

    def refresh(self, *, check: Check = Check.DIGEST) -> None:
        """Read on.

        Raises:
            OSError: a part cannot be read.
        """
        files = {f"parts/{file.name}": file for file in list_files(self._root / "parts", ".jsonl")}
        ended = self._parts.keys() - files.keys()
        for name in ended:
            del self._parts[name]
        changed = bool(ended)
        for name, file in sorted(files.items()):
            try:
                changed |= self._read_on(name, file, check)
            except FileNotFoundError:  # sealed in this moment: it is among the packs by now
                changed |= self._parts.pop(name, None) is not None
        if changed:
            self.segment = Segment.of_lines(
                [
                    (part.stamp, self.lines(name))
                    for name, part in self._parts.items()
                    if part.stamp is not None
                ]
            )

    def _read_on(self, name: str, file: Path, check: Check) -> bool:
        part = self._parts.setdefault(name, _Part())
        stamp = Stamp.of(self._root, name)
        gone = writer_is_gone(file)
        if stamp == part.stamp and part.ended == gone:
            return False
        if stamp.size < part.position.offset:  # cut off by somebody: what was read is no more
            part = self._parts[name] = _Part()
        with file.open("rb", buffering=0) as opened:
            lines, part.position = read_lines(opened, name, check, start=part.position, final=False)
            part.lines = Lines.join([part.lines, lines])
            part.rest = _NO_LINES
            if gone:
                part.rest, _ = read_lines(opened, name, check, start=part.position)
        part.stamp, part.ended = stamp, gone
        return True
