"""Table specifications: what a paper's tables hold, read from ``analysis/tables/<paper>.toml``.

PaperSpec
├── topics                      topic → short heading
├── slices[attribute]           slice → heading, in the order they are shown
├── domains[name]               their topics
├── statistics[]                StatisticsSpec: tables of the annotations
├── closed[]                    models that get a dagger
├── metric[task][name]          MetricSpec: label, unit, scale, digits, direction, judge or not
└── table[]                     TableSpec: rows, marks
    └── groups[]                GroupSpec: a task, its metrics, and of which slices
        └── columns[]           ColumnSpec: one slice each, where they are listed singly

A further table of a paper is a further ``[[table]]`` entry, a further paper is a further file.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from importlib.resources import files
from typing import Literal

import msgspec

from analysis.errors import TableSpecError, UnknownName
from analysis.table import Rank
from bench.item import TaskType
from score.slices import ATTRIBUTES

#: The end of the name of one of a table's parts.
_PART = re.compile(r"-\d+$")


class MetricSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How one metric of one task is shown."""

    label: str
    published: str = ""
    """Its name in ``published/tables.csv``; empty: not published."""
    judge: bool = False
    """A judge's score: the column needs a judge to be chosen."""
    scale: float = 1.0
    """From the value in ``scores.parquet`` to the table's unit (a fraction × 100 is per cent)."""
    points: bool = False
    """Shown as points of 100, which are the best score of the judge's scale."""
    unit: Literal["", "%", "s"] = ""
    digits: int = 1
    better: Literal["higher", "lower", "neither"] = "higher"
    least: float = 0.0
    """The least value there can be, before ``scale``; a judge's score has the judge's own."""
    most: float = 1.0
    """The greatest, likewise."""
    also: tuple[str, ...] = ()
    """Other names under which scores may have it; the first that they have counts."""
    absent: str = ""
    """Why this package never has it; empty: it has."""


class ColumnSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A column of one slice."""

    label: str
    by: str = ""
    """An attribute; empty: all items."""
    slice: str = ""
    published: str = ""
    """The slice's name in ``published/tables.csv``."""


class GroupSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Columns that share a heading: some metrics of one task, of all items or of slices."""

    label: str
    task: TaskType
    metrics: tuple[str, ...]
    """Names of the metrics as in ``scores.parquet``; ``error:TYPE`` is the share of an error."""
    published: str = ""
    """The task's name in ``published/tables.csv``."""
    by: str = ""
    """Columns for each slice by this attribute: a heading each, or with one metric a column."""
    columns: tuple[ColumnSpec, ...] = ()
    """Columns of slices that are listed singly, of the group's one metric."""
    over: str = ""
    """A heading above the group's own, shared with its neighbours."""


class TableSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One table, or one row of tables of the same make where there are many column groups."""

    name: str
    title: str
    numbers: tuple[str, ...]
    """Its numbers in the paper, which are also where its published values are; none: the paper has
    it as a figure, or not."""
    groups: tuple[GroupSpec, ...] = ()
    groups_of: tuple[str, ...] = ()
    """Tables above whose groups come first; what two of them share comes once."""
    rows: Literal["run", "judge", "modality", "teacher-forcing", "size", "slice"] = "run"
    """A row is a run; a run by one of the judges; one of a model's runs that differ in a setting of
    this name; or a slice, where the columns are runs."""
    by: tuple[str, ...] = ()
    """Attributes whose slices are the rows."""
    mean: Literal["topics", "items"] = "topics"
    """What a mean of all items is a mean over. Slices are always over items."""
    marks: tuple[Literal["best", "second", "worst"], ...] = ("best", "second")
    """What is marked in each column of a block of rows."""
    most: int = 8
    """Column groups that one printed table may hold; more are split evenly over several."""
    digits: dict[str, int] = {}
    """Metric → digits in this table, where they differ from the metric's own."""

    @property
    def ranks(self) -> tuple[Rank, ...]:
        """What is marked."""
        return tuple(Rank(mark) for mark in self.marks)

    @property
    def attributes(self) -> set[str]:
        """Attributes, but for the topic, that its slices are made by."""
        groups = {by for group in self.groups for by in (group.by, *(c.by for c in group.columns))}
        return ({*self.by} | groups) - {"", "topic"}


class StatisticsSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of what is in a benchmark's annotations."""

    name: str
    title: str
    numbers: tuple[str, ...]
    """Its numbers in the paper; none: the paper has it as a figure."""
    rows: Literal["task", "domain", "topic", "major_task"]
    columns: tuple[
        Literal["videos", "items", "turns", "total_min", "average_min", "average_s"], ...
    ]
    total: str = ""
    """Label of a last row of all items; empty: none."""


class PaperSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The tables of one paper."""

    paper: str
    shown_as: str
    metric: dict[TaskType, dict[str, MetricSpec]]
    table: tuple[TableSpec, ...]
    topics: dict[str, str] = {}
    slices: dict[str, dict[str, str]] = {}
    domains: dict[str, tuple[str, ...]] = {}
    """Domain → its topics."""
    statistics: tuple[StatisticsSpec, ...] = ()
    closed: tuple[str, ...] = ()
    """Closed-source models, by the names of their cards and by those of the paper's rows."""

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
        known = [
            f"{table.name} ({', '.join(table.numbers)})" if table.numbers else table.name
            for table in self.table
        ]
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


def paper_of(tasks: Collection[str]) -> PaperSpec:
    """Return the paper whose tables show these tasks; the one that shows most of them."""
    every = [load_paper(name) for name in papers()]
    return max(every, key=lambda paper: len(set(tasks) & set(paper.metric)))


def parse_paper(text: bytes, source: str) -> PaperSpec:
    """Read a paper's tables from TOML and check that they hold together.

    Raises:
        TableSpecError: Syntax, a field, a metric that ``[metric]`` does not describe, an attribute
            that nothing is sliced by, or groups that the table's rows do not go with.
    """
    try:
        paper = msgspec.toml.decode(text, type=PaperSpec)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise TableSpecError(f"table specification {source}: {error}") from error
    paper = msgspec.structs.replace(paper, table=_with_groups(paper.table, source))
    for table in paper.table:
        if faults := _faults(paper, table):
            raise TableSpecError(
                f"table specification {source}, table {table.name}: {'; '.join(faults)}"
            )
    return paper


def _with_groups(tables: tuple[TableSpec, ...], source: str) -> tuple[TableSpec, ...]:
    """Give each table the groups of the tables that it names."""
    done: dict[str, TableSpec] = {}
    for table in tables:
        if unknown := [name for name in table.groups_of if name not in done]:
            raise TableSpecError(
                f"table specification {source}, table {table.name}: groups_of names "
                f"{', '.join(unknown)}, which is no table above it"
            )
        taken = [group for name in table.groups_of for group in done[name].groups]
        groups = tuple(dict.fromkeys([*taken, *table.groups]))
        done[table.name] = msgspec.structs.replace(table, groups=groups)
    return tuple(done.values())


def _faults(paper: PaperSpec, table: TableSpec) -> list[str]:
    shown = {(group.task, name) for group in table.groups for name in group.metrics}
    described = {(task, name) for task, metrics in paper.metric.items() for name in metrics}
    faults = [] if table.groups else ["no groups; a table has at least one"]
    faults += [f"[metric.{task}] lacks {name}" for task, name in sorted(shown - described)]
    if _PART.search(table.name):
        faults.append("its name ends as those of a table's parts do: in a hyphen and a number")
    unused = sorted(set(table.digits) - {name for _, name in shown})
    faults += [f"digits names {name}, which the table does not show" for name in unused]
    known = ", ".join(ATTRIBUTES)
    faults += [
        f"no slices by {name!r}; there are: {known}"
        for name in sorted(table.attributes - set(ATTRIBUTES))
    ]
    for group in table.groups:
        if group.columns and (len(group.metrics) != 1 or group.by):
            faults.append(f"group {group.label!r} lists columns: it needs one metric, and no by")
    if (table.rows == "slice") != bool(table.by):
        faults.append("rows by slice need by, and only they have it")
    if table.rows == "slice" and len(table.groups) != 1:
        faults.append("a table of slices shows one group")
    return faults
