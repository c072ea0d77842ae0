"""People's labels from a CSV, lined up with what judges scored.

    item,score[,run][,metric][,sample][,rater]

``item`` and ``score`` are required; the others where a row would be ambiguous without them. A
``rater`` that is named makes labels of one's own; else they are all of ``people``. An empty score
is no label. The scores are on the scale of the judges.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from score.agreement.units import KEYS
from score.errors import LabelsError

if TYPE_CHECKING:
    import polars as pl

PEOPLE = "people"
REQUIRED = ("item", "score")
OPTIONAL = ("run", "metric", "sample", "rater")


def read_labels(path: Path, rows: pl.DataFrame, scale: Mapping[str, float] | None) -> pl.DataFrame:
    """Read labels.

    Args:
        path: The file.
        rows: Rows of scores: what can be labelled.
        scale: ``min`` and ``max`` of the judges' scale; None: not known.

    Returns:
        A row for each label: :data:`KEYS`, ``judge`` (who labelled) and ``value``.

    Raises:
        LabelsError: the file cannot be read, or lines of it do not hold; all of them are named.
    """
    import polars as pl

    units = rows.select(*KEYS).unique()
    judges = set(rows["judge"].unique())
    faults: list[str] = []
    found: dict[tuple[object, ...], tuple[int, tuple[object, ...]]] = {}
    names, table = _table(path)
    for line, row in table:
        try:
            score = _score(row["score"], scale)
            if score is None:
                continue
            rater = row.get("rater") or PEOPLE
            if rater in judges:
                raise _Fault("rater", f"{rater!r} is a judge's name; call people otherwise")
            for key in _units(row, units, names):
                one = (*key, rater)
                if one in found:
                    raise _Fault("item", f"the same as in line {found[one][0]}")
                found[one] = line, (*one, score)
        except _Fault as fault:
            faults.append(f"line {line}: {fault}")
    if faults:
        shown = "\n  ".join(faults[:10])
        more = f"\n  and {len(faults) - 10} more" if len(faults) > 10 else ""
        raise LabelsError(f"{path}: labels that do not hold:\n  {shown}{more}")
    if not found:
        raise LabelsError(f"{path} holds no label: every score is empty")
    schema: dict[str, Any] = {**units.schema, "judge": pl.String, "value": pl.Float64}
    return pl.DataFrame([row for _, row in found.values()], schema=schema, orient="row")


class _Fault(Exception):
    def __init__(self, field: str, found: str) -> None:
        super().__init__(f"{field}: {found}")


def _table(path: Path) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            names = [name.strip() for name in next(reader, [])]
            rows = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise LabelsError(f"{path} cannot be read as CSV: {error}") from error
    known = (*REQUIRED, *OPTIONAL)
    missing = [name for name in REQUIRED if name not in names]
    unknown = [name for name in names if name not in known]
    if missing or unknown or len(set(names)) < len(names):
        raise LabelsError(
            f"{path} line 1: found the columns {', '.join(names) or 'none'}; expected item and "
            f"score, and of {', '.join(OPTIONAL)} those that are needed, each once"
        )
    for line, row in rows:
        if len(row) != len(names):
            raise LabelsError(f"{path} line {line}: found {len(row)} fields; expected {len(names)}")
    stripped = [(line, [cell.strip() for cell in row]) for line, row in rows]
    return names, [(line, dict(zip(names, row, strict=True))) for line, row in stripped]


def _score(text: str, scale: Mapping[str, float] | None) -> float | None:
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        raise _Fault("score", f"found {text!r}; expected a number") from None
    if not math.isfinite(value):
        raise _Fault("score", f"found {text!r}; expected a number")
    if scale is not None and not scale["min"] <= value <= scale["max"]:
        raise _Fault(
            "score", f"found {text}; expected {scale['min']:g} to {scale['max']:g}, as judges have"
        )
    return value


def _units(
    row: Mapping[str, str], units: pl.DataFrame, names: list[str]
) -> list[tuple[object, ...]]:
    """The unit that a row labels, one and no more."""
    import polars as pl

    some = units.filter(pl.col("item") == row["item"])
    if some.is_empty():
        raise _Fault("item", f"found {row['item']!r}, which no judge has scored here")
    for name in ("run", "metric", "sample"):
        text = row.get(name, "")
        known = sorted(map(str, some[name].unique()))
        if not text and len(known) > 1:
            how = "fill" if name in names else "add"
            raise _Fault(name, f"the item has several: {', '.join(known)}; {how} the column {name}")
        if text:
            full = f"{text}_judge" if name == "metric" and not text.endswith("_judge") else text
            some = some.filter(pl.col(name).cast(pl.String) == full)
        if some.is_empty():
            raise _Fault(name, f"found {text!r}; expected one of {', '.join(known)}")
    return [tuple(unit) for unit in some.select(*KEYS).iter_rows()]
