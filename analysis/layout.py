"""Which columns a table has, and over how many printed tables they go."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import groupby

from analysis.spec import GroupSpec, MetricSpec, PaperSpec, TableSpec
from analysis.table import Column, Span
from bench.item import TaskType


@dataclass(frozen=True, slots=True)
class Slot:
    """One column, and where its values come from."""

    heading: str
    """Of the column group it is in."""
    column: Column
    metric: MetricSpec
    published: tuple[str, str, str]
    """Task, metric and topic number of the paper's value; "-" where the paper has none."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of one printed table."""

    name: str
    slots: tuple[Slot, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The column headings."""
        return tuple(slot.column for slot in self.slots)

    @property
    def spans(self) -> tuple[Span, ...]:
        """The headings above them."""
        headings = groupby(slot.heading for slot in self.slots)
        return tuple(Span(heading, len(list(same))) for heading, same in headings)


def layouts(
    paper: PaperSpec, spec: TableSpec, topics: Mapping[TaskType, Collection[str]], judge: str
) -> list[Layout]:
    """Lay out one table.

    Args:
        paper: The paper it is from.
        spec: The table.
        topics: Task → the topics that have scores.
        judge: Whose verdicts its judge columns show.

    Returns:
        One layout, or several of nearly equal width where the column groups are more than one
        printed table holds; none where a table across topics finds no topic.
    """
    groups = [
        _slots(paper, spec, group, topic, judge)
        for group in spec.groups
        for topic in (sorted(topics.get(group.task, ())) if spec.across == "topic" else [""])
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
        )
        for part in range(count)
    ]


def _slots(
    paper: PaperSpec, spec: TableSpec, group: GroupSpec, topic: str, judge: str
) -> list[Slot]:
    heading = topic_heading(paper, topic) if topic else group.label
    # A published topic is known by its number. Another benchmark's topic 1 is not the paper's.
    number = topic.partition("_")[0].lstrip("0") if topic in paper.topics else "-"
    slots: list[Slot] = []
    for name in group.metrics:
        metric = paper.shown(spec, group, name)
        column = Column(
            label=metric.label + (" ↓" if metric.better == "lower" else ""),
            task=group.task,
            metric=name,
            topic=topic,
            judge=judge if metric.judge else "",
            better=metric.better,
            unit=metric.unit,
        )
        published = (group.published, metric.published or "-", number if topic else "")
        slots.append(Slot(heading, column, metric, published))
    return slots


def topic_heading(paper: PaperSpec, topic: str) -> str:
    """Return a topic's short heading: the paper's, else made from its folder's name."""
    if topic in paper.topics:
        return paper.topics[topic]
    number, _, words = topic.partition("_")
    if words and number.isdecimal():
        return f"T{int(number)}: {words.replace('_', ' ')}"
    return topic
