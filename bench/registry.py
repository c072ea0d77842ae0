"""The benchmarks by name.

sonic-o1         the published data        demo             bundled, in SONIC-O1's shape
omniassist       the published data        demo-assistant   bundled, in OmniAssistBench's shape
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Protocol

from bench.demo import OMNIASSIST, SONIC_O1
from bench.errors import Fault, UnknownBenchmark
from bench.item import Item, TaskType
from bench.omniassist import OmniAssist
from bench.prompt import Prompt
from bench.sonic_o1 import SonicO1


class Benchmark(Protocol):
    """A named set of items with their prompts and references."""

    name: str
    """As asked for: ``demo`` is the bundled data in SONIC-O1's shape."""
    bundled: Path | None
    """Where the bundled data are; None: the user says where they are."""
    over_topics: bool
    """What its headline numbers are a mean over: topics, each weighing the same, or items."""

    @property
    def tasks(self) -> tuple[TaskType, ...]:
        """Task types asked by default."""

    @property
    def offered(self) -> tuple[TaskType, ...]:
        """Task types that can be asked for, those on request only included."""

    def load(self, data: Path | None, tasks: Collection[TaskType] | None = None) -> list[Item]:
        """Return the items, in a stable order.

        Raises:
            AnnotationError: the annotations have faults.
            DataMissing: the folder, or something it must hold, is not there.
            UnknownTask: the benchmark has no such task type.
        """

    def check(self, data: Path | None, *, media: bool = True) -> list[Fault]:
        """Return every fault of the tree at once.

        Raises:
            DataMissing: there is no tree at this place.
        """

    def prompts(self, items: Sequence[Item], templates: Path | None = None) -> list[Prompt]:
        """Return the prompts that ask ``items``.

        Raises:
            PromptError: a template is not usable.
        """


_BENCHMARKS: dict[str, Benchmark] = {
    "demo": SonicO1("demo", bundled=SONIC_O1),
    "demo-assistant": OmniAssist("demo-assistant", bundled=OMNIASSIST),
    "sonic-o1": SonicO1("sonic-o1"),
    "omniassist": OmniAssist("omniassist"),
}


def names() -> list[str]:
    """Return the names of all benchmarks."""
    return list(_BENCHMARKS)


def is_over_topics(name: str) -> bool:
    """Whether the headline numbers of a benchmark are means over topics, or over items.

    Scores of a benchmark that is not of this package are averaged over topics.
    """
    known = _BENCHMARKS.get(name)
    return known is None or known.over_topics


def get(name: str) -> Benchmark:
    """Return a benchmark by its name.

    Raises:
        UnknownBenchmark: there is none of this name; the message lists those there are.
    """
    if name not in _BENCHMARKS:
        raise UnknownBenchmark(f"no benchmark {name!r}; there are: {', '.join(names())}")
    return _BENCHMARKS[name]
