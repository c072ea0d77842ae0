"""The verdicts that ``rejudge score`` wrote beside its scores."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from score.checked import read_table

if TYPE_CHECKING:
    import polars as pl

_COLUMNS = ("judge", "run", "metric", "status", "reason", "spread")


def load_verdicts(folder: Path) -> pl.DataFrame:
    """Read ``verdicts.parquet``.

    Raises:
        ScoresMissing: it is missing, unreadable, or not as it was written.
    """
    return read_table(folder / "verdicts.parquet", _COLUMNS)
