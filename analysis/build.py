"""From scores and a table specification to tables with values.

Each cell asks for one mean: of a task's metric, over all items or in one slice, by one judge where
the metric is a judge's. A mean that is not there leaves a dash and a note that says why.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from math import inf
from typing import Any

import polars as pl

from analysis.errors import JudgeNotChosen
from analysis.layout import (
    Layout,
    Member,
    Present,
    Slot,
    asked,
    daggered,
    layouts,
    slice_rows,
)
from analysis.measure import Ask, Measures
from analysis.notes import footer, missing_marks
from analysis.published import Published
from analysis.scores import ERROR, Scores
from analysis.selection import checked, lacks
from analysis.settings import SETTINGS, compared
from analysis.spec import PaperSpec, TableSpec
from analysis.table import NOTHING, Block, Cell, Choice, Intervals, Row, Table, printed, ranked
from analysis.uncertainty import ALPHA, Interval, Tests, estimated, tests
from bench.item import TaskType
from score.errors import ScoresMissing

#: Limits that are a scale's end, but for how floats add up, are not beyond it.
_TIE = 1e-9


def build_tables(
    paper: PaperSpec, names: Sequence[str], scores: Scores, choice: Choice
) -> list[Table]:
    """Build a paper's tables from scores.

    Args:
        paper: The paper.
        names: Names or numbers of tables; none: all that these scores have something for.
        scores: The scores.
        choice: Judge, reading, intervals, baseline, and whether the published values are shown.

    Raises:
        UnknownName: There is no such table, or no such baseline.
        ScoresMissing: The scores have nothing for a table that was asked for, or for any.
        JudgeNotChosen: Such a table shows one judge's scores, and none of several was chosen.
    """
    if scores.frame.is_empty():
        raise ScoresMissing(
            f"{scores.folder} holds no scores: scores.parquet has no rows. Score a run that has "
            "answers: rejudge infer, then rejudge score"
        )
    choice = checked(choice, scores)
    named = [paper.named(name) for name in names]
    wanted = [spec for spec in paper.table if spec in named]
    unchosen = scores.unchosen(choice.judge)
    lacking = {spec.name: lacks(paper, spec, scores, choice) for spec in wanted or paper.table}
    specs = [spec for spec in wanted or paper.table if not lacking[spec.name]]
    if wanted and len(specs) < len(wanted):
        name, why = next((name, why) for name, why in lacking.items() if why)
        if why == unchosen:
            raise JudgeNotChosen(f"{paper.paper} table {name}: {why}")
        raise ScoresMissing(f"these scores have nothing for {paper.paper} table {name}: {why}")
    if not specs:
        if unchosen in lacking.values():
            raise JudgeNotChosen(f"any table of {paper.paper} of these scores: {unchosen}")
        why = next(iter(lacking.values()))
        raise ScoresMissing(f"these scores have nothing for any table of {paper.paper}: {why}")
    # Means are looked up by all tables that take them over the same thing.
    measures = {
        mean: Measures(scores, choice.reading, over_topics=mean == "topics")
        for mean in {spec.mean for spec in specs}
    }
    return [
        table
        for spec in specs
        for table in _Builder(paper, spec, scores, choice, measures[spec.mean]).tables()
    ]


class _Builder:
    """One table of a paper on its way to printed tables."""

    def __init__(
        self,
        paper: PaperSpec,
        spec: TableSpec,
        scores: Scores,
        choice: Choice,
        measures: Measures,
    ) -> None:
        self.paper, self.spec, self.scores, self.choice = paper, spec, scores, choice
        self.over_topics = spec.mean == "topics"
        self.measures = measures
        self.published = Published(paper, spec) if choice.published else None
        # Where rows are judges, every row says its own.
        self.judges = scores.judges if spec.rows == "judge" else [choice.judge]
        present = self.measures.runs_of({group.task for group in spec.groups})
        chosen = [run for run, _ in choice.runs]
        self.runs = [run for run in chosen if run in present] if chosen else present

    def tables(self) -> list[Table]:
        """Return the printed tables."""
        members = [Member(self._named(run), run=run) for run in self.runs]
        if self.published is not None:
            members += self.published.members()
        found = layouts(self.paper, self.spec, self._present(), self.judges[0], members)
        return [self._table(layout) for layout in found]

    def _present(self) -> Present:
        """Return the slices that the scores have items of."""
        tasks = {group.task for group in self.spec.groups}
        attributes = {group.by for group in self.spec.groups} - {""}
        present: dict[TaskType, dict[str, Collection[str]]] = {task: {} for task in tasks}
        for task in tasks:
            for attribute in attributes:
                present[task][attribute] = self._counts(task, attribute)
        return present

    def _counts(self, task: TaskType, attribute: str) -> dict[str, int]:
        """Return how many items of a task each slice has."""
        own = self.scores.frame.filter(pl.col("task") == task).select("item").unique()
        joined = own.join(self.scores.members(attribute), on="item")
        return dict(joined.group_by("slice").len().sort("slice").iter_rows())

    def _table(self, layout: Layout) -> Table:
        shells = self._shells()
        where = {
            self._asked(row, slot)
            for block in shells
            for row in block.rows
            for slot in layout.slots
            if not slot.model
        }
        limits: dict[Ask, Interval] = {}
        if self.choice.intervals is not Intervals.NONE:
            limits = estimated(
                self.scores, where, self.choice.reading, over_topics=self.over_topics
            )
        tested = None
        if self.choice.baseline:
            tested = tests(
                self.scores,
                where,
                self.choice.baseline,
                self.choice.reading,
                over_topics=self.over_topics,
            )
        blocks = [self._filled(block, layout, limits, tested) for block in shells]
        if self.published is not None and self.spec.rows != "slice":
            blocks += self._with_published(blocks, layout)
        ranks = [ranked(block, layout.columns, self.spec.ranks) for block in blocks]
        marked, why = missing_marks(ranks)
        return Table(
            name=layout.name,
            title=self.spec.title,
            tops=layout.tops,
            spans=layout.spans,
            columns=layout.columns,
            blocks=marked,
            part=layout.part,
            notes=(
                *footer(self.paper, self.spec, layout, marked, self.scores, self.choice, tested),
                *why,
            ),
            made=self._made(layout),
        )

    def _with_published(self, blocks: list[Block], layout: Layout) -> list[Block]:
        assert self.published is not None
        found = self.published.blocks(layout)
        if found and not blocks[0].label:
            blocks[0] = replace(blocks[0], label="These runs")
        return found

    def _shells(self) -> list[Block]:
        """Return the rows without their cells."""
        if self.spec.rows == "slice":
            task = self.spec.groups[0].task
            return [
                Block(attribute.replace("_", " ").capitalize(), tuple(rows))
                for attribute in self.spec.by
                if (rows := slice_rows(self.paper, attribute, self._counts(task, attribute)))
            ]
        if self.spec.rows in SETTINGS:
            return [
                Block(
                    daggered(self.paper, one.label, one.model),
                    tuple(Row(label, (), run=run) for label, run in one.runs),
                )
                for one in compared(self.scores, self.spec.rows, self.choice.runs).comparisons
            ]
        if self.spec.rows == "judge":
            rows = [
                Row(f"{self._named(run)} ({judge})", (), run=run, judge=judge)
                for run in self.runs
                for judge in self.judges
            ]
            return [Block("", tuple(rows))]
        return [Block("", tuple(Row(self._named(run), (), run=run) for run in self.runs))]

    def _named(self, run: str) -> str:
        return daggered(self.paper, self.choice.label_of(run), self.scores.model_of.get(run, ""))

    def _filled(
        self,
        block: Block,
        layout: Layout,
        limits: dict[Ask, Interval],
        tested: Tests | None,
    ) -> Block:
        columns: list[list[Cell]] = []
        for slot in layout.slots:
            if slot.model:
                assert self.published is not None
                columns.append(list(self.published.cells_of(block.rows, slot)))
            else:
                columns.append([self._cell(row, slot, limits, tested) for row in block.rows])
        rows = zip(block.rows, zip(*columns, strict=True), strict=True)
        return replace(block, rows=tuple(replace(row, cells=cells) for row, cells in rows))

    def _cell(
        self,
        row: Row,
        slot: Slot,
        limits: dict[Ask, Interval],
        tested: Tests | None,
    ) -> Cell:
        if slot.metric.absent:
            return Cell(NOTHING, why=slot.metric.absent)
        ask = self._asked(row, slot)
        found = self.measures.of(ask)
        counts = (found.n_scored, found.n_expected)
        factor = slot.metric.scale
        if slot.metric.points and found.value is not None:
            scale = self.scores.scale_of(ask.judge)
            if scale is None:
                why = f"the signature does not say the scale of judge {ask.judge}"
                return Cell(NOTHING, None, *counts, why=why)
            factor = 100.0 / scale[1]
        if found.value is None:
            return Cell(NOTHING, None, *counts, why=found.why)
        digits = slot.metric.digits
        value = found.value * factor
        found_limits = limits.get(ask, Interval(None, None))
        low, high = (
            one * factor if one is not None else None
            for one in (found_limits.low, found_limits.high)
        )
        p = tested.p.get(ask) if tested is not None else None
        return Cell(
            text=printed(value, digits),
            value=value,
            n_scored=found.n_scored,
            n_expected=found.n_expected,
            low=low,
            high=high,
            interval=self._interval(low, high, digits),
            no_interval=found_limits.reason,
            is_beyond=self._is_beyond(found_limits, slot, ask.judge),
            p=p,
            no_test=tested.why.get(ask, "") if tested is not None else "",
            star="*" if p is not None and p < ALPHA else "",
            n_unscored_topics=found.n_unscored_topics,
        )

    def _asked(self, row: Row, slot: Slot) -> Ask:
        """Return what a cell asks for, by the name that these scores have for its metric."""
        ask = asked(row, slot.column)
        known = next((name for name in slot.metric.also if name in self.scores.metrics), None)
        return (
            replace(ask, metric=known) if known and ask.metric not in self.scores.metrics else ask
        )

    def _is_beyond(self, limits: Interval, slot: Slot, judge: str) -> bool:
        """Whether an interval reaches beyond what the metric can be."""
        if limits.low is None or limits.high is None:
            return False
        scale = (slot.metric.least, slot.metric.most)
        if slot.metric.judge and not slot.column.metric.startswith(ERROR):
            scale = self.scores.scale_of(judge) or (-inf, inf)
        return limits.low < scale[0] - _TIE or limits.high > scale[1] + _TIE

    def _interval(self, low: float | None, high: float | None, digits: int) -> str:
        if low is None or high is None:
            return ""
        if self.choice.intervals is Intervals.PLUS_MINUS:
            return f"± {printed((high - low) / 2, digits)}"
        return f"[{printed(low, digits)}, {printed(high, digits)}]"

    def _made(self, layout: Layout) -> dict[str, Any]:
        """Return how the numbers were made, for the file beside the table."""
        return {
            "table": layout.name,
            "paper": self.paper.shown_as,
            "numbers": list(self.spec.numbers),
            "mean": f"over-{self.spec.mean}",
            "judge": ", ".join(self.judges),
            "reading": str(self.choice.reading),
            "intervals": str(self.choice.intervals),
            "baseline": self.choice.baseline,
            "runs": [list(run) for run in self.choice.runs],
            "scores_sha256": self.scores.digest,
            "scores": self.scores.signature,
        }
