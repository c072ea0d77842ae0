"""Export answers: as JSON lines just as they are stored, or as a Parquet table.

Both hold one record a key. The table has the columns of ``frame.py`` and ``request``, the request
as JSON text; with a run also ``run``, ``item`` and that sample's number, one row an item.

Beside the lines of ``answers.jsonl`` the runs are written to ``answers.runs.jsonl``, one after
another, as they are stored. ``imports/exported.py`` takes both in again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Set
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from cache.durable import beside, make_folder, sync_folder, write_file
from cache.errors import StoreError, StoreUnavailable
from cache.replies import replies
from cache.runs import run_bytes
from cache.store import Store

if TYPE_CHECKING:
    import polars as pl

Format = Literal["parquet", "jsonl", "omniassist"]


class _Asked(msgspec.Struct):
    key: str
    request: msgspec.Raw


_decoder = msgspec.json.Decoder(_Asked)


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export wrote."""

    out: str
    records: int
    """Lines, or rows of the table."""
    runs_out: str = ""
    """The file of the runs; empty for a table, which names its run in a column."""
    runs: int = 0
    left_out: int = 0
    """Turns without a reply, which a reply file has no place for."""

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return asdict(self)


def export(store: Store, out: Path, form: Format, *, run: str | None = None) -> Exported:
    """Write answers to a file.

    Args:
        store: where they are.
        out: the file; an older one is replaced.
        form: ``jsonl``, ``parquet``, or ``omniassist`` for a run as a reply file.
        run: only what this run asked.

    Raises:
        UnknownRun: there is no such run.
        StoreError: ``out`` is in the store, or is something else than a file.
        StoreUnavailable: the file cannot be written.
    """
    target, beside = _target(store, out), runs_file(out)
    runs_target = _target(store, beside) if form == "jsonl" else beside
    keys = None if run is None else {line.key for line in store.run(run).lines}
    try:
        if form == "jsonl":
            runs = store.runs() if run is None else [run]
            return Exported(
                str(out),
                _write_lines(store, target, keys),
                str(beside),
                _write_runs(store, runs_target, runs),
            )
        if form == "omniassist":
            if run is None:
                raise StoreError("a reply file holds one run: say which with --run")
            found = replies(store, run)
            write_file(target, [found.text.encode()])
            return Exported(str(out), found.rows, left_out=found.left_out)
        frame = export_frame(store, run)
        _write_table(frame, target)
        return Exported(str(out), frame.height)
    except OSError as error:
        raise StoreUnavailable(f"{out} cannot be written: {error}") from error


def _target(store: Store, out: Path) -> Path:
    """The file that is replaced: what a link leads to, not the link."""
    target = Path(os.path.realpath(out))
    if target.is_relative_to(store.path.resolve()):
        raise StoreError(f"{out} is in the store itself, whose files are its own: name another")
    if target.exists() and not target.is_file():
        raise StoreError(f"{out} is no regular file, and an export replaces what it is written to")
    return target


def runs_file(out: Path) -> Path:
    """Where the runs that belong to an export are."""
    return out.with_name(f"{out.stem}.runs.jsonl")


def _write_lines(store: Store, target: Path, keys: Set[str] | None) -> int:
    count = 0

    def lines() -> Iterator[bytes]:
        nonlocal count
        for found in store.scan_found():
            if keys is None or found.record.key in keys:
                count += 1
                yield found.line + b"\n"

    write_file(target, lines())
    return count


def _write_runs(store: Store, target: Path, runs: list[str]) -> int:
    # Also where there are none, so that the runs of an earlier export are not taken for this one's.
    write_file(target, (run_bytes(store.run(name)) for name in runs))
    return len(runs)


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
