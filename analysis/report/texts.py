"""Texts that are too long for a chunk: their beginning stays, the rest lies in files of its own.

A model that repeats itself writes a megabyte. Whoever opens the next question should not load it.
"""

from __future__ import annotations

from typing import Any

from analysis.report.folder import Folder
from analysis.report.script import as_json

#: Characters that a chunk holds of one text.
MOST = 20_000
#: Characters of a file; six bytes each at worst (``\\u003c``), so under 4 MB.
_PIECE = 600_000


class Texts:
    """Keeps texts short, and the rest of them in files; one text is kept once."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._kept: dict[str, list[str]] = {}
        self._count = 0

    def brief(self, text: str) -> str | dict[str, Any]:
        """Return a text or, of a long one, ``{head, length, files}``."""
        if len(text) <= MOST:
            return text
        if text not in self._kept:
            self._kept[text] = [self._piece(text[at : at + _PIECE])
                                for at in range(0, len(text), _PIECE)]  # fmt: skip
        return {"head": text[:MOST], "length": len(text), "files": self._kept[text]}

    def _piece(self, text: str) -> str:
        name = f"text-{self._count:04}"
        self._count += 1
        self._folder.script(name, as_json(text))
        return name
