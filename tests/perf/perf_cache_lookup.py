"""Looking up 100,000 keys among 1,000,000 records, and making the index anew.

The peer is what a directory of JSON lines offers without an index: scan every line with orjson
(msgspec where that is not installed) and collect the keys. Both run in this process, one after the
other, on files in the page cache.

Run: python -m tests.perf.perf_cache_lookup [records]
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

from cache.store import Store
from tests.perf.cache_lines import fill, make_lines, make_records

ASKED = 100_000

try:
    from orjson import loads

    PARSER = "orjson"
except ImportError:
    from msgspec.json import decode as loads

    PARSER = "msgspec"


def scan(folder: Path) -> set[str]:
    """The keys of all hits, by parsing every line."""
    keys = set()
    for file in folder.glob("packs/*/*.jsonl"):
        with file.open("rb") as lines:
            for line in lines:
                record = loads(line)
                if record["outcome"] == "ok":
                    keys.add(record["key"])
    return keys


def timed(work) -> tuple[float, object]:
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def main() -> None:
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "store"
        fill(folder, records)
        size = sum(file.stat().st_size for file in folder.glob("packs/*/*.jsonl"))
        # Half of them are there; a tenth of all keys, spread over every pack.
        step = max(records * 2 // ASKED, 1)
        asked = [
            key for start in range(0, records * 2, step) for key, _ in make_lines(1, start, b"")
        ]
        Store(folder).close()  # files into the page cache
        rebuilds, scans = [], []
        for _ in range(3):
            for file in folder.glob("index/*"):
                file.unlink()
            rebuild_s, store = timed(lambda: Store(folder))
            rebuilds.append(rebuild_s)
            store.close()
            scan_s, keys = timed(lambda: scan(folder))
            scans.append(scan_s)
        open_s, store = timed(lambda: Store(folder))
        missing_s, missing = timed(lambda: store.missing(asked))
        again_s = statistics.median(timed(lambda: store.missing(asked))[0] for _ in range(5))
        real = make_records(2000)
        for record in real:
            store.put(record, sync=False)
        store.seal()
        got_s, got = timed(lambda: store.get_many(record.key for record in real))
        assert missing == [key for key in asked if key not in keys]
        rebuild_s, scan_s = statistics.median(rebuilds), statistics.median(scans)
        whole_s = open_s + missing_s
        print(
            f"{records} records, {size / 1e9:.1f} GB in "
            f"{len(list(folder.glob('packs/*/*.jsonl')))} packs; {len(asked)} keys asked, "
            f"{len(missing)} missing\n"
            f"scan of all lines with {PARSER}: {scan_s:.2f} s\n"
            f"index made anew: {rebuild_s:.2f} s, {scan_s / rebuild_s:.1f} × as fast as the scan\n"
            f"open with a warm index: {1e3 * open_s:.0f} ms; missing: {1e3 * missing_s:.0f} ms, "
            f"then {1e3 * again_s:.0f} ms; together {scan_s / whole_s:.0f} × as fast as the scan\n"
            f"get_many, verified: {1e6 * got_s / 2000:.0f} µs a record ({len(got)} found)"
        )


if __name__ == "__main__":
    main()
