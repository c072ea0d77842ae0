"""Table specifications: what a paper's tables hold, read from ``analysis/tables/<paper>.toml``.

PaperSpec
├── topics                      topic → short heading
├── metric[task][name]          MetricSpec: label, unit, scale, digits, direction, judge or not
└── table[]                     TableSpec
    └── groups[]                GroupSpec: a task and its metrics, in the order they are shown

A further table of a paper is a further ``[[table]]`` entry, a further paper is a further file.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Literal

import msgspec

from analysis.errors import TableSpecError, UnknownName
from bench.item import TaskType


class MetricSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How one metric of one task is shown."""

    label: str
    published: str = ""
    """Its name in ``published/tables.csv``; empty: not published."""
    judge: bool = False
    """A judge's score: the column needs a judge to be chosen."""
    scale: float = 1.0
    """From the value in ``scores.parquet`` to the table's unit (a fraction × 100 is per cent)."""
    unit: Literal["", "%", "s"] = ""
    digits: int = 1
    better: Literal["higher", "lower"] = "higher"


class GroupSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Columns that share a heading: some metrics of one task."""

    label: str
    task: TaskType
    metrics: tuple[str, ...]
    """Names of the metrics as in ``scores.parquet``."""
    published: str = ""
    """The task's name in ``published/tables.csv``."""


class TableSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One table, or one row of tables of the same make where there are many column groups."""

    name: str
    title: str
    numbers: tuple[str, ...]
    """Its numbers in the paper, which are also where its published values are."""
    groups: tuple[GroupSpec, ...]
    across: Literal["task", "topic"] = "task"
    """What the column groups are: the tasks, macro means over topics; or the topics of one task."""
    most: int = 8
    """Column groups that one printed table may hold; more are split evenly over several."""
    digits: dict[str, int] = {}
    """Metric → digits in this table, where they differ from the metric's own."""


class PaperSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The tables of one paper."""

    paper: str
    shown_as: str
    metric: dict[TaskType, dict[str, MetricSpec]]
    table: tuple[TableSpec, ...]
    topics: dict[str, str] = {}

    def shown(self, table: TableSpec, group: GroupSpec, metric: str) -> MetricSpec:
        """Return how ``metric`` is shown in ``table``."""
        spec = self.metric[group.task][metric]
        return msgspec.structs.replace(spec, digits=table.digits.get(metric, spec.digits))

    def named(self, name: str) -> TableSpec:
        """Return the table with this name, or with this number in the paper.

        Raises:
            UnknownName: There is no such table.
        """
        for table in self.table:
            if name == table.name or name in table.numbers:
                return table
        known = [f"{table.name} ({', '.join(table.numbers)})" for table in self.table]
        raise UnknownName(f"{self.paper} table", name, known)


def papers() -> list[str]:
    """Return the papers whose tables are specified."""
    found = (files("analysis") / "tables").iterdir()
    return sorted(entry.name.removesuffix(".toml") for entry in found)


def load_paper(name: str) -> PaperSpec:
    """Read a paper's tables.

    Raises:
        UnknownName: There is no such paper.
        TableSpecError: The file does not hold.
    """
    if name not in papers():
        raise UnknownName("paper", name, papers())
    return parse_paper((files("analysis") / "tables" / f"{name}.toml").read_bytes(), name)


def parse_paper(text: bytes, source: str) -> PaperSpec:
    """Read a paper's tables from TOML and check that every metric shown is described.

    Raises:
        TableSpecError: Syntax, a field, or a metric that ``[metric]`` does not describe.
    """
    try:
        paper = msgspec.toml.decode(text, type=PaperSpec)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise TableSpecError(f"table specification {source}: {error}") from error
    for table in paper.table:
        if not table.groups or (table.across == "topic" and len(table.groups) != 1):
            raise TableSpecError(
                f"table specification {source}, table {table.name}: {len(table.groups)} groups; "
                "a table across topics shows one task, any other at least one"
            )
        shown = {(group.task, name) for group in table.groups for name in group.metrics}
        described = {(task, name) for task, metrics in paper.metric.items() for name in metrics}
        faults = [f"[metric.{task}] lacks {name}" for task, name in sorted(shown - described)]
        unused = sorted(set(table.digits) - {name for _, name in shown})
        faults += [f"digits names {name}, which the table does not show" for name in unused]
        if faults:
            raise TableSpecError(
                f"table specification {source}, table {table.name}: {'; '.join(faults)}"
            )
    return paper
