"""A fault: bytes of a store's file that do not verify, and where they came from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """Bytes that are no record, as they were found."""

    file: str
    """Relative to the store."""
    line: int
    """Number of the line, from 1; 0 where the file as a whole is meant."""
    offset: int
    """Where the bytes start in the file."""
    reason: str
    data: bytes = b""

    def __str__(self) -> str:
        where = f"{self.file} line {self.line}" if self.line else self.file
        return f"{where}: {self.reason}"
