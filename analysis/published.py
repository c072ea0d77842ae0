"""The papers' own values, as they are printed: ``analysis/published/tables.csv``.

One line a printed number: paper, table, model, judge, group_kind, group, task, metric, value. Where
a table has no groups of its kind, or was judged by the paper's usual judge, those fields are empty.
"""

from __future__ import annotations

from collections.abc import Collection
from importlib.resources import as_file, files

import polars as pl


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
