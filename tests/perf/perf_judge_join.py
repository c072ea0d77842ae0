"""How long a store's verdicts take to find their items.

A million texts that one judge has judged, by default: cold, when every record is found by its key,
read and parsed; and warm, when what was read before is remembered (``score/judge/memory.py``). The
limit to compare with is that of telling the texts apart: one sha256 each.

Run: python -m tests.perf.perf_judge_join [COUNT] [FOLDER]
"""

from __future__ import annotations

import gc
import hashlib
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cache.store import Store
from score.judge.lookup import verdicts
from score.judge.rubric import Rubric
from score.judge.verdict import Verdict
from score.pair import Pair
from tests.builders import chat_judge, judge_pair, judge_record

SPEC = chat_judge(rubric=Rubric("perf", "1", "Grade."))
WORDS = " ".join(f"word{number}" for number in range(60))


def pair(number: int) -> Pair:
    return judge_pair(f"Answer {number}: {WORDS}", item=f"item/{number}")


def timed(what: str, count: int, run: Callable[[], Any]) -> float:
    began, cpu = time.monotonic(), time.process_time()
    run()
    took, used = time.monotonic() - began, time.process_time() - cpu
    print(f"{what:<22} {took:7.1f} s ({1e6 * took / count:6.2f} µs each; {used:.1f} s of CPU)")
    return took


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else None) as folder:
        path = Path(folder) / "store"
        with Store(path, create=True) as store:
            for number in range(count):
                reply = f'{{"score": {number % 11}, "justification": "close to the reference"}}'
                store.put(judge_record(SPEC, pair(number), reply), sync=False)
        pairs = [pair(number) for number in range(count)]
        gc.collect()
        gc.freeze()
        gc.disable()  # as scoring does

        def look() -> None:
            with Store(path) as store:
                found = verdicts(store, SPEC, pairs)
            assert all(isinstance(one, Verdict) for one in found)
            assert [one.score for one in found[:11]] == list(range(11))  # type: ignore[union-attr]

        def hashed() -> None:
            for one in pairs:
                text = f"{one.question}\0{one.reference}\0{one.answer}"
                hashlib.sha256(text.encode()).digest()

        print(f"{count:,} verdicts")
        cold = timed("cold", count, look)
        warm = timed("warm", count, look)
        limit = timed("sha256 of the texts", count, hashed)
    print(f"warm is {cold / warm:.1f} times as fast as cold, and takes {warm / limit:.1f} × sha256")


if __name__ == "__main__":
    main()
