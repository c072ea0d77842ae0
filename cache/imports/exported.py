"""What ``rejudge cache export --format jsonl`` wrote, taken in again.

    answers.jsonl          records, one a line, as they lie in a store
    answers.runs.jsonl     runs, one after another, as they lie in a store; may be missing

Nothing is made anew: lines keep their bytes, and with them their keys, digests and times. So of two
answers under one key the one that was created first stays, as when stores are merged.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cache.conflict import keep_conflicts
from cache.errors import ImportFault, RecordError, StoreUnavailable, UnknownRun
from cache.export import runs_file
from cache.imports.imported import Imported
from cache.merge import take_run
from cache.part import PART_BYTES
from cache.record import Outcome, Record, parse_line
from cache.run import Run
from cache.runs import refuse_other, runs_of_bytes
from cache.seal import write_pack
from cache.store import Store

_LINES_AT_ONCE = 4096


@dataclass(frozen=True, slots=True)
class ExportFiles:
    """Files that were read and verified, every line."""

    files: tuple[Path, ...]
    runs: tuple[Run, ...]


def read_export(source: Path) -> ExportFiles:
    """Verify an export, or every one under a folder.

    Raises:
        ImportFault: there is none, or a line or run does not verify; names file and line.
    """
    if (source / "format.json").exists():
        raise ImportFault(f"{source} is a store: `rejudge cache merge {source}` takes all of it")
    found = [source] if source.is_file() else sorted(source.rglob("*.jsonl"))
    files = tuple(path for path in found if not path.name.endswith(".runs.jsonl"))
    if not files:
        raise ImportFault(
            f"{source} holds no export: <name>.jsonl, and <name>.runs.jsonl beside it"
        )
    runs: list[Run] = []
    try:
        for path in files:
            for _ in _records(path):
                pass
            beside = runs_file(path)
            data = beside.read_bytes() if beside.exists() else b""
            runs += runs_of_bytes(data, beside) if data else []
    except RecordError as error:
        raise ImportFault(str(error)) from error
    except OSError as error:
        raise ImportFault(f"{source} cannot be read: {error}") from error
    return ExportFiles(files, tuple(runs))


def store_export(store: Store, export: ExportFiles) -> Imported:
    """Put an export's records and runs into a store.

    Raises:
        RunConflict: a run of that name was made otherwise; nothing was stored.
        ImportFault: a file was changed since it was verified.
        StoreUnavailable: the store cannot be written.
    """
    for run in export.runs:
        try:
            refuse_other(store.run(run.header.name).header, run.header)
        except UnknownRun:
            continue
    if store.read_only:
        raise StoreUnavailable(f"{store.path} was opened for reading only")
    result = Imported(runs=sorted({run.header.name for run in export.runs}))
    try:
        for path in export.files:
            for lines in _packs(_new_lines(store, path, result)):
                write_pack(store.path, lines.__iter__)
                store.refresh()
    except OSError as error:
        raise StoreUnavailable(
            f"{store.path}: the import stopped: {error}. What was stored is whole; run the same "
            "command again to go on."
        ) from error
    for run in export.runs:
        take_run(store, run)
    result.conflicts = len(keep_conflicts(store))
    return result


def _records(path: Path) -> Iterator[tuple[bytes, Record]]:
    """Each line (without newline) and its record."""
    with path.open("rb") as file:
        for number, data in enumerate(file, 1):
            line = data.removesuffix(b"\n")
            try:
                yield line, parse_line(line)
            except RecordError as error:
                raise ImportFault(
                    f"{path} line {number}: {error}. Nothing was imported."
                ) from error


def _new_lines(store: Store, path: Path, result: Imported) -> Iterator[bytes]:
    """The lines that the store does not hold yet; counts all."""
    records = _records(path)
    while some := list(itertools.islice(records, _LINES_AT_ONCE)):
        stored = store.find(record.key for _, record in some)
        for line, record in some:
            if any(one.line == line for one in stored.get(record.key, ())):
                result.already_stored += 1
                continue
            if record.outcome is Outcome.OK:
                result.answers += 1
            else:
                result.failures += 1
            yield line + b"\n"


def _packs(lines: Iterator[bytes]) -> Iterator[list[bytes]]:
    """As many lines at a time as a pack holds."""
    some: list[bytes] = []
    size = 0
    for line in lines:
        some.append(line)
        size += len(line)
        if size >= PART_BYTES:
            yield some
            some, size = [], 0
    if some:
        yield some
