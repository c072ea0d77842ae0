"""The store as a table beside Polars' own scan of the same lines, and the store's size on disk.

Run: python -m tests.perf.perf_cache_frame [records]
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

from cache.frame import line_schema
from cache.stats import store_stats
from cache.store import Store
from tests.perf.cache_lines import fill

ROUNDS = 5


def timed(work) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main() -> None:
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "store"
        fill(folder, records)
        files = [str(file) for file in folder.glob("packs/*/*.jsonl")]
        schema = line_schema()
        store = Store(folder)
        ours, theirs = [], []
        for _ in range(ROUNDS):
            ours.append(timed(store.frame))
            theirs.append(timed(lambda: pl.scan_ndjson(files, schema=schema).collect()))
        # Apart: whatever follows it takes half as long again, for the memory that it gives back.
        inferred = [timed(lambda: pl.scan_ndjson(files).collect()) for _ in range(ROUNDS)]
        own = statistics.median(ours)
        for name, times in (
            ("scan_ndjson, the table's columns", theirs),
            ("scan_ndjson, every member", inferred),
        ):
            other = statistics.median(times)
            print(f"{name}: {other:.2f} s; frame() {own:.2f} s, {own / other:.2f} × the time")
        stats = store_stats(store)
        index = sum(file.stat().st_size for file in folder.glob("index/*"))
        print(
            f"{records} records: {stats.text_bytes / records:.0f} bytes of answer, "
            f"{stats.size_bytes / records:.0f} bytes of line, {index / records:.0f} of index"
        )


if __name__ == "__main__":
    main()
