"""The store: a directory of JSON lines, put and get.

    with Store(Path("store"), create=True) as store:
        store.put(record)                    # durable when it returns
        store.get(record.key)                # the record, verified

See ``docs/store-format.md`` for what lies where, ``layout.py`` for the folder, ``part.py`` for
writing, ``index.py`` for finding and ``order.py`` for which of several records is the answer.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cache.errors import RecordError, StoreError, StoreUnavailable
from cache.fault import Fault
from cache.index import Index, Place
from cache.layout import IDLE_S, open_folder
from cache.lines import Check
from cache.media import MediaDigests, gather_digests
from cache.order import Found, answer
from cache.pack import damaged_packs
from cache.part import PART_BYTES, Part
from cache.reader import Reader
from cache.record import Outcome, Record, parse_line
from cache.run import Run, RunHeader, RunLine
from cache.runs import list_runs, read_run, write_run
from cache.seal import adopt, seal_part

if TYPE_CHECKING:
    import polars as pl

_log = logging.getLogger("rejudge.store")
_IS_HIT = {outcome: outcome.is_hit for outcome in Outcome}
#: Files may be sealed, merged or damaged while they are read; nobody does so for ever.
_TRIES = 10


class Store:
    """A folder of records. Used by one thread of one process; many processes may share a folder."""

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
        open_folder(self.path, create=create and not read_only)
        self._part = Part(self.path)
        self._reader = Reader(self.path)
        self._media = MediaDigests(self.path, writable=not read_only)
        self._index = Index(self.path, writable=not read_only)
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
        self._part.sync()

    def seal(self) -> None:
        """Turn this writer's part into a pack; the next put opens another part.

        Raises:
            StoreUnavailable: the store cannot be written; records that were flushed are safe.
        """
        name = self._part.close()
        if name:
            try:
                seal_part(self.path, name, Check.SHAPE)
            except OSError as error:
                raise StoreUnavailable(f"{self.path}: {name} cannot be sealed: {error}") from error
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
            for _ in range(_TRIES):
                found, gone, bad = self._read(self._index.places(asked))
                if not gone and not bad:
                    break
                if gone:
                    self._reader.close()
                    self._index.refresh()
                for file in sorted(bad):
                    _log.warning("%s: a line of %s does not verify", self.path, file)
                    self._reader.forget(file)
                    self._index.distrust(file)
        except OSError as error:
            raise StoreUnavailable(f"{self.path} cannot be read: {error}") from error
        return found

    def _read(
        self, places: dict[str, list[Place]]
    ) -> tuple[dict[str, list[Found]], set[str], set[str]]:
        found: dict[str, list[Found]] = {key: [] for key in places}
        gone: set[str] = set()
        bad: set[str] = set()
        # In the order of the files: a disk's head, or a network's read-ahead, goes forward.
        for place, key in sorted((place, key) for key, some in places.items() for place in some):
            try:
                line = self._reader.read(place.file, place.offset, place.length)
                record = parse_line(line)
            except FileNotFoundError:
                gone.add(place.file)
                continue
            except RecordError:
                bad.add(place.file)
                continue
            if record.key == key:
                found[key].append(Found(place.file, place.offset, line, record))
            else:
                bad.add(place.file)
        return {key: records for key, records in found.items() if records}, gone, bad

    def missing(self, keys: Iterable[str]) -> list[str]:
        """The distinct keys without a hit, in the order given."""
        return self._index.missing(keys)

    def keys_starting_with(self, prefix: str, *, limit: int = 20) -> list[str]:
        """Up to ``limit`` keys that start with ``prefix``, sorted."""
        return self._index.starting_with(prefix.lower(), limit)

    def refresh(self) -> None:
        """See what other writers stored since opening.

        Raises:
            StoreUnavailable: a file cannot be read.
        """
        try:
            self._index.refresh()
        except OSError as error:
            raise StoreUnavailable(f"{self.path} cannot be read: {error}") from error

    def check_packs(self) -> None:
        """Compare every pack's bytes with its name; each line of one that differs is looked at.

        So that what reads whole files, and not record by record, passes damage over, too.

        Raises:
            StoreUnavailable: a file cannot be read.
        """
        faulty = {fault.file for fault in self.faults}
        packs = [f for f in self._index.files if f.startswith("packs/") and f not in faulty]
        try:
            for name in damaged_packs(self.path, packs):
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

        return make_frame(self)

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
        """Names of the runs, sorted."""
        return list_runs(self.path)

    def run(self, name: str) -> Run:
        """Read a run.

        Raises:
            UnknownRun: there is none of this name; names those there are.
            RecordError: a file of it is damaged.
        """
        return read_run(self.path, name)

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
        return self._media.digest(path)

    # --- life ---------------------------------------------------------------------------------

    def close(self) -> None:
        """Make everything durable, seal this writer's part, and close all files.

        Raises:
            StoreUnavailable: the last records are not durable.
        """
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
