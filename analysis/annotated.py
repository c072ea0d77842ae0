"""A benchmark's statistics, from its annotations: items, videos, turns and lengths.

No scores are read and no media: what the annotations do not say is a dash with its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from analysis.errors import UnknownName
from analysis.layout import ordered, topic_heading
from analysis.notes import missing_marks
from analysis.published import published_values
from analysis.spec import PaperSpec, StatisticsSpec
from analysis.table import NOTHING, Block, Cell, Column, Note, Row, Span, Table, printed
from bench.item import Item
from rejudge import __version__
from score.errors import ScoresMissing
from score.frames import UNKNOWN

TASKS = {
    "summary": "Summarization",
    "choice": "MCQ",
    "localization": "Temporal localization",
    "assistant": "Assistant",
}
_NO_LENGTH = "the annotations do not give the lengths of videos"


@dataclass(frozen=True, slots=True)
class _Figure:
    """One column: what it counts."""

    label: str
    digits: int
    of: Callable[[Sequence[Item]], float | None]


def _videos(items: Sequence[Item]) -> int:
    return len({item.cluster for item in items})


def _lengths_s(items: Sequence[Item]) -> list[float]:
    """The length of each video that has one."""
    known = {item.cluster: item.attributes.duration_s for item in items}
    return [length for length in known.values() if length is not None]


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _minutes(seconds: float | None) -> float | None:
    return None if seconds is None else seconds / 60


FIGURES: dict[str, _Figure] = {
    "videos": _Figure("Videos", 0, _videos),
    "items": _Figure("Questions", 0, len),
    "turns": _Figure("Turns", 1, lambda items: len(items) / _videos(items)),
    "total_min": _Figure(
        "Total (min)",
        1,
        lambda items: _minutes(sum(found) if (found := _lengths_s(items)) else None),
    ),
    "average_min": _Figure("Average (min)", 1, lambda items: _minutes(_mean(_lengths_s(items)))),
    "average_s": _Figure("Average (s)", 2, lambda items: _mean(_lengths_s(items))),
}


def statistics_tables(
    paper: PaperSpec,
    benchmark: str,
    items: Sequence[Item],
    names: Sequence[str] = (),
    *,
    published: bool = False,
) -> list[Table]:
    """Return the statistics tables of a paper, of a benchmark's items.

    Args:
        paper: Whose tables.
        benchmark: The benchmark's name, for the notes.
        items: Its items.
        names: Names or numbers of tables; none: all.
        published: Whether the paper's values are shown as further rows.

    Raises:
        UnknownName: there is no such table.
        ScoresMissing: there are no items.
    """
    if not items:
        raise ScoresMissing(f"benchmark {benchmark} has no items here: there is nothing to count")
    known = {name: spec for spec in paper.statistics for name in (spec.name, *spec.numbers)}
    for name in names:
        if name not in known:
            raise UnknownName(f"{paper.paper} statistics table", name, known)
    chosen = [
        spec for spec in paper.statistics if not names or {spec.name, *spec.numbers} & {*names}
    ]
    return [_table(paper, spec, benchmark, items, published) for spec in chosen]


def _table(
    paper: PaperSpec, spec: StatisticsSpec, benchmark: str, items: Sequence[Item], published: bool
) -> Table:
    rows = [_row(label, own, spec) for label, own in _groups(paper, spec, items)]
    if spec.total:
        rows.append(_row(spec.total, items, spec))
    blocks = [Block("", tuple(rows))]
    if published and (found := _published(paper, spec)):
        source = f"Published: {paper.shown_as}, Table {', '.join(spec.numbers)}"
        blocks = [Block("This data", tuple(rows)), Block(source, tuple(found))]
    marked, why = missing_marks(blocks)
    without = _videos(items) - len(_lengths_s(items))
    has_lengths = any(name.endswith(("_min", "_s")) for name in spec.columns)
    lines = [
        f"Counted in the annotations of {benchmark}.",
        f"Lengths of {without} videos are not known."
        if has_lengths and 0 < without < _videos(items)
        else "",
        "Turns: questions a video." if "turns" in spec.columns else "",
        f"Made by rejudge {__version__}.",
    ]
    columns = tuple(Column(FIGURES[name].label, "", name) for name in spec.columns)
    return Table(
        name=f"{paper.paper}-{spec.name}",
        title=spec.title,
        spans=(Span("", len(columns)),),
        columns=columns,
        blocks=marked,
        notes=(*(Note(line) for line in lines if line), *why),
        made={
            "table": spec.name,
            "paper": paper.shown_as,
            "numbers": list(spec.numbers),
            "benchmark": benchmark,
            "items": len(items),
            "rejudge": __version__,
        },
    )


def _groups(
    paper: PaperSpec, spec: StatisticsSpec, items: Sequence[Item]
) -> list[tuple[str, list[Item]]]:
    """Return the rows' items, in the paper's order."""
    domain_of = {topic: name for name, topics in paper.domains.items() for topic in topics}

    def key(item: Item) -> str:
        return {
            "task": str(item.task),
            "topic": item.topic,
            "domain": domain_of.get(item.topic, UNKNOWN),
            "major_task": item.attributes.major_task,
        }[spec.rows]

    found = {name: list(own) for name, own in groupby(sorted(items, key=key), key=key)}
    listed = {"task": [*TASKS], "domain": [*paper.domains]}.get(spec.rows)
    order = listed or ordered(paper, spec.rows, found)
    names = [name for name in order if name in found] + sorted(set(found) - {*order})
    return [(_label(paper, spec.rows, name), found[name]) for name in names]


def _label(paper: PaperSpec, rows: str, name: str) -> str:
    if rows == "task":
        return TASKS.get(name, name)
    if rows == "topic":
        return topic_heading(paper, name)
    return paper.slices.get(rows, {}).get(name, name)


def _row(label: str, items: Sequence[Item], spec: StatisticsSpec) -> Row:
    cells: list[Cell] = []
    for name in spec.columns:
        figure = FIGURES[name]
        value = figure.of(items)
        if value is None:
            cells.append(Cell(NOTHING, None, why=_NO_LENGTH))
        else:
            cells.append(Cell(printed(value, figure.digits), float(value), len(items), len(items)))
    return Row(label, tuple(cells))


def _published(paper: PaperSpec, spec: StatisticsSpec) -> list[Row]:
    values = published_values(paper.paper, spec.numbers)
    known = {
        (group, metric): text
        for group, metric, text in values.select("group", "metric", "value").iter_rows()
    }
    return [
        Row(
            group,
            tuple(
                Cell(text, float(text))
                if (text := known.get((group, name), ""))
                else Cell(NOTHING, why="not in the paper")
                for name in spec.columns
            ),
        )
        for group in values["group"].unique(maintain_order=True)
    ]
