"""OmniAssistBench's means of assistant replies, over pairs.

Means are over pairs (a question and its answer), not over classes, of a judge's scores as points of
100: those from 0 to 5 times 20.

    overall      every pair that has an accepted answer
    tier         basic, advanced, real-world
    major_task   the seven tasks, and real-world cases
    sub_task     the sixteen sub-tasks, and meeting, handicraft, blind

Source: OmniAssistBench, section 4.1, Tables 2 and 3, appendix A.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bench.item import TaskType
from score.aggregate import WHOLE, more_is_better
from score.slices import slice_means

if TYPE_CHECKING:
    import polars as pl

    from score.scoring import Scores

#: The best score of the benchmark's own judges; a judge with another scale says so.
BEST = 5.0
METRIC = "answer_judge"
OVERALL = "overall"
#: What the means are by, from the whole to the smallest.
LEVELS = (OVERALL, "tier", "major_task", "sub_task")

#: The widest number with its counts: ``100.0 (685/685)``.
_CELL = 15
#: So many of those, and the names of the groups, fit into a line.
_COLUMNS_A_TABLE = 9
_COLUMNS = (*WHOLE, "level", "group", "n_expected", "n_scored", "mean", "mean_all")


def assistant_means(
    scores: pl.DataFrame, items: pl.DataFrame, best: Mapping[str, float] | None = None
) -> pl.DataFrame:
    """Return the means of judges' scores of assistant replies, as points of 100.

    Args:
        scores: Rows of ``scores.parquet``.
        items: Rows of ``items.parquet``.
        best: Judge → its best score, where that is not 5.

    Returns:
        A row for each run × judge × level × group: n_expected (pairs), n_scored, mean (of the
        scored ones), mean_all (failures counting as 0; null where nothing was scored).
    """
    import polars as pl

    judged = scores.filter(pl.col("task") == str(TaskType.ASSISTANT), pl.col("metric") == METRIC)
    parts = [_overall(judged)]
    for level in LEVELS[1:]:
        found = slice_means(judged, items, level)
        parts.append(found.rename({"slice": "group"}).with_columns(pl.lit(level).alias("level")))
    order = pl.Enum(LEVELS)
    most = pl.col("judge").replace_strict(dict(best or {}), default=BEST, return_dtype=pl.Float64)
    points = [(pl.col(name) * 100.0 / most).alias(name) for name in ("mean", "mean_all")]
    return (
        pl.concat([part.select(_COLUMNS) for part in parts])
        .with_columns(*points, pl.col("level").cast(order))
        .sort("run", "judge", "level", "group")
    )


def means_of(found: Scores) -> pl.DataFrame:
    """Return :func:`assistant_means` of what was scored; no rows where no judge was asked."""
    return assistant_means(found.scores, found.items, best_of(found.signature))


def best_of(signature: Mapping[str, Any]) -> dict[str, float]:
    """Return judge → its best score."""
    return {name: judge["scale"]["max"] for name, judge in signature["judges"].items()}


def means_text(means: pl.DataFrame) -> str:
    """Return the means as tables for people: a line a group, a column a run and judge.

    Names are never cut, for then two could look alike; too many columns for a line make a further
    table.
    """
    if means.is_empty():
        return ""
    columns = list(means.select("run", "judge").unique(maintain_order=True).iter_rows())
    parts = range(0, len(columns), _COLUMNS_A_TABLE)
    return "\n\n".join(_table(means, columns[at : at + _COLUMNS_A_TABLE]) for at in parts)


def _table(means: pl.DataFrame, columns: Sequence[tuple[str, str]]) -> str:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("points of 100, over pairs", no_wrap=True)
    for run, judge in columns:
        table.add_column(f"{run}\n{judge}", justify="right", overflow="fold", min_width=_CELL)
    for (level, group), rows in means.group_by("level", "group", maintain_order=True):
        found = {(row["run"], row["judge"]): row for row in rows.iter_rows(named=True)}
        indent = "  " * LEVELS.index(str(level))
        table.add_row(f"{indent}{group}", *(_cell(found.get(column)) for column in columns))
    console = Console(width=200, no_color=True, highlight=False)
    with console.capture() as capture:
        console.print(table)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def _cell(row: dict[str, Any] | None) -> str:
    if row is None or row["mean"] is None:
        return "–"
    counts = "" if row["n_scored"] == row["n_expected"] else f"/{row['n_expected']}"
    return f"{row['mean']:.1f} ({row['n_scored']}{counts})"


def _overall(judged: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    scored = pl.col("status").cast(pl.String) == "scored"
    total = pl.col("value").filter(scored).sum()
    some = pl.col("n_scored") > 0
    return (
        judged.sort("item", "sample")  # sums in one order, whatever the order of the rows
        .group_by(*WHOLE, maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("n_expected"),
            scored.sum().cast(pl.Int64).alias("n_scored"),
            total.alias("total"),
        )
        .with_columns(
            pl.lit(OVERALL).alias("level"),
            pl.lit(OVERALL).alias("group"),
            pl.when(some).then(pl.col("total") / pl.col("n_scored")).alias("mean"),
            pl.when(some & more_is_better())
            .then(pl.col("total") / pl.col("n_expected"))
            .alias("mean_all"),
        )
    )
