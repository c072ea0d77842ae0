"""kill −9 at any moment: every acknowledged record is there and verifies, and no other."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cache.seal import adopt
from cache.store import Store
from tests.builders import store_record, store_records

ROOT = Path(__file__).parents[1]
WRITERS = 8
KILLS = 200

# Writes records without end and notes each group in a file after the flush that made it durable:
# what stands there was promised. Children are forked, so that kills hit writing, not importing.
WRITER = """
import os, sys
from pathlib import Path
from cache.store import Store
from tests.builders import store_record

def write(folder, number, out):
    store = Store(folder)
    at = 0
    while True:
        names = []
        for _ in range(1 + at % 4):
            at += 1
            name = f"{number}-{at}"
            store.put(store_record(name, "answer to " + name * 40), sync=False)
            names.append(name)
        if at % 23:
            store.flush()
        else:
            store.seal()
        os.write(out, ("".join(name + "\\n" for name in names)).encode())

folder = Path(sys.argv[1])
print("ready", flush=True)
for line in sys.stdin:
    number = line.strip()
    out = os.open(folder / ".." / f"acknowledged-{number}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    child = os.fork()
    if child == 0:
        write(folder, number, out)
    os.close(out)
    print(child, flush=True)
    os.waitpid(child, 0)
    print("ended", flush=True)
"""


@pytest.mark.slow
def test_two_hundred_kills_of_eight_writers_lose_and_invent_nothing(tmp_path):
    folder = tmp_path / "store"
    Store(folder, create=True).close()
    seed = int(os.environ.get("REJUDGE_KILL_SEED", "20260131"))
    random_ = random.Random(seed)
    nurseries = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(folder)],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
        )
        for _ in range(WRITERS)
    ]  # fmt: skip
    for nursery in nurseries:
        assert nursery.stdout.readline() == "ready\n"
    started = 0

    def start(nursery: subprocess.Popen[str]) -> int:
        nonlocal started
        nursery.stdin.write(f"{started}\n")
        started += 1
        return int(nursery.stdout.readline())

    children = [start(nursery) for nursery in nurseries]
    adopted = 0
    for kill in range(KILLS):
        time.sleep(random_.uniform(0.0, 0.08))
        which = random_.randrange(WRITERS)
        os.kill(children[which], signal.SIGKILL)
        assert nurseries[which].stdout.readline() == "ended\n"
        children[which] = start(nurseries[which])
        if kill % 20 == 0:  # parts of the dead are sealed while the living write on
            adopted += len(adopt(folder))
    for nursery, child in zip(nurseries, children, strict=True):
        os.kill(child, signal.SIGKILL)
        nursery.stdin.close()
        nursery.wait()
        nursery.stdout.close()

    acknowledged = {
        name
        for file in tmp_path.glob("acknowledged-*")
        for name in file.read_text().split("\n")[:-1]
    }
    assert len(acknowledged) > KILLS
    expected = {store_record(name).key: name for name in acknowledged}
    with Store(folder) as store:
        assert store.missing(expected) == []
        for when in ("as the killed left it", "sealed"):
            found = {record.key: record for record in store.scan()}
            for key, name in expected.items():
                assert found[key] == store_record(name, "answer to " + name * 40), when
            # What was written but not yet acknowledged may be there; nothing else may.
            for record in found.values():
                name = record.request.messages[0].parts[1].text
                assert record == store_record(name, "answer to " + name * 40)
            store.adopt()
        assert store.faults == []
        # Who was killed before its first line leaves an empty part, which stays for a minute.
        assert [part for part in folder.glob("parts/*") if part.stat().st_size] == []
    print(
        f"{KILLS} kills, {started} writers, {len(acknowledged)} acknowledged, {len(found)} stored, "
        f"{adopted} parts adopted meanwhile"
    )


@pytest.mark.slow
def test_six_processes_with_big_records_share_a_store(tmp_path):
    """6 processes × 10 records of 300 KB."""
    folder = tmp_path / "store"
    script = (
        "import sys; from pathlib import Path; from cache.store import Store;"
        "from tests.builders import store_record;"
        "store = Store(Path(sys.argv[1]), create=True);"
        "[store.put(store_record(f'{sys.argv[2]} {at}', 'x' * 300_000), sync=False) "
        "for at in range(10)]; store.close()"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", script, folder, str(number)], cwd=ROOT)
        for number in range(6)
    ]
    assert [writer.wait() for writer in writers] == [0] * 6
    with Store(folder) as store:
        records = list(store.scan())
        assert len(records) == 60
        assert store.faults == []
        assert all(len(record.response.text) == 300_000 for record in records)


def test_after_a_kill_the_rerun_asks_only_for_the_rest(tmp_path):
    """Kill −9 after 5 of 10 answers."""
    folder = tmp_path / "store"
    script = (
        "import os, signal, sys; from pathlib import Path; from cache.store import Store;"
        "from tests.builders import store_records;"
        "store = Store(Path(sys.argv[1]), create=True);"
        "[store.put(record) for record in store_records(5)];"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", script, folder], cwd=ROOT).returncode == -9
    wanted = store_records(10)
    with Store(folder) as store:
        assert len(list(store.scan())) == 5
        assert store.missing(r.key for r in wanted) == [r.key for r in wanted[5:]]


def test_a_rerun_when_everything_is_stored_has_nothing_pending(tmp_path):
    """Which shards asked does not matter."""
    records = store_records(9)
    for shard in range(3):
        with Store(tmp_path / "store", create=True) as store:
            for record in records[shard::3]:
                store.put(record)
    with Store(tmp_path / "store") as store:
        for shard in range(2):
            assert store.missing(r.key for r in records[shard::2]) == []
