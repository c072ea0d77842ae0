"""Errors of the benchmarks.

BenchError                exit code 2
├── AnnotationError       the tree has faults; holds all that were found
├── PromptError           a template does not hold
├── UnknownBenchmark      a name that is not registered
├── UnknownItem           an item id that the benchmark does not have
├── UnknownTask           a task type that the benchmark does not have
└── DataMissing           exit code 3: the folder or a part of it is not there
"""

from __future__ import annotations

from dataclasses import dataclass


class BenchError(Exception):
    """Base of everything that benchmarks raise on purpose."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with a benchmark's tree."""

    file: str
    entry: str
    """Which entry of the file (``entries[3].questions[1]``, ``line 7``); empty: the file itself."""
    field: str
    found: str
    """What was found and what was expected instead."""
    blocks: bool = True
    """False: every item is well defined in spite of it, so that loading goes on."""

    def __str__(self) -> str:
        where = " ".join(part for part in (self.file, self.entry, self.field) if part)
        return f"{where}: {self.found}"


class AnnotationError(BenchError):
    """The tree has faults."""

    def __init__(self, faults: list[Fault]) -> None:
        self.faults = faults
        listed = "\n".join(f"  {fault}" for fault in faults[:20])
        more = f"\n  … and {len(faults) - 20} more" if len(faults) > 20 else ""
        super().__init__(f"{len(faults)} fault(s) in the annotations:\n{listed}{more}")


class PromptError(BenchError):
    """A prompt template, or a user's folder of them, is not usable."""


class UnknownBenchmark(BenchError):
    """No benchmark of this name."""


class UnknownItem(BenchError):
    """No item of this id, or more than one that starts with it."""


class UnknownTask(BenchError):
    """A task type that this benchmark does not have."""


class DataMissing(BenchError):
    """The data folder, or a file it must hold, is not there."""

    exit_code = 3
