"""The files that scoring leaves behind.

OUT/
  scores.parquet        one row a run × item × sample × metric × judge
  predictions.parquet   one row a run × item × sample: what was read from the answer
  verdicts.parquet      one row a text × judge: its score, samples, aspects and reasons
  errors.parquet        one row a localization prediction × judge: its error type
  items.parquet         one row an item: what slices are made of
  estimates.parquet     one row a mean × reading: its interval, overall and by topic (on demand)
  signature.json        how every number was made; written last, so its presence means done
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from score.errors import OutputUnwritable
from score.signature import with_contents

if TYPE_CHECKING:
    import polars as pl

    from score.scoring import Scores

SIGNATURE = "signature.json"
TABLES = ("scores", "predictions", "verdicts", "errors", "items")
#: Written where it was asked for.
INTERVALS = "estimates"


def write(found: Scores, out: Path) -> list[Path]:
    """Write the tables and the signature; earlier ones are replaced whole, never in part.

    Raises:
        OutputUnwritable: the folder cannot be made or written to.
    """
    from polars.exceptions import PolarsError

    written = []
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / SIGNATURE).unlink(missing_ok=True)
        tables: dict[str, pl.DataFrame] = {name: getattr(found, name) for name in TABLES}
        if found.estimates is not None:
            tables[INTERVALS] = found.estimates
        (out / f"{INTERVALS}.parquet").unlink(missing_ok=True)
        for name, frame in tables.items():
            written.append(replace_file(out / f"{name}.parquet", frame.write_parquet))
        signed = with_contents(found.signature, tables)
        text = json.dumps(signed, ensure_ascii=False, indent=2, sort_keys=True) + "\n"
        written.append(replace_file(out / SIGNATURE, lambda path: path.write_text(text, "utf-8")))
    except (OSError, PolarsError) as error:
        raise OutputUnwritable(
            f"the scores cannot be written to {out}: {error}; name a folder with --out"
        ) from error
    return written


def replace_file(path: Path, fill: Callable[[Path], Any]) -> Path:
    """Write a file beside its place and move it there whole.

    Args:
        path: Its place.
        fill: Writes to the path it is given.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fill(beside)
        with beside.open("rb") as file:
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    return path
