"""Appending 2 KB records, made durable in groups: the store beside what it is made of and others.

All write the same keys and lines to the same disk, with one commit (one fsync, of the log) a group,
into stores that hold 100,000 records already, in turns. The bare loop hashes and writes lines that
are ready; the others start from the record, as their user does.

Run: python -m tests.perf.perf_cache_append
"""

import gc
import hashlib
import os
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path

from cache.store import Store
from tests.perf.cache_lines import fill, make_lines, make_records

FILLED, RECORDS, ROUNDS = 100_000, 12_800, 5
GROUPS = (256, 2048)


class Bare:
    """Hash and write: the least that a store of checked lines can do."""

    name = "bare loop (sha256, write, fsync)"

    def __init__(self, folder: Path) -> None:
        self.fd = os.open(folder / "lines", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def ready(self, records):
        return [record.to_line() + b"\n" for record in records]

    def append(self, lines) -> None:
        for line in lines:
            hashlib.sha256(line).hexdigest()
            os.write(self.fd, line)
        os.fsync(self.fd)


class Ours:
    name = "store"

    def __init__(self, folder: Path) -> None:
        fill(folder / "store", FILLED)
        self.store = Store(folder / "store")

    def ready(self, records):
        return records

    def append(self, records) -> None:
        for record in records:
            self.store.put(record, sync=False)
        self.store.flush()


class Sqlite:
    name = "SQLite, WAL, synchronous=FULL"

    def __init__(self, folder: Path) -> None:
        self.db = sqlite3.connect(folder / "db")
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.execute("PRAGMA synchronous=FULL")
        self.db.execute("CREATE TABLE records (key TEXT PRIMARY KEY, line BLOB)")
        with self.db:
            self.db.executemany("INSERT INTO records VALUES (?, ?)", make_lines(FILLED))

    def ready(self, records):
        return records

    def append(self, records) -> None:
        with self.db:
            for record in records:
                row = (record.key, record.to_line())
                self.db.execute("INSERT INTO records VALUES (?, ?)", row)


class DiskCache:
    name = "diskcache, synchronous=FULL"

    def __init__(self, folder: Path) -> None:
        import diskcache

        self.db = diskcache.Cache(str(folder), sqlite_synchronous=2, eviction_policy="none")
        with self.db.transact():
            for key, line in make_lines(FILLED):
                self.db.set(key, line)

    def ready(self, records):
        return records

    def append(self, records) -> None:
        with self.db.transact():
            for record in records:
                self.db.set(record.key, record.to_line())


def measure(way, records, size: int) -> float:
    """Microseconds a record."""
    rows = way.ready(records)
    began = time.perf_counter()
    for at in range(0, len(rows), size):
        way.append(rows[at : at + size])
    return 1e6 * (time.perf_counter() - began) / len(rows)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        ways = []
        for kind in (Bare, Ours, Sqlite, DiskCache):
            place = Path(folder) / kind.__name__
            place.mkdir()
            try:
                ways.append(kind(place))
            except ImportError:
                print(f"{kind.name}: not installed")
        number = 0
        for size in GROUPS:
            took: dict[str, list[float]] = {way.name: [] for way in ways}
            for _ in range(ROUNDS):
                records = make_records(RECORDS, start=number)
                number += RECORDS
                # The benchmark's own objects are nothing that a collector should look at.
                gc.collect()
                gc.freeze()
                for way in ways:
                    took[way.name].append(measure(way, records, size))
                gc.unfreeze()
            ours = statistics.median(took[Ours.name])
            print(f"{RECORDS} records of about 2 KB, an fsync every {size}; median of {ROUNDS}")
            for name, times in took.items():
                each = statistics.median(times)
                print(
                    f"  {name:34} {each:7.1f} µs a record; the store is {each / ours:.2f} × as fast"
                )


if __name__ == "__main__":
    main()
