"""The papers' own values, as they are printed: ``analysis/published/tables.csv``.

One line a printed number: paper, table, model, judge, group_kind, group, task, metric, value. Where
a table has no groups of its kind, or was judged by the paper's usual judge, those fields are empty.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from importlib.resources import as_file, files

import polars as pl

from analysis.layout import Layout, Member, Slot, daggered, published_group
from analysis.settings import SETTINGS
from analysis.spec import PaperSpec, TableSpec
from analysis.table import NOTHING, Block, Cell, Row

#: Model, judge, task, metric, group.
Key = tuple[str, str, str, str, str]


def published_values(paper: str, tables: Collection[str]) -> pl.DataFrame:
    """Return the printed values of some tables of a paper, in the paper's order.

    Returns:
        Columns paper, table, model, judge, group_kind, group, task, metric, value; all strings, so
        that a value keeps the digits it was printed with.
    """
    with as_file(files("analysis") / "published" / "tables.csv") as path:
        # Everything stays text: "0.80" is what the paper prints, 0.8 is not.
        values = pl.read_csv(path, infer_schema=False).fill_null("")
    return values.filter(pl.col("paper") == paper, pl.col("table").is_in(list(tables)))


@dataclass
class Published:
    """The printed values of one table, looked up by what they are of."""

    paper: PaperSpec
    spec: TableSpec
    values: pl.DataFrame = field(init=False)
    used: set[str] = field(default_factory=set)
    """Numbers of the tables that a value was found in."""

    def __post_init__(self) -> None:
        self.values = published_values(self.paper.paper, self.spec.numbers)
        self._known: dict[Key, tuple[str, str]] = {
            tuple(key): (table, text)
            for *key, table, text in self.values.select(
                "model", "judge", "task", "metric", "group", "table", "value"
            ).iter_rows()
        }

    def members(self) -> list[Member]:
        """Return the models as columns, where the rows are slices."""
        return [
            Member(daggered(self.paper, model, model), model=model)
            for model in self.values["model"].unique(maintain_order=True)
        ]

    def blocks(self, layout: Layout) -> list[Block]:
        """Return the models as rows: one block, or one a model where rows are settings."""
        of_settings = self.spec.rows in SETTINGS
        parts = ["model", "group" if of_settings else "judge"]
        entities = self.values.select(parts).unique(maintain_order=True).rows()
        rows: dict[str, list[Row]] = {}
        for model, part in entities:
            name = daggered(self.paper, model, model)
            label = part if of_settings else f"{name} ({part})" if self._has_judges else name
            cells = tuple(
                self.cell(slot, model, *(("", part) if of_settings else (part, "")))
                for slot in layout.slots
            )
            if any(cell.value is not None for cell in cells):
                rows.setdefault(name if of_settings else "", []).append(Row(label, cells))
        source = self.source()
        return [
            Block(f"{model}, {source[0].lower()}{source[1:]}" if model else source, tuple(found))
            for model, found in rows.items()
        ]

    def source(self) -> str:
        """Say where the values that were looked up stand in the paper."""
        numbers = ", ".join(number for number in self.spec.numbers if number in self.used)
        return f"Published: {self.paper.shown_as}, Table {numbers}"

    def cell(self, slot: Slot, model: str, judge: str = "", group: str = "") -> Cell:
        """Return a printed value."""
        want = slot.published
        table, text = self._known.get(
            (model, judge, want.task, want.metric, group or want.group), ("", "")
        )
        if not text:
            return Cell(NOTHING, why="not in the paper")
        self.used.add(table)
        return Cell(text, float(text))

    def cells_of(self, rows: Sequence[Row], slot: Slot) -> Iterable[Cell]:
        """Return a model's column, where the rows are slices."""
        for row in rows:
            yield self.cell(slot, slot.model, group=published_group(self.paper, row.by, row.slice))

    @property
    def _has_judges(self) -> bool:
        return self.spec.rows == "judge"
