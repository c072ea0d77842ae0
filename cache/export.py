"""Export answers: as JSON lines just as they are stored, or as a Parquet table.

Both hold one record a key. The table has the columns of ``frame.py`` and ``request``, the request
as JSON text; with a run also ``run``, ``item`` and that sample's number, one row an item.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from cache.durable import beside, make_folder, sync_folder, write_file
from cache.errors import StoreUnavailable
from cache.store import Store

if TYPE_CHECKING:
    import polars as pl

Format = Literal["parquet", "jsonl"]


class _Asked(msgspec.Struct):
    key: str
    request: msgspec.Raw


_decoder = msgspec.json.Decoder(_Asked)


def export(store: Store, out: Path, form: Format, *, run: str | None = None) -> int:
    """Write answers to a file; return how many rows or lines.

    Args:
        store: where they are.
        out: the file; an older one is replaced.
        form: ``jsonl`` or ``parquet``.
        run: only what this run asked.

    Raises:
        UnknownRun: there is no such run.
        StoreUnavailable: the file cannot be written.
    """
    keys = None if run is None else {line.key for line in store.run(run).lines}
    try:
        if form == "jsonl":
            count = 0

            def lines() -> Iterator[bytes]:
                nonlocal count
                for found in store.scan_found():
                    if keys is None or found.record.key in keys:
                        count += 1
                        yield found.line + b"\n"

            write_file(out, lines())
            return count
        frame = export_frame(store, run)
        _write_table(frame, out)
        return frame.height
    except OSError as error:
        raise StoreUnavailable(f"{out} cannot be written: {error}") from error


def _write_table(frame: pl.DataFrame, out: Path) -> None:
    import polars as pl

    make_folder(out.parent)
    with beside(out) as temporary:
        try:
            frame.write_parquet(temporary)
        except pl.exceptions.PolarsError as error:
            raise OSError(str(error)) from error
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.rename(out)
    sync_folder(out.parent)


def export_frame(store: Store, run: str | None = None) -> pl.DataFrame:
    """The table that :func:`export` writes.

    Raises:
        UnknownRun: there is no such run.
    """
    import polars as pl

    asked = [_decoder.decode(found.line) for found in store.scan_found()]
    requests = pl.DataFrame(
        {
            "key": [one.key for one in asked],
            "request": [bytes(one.request).decode() for one in asked],
        },
        schema={"key": pl.String, "request": pl.String},
    )
    frame = store.frame().join(requests, on="key", how="left", maintain_order="left")
    if run is None:
        return frame
    lines = store.run(run).lines
    items = pl.DataFrame(
        {
            "run": [run] * len(lines),
            "item": [line.item for line in lines],
            "sample_of_item": [line.sample for line in lines],
            "key": [line.key for line in lines],
        },
        schema={"run": pl.String, "item": pl.String, "sample_of_item": pl.Int64, "key": pl.String},
    )
    return items.join(frame, on="key", how="inner", maintain_order="left")
