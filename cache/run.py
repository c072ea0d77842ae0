"""A run: benchmark × model × settings, by name, as the list of which item was asked by which key.

    runs/<name>.jsonl
        {"name": …, "benchmark": …, "model": …, "tasks": […], "settings": {…}, "created": …}
        {"item": "choice/01/001/0-180/0", "key": "94a0…"}
        …
        {"digest": …}

A file is written whole, once, and never replaced; what a later call adds to a run goes to a file
of its own (``runs.py``). A run is the union of its files.
"""

from __future__ import annotations

from typing import Any

import msgspec

#: Engine of what other suites answered: the requests of these answers name their source instead.
IMPORT_ENGINE = "import"


class RunHeader(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a run was made."""

    name: str
    benchmark: str
    model: str
    tasks: tuple[str, ...]
    """Task types that the run set out to answer: its expected items are all items of these."""
    settings: dict[str, Any] = {}
    samples: int = 1
    """Answers asked for each item."""
    created: str = ""

    @property
    def can_grow(self) -> bool:
        """Whether tasks may be added to the run.

        To an import, for its files come task by task. A run of our own sets out to answer what its
        header says, and what is missing of that is to be seen.
        """
        return self.settings.get("engine") == IMPORT_ENGINE


class RunLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One item of a run and the key of the request that asks it."""

    item: str
    key: str
    sample: int = 0


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A run as it is read back."""

    header: RunHeader
    lines: tuple[RunLine, ...]
