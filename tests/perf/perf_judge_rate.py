"""How close judging comes to what a service's latency and the concurrency allow.

5,000 texts before a judge behind a local server that takes 50 ms a call, 64 calls at a time: at
best 64 / 0.05 = 1,280 a second. The peer is the official client in a loop of as many workers that
keeps nothing: what is lost beyond it are key, store and parsing. CPU time tells them apart where
the machine is shared. Memory is that of the driver, its peak after a fifth and at the end.

Run: python -m tests.perf.perf_judge_rate
"""

from __future__ import annotations

import asyncio
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cache.store import Store
from score.judge.grade import grade
from score.judge.request import judge_request
from score.judge.said import api_of
from score.judge.service import client_of
from score.judge.spec import JudgeSpec
from tests.builders import chat_judge, judge_pairs

VERDICTS = 5_000
CONCURRENCY = 64
LATENCY_S = 0.05


@contextmanager
def slow_server(latency_s: float = LATENCY_S) -> Iterator[str]:
    """Start the server in a process of its own, and yield its base URL."""
    command = [sys.executable, "-m", "tests.perf.slow_server", str(latency_s)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
    finally:
        process.kill()
        process.wait()


async def client_alone(spec: JudgeSpec, count: int) -> None:
    """Make as many calls with the official client, and keep nothing."""
    client = client_of(spec, "")
    bodies = iter([api_of(r).body(r) for r in (judge_request(spec, p) for p in judge_pairs(count))])

    async def work() -> None:
        for body in bodies:
            await client.post("/chat/completions", cast_to=str, body=body)

    await asyncio.gather(*(work() for _ in range(CONCURRENCY)))
    await client.close()


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    peaks: list[float] = []

    def watched(records: Iterable[Any], total: int, what: Any) -> Iterator[Any]:
        for number, record in enumerate(records, start=1):
            if number in (total // 5, total):
                peaks.append(peak_mb())
            yield record

    ideal = CONCURRENCY / LATENCY_S
    with slow_server() as url, tempfile.TemporaryDirectory() as folder:
        spec = chat_judge(url, concurrency=CONCURRENCY, timeout_s=60.0)
        asyncio.run(client_alone(spec, 200))  # imports and connections are not what is measured
        rates = {}
        for name in ("client alone", "judging"):
            began, cpu = time.monotonic(), time.process_time()
            if name == "judging":
                with Store(Path(folder) / "store", create=True) as store:
                    done = grade(store, spec, judge_pairs(VERDICTS), track=watched)
                assert done.ok == VERDICTS
            else:
                asyncio.run(client_alone(spec, VERDICTS))
            took, used = time.monotonic() - began, time.process_time() - cpu
            rates[name] = VERDICTS / took
            print(
                f"{name:<13} {rates[name]:7,.0f} calls/s, {rates[name] / ideal:.0%} of {ideal:,.0f}"
                f"; {1e3 * used / VERDICTS:.2f} ms of CPU a call"
            )
    print(f"judging is at {rates['judging'] / rates['client alone']:.0%} of the client alone")
    print(f"peak memory {peaks[0]:.0f} MB after a fifth, {peaks[1]:.0f} MB at the end")


if __name__ == "__main__":
    main()
