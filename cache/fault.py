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
        return readable(f"{where}: {self.reason}")


def readable(text: str) -> str:
    """A text as it can be printed and written as UTF-8.

    Control characters would move the cursor or colour the terminal; a name of a file that is not
    UTF-8 has lone surrogates. Newlines and tabs stay.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in "\n\t" else "\ufffd" for char in text)
