"""Merge stores: the union of their packs and runs, by copying files. Sources are only read."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from cache.conflict import keep_conflicts
from cache.durable import SEALED, beside, create_exclusive, fill, make_folder, sync_folder
from cache.errors import RecordError, RunConflict, StoreError, StoreUnavailable, UnknownRun
from cache.layout import list_files
from cache.lines import Check
from cache.live import LiveParts
from cache.pack import list_packs, read_pack
from cache.quarantine import keep_faults
from cache.run import Run
from cache.runs import refuse_other
from cache.seal import clear_way, rewrite
from cache.store import Store

#: A source and one of its packs.
Work = tuple[Store, str]

_BLOCK = 8 << 20


@dataclass(slots=True)
class Merged:
    """What a merge did."""

    packs: int = 0
    """Packs copied; sound ones already there are not counted."""
    parts: int = 0
    """Open parts of the sources whose records were taken."""
    runs: int = 0
    other_keys: int = 0
    """Items that a run of a source asks by another key; ours stays."""
    conflicts: int = 0
    """Keys with two different answers in the merged store; the later is in quarantine."""

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return asdict(self)


def merge_stores(
    store: Store,
    sources: Sequence[Path],
    progress: Callable[[Sequence[Work]], Iterable[Work]] = iter,
) -> Merged:
    """Copy what ``sources`` hold into ``store``. Doing it again changes nothing.

    A pack of ours that is known to be damaged is replaced by a source's sound copy.

    Args:
        store: takes everything.
        sources: folders of stores.
        progress: is given the packs and yields them one by one.

    Raises:
        RunConflict: a run of the same name was made otherwise; nothing was copied.
        RecordError: a run of a source is damaged; nothing was copied.
        StoreUnavailable: a source is no store, or ``store`` cannot be written.
        StoreError: a source is the store itself.
    """
    for path in sources:
        if path.exists() and path.samefile(store.path):
            raise StoreError(f"{path} cannot be merged into itself")
    opened, runs = open_sources(sources, store)
    merged = Merged()
    done: set[tuple[Path, str]] = set()
    try:
        # Parts before packs: a part that is sealed in between is then seen twice, never missed.
        for source in opened:
            merged.parts += _take_parts(store.path, source.path)
            _take_quarantine(store.path, source.path)
        # And packs until there are no new ones, for one may be joined with others meanwhile.
        while work := [
            (source, name)
            for source in opened
            for name in list_packs(source.path)
            if (source.path, name) not in done
        ]:
            for source, name in progress(work):
                merged.packs += _take_pack(store, source.path, name)
                done.add((source.path, name))
        store.refresh()
        for run in runs:
            merged.other_keys += take_run(store, run)
            merged.runs += 1
        merged.conflicts = len(keep_conflicts(store))
    except OSError as error:
        raise StoreUnavailable(
            f"{store.path}: the merge stopped: {error}. What was copied is whole; run the same "
            "command again to go on."
        ) from error
    return merged


def open_sources(
    sources: Sequence[Path], store: Store | None = None
) -> tuple[list[Store], list[Run]]:
    """Open the sources, read their runs, and see that all of them can be merged.

    Args:
        sources: folders of stores.
        store: what they are merged into; None where it is not made yet.

    Raises:
        RunConflict: two of them hold a run of one name that was made in two ways.
        RecordError: a run is damaged.
        StoreUnavailable: a source is no store.
    """
    opened = [Store(path, read_only=True) for path in sources]
    first: dict[str, tuple[Path, Run]] = {}
    runs: list[Run] = []
    if store is not None:
        first = {name: (store.path, store.run(name)) for name in store.runs()}
    for source in opened:
        for name in source.runs():
            try:
                run = source.run(name)
                where, other = first.setdefault(name, (source.path, run))
                refuse_other(other.header, run.header)
            except RecordError as error:
                raise RecordError(f"{source.path}: {error} Nothing was merged.") from error
            except RunConflict as error:
                raise RunConflict(
                    f"{source.path} and {where}: {error} Nothing was merged."
                ) from error
            runs.append(run)
    return opened, runs


def _take_pack(store: Store, source: Path, name: str) -> bool:
    damaged = {fault.file for fault in store.faults}
    if (store.path / name).exists() and name not in damaged:
        return False
    try:
        return _copy_pack(store.path, source, name)
    except FileNotFoundError:
        if (source / name).exists():
            raise
        return False  # joined with others, or repaired: what replaces it is listed the next time


def _copy_pack(root: Path, source: Path, name: str) -> bool:
    target = root / name
    make_folder(target.parent)
    digest = hashlib.sha256()

    def blocks() -> Iterator[bytes]:
        with (source / name).open("rb", buffering=0) as file:
            while block := file.read(_BLOCK):
                digest.update(block)
                yield block

    with beside(target) as temporary:
        fill(temporary, blocks(), mode=SEALED)
        intact = digest.hexdigest() == target.stem
        if intact:
            clear_way(root, name, lambda: _lines_of(temporary))
            temporary.rename(target)
    if not intact:  # a damaged pack is not spread: only its sound lines are taken
        lines = read_pack(source, name, Check.RECORD).lines
        keep_faults(root, [replace(fault, file=f"{source}/{name}") for fault in lines.faults])
        return rewrite(root, source / name, lines) is not None
    sync_folder(target.parent)
    return True


def _lines_of(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from file


def _take_parts(root: Path, source: Path) -> int:
    parts = LiveParts(source)
    parts.refresh()
    faults = [replace(fault, file=f"{source}/{fault.file}") for fault in parts.faults]
    keep_faults(root, faults)
    taken = 0
    for name in parts.names:
        # A part that is sealed in this moment is among the packs, which are taken after.
        with contextlib.suppress(FileNotFoundError):
            taken += rewrite(root, source / name, parts.lines(name)) is not None
    return taken


def _take_quarantine(root: Path, source: Path) -> None:
    for path in list_files(source / "quarantine", ".jsonl"):
        create_exclusive(root / "quarantine" / path.name, path.read_bytes())


def take_run(store: Store, theirs: Run) -> int:
    """Write a run of another store, or what ours of that name lacks.

    Returns:
        How many items theirs asks by another key; ours stays.

    Raises:
        RunConflict: ours was made otherwise.
        StoreUnavailable: the run cannot be written.
    """
    try:
        ours = {(line.item, line.sample): line.key for line in store.run(theirs.header.name).lines}
    except UnknownRun:
        ours = {}
    new = [line for line in theirs.lines if (line.item, line.sample) not in ours]
    store.write_run(theirs.header, new)
    return sum(ours.get((line.item, line.sample), line.key) != line.key for line in theirs.lines)
