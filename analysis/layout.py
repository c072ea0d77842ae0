"""Which columns a table has, which rows, and over how many printed tables its columns go.

A cell asks for one mean. The column says of which task, metric and slice, the row of which run; or,
where the rows are slices, the other way round.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import msgspec

from analysis.measure import Ask
from analysis.spec import ColumnSpec, GroupSpec, MetricSpec, PaperSpec, TableSpec
from analysis.table import DAGGER, Column, Row, Span
from bench.item import TaskType
from score.frames import UNKNOWN

#: Task → attribute → the slices that have items.
Present = Mapping[TaskType, Mapping[str, Collection[str]]]


@dataclass(frozen=True, slots=True)
class Printed:
    """Where a paper's value stands: what a line of ``published/tables.csv`` is found by."""

    task: str
    metric: str
    group: str = ""
    """Its slice; "-" where the paper has none of this name."""


@dataclass(frozen=True, slots=True)
class Member:
    """A run or a published model that is a column, where the rows are slices."""

    label: str
    run: str = ""
    """Empty: published."""
    model: str = ""
    """Its name in ``published/tables.csv``; empty: a run."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One column, and where its values come from."""

    heading: str
    """Of the column group it is in."""
    column: Column
    metric: MetricSpec
    published: Printed
    over: str = ""
    """The heading above."""
    model: str = ""
    """Of a column that holds a paper's values; empty: this column is measured."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of one printed table."""

    name: str
    slots: tuple[Slot, ...]
    part: int = 0
    """Which of several it is, from 1 on; 0: there is one."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The column headings."""
        return tuple(slot.column for slot in self.slots)

    @property
    def spans(self) -> tuple[Span, ...]:
        """The headings above them."""
        headings = groupby((slot.over, slot.heading) for slot in self.slots)
        return tuple(Span(heading, len(list(same))) for (_, heading), same in headings)

    @property
    def tops(self) -> tuple[Span, ...]:
        """The headings above those; none where there is nothing to say."""
        found = groupby(slot.over for slot in self.slots)
        tops = tuple(Span(over, len(list(same))) for over, same in found)
        return tops if any(top.label for top in tops) else ()


