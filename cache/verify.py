"""Verify a store: every byte of every pack, every line, every run. And repair what can be."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cache.conflict import find_conflicts
from cache.errors import RecordError, StoreError, StoreUnavailable
from cache.fault import Fault, readable
from cache.lines import Check
from cache.pack import damaged_packs, list_packs, read_pack
from cache.quarantine import Quarantined, check_quarantine, keep_faults, quarantined
from cache.runs import list_runs, read_run, read_run_file, run_files
from cache.seal import rewrite
from cache.store import Store
from cache.strangers import find_strangers

_KEYS_AT_ONCE = 100_000


@dataclass(slots=True)
class Verification:
    """What was found."""

    records: int = 0
    packs: int = 0
    parts: int = 0
    runs: int = 0
    unanswered: int = 0
    """Requests of runs without a record: not asked yet, or what answered them is not there."""
    faults: list[Fault] = field(default_factory=list)
    """What does not verify in the store as it is."""
    damaged_packs: list[str] = field(default_factory=list)
    """Packs that can be read, with something in them that does not verify."""
    conflicts: list[Fault] = field(default_factory=list)
    """Later answers that differ from the first of their key."""
    surplus: int = 0
    """Later answers that say the same as the first."""
    quarantined: list[Quarantined] = field(default_factory=list)
    """What earlier findings put into quarantine."""

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "records": self.records,
            "packs": self.packs,
            "parts": self.parts,
            "runs": self.runs,
            "unanswered": self.unanswered,
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
        "file": readable(fault.file),
        "line": fault.line,
        "offset": fault.offset,
        "reason": readable(fault.reason),
    }


def verify_store(
    store: Store, progress: Callable[[Sequence[str]], Iterable[str]] = iter
) -> Verification:
    """Read everything and check it. What does not verify is copied to quarantine.

    Args:
        store: where it was opened for reading only, nothing is written.
        progress: is given the packs and yields them one by one.

    Raises:
        StoreUnavailable: a folder or an open part cannot be read. A pack, run or file of the
            quarantine that cannot be read is reported like any other damage.
    """
    store.refresh()
    try:
        result = Verification(quarantined=quarantined(store.path))
        _verify_packs(store, result, progress)
        result.faults += store.index.damaged
        result.faults += check_quarantine(store.path)
        result.faults += find_strangers(store.path)
        store.index.check_parts()
        result.faults += [fault for fault in store.faults if fault.file.startswith("parts/")]
        result.parts = sum(file.startswith("parts/") for file in store.index.files)
        result.records = store.index.rows
        _verify_runs(store, result)
    except OSError as error:
        raise StoreUnavailable(f"{store.path} cannot be verified: {error}") from error
    result.surplus, result.conflicts = find_conflicts(store)
    if not store.read_only:
        _keep(store, result)
    return result


def _verify_packs(
    store: Store, result: Verification, progress: Callable[[Sequence[str]], Iterable[str]]
) -> None:
    done: set[str] = set()
    # Until there are no new ones, for one may be joined with others, or a part sealed, meanwhile.
    while work := [name for name in list_packs(store.path) if name not in done]:
        done.update(work)
        for name in progress(work):
            try:
                content = read_pack(store.path, name, Check.RECORD)
            except FileNotFoundError:
                continue
            except OSError as error:
                result.faults.append(Fault(name, 0, 0, f"cannot be read: {error.strerror}"))
                continue
            result.faults += content.lines.faults
            result.packs += 1
            if content.lines.faults:
                result.damaged_packs.append(name)
                store.index.distrust(name)
            elif not store.index.agrees(name, content.lines):
                reason = f"says of {name} what is not so: made anew"
                result.faults.append(Fault("index", 0, 0, reason))
                store.index.distrust(name)


def _verify_runs(store: Store, result: Verification) -> None:
    for path in run_files(store.path):
        try:
            read_run_file(path)
        except RecordError as error:
            result.faults.append(Fault(f"runs/{path.name}", 0, 0, str(error)))
        except OSError as error:
            reason = f"cannot be read: {error.strerror}"
            result.faults.append(Fault(f"runs/{path.name}", 0, 0, reason))
    asked: set[str] = set()
    for name in list_runs(store.path):
        result.runs += 1
        try:
            asked.update(line.key for line in read_run(store.path, name).lines)
        except (RecordError, OSError):
            continue  # its file is reported above
        except StoreError as error:
            result.faults.append(Fault(f"runs/{name}", 0, 0, str(error)))
    keys = sorted(asked)
    for at in range(0, len(keys), _KEYS_AT_ONCE):
        some = keys[at : at + _KEYS_AT_ONCE]
        result.unanswered += len(some) - len(store.index.places(some))


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
            # What was in another's place may have been put right by now.
            if pack != name and damaged_packs(store.path, [name]):
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
