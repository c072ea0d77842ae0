"""Merge stores: the union of their packs and runs, by copying files. Sources are only read."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from cache.conflict import keep_conflicts
from cache.durable import SEALED, beside, create_exclusive, sync_folder
from cache.errors import RunConflict, StoreError, StoreUnavailable, UnknownRun
from cache.lines import Check
from cache.live import LiveParts
from cache.pack import list_packs, read_pack
from cache.quarantine import keep_faults
from cache.runs import refuse_other
from cache.seal import rewrite
from cache.store import Store

#: A source and one of its packs.
Work = tuple[Store, str]

_BLOCK = 8 << 20


@dataclass(slots=True)
class Merged:
    """What a merge did."""

    packs: int = 0
    """Packs copied; those already there are not counted."""
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

    Args:
        store: takes everything.
        sources: folders of stores.
        progress: is given the packs and yields them one by one.

    Raises:
        RunConflict: a run of the same name was made otherwise; nothing was copied.
        StoreUnavailable: a source is no store, or ``store`` cannot be written.
        StoreError: a source is the store itself.
    """
    opened = [_open_source(store, source) for source in sources]
    for source in opened:
        _refuse_other_runs(store, source)
    merged = Merged()
    work = [(source, name) for source in opened for name in list_packs(source.path)]
    try:
        for source, name in progress(work):
            merged.packs += _take_pack(store.path, source.path, name)
        for source in opened:
            merged.parts += _take_parts(store.path, source.path)
            _take_quarantine(store.path, source.path)
        store.refresh()
        for source in opened:
            _take_runs(store, source, merged)
        merged.conflicts = len(keep_conflicts(store))
    except OSError as error:
        raise StoreUnavailable(
            f"{store.path}: the merge stopped: {error}. What was copied is whole; run the same "
            "command again to go on."
        ) from error
    return merged


def _open_source(store: Store, path: Path) -> Store:
    source = Store(path, read_only=True)
    if path.samefile(store.path):
        raise StoreError(f"{path} cannot be merged into itself")
    return source


def _refuse_other_runs(store: Store, source: Store) -> None:
    for name in source.runs():
        try:
            ours = store.run(name)
        except UnknownRun:
            continue
        try:
            refuse_other(ours.header, source.run(name).header)
        except RunConflict as error:
            raise RunConflict(f"{source.path}: {error} Nothing was merged.") from error


def _take_pack(root: Path, source: Path, name: str) -> bool:
    target = root / name
    if target.exists():
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with beside(target) as temporary:
        with (source / name).open("rb", buffering=0) as read, temporary.open("xb") as written:
            while block := read.read(_BLOCK):
                digest.update(block)
                written.write(block)
            written.flush()
            os.fsync(written.fileno())
            os.fchmod(written.fileno(), SEALED)
        intact = digest.hexdigest() == target.stem
        if intact:
            temporary.rename(target)
    if not intact:  # a damaged pack is not spread: only its sound lines are taken
        lines = read_pack(source, name, Check.RECORD).lines
        keep_faults(root, [replace(fault, file=f"{source}/{name}") for fault in lines.faults])
        return rewrite(root, source / name, lines) is not None
    sync_folder(target.parent)
    sync_folder(root / "packs")
    return True


def _take_parts(root: Path, source: Path) -> int:
    parts = LiveParts(source)
    parts.refresh()
    faults = [replace(fault, file=f"{source}/{fault.file}") for fault in parts.faults]
    keep_faults(root, faults)
    return sum(rewrite(root, source / name, parts.lines(name)) is not None for name in parts.names)


def _take_quarantine(root: Path, source: Path) -> None:
    for path in sorted(source.glob("quarantine/[!.]*.jsonl")):
        create_exclusive(root / "quarantine" / path.name, path.read_bytes())


def _take_runs(store: Store, source: Store, merged: Merged) -> None:
    for name in source.runs():
        theirs = source.run(name)
        try:
            ours = {(line.item, line.sample): line.key for line in store.run(name).lines}
        except UnknownRun:
            ours = {}
        new = [line for line in theirs.lines if (line.item, line.sample) not in ours]
        merged.other_keys += sum(
            ours.get((line.item, line.sample), line.key) != line.key for line in theirs.lines
        )
        store.write_run(theirs.header, new)
        merged.runs += 1
