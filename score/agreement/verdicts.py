"""The verdicts that ``rejudge score`` wrote beside its scores."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from score.errors import ScoresMissing

if TYPE_CHECKING:
    import polars as pl

_COLUMNS = ("judge", "run", "metric", "status", "reason", "spread")


def load_verdicts(folder: Path) -> pl.DataFrame:
    """Read ``verdicts.parquet``.

    Raises:
        ScoresMissing: it is missing, unreadable, or lacks a column.
    """
    import polars as pl

    path = folder / "verdicts.parquet"
    advice = "write it with: rejudge score BENCH --store STORE --out DIR --judge NAME"
    try:
        frame = pl.read_parquet(path)
    except FileNotFoundError:
        raise ScoresMissing(f"{path} is not there; {advice}") from None
    except (pl.exceptions.PolarsError, OSError) as error:
        raise ScoresMissing(f"{path} is no readable Parquet file ({error}); {advice}") from error
    if lacking := [name for name in _COLUMNS if name not in frame.columns]:
        raise ScoresMissing(f"{path} has no column {', '.join(lacking)}; {advice}")
    return frame
