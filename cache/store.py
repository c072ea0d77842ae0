"""The store: a directory of JSON lines, put and get.

    with Store(Path("store"), create=True) as store:
        store.put(record)                    # durable when it returns
        store.get(record.key)                # the record, verified

See ``docs/store-format.md`` for what lies where, ``layout.py`` for the folder, ``part.py`` for
writing, ``index.py`` for finding and ``order.py`` for which of several records is the answer.
"""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cache.errors import StoreError, StoreUnavailable
from cache.fault import Fault
from cache.finder import Finder
from cache.index import Index
from cache.layout import IDLE_S, open_folder
from cache.lines import Check
from cache.media import MediaDigests, gather_digests
from cache.order import Found, answer
from cache.pack import damaged_packs
from cache.part import PART_BYTES, Part
from cache.reader import Reader
from cache.record import Outcome, Record
from cache.run import Run, RunHeader, RunLine
from cache.runs import check_run, list_runs, read_run, write_run
from cache.seal import adopt, seal_part

if TYPE_CHECKING:
    import polars as pl

_log = logging.getLogger("rejudge.store")
_IS_HIT = {outcome: outcome.is_hit for outcome in Outcome}


class Store:
    """A folder of records.

    Any number of processes on any number of machines may have a store of one folder open. Threads
    may share a ``Store``: one call at a time goes in, the others wait. A forked child and an
    unpickled copy write parts of their own.
    """

    def __init__(self, path: Path, *, create: bool = False, read_only: bool = False) -> None:
        """Open a store.

        Args:
            path: its folder.
            create: make one where there is none.
            read_only: never write, not even to the index.

        Raises:
            StoreUnavailable: no store there, or it cannot be read; says what to do.
        """
        self.path = Path(path)
        self.read_only = read_only
        self.lock = threading.RLock()
        """Held by the thread that is inside. Hold it to see several calls' results of one state."""
        self._media_lock = threading.Lock()
        _opened.add(self)
        open_folder(self.path, create=create and not read_only)
        self._part = Part(self.path)
        self._reader = Reader(self.path)
        self._media = MediaDigests(self.path, writable=not read_only)
        self._index = Index(self.path, writable=not read_only)
        self._finder = Finder(self.path, self._index, self._reader)
        self.refresh()
        if faults := self.faults:
            _log.warning(
                "%s: %d place(s) do not verify, the first: %s. `rejudge cache verify` lists all.",
                self.path,
                len(faults),
                faults[0],
            )

    # --- writing ------------------------------------------------------------------------------

    def put(self, record: Record, *, sync: bool = True) -> None:
        """Store a record; durable when it returns with ``sync``, else at the next :meth:`flush`.

        Raises:
            RecordError: the record would not read back: wrong key, wrong type, no JSON form.
            StoreUnavailable: read-only or full; what was acknowledged is safe.
        """
        if self.read_only:
            raise StoreUnavailable(f"{self.path} was opened for reading only")
        line = record.to_sound_line()
        part = self._part
        with self.lock:
            offset = part.append(line)
            self._index.add(record.key, part.name, offset, len(line), _IS_HIT[record.outcome])
            if sync or part.is_due:
                part.sync()
            if part.size >= PART_BYTES:
                self.seal()

    def flush(self) -> None:
        """Make every record that was put durable.

        Raises:
            StoreUnavailable: they are not; a later call tries again.
        """
        with self.lock:
            self._part.sync()

    def seal(self) -> None:
        """Turn this writer's part into a pack; the next put opens another part.

        Raises:
            StoreUnavailable: the store cannot be written; records that were flushed are safe.
        """
        with self.lock:
            name = self._part.close()
            if name:
                try:
                    seal_part(self.path, name, Check.SHAPE)
                except OSError as error:
                    raise StoreUnavailable(
                        f"{self.path}: {name} cannot be sealed: {error}"
                    ) from error
                self._reader.forget(name)
                self.refresh()

    def adopt(self, *, idle_s: float = IDLE_S) -> list[str]:
        """Seal the parts of writers that are gone; return the packs.

        Args:
            idle_s: a writer on another host counts as gone after so many seconds without a write.

        Raises:
            StoreUnavailable: read-only or full.
            StoreError: ``idle_s`` is negative or no number.
        """
        if self.read_only:
            raise StoreUnavailable(f"{self.path} was opened for reading only")
        if not idle_s >= 0:
            raise StoreError(f"a writer is idle for 0 seconds or more; found {idle_s}")
        try:
            packs = adopt(self.path, idle_s=idle_s)
            gather_digests(self.path)
        except OSError as error:
            raise StoreUnavailable(f"{self.path}: parts cannot be sealed: {error}") from error
        self.refresh()
        return packs

    # --- reading ------------------------------------------------------------------------------

    def get(self, key: str) -> Record | None:
        """The first hit under the key; if there is none, the newest failure."""
        return self.get_many([key]).get(key)

    def get_many(self, keys: Iterable[str]) -> dict[str, Record]:
        """What :meth:`get` returns for each key that the store holds."""
        found = self.find(keys)
        return {key: answer(records).record for key, records in found.items()}

    def find(self, keys: Iterable[str]) -> dict[str, list[Found]]:
        """Every record under each key that the store holds; see ``order.py`` for their order.

        A line that does not verify is never returned. It is reported, and no longer counts as
        stored for :meth:`missing`.

        Raises:
            StoreUnavailable: a file cannot be read.
        """
        asked = list(dict.fromkeys(keys))
        try:
            with self.lock:
                return self._finder.find(asked)
        except OSError as error:
            raise StoreUnavailable(f"{self.path} cannot be read: {error}") from error

    def missing(self, keys: Iterable[str]) -> list[str]:
        """The distinct keys without a hit, in the order given."""
        with self.lock:
            return self._index.missing(keys)

    def keys_starting_with(self, prefix: str, *, limit: int = 20) -> list[str]:
        """Up to ``limit`` keys that start with ``prefix``, sorted."""
        with self.lock:
            return self._index.starting_with(prefix.lower(), limit)

    def refresh(self) -> None:
        """See what other writers stored since opening.

        Raises:
            StoreUnavailable: a file cannot be read.
        """
        try:
            with self.lock:
                self._index.refresh()
        except OSError as error:
            raise StoreUnavailable(f"{self.path} cannot be read: {error}") from error

    def check_packs(self) -> None:
        """Compare every pack's bytes with its name; each line of one that differs is looked at.

        So that what reads whole files, and not record by record, passes damage over, too.

        Raises:
            StoreUnavailable: a file cannot be read.
        """
        try:
            with self.lock:
                faulty = {fault.file for fault in self.faults}
                packs = [f for f in self._index.files if f.startswith("packs/")]
                for name in damaged_packs(self.path, [f for f in packs if f not in faulty]):
                    self._index.distrust(name)
        except OSError as error:
            raise StoreUnavailable(f"{self.path} cannot be read: {error}") from error

    def scan(self) -> Iterator[Record]:
        """Yield each key's record once, as :meth:`get` returns it, in the order of the files."""
        return (found.record for found in self.scan_found())

    def scan_found(self) -> Iterator[Found]:
        """Yield what :meth:`scan` yields, each with its line and where it lies."""
        from cache.scan import scan_found

        return scan_found(self)

    def frame(self) -> pl.DataFrame:
        """What :meth:`scan` yields as a table, one row a key. See ``frame.py`` for the columns."""
        from cache.frame import make_frame

        with self.lock:
            return make_frame(self)

    @property
    def part(self) -> str:
        """The file that records are put into, relative to the store; empty while there is none."""
        return self._part.name

    @property
    def index(self) -> Index:
        """Where the records lie."""
        return self._index

    @property
    def faults(self) -> list[Fault]:
        """What was found in packs and parts that does not verify, with file and line."""
        return self._index.faults

    # --- runs and media -----------------------------------------------------------------------

    def runs(self) -> list[str]:
        """Names of the runs, sorted.

        Raises:
            StoreUnavailable: their folder cannot be read.
        """
        try:
            return list_runs(self.path)
        except OSError as error:
            raise StoreUnavailable(f"{self.path}: no run can be read: {error}") from error

    def run(self, name: str) -> Run:
        """Read a run.

        Raises:
            UnknownRun: there is none of this name; names those there are.
            RecordError: a file of it is damaged.
            StoreUnavailable: a file of it cannot be read.
        """
        try:
            return read_run(self.path, name)
        except OSError as error:
            raise StoreUnavailable(f"{self.path}: run {name!r} cannot be read: {error}") from error

    def check_run(self, header: RunHeader) -> None:
        """Check whether :meth:`write_run` would take a header, and write nothing.

        Raises:
            StoreError: the name cannot be a run's.
            RunConflict: the name is taken by a run with another header.
        """
        check_run(self.path, header)

    def write_run(self, header: RunHeader, lines: Iterable[RunLine]) -> None:
        """Write a run, or add to one of the same header; a line replaces an older one of its item.

        Raises:
            RunConflict: the name is taken by a run with another header.
            StoreUnavailable: read-only or full.
        """
        if self.read_only:
            raise StoreUnavailable(f"{self.path} was opened for reading only")
        write_run(self.path, header, lines)

    def media_digest(self, path: Path) -> str:
        """Sha256 of a media file's bytes; each file is read once as long as it does not change.

        Raises:
            OSError: the file cannot be read.
        """
        # A lock of its own: hashing an hour of video must not hold up who writes.
        with self._media_lock:
            return self._media.digest(path)

    # --- life ---------------------------------------------------------------------------------

    def close(self) -> None:
        """Make everything durable, seal this writer's part, and close all files.

        Raises:
            StoreUnavailable: the last records are not durable.
        """
        with self.lock:
            try:
                self.seal()
            finally:
                self._reader.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        # Another process opens its own part; what this one has to flush stays here.
        return {"path": self.path, "read_only": self.read_only}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["path"], read_only=state["read_only"])  # type: ignore[misc]


_opened: weakref.WeakSet[Store] = weakref.WeakSet()


def _renew_locks() -> None:
    # Who held a lock when the process was forked is not in the child, and would never give it back.
    for store in list(_opened):
        store.lock = threading.RLock()
        store._media_lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_locks)
