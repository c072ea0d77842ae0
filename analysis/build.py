"""From scores and a table specification to tables with values.

Each column asks for one mean: of a task's metric, over all topics or in one of them, by one judge
where the metric is a judge's. A mean that is not there leaves a dash and a note that says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import polars as pl

from analysis.errors import ScoresMissing
from analysis.layout import Layout, layouts
from analysis.measure import Measures
from analysis.notes import footer, missing_marks
from analysis.published import published_values
from analysis.scores import Scores
from analysis.spec import PaperSpec, TableSpec
from analysis.table import NOTHING, Block, Cell, Choice, Row, Table, printed, ranked
from bench.item import TaskType


def build_tables(
    paper: PaperSpec, names: Sequence[str], scores: Scores, choice: Choice
) -> list[Table]:
    """Build a paper's tables from scores.

    Args:
        paper: The paper.
        names: Names or numbers of tables; none: all that these scores have something for.
        scores: The scores.
        choice: Judge, reading, and whether the published values are shown.

    Raises:
        UnknownName: There is no such table.
        ScoresMissing: The scores have nothing for a table that was asked for, or for any.
    """
    named = [paper.named(name) for name in names]
    asked = [spec for spec in paper.table if spec in named]
    topics = _topics(scores.frame)
    specs = [spec for spec in asked or paper.table if any(g.task in topics for g in spec.groups)]
    if lacking := [spec.name for spec in asked if spec not in specs] or ([] if specs else ["any"]):
        raise ScoresMissing(
            f"these scores have nothing for {paper.paper} table {', '.join(lacking)}: "
            f"their tasks are {', '.join(sorted(topics)) or 'none'}"
        )
    measures = Measures(scores, choice.reading)
    return [
        _table(paper, spec, layout, scores, measures, choice)
        for spec in specs
        for layout in layouts(paper, spec, topics, choice.judge)
    ]


def _topics(frame: pl.DataFrame) -> dict[TaskType, list[str]]:
    pairs = frame.select("task", "topic").unique().sort("task", "topic").iter_rows()
    topics: dict[TaskType, list[str]] = {}
    for task, topic in pairs:
        topics.setdefault(TaskType(task), []).append(topic)
    return topics


def _table(
    paper: PaperSpec,
    spec: TableSpec,
    layout: Layout,
    scores: Scores,
    measures: Measures,
    choice: Choice,
) -> Table:
    blocks = [Block("", tuple(_run_rows(layout, measures)))]
    if choice.published and (block := _published(paper, spec, layout)).rows:
        blocks = [replace(blocks[0], label="These runs"), block]
    columns = layout.columns
    marked, why = missing_marks(ranked(block, columns) for block in blocks)
    return Table(
        name=layout.name,
        title=spec.title,
        spans=layout.spans,
        columns=columns,
        blocks=marked,
        notes=(*footer(layout, marked, scores, choice), *why),
    )


def _run_rows(layout: Layout, measures: Measures) -> Iterable[Row]:
    tasks = {slot.column.task for slot in layout.slots}
    for run in measures.runs_of(tasks):
        cells: list[Cell] = []
        for slot in layout.slots:
            found = measures.of(run, slot.column)
            value = None if found.value is None else found.value * slot.metric.scale
            text = NOTHING if value is None else printed(value, slot.metric.digits)
            cells.append(
                Cell(
                    text,
                    value,
                    found.n_scored,
                    found.n_expected,
                    found.n_unscored_topics,
                    found.why,
                )
            )
        yield Row(run, tuple(cells))


def _published(paper: PaperSpec, spec: TableSpec, layout: Layout) -> Block:
    values = published_values(paper.paper, spec.numbers)
    known: dict[tuple[str, tuple[str, str, str]], tuple[str, str]] = {
        (model, (task, metric, group)): (table, text)
        for model, task, metric, group, table, text in values.select(
            "model", "task", "metric", "group", "table", "value"
        ).iter_rows()
    }
    rows: list[Row] = []
    used: set[str] = set()
    for model in values["model"].unique(maintain_order=True):
        found = [known.get((model, slot.published), ("", "")) for slot in layout.slots]
        used |= {table for table, _ in found if table}
        if any(text for _, text in found):
            cells = (
                Cell(text, float(text)) if text else Cell(NOTHING, why="not in the paper")
                for _, text in found
            )
            rows.append(Row(model, tuple(cells)))
    numbers = ", ".join(number for number in spec.numbers if number in used)
    return Block(f"Published: {paper.shown_as}, Table {numbers}", tuple(rows))