def layouts(
    paper: PaperSpec, spec: TableSpec, present: Present, judge: str, members: Sequence[Member] = ()
) -> list[Layout]:
    """Lay out one table.

    Args:
        paper: The paper it is from.
        spec: The table.
        present: The slices that have items.
        judge: Whose verdicts its judge columns show.
        members: Where the rows are slices, the runs and published models that are its columns.

    Returns:
        One layout, or several of nearly equal width where the column groups are more than one
        printed table holds; none where a table across topics finds no topic.
    """
    if spec.rows == "slice":
        groups = [_of_member(paper, spec, member, judge) for member in members]
    else:
        groups = [
            slots
            for group in spec.groups
            for slots in _of_group(paper, spec, group, present.get(group.task, {}), judge)
        ]
    count = -(-len(groups) // spec.most)
    name = f"{paper.paper}-{spec.name}"
    return [
        Layout(
            f"{name}-{part + 1}" if count > 1 else name,
            tuple(
                slot
                for group in groups[part * len(groups) // count : (part + 1) * len(groups) // count]
                for slot in group
            ),
            part + 1 if count > 1 else 0,
        )
        for part in range(count)
    ]


def slice_rows(paper: PaperSpec, attribute: str, found: Mapping[str, int]) -> list[Row]:
    """Return a row for each slice of an attribute: the paper's first, and how many items it has."""
    return [
        Row(f"{slice_heading(paper, attribute, name)} (n = {found[name]:,})", (), by=attribute,
            slice=name)
        for name in ordered(paper, attribute, found)
    ]  # fmt: skip


def ordered(paper: PaperSpec, attribute: str, found: Collection[str]) -> list[str]:
    """Return slices in the paper's order, then the others by name, then ``unknown``."""
    listed = [name for name in paper.slices.get(attribute, {}) if name in found]
    return [*listed, *sorted(set(found) - {*listed, UNKNOWN}), *({UNKNOWN} & {*found} - {*listed})]


def asked(row: Row, column: Column) -> Ask:
    """Return what the cell of a row and a column asks for."""
    return Ask(
        run=row.run or column.run,
        task=column.task,
        metric=column.metric,
        judge=(row.judge or column.judge) if column.judge else "",
        by=row.by or column.by,
        slice=row.slice or column.slice,
    )


def slice_heading(paper: PaperSpec, attribute: str, name: str) -> str:
    """Return how a slice is shown."""
    if attribute == "topic":
        return topic_heading(paper, name)
    return paper.slices.get(attribute, {}).get(name, name)


def published_group(paper: PaperSpec, attribute: str, name: str) -> str:
    """Return the name of a slice in ``published/tables.csv``; "-" where the paper has none."""
    if attribute == "topic":
        # A topic is known by its number. Another benchmark's topic 1 is not the paper's.
        return name.partition("_")[0].lstrip("0") if name in paper.topics else "-"
    known = paper.slices.get(attribute, {}).get(name, "-")
    return known.casefold() if attribute == "duration" else known


def topic_heading(paper: PaperSpec, topic: str) -> str:
    """Return a topic's short heading: the paper's, else made from its folder's name."""
    if topic in paper.topics:
        return paper.topics[topic]
    number, _, words = topic.partition("_")
    if words and number.isdecimal():
        return f"T{int(number)}: {words.replace('_', ' ')}"
    return topic


def daggered(paper: PaperSpec, name: str, model: str) -> str:
    """Return a name with a dagger where its model is a closed-source one."""
    return f"{name}{DAGGER}" if model in paper.closed else name


def _of_group(
    paper: PaperSpec,
    spec: TableSpec,
    group: GroupSpec,
    present: Mapping[str, Collection[str]],
    judge: str,
) -> list[list[Slot]]:
    """Return the columns of a group; in as many parts as may go to tables of their own."""
    if group.columns:
        metric = group.metrics[0]
        return [[_slot(paper, spec, group, metric, judge, column) for column in group.columns]]
    if not group.by:
        return [[_slot(paper, spec, group, name, judge) for name in group.metrics]]
    slices = ordered(paper, group.by, present.get(group.by, ()))
    if group.by == "topic":
        slices = sorted(slices)
    columns = [
        ColumnSpec(
            slice_heading(paper, group.by, name),
            group.by,
            name,
            published_group(paper, group.by, name),
        )
        for name in slices
    ]
    if len(group.metrics) == 1:
        return [[_slot(paper, spec, group, group.metrics[0], judge, one) for one in columns]]
    return [
        [
            replace(
                _slot(paper, spec, group, name, judge, msgspec.structs.replace(one, label="")),
                heading=one.label,
            )
            for name in group.metrics
        ]
        for one in columns
    ]


def _of_member(paper: PaperSpec, spec: TableSpec, member: Member, judge: str) -> list[Slot]:
    """Return the columns of a run or published model, where rows are slices."""
    group = spec.groups[0]
    source = "" if member.run else f"Published: {paper.shown_as}"
    slots = [_slot(paper, spec, group, name, judge) for name in group.metrics]
    if len(slots) == 1:
        column = replace(slots[0].column, run=member.run, label=member.label)
        return [replace(slots[0], heading=source, column=column, model=member.model)]
    return [
        replace(
            slot,
            over=source,
            heading=member.label,
            column=replace(slot.column, run=member.run),
            model=member.model,
        )
        for slot in slots
    ]


def _slot(
    paper: PaperSpec,
    spec: TableSpec,
    group: GroupSpec,
    name: str,
    judge: str,
    of: ColumnSpec | None = None,
) -> Slot:
    metric = paper.shown(spec, group, name)
    of = of or ColumnSpec("")
    column = Column(
        label=(of.label or metric.label) + (" ↓" if metric.better == "lower" else ""),
        task=group.task,
        metric=name,
        by=of.by,
        slice=of.slice,
        judge=judge if metric.judge else "",
        better=metric.better,
        unit=metric.unit,
    )
    published = Printed(group.published, metric.published or "-", of.published)
    return Slot(group.label, column, metric, published, group.over)
