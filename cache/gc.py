"""Collect garbage: what no reader needs. Nothing is removed unless ``apply`` says so.

Garbage is: later answers to a key that has one (those that differ are in quarantine), failures that
a hit or a newer failure stands in for, copies of one line, segments of the index that nothing uses,
and what killed processes left half-written. On request also the answers of a model that no run
names. Packs that lose a line are written anew, and small packs are joined. One collection at a
time: of two copies of a line each could take the one that the other keeps.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from cache.conflict import keep_conflicts
from cache.durable import beside, create_exclusive
from cache.errors import RecordError, StoreUnavailable
from cache.layout import FOLDERS, new_writer, writer_is_gone
from cache.order import Found, answer
from cache.pack import iterate_lines, list_packs
from cache.part import PART_BYTES
from cache.record import verify_line
from cache.seal import write_pack
from cache.segment_file import remove_segment
from cache.store import Store

_SMALL_BYTES = 1 << 20
_LEFTOVER_S = 24 * 3600.0
_KEYS_AT_ONCE = 4096


@dataclass(slots=True)
class Garbage:
    """What can go."""

    lines: dict[str, int] = field(default_factory=dict)
    """How many lines, by why they can go."""
    line_bytes: int = 0
    packs: int = 0
    """Packs that are written anew, without those lines or joined with other small ones."""
    files: list[str] = field(default_factory=list)
    """Leftover files, relative to the store."""
    applied: bool = False

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return asdict(self)


class _Doomed(NamedTuple):
    reason: str
    file: str
    offset: int
    size: int


def collect_garbage(
    store: Store, *, apply: bool = False, unreferenced: Sequence[str] = ()
) -> Garbage:
    """Find what can go and, with ``apply``, remove it.

    Args:
        store: the store. Open parts are left alone.
        apply: remove it; else nothing is touched.
        unreferenced: models whose answers go where no run names their key.

    Raises:
        StoreUnavailable: the store cannot be read or written, or another collection is at work;
            what was not written anew is as it was.
    """
    with _alone(store) if apply else contextlib.nullcontext():
        return _collect(store, apply, unreferenced)


@contextlib.contextmanager
def _alone(store: Store) -> Iterator[None]:
    """Keep other collections out, without a lock: the file says who is at work."""
    if store.read_only:
        raise StoreUnavailable(f"{store.path} was opened for reading only")
    mark, me = store.path / "collecting", new_writer()
    try:
        if not create_exclusive(mark, me):
            _pass_over_dead(mark)
            if not create_exclusive(mark, me):
                raise _taken(mark)
    except OSError as error:
        raise StoreUnavailable(f"{store.path}: the collection cannot begin: {error}") from error
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            mark.unlink()


def _pass_over_dead(mark: Path) -> None:
    with contextlib.suppress(FileNotFoundError):  # it ended in this moment
        other = mark.read_text(encoding="utf-8", errors="replace")
        if not writer_is_gone(mark, writer=other):
            raise _taken(mark)
        with beside(mark) as taken:
            mark.rename(taken)
            if taken.read_text(encoding="utf-8", errors="replace") != other:
                os.link(taken, mark)  # somebody was quicker, and lives
                raise _taken(mark)


def _taken(mark: Path) -> StoreUnavailable:
    return StoreUnavailable(
        f"{mark.parent}: another collection is at work, says {mark}. Wait for its end; if its "
        "process is gone, remove that file."
    )


def _collect(store: Store, apply: bool, unreferenced: Sequence[str]) -> Garbage:
    store.refresh()
    store.check_packs()
    faulty = {fault.file for fault in store.faults}
    garbage = Garbage()
    doomed: dict[str, set[int]] = defaultdict(set)
    reasons: Counter[str] = Counter()
    for reason, file, offset, size in _doomed(store, frozenset(unreferenced)):
        # A damaged pack stays as it is, for `verify --repair`.
        if file.startswith("packs/") and file not in faulty and offset not in doomed[file]:
            doomed[file].add(offset)
            reasons[reason] += 1
            garbage.line_bytes += size + 1
    garbage.lines = dict(reasons)
    rewritten = _packs_to_write(store, doomed)
    garbage.packs = len(rewritten)
    garbage.files = _leftovers(store)
    if apply:
        try:
            keep_conflicts(store)
            _write_anew(store, rewritten, doomed)
            store.refresh()
            garbage.files = _leftovers(store)
            for name in garbage.files:
                remove = remove_segment if name.endswith(".idx") else Path.unlink
                with contextlib.suppress(FileNotFoundError):
                    remove(store.path / name)
        except RecordError as error:
            raise RecordError(
                f"{store.path}: the collection stopped at a pack that holds damage: {error}. "
                "Nothing is lost; run `rejudge cache verify --repair` first."
            ) from error
        except OSError as error:
            raise StoreUnavailable(f"{store.path}: the collection stopped: {error}") from error
        garbage.applied = True
    return garbage


def _doomed(store: Store, models: frozenset[str]) -> Iterator[_Doomed]:
    several = store.index.repeated()
    for at in range(0, len(several), _KEYS_AT_ONCE):
        for found in store.find(several[at : at + _KEYS_AT_ONCE]).values():
            yield from _stood_in_for(found)
    if models:
        named = {line.key for name in store.runs() for line in store.run(name).lines}
        for one in store.scan_found():
            if one.record.request.model in models and one.record.key not in named:
                yield _Doomed("no run names it", one.file, one.offset, len(one.line))


def _stood_in_for(found: list[Found]) -> Iterator[_Doomed]:
    chosen = answer(found)
    if chosen.file.startswith("parts/"):
        return  # its writer may not have made it durable yet
    for one in found:
        if (one.file, one.offset) == (chosen.file, chosen.offset):
            continue
        if one.line == chosen.line:
            reason = "a copy of another line"
        elif one.record.outcome.is_hit:
            reason = "a later answer"
        else:
            reason = "a failure that was tried again"
        yield _Doomed(reason, one.file, one.offset, len(one.line))


def _packs_to_write(store: Store, doomed: dict[str, set[int]]) -> list[str]:
    faulty = {fault.file for fault in store.faults}
    packs = {name: stamp for name, stamp in list_packs(store.path).items() if name not in faulty}
    small = [name for name, stamp in packs.items() if stamp.size < _SMALL_BYTES]
    with_garbage = {name for name, offsets in doomed.items() if offsets and name in packs}
    # One small pack has nothing to be joined with.
    return sorted(with_garbage | set(small if len(small) > 1 else []))


def _write_anew(store: Store, packs: list[str], doomed: dict[str, set[int]]) -> None:
    """Write the other lines of some packs to new packs, then remove the old."""
    sizes = {name: (store.path / name).stat().st_size for name in packs}
    group: list[str] = []
    for name in [*packs, ""]:
        full = group and (not name or sum(sizes[one] for one in group) + sizes[name] > PART_BYTES)
        if full:
            made = _join(store, group, doomed)
            for one in group:
                if one != made:
                    (store.path / one).unlink()
            group = []
        group.append(name)


def _join(store: Store, group: list[str], doomed: dict[str, set[int]]) -> str | None:
    def kept() -> Iterator[bytes]:
        for name in group:
            for offset, line in iterate_lines(store.path, name):
                if line and offset not in doomed[name]:
                    verify_line(line)
                    yield line + b"\n"

    return write_pack(store.path, kept) if next(kept(), None) is not None else None


def _leftovers(store: Store) -> list[str]:
    old = time.time() - _LEFTOVER_S
    found: list[Path] = []
    for folder in FOLDERS:
        for path in (store.path / folder).rglob(".*.tmp"):
            with contextlib.suppress(FileNotFoundError):  # finished in this moment
                if path.stat().st_mtime < old:
                    found.append(path)
    used = store.index.segment_paths
    found += [path for path in (store.path / "index").glob("[!.]*.idx") if path not in used]
    return sorted(str(path.relative_to(store.path)) for path in found)
