"""Memory for 10,000,000 keys: to make their index, and to look keys up in it.

The peer is a Python set of the keys, measured in a process of its own like the others. Lines are as
short as lines can be: the index does not grow with them.

Run: python -m tests.perf.perf_cache_memory [keys]
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.perf.cache_lines import fill

BODY = b'{"key":"' + b"0" * 64 + b'","outcome":"ok","request":{"engine":"e","model":"m"}'
ASKED = 100_000

WORK = """
import resource, sys, time
from pathlib import Path
from cache.store import Store
from tests.perf.cache_lines import make_lines

def say(what, began):
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    print(f"{what}: {time.perf_counter() - began:.2f} s, at most {peak:.0f} MB of memory so far")

began = time.perf_counter()
if sys.argv[1] == "set":
    keys = {key for key, _ in make_lines(int(sys.argv[3]), body=b"")}
    say("a set of the keys as text", began)
else:
    step = int(sys.argv[3]) * 2 // int(sys.argv[4])
    store = Store(Path(sys.argv[2]))
    say(sys.argv[1], began)
    asked = [key for n in range(int(sys.argv[4])) for key, _ in make_lines(1, n * step, b"")]
    began = time.perf_counter()
    missing = store.missing(asked)
    say(f"  missing({len(asked)} keys) → {len(missing)}", began)
"""


def main() -> None:
    keys = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "store"
        fill(folder, keys, a_pack=200_000, body=BODY)
        for what in ("index made anew", "index opened warm", "set"):
            command = [sys.executable, "-c", WORK, what, str(folder), str(keys), str(ASKED)]
            subprocess.run(command, check=True)
        size = sum(file.stat().st_size for file in folder.glob("index/*"))
        packs = len(list(folder.glob("packs/*/*.jsonl")))
        print(f"{keys} keys in {packs} packs; the index is {size / 1e6:.0f} MB on disk")


if __name__ == "__main__":
    main()
