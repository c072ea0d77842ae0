"""Verify a store: every byte of every pack, every line, every run. And repair what can be."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cache.conflict import as_faults, find_surplus
from cache.errors import RecordError, StoreError, StoreUnavailable
from cache.fault import Fault
from cache.lines import Check
from cache.pack import list_packs, read_pack
from cache.quarantine import Quarantined, check_quarantine, keep_faults, quarantined
from cache.runs import list_runs, read_run, read_run_file, run_files
from cache.seal import rewrite
from cache.store import Store


@dataclass(slots=True)
class Verification:
    """What was found."""

    records: int = 0
    packs: int = 0
    parts: int = 0
    runs: int = 0
    faults: list[Fault] = field(default_factory=list)
    """What does not verify in the store as it is."""
    conflicts: list[Fault] = field(default_factory=list)
    """Later answers that differ from the first of their key."""
    surplus: int = 0
    """Later answers that say the same as the first."""
    quarantined: list[Quarantined] = field(default_factory=list)
    """What earlier findings put into quarantine."""

    @property
    def damaged_packs(self) -> list[str]:
        """Packs with a fault."""
        return sorted({f.file for f in self.faults if f.file.startswith("packs/")})

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "records": self.records,
            "packs": self.packs,
            "parts": self.parts,
            "runs": self.runs,
            "surplus": self.surplus,
            "faults": [_shown(fault) for fault in self.faults],
            "conflicts": [_shown(fault) for fault in self.conflicts],
            "quarantined": [
                {"file": one.file, "line": one.line, "offset": one.offset, "reason": one.reason}
                for one in self.quarantined
            ],
        }


def _shown(fault: Fault) -> dict[str, Any]:
    return {
        "file": fault.file,
        "line": fault.line,
        "offset": fault.offset,
        "reason": fault.reason,
    }


def verify_store(
    store: Store, progress: Callable[[Sequence[str]], Iterable[str]] = iter
) -> Verification:
    """Read everything and check it. What does not verify is copied to quarantine.

    Args:
        store: where it was opened for reading only, nothing is written.
        progress: is given the packs and yields them one by one.

    Raises:
        StoreUnavailable: a file cannot be read.
    """
    store.refresh()
    result = Verification(quarantined=quarantined(store.path))
    packs = list(list_packs(store.path))
    for name in progress(packs):
        content = read_pack(store.path, name, Check.RECORD)
        result.faults += content.lines.faults
        result.packs += 1
        if content.lines.faults:
            store.index.distrust(name)
        elif not store.index.agrees(name, content.lines):
            result.faults.append(Fault("index", 0, 0, f"says of {name} what is not so: made anew"))
            store.index.distrust(name)
    result.faults += store.index.damaged
    result.faults += check_quarantine(store.path)
    live = [fault for fault in store.faults if fault.file.startswith("parts/")]
    result.faults += live
    result.parts = sum(file.startswith("parts/") for file in store.index.files)
    result.records = store.index.rows
    _verify_runs(store, result)
    same, otherwise = find_surplus(store)
    result.surplus = len(same)
    result.conflicts = as_faults(store.path, otherwise)
    if not store.read_only:
        _keep(store, result)
    return result


def _verify_runs(store: Store, result: Verification) -> None:
    for path in run_files(store.path):
        try:
            read_run_file(path)
        except RecordError as error:
            result.faults.append(Fault(f"runs/{path.name}", 0, 0, str(error)))
    for name in list_runs(store.path):
        result.runs += 1
        try:
            read_run(store.path, name)
        except RecordError:
            continue  # its file is reported above
        except StoreError as error:
            result.faults.append(Fault(f"runs/{name}", 0, 0, str(error)))


def _keep(store: Store, result: Verification) -> None:
    try:
        keep_faults(store.path, result.faults + result.conflicts)
    except OSError as error:
        result.faults.append(Fault("quarantine", 0, 0, f"cannot be written: {error}"))


def repair_packs(store: Store, packs: list[str]) -> list[str]:
    """Replace damaged packs by packs of their sound lines; return the new ones.

    The bytes that do not verify are in quarantine before the damaged pack goes.

    Raises:
        StoreUnavailable: the store cannot be written; what was not replaced is as it was.
    """
    if packs and store.read_only:
        raise StoreUnavailable(f"{store.path} cannot be repaired: it is read-only")
    made: list[str] = []
    try:
        for name in packs:
            lines = read_pack(store.path, name, Check.RECORD).lines
            keep_faults(store.path, lines.faults)
            pack = rewrite(store.path, store.path / name, lines)
            if pack is not None:
                made.append(pack)
            if pack != name:
                (store.path / name).unlink()
    except OSError as error:
        raise StoreUnavailable(f"{store.path}: the repair stopped: {error}") from error
    store.refresh()
    return made


def open_for_verifying(path: Path) -> Store:
    """Open a store for writing where it can be written, else for reading.

    Raises:
        StoreUnavailable: there is no store.
    """
    return Store(path, read_only=not os.access(path, os.W_OK))
