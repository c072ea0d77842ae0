"""Which of several records under one key is the answer. The same for every reader.

* A hit before any failure: a failure followed by a hit is no conflict.
* Of hits, the one with the smaller ``created`` answers, whoever stored it first. Of failures, the
  newest tells how things stand.
* First is the one that was created first. Of records created in the same millisecond, those of one
  file keep its order; between files, the one goes first whose first such record has the smaller
  line digest.

Nothing of this depends on names of files or on who reads: sealing and merging change no answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import msgspec

from cache.record import Record


class Found(msgspec.Struct, frozen=True):
    """A verified record, and where it lies."""

    file: str
    offset: int
    line: bytes
    record: Record

    @property
    def digest(self) -> bytes:
        """The line's own digest."""
        return self.line[-66:-2]


def in_order(found: Sequence[Found]) -> list[Found]:
    """The records from first to last, identical lines once."""
    tied: dict[tuple[str, str], list[bytes]] = defaultdict(list)
    for one in sorted(found, key=lambda one: (one.file, one.offset)):
        tied[one.record.created, one.file].append(one.digest)

    def place(one: Found) -> tuple[str, list[bytes], int]:
        return one.record.created, tied[one.record.created, one.file], one.offset

    distinct: dict[bytes, Found] = {}
    for one in sorted(found, key=place):
        distinct.setdefault(one.line, one)
    return list(distinct.values())


def answer(found: Sequence[Found]) -> Found:
    """The record that answers for its key. Needs at least one."""
    if len(found) == 1:
        return found[0]
    ordered = in_order(found)
    for one in ordered:
        if one.record.outcome.is_hit:
            return one
    return ordered[-1]


def surplus(found: Sequence[Found]) -> tuple[list[Found], list[Found]]:
    """Hits beyond the first: those that answer the same, and those that answer otherwise."""
    hits = [one for one in in_order(found) if one.record.outcome.is_hit]
    same = [one for one in hits[1:] if _answers_alike(one.record, hits[0].record)]
    return same, [one for one in hits[1:] if one not in same]


def _answers_alike(one: Record, other: Record) -> bool:
    return one.outcome == other.outcome and one.response == other.response
