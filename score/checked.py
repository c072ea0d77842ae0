"""Files of a folder of scores, checked where they are read.

A file may be damaged, edited, or of another program. Whatever is asked of it later, it is refused
here, with the file, the column, what was found and what to do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from score.answers import STATUSES
from score.errors import ScoresMissing
from score.signature import content_sha256

if TYPE_CHECKING:
    import polars as pl

_ADVICE = "write it with: rejudge score BENCH --store STORE --out DIR"

_NAMES = ("run", "model", "benchmark", "task", "item", "topic", "cluster", "metric", "judge")
_TEXTS = (*_NAMES, "status", "reason", "key", "error_type", "why", "justification", "mean", "by",
          "slice", "reading", "method", "option")  # fmt: skip
_INTEGERS = ("sample", "n", "n_clusters", "n_replicates")
_NUMBERS = ("value", "low", "high", "level", "score", "spread", "confidence", "start_s", "end_s")
_LISTS = ("race", "gender", "age", "language")
_COMPLETE = (*_NAMES, "sample", "status")

_Object = dict[str, Any]


class _Scale(msgspec.Struct):
    min: float | None = None
    max: float | None = None


class _Rubric(msgspec.Struct):
    name: str = ""


class _Judge(msgspec.Struct):
    engine: str = ""
    model: str = ""
    scale: _Scale | None = None
    rubric: _Rubric | None = None


class _Profile(msgspec.Struct):
    name: str = ""
    exact_sums: bool = True


class _Similarity(msgspec.Struct):
    texts: Annotated[int, msgspec.Meta(ge=0)] = 0
    texts_truncated: Annotated[int, msgspec.Meta(ge=0)] = 0


class _Run(msgspec.Struct):
    settings: _Object = {}


class _Signature(msgspec.Struct):
    """What is read of a signature; whatever else it holds is kept as it is."""

    profile: _Profile | msgspec.UnsetType = msgspec.UNSET
    judges: dict[str, _Judge] = {}
    runs: dict[str, _Run] = {}
    similarity: _Similarity | None = None
    tables: dict[str, str] = {}


def read_signature(folder: Path) -> dict[str, Any]:
    """Read ``signature.json`` of a folder of scores.

    Raises:
        ScoresMissing: It is missing, no JSON object, or a member has another shape.
    """
    path = folder / "signature.json"
    try:
        made = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ScoresMissing(f"{path} is not readable ({error}); {_ADVICE}") from error
    if not isinstance(made, dict):
        raise ScoresMissing(f"{path} is no JSON object; {_ADVICE}")
    try:
        msgspec.convert(made, _Signature)
    except msgspec.ValidationError as error:
        raise ScoresMissing(f"{path} is not a signature of scores: {error}; {_ADVICE}") from error
    return made


def read_table(
    path: Path, columns: tuple[str, ...], signature: Mapping[str, Any] | None = None
) -> pl.DataFrame:
    """Read a Parquet file that must have some columns.

    Args:
        path: The file.
        columns: What it must have.
        signature: Of its folder; where it names the file's content, the file must hold that.

    Raises:
        ScoresMissing: It is missing, unreadable, or lacks a column; a column is of the wrong type,
            has gaps where there can be none, or numbers that are none; or it was changed.
    """
    import polars as pl

    if not path.is_file():
        raise ScoresMissing(f"{path} is not there; {_ADVICE}")
    try:
        frame = pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise ScoresMissing(f"{path} is no readable Parquet file ({error}); {_ADVICE}") from error
    if lacking := [name for name in columns if name not in frame.columns]:
        raise ScoresMissing(f"{path} has no column {', '.join(lacking)}; {_ADVICE}")
    for name in frame.columns:
        if fault := _fault(frame[name]):
            raise ScoresMissing(f"{path}, column {name}: {fault}; {_ADVICE}")
    expected = (signature or {}).get("tables", {}).get(path.stem)
    if expected is not None and expected != content_sha256(frame):
        raise ScoresMissing(
            f"{path} is not the one that signature.json beside it was written for: it was changed "
            f"or comes from elsewhere; {_ADVICE}"
        )
    return frame


def _fault(column: pl.Series) -> str:
    """Say what is wrong with a column; empty: nothing, or it is not one that is known."""
    import polars as pl

    name, kind = column.name, column.dtype
    if kind == pl.Null and name not in _COMPLETE:
        return ""  # a frame made by hand has this type where all is missing
    for names, fits, wanted in (
        (_TEXTS, kind in (pl.String, pl.Enum, pl.Categorical), "texts"),
        (_LISTS, kind == pl.List(pl.String), "lists of texts"),
        (_INTEGERS, kind.is_integer(), "whole numbers"),
        (_NUMBERS, kind.is_numeric(), "numbers"),
    ):
        if name in names and not fits:
            return f"it holds {kind}, where {wanted} are expected"
    if name in _COMPLETE and column.null_count():
        return f"{column.null_count()} of {len(column)} rows have nothing there"
    if name in _NUMBERS and kind.is_float():
        bad = column.filter(~column.is_finite().fill_null(True))
        if len(bad):
            return f"{len(bad)} of {len(column)} rows are no finite number (first: {bad[0]})"
    if name == "status":
        unknown = set(column.cast(pl.String).unique()) - set(STATUSES)
        if unknown:
            return f"no status {', '.join(sorted(unknown))}; there are: {', '.join(STATUSES)}"
    return ""
