"""Memory of each kind of process while items grow tenfold.

The same run twice, of n and of 10 n requests about the bundled clips (`chance`, which needs no time
itself, so that decoding runs as far ahead as it is allowed to). Anonymous memory is what a process
has of its own; Ray's shared memory for media is given beside it. Peaks, from ten looks a second.

Run: python -m tests.perf.perf_infer_memory [requests]
"""

import contextlib
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from infer.job import session

ROOT = Path(__file__).parent.parent.parent
KINDS = {
    "infer.media.child": "decoding process",
    "MapWorker": "engine actor",
    "ray::Ledger": "ledger",
    "ray::": "decoding task",
    "raylet/raylet": "raylet",
    "gcs_server": "Ray's control store",
    "infer.driver": "driver",
}


def main() -> None:
    requests = int(sys.argv[1]) if len(sys.argv) > 1 else 105
    few, many = peaks(requests), peaks(10 * requests)
    print(f"peak memory in MB, {requests} and {10 * requests} requests")
    for kind in sorted(few | many, key=lambda kind: -many[kind]):
        print(f"{kind:22} {few[kind]:7.0f} {many[kind]:7.0f}  {many[kind] / few[kind]:.2f} times")


def peaks(requests: int) -> Counter[str]:
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        # 35 choices; samples make more requests of them.
        command = [sys.executable, "-m", "rejudge", "infer", "demo", "--model", "chance"]
        command += ["--store", str(Path(folder) / "store"), "--task", "choice"]
        # 35 choices; samples make more requests of them.
        process = subprocess.Popen(
            [*command, "--samples", str(-(-requests // 35))],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
        )
        watch = threading.Thread(target=look, args=(process, found))
        watch.start()
        assert process.wait() == 0
        watch.join()
    return found


def look(process: subprocess.Popen[bytes], found: Counter[str]) -> None:
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while process.poll() is None:
        with contextlib.suppress(OSError, ValueError):
            note(found, "command", process.pid)
            for driver in map(int, children.read_text().split()):
                for pid in family(driver):
                    note(found, kind_of(pid), pid)
        time.sleep(0.1)


def family(driver: int) -> list[int]:
    """The driver's session, and the decoding processes, which lead sessions of their own."""
    members = session(driver)
    for pid in tuple(members):
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{pid}/task").iterdir():
                members += map(int, (task / "children").read_text().split())
    return sorted(set(members))


def kind_of(pid: int) -> str:
    with contextlib.suppress(OSError):
        command = Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
        return next((kind for mark, kind in KINDS.items() if mark in command), "")
    return ""


def note(found: Counter[str], kind: str, pid: int) -> None:
    with contextlib.suppress(OSError, IndexError):
        status = Path(f"/proc/{pid}/status").read_text()
        if kind:
            found[kind] = max(found[kind], megabytes(status, "RssAnon"))
            found["shared, of one process"] = max(
                found["shared, of one process"], megabytes(status, "RssShmem")
            )


def megabytes(status: str, field: str) -> float:
    return int(status.split(f"{field}:")[1].split()[0]) / 1024


if __name__ == "__main__":
    main()
