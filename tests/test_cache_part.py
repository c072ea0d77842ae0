"""Writing: one part a writer, no locks, and nothing acknowledged is lost when the disk refuses."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cache.errors import StoreUnavailable
from cache.layout import writer_is_gone
from cache.run import RunHeader
from cache.seal import adopt
from cache.store import Store
from cache.verify import repair_packs, verify_store
from tests.builders import store_record, store_records
from tests.programs import needed

ROOT = Path(__file__).parents[1]
NOBODY = 65534


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


def in_child(work: Callable[[], None]) -> None:
    """Run ``work`` in a forked child and fail if it fails."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def test_a_full_disk_loses_nothing_acknowledged_and_the_store_goes_on_when_there_is_room(folder):
    """RLIMIT_FSIZE makes the kernel cut a write short and refuse the next, as a full disk does."""
    records = store_records(40)

    def fill() -> None:
        store = Store(folder, create=True)
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
        acknowledged = []
        for record in records:
            try:
                store.put(record)
            except StoreUnavailable as error:
                refused = error
                break
            acknowledged.append(record)
        assert "Records that were acknowledged are safe" in str(refused)
        assert refused.exit_code == 3
        assert 0 < len(acknowledged) < len(records)
        with Store(folder, read_only=True) as other:
            assert other.missing(r.key for r in records) == [
                r.key for r in records[len(acknowledged) :]
            ]
            assert other.faults == []
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        for record in records[len(acknowledged) :]:
            store.put(record)
        store.close()

    in_child(fill)
    with Store(folder) as store:
        assert store.get_many(r.key for r in records) == {r.key: r for r in records}
        assert store.faults == []


def test_records_that_an_fsync_did_not_confirm_are_written_again(folder, monkeypatch):
    """After a failed fsync the kernel may have dropped the pages: success proves nothing."""
    first, second, third = store_records(3)
    store = Store(folder, create=True)
    store.put(first)
    old = set(folder.glob("parts/*"))
    store.put(second, sync=False)
    really = os.fsync

    def fails(fd: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(StoreUnavailable, match="fsync failed"):
        store.flush()
    monkeypatch.setattr(os, "fsync", really)
    store.flush()
    (new,) = set(folder.glob("parts/*")) - old
    assert new.read_bytes() == second.to_line() + b"\n"
    store.put(third)
    store.close()
    with Store(folder) as store:
        assert {r.key for r in store.scan()} == {first.key, second.key, third.key}


def test_each_record_is_one_write(folder):
    """A reader on another machine may see a write before the next: half a record never is one."""
    script = (
        "import os, sys; from pathlib import Path; from cache.store import Store;"
        "from tests.builders import store_record;"
        "store = Store(Path(sys.argv[1]), create=True); really = os.write; sizes = [];"
        "os.write = lambda fd, data: sizes.append(len(data)) or really(fd, data);"
        "record = store_record(answer='x' * 300_000);"
        "store.put(record); store.put(record, sync=False);"
        "assert sizes == [len(record.to_line()) + 1] * 2, sizes"
    )
    subprocess.run([sys.executable, "-c", script, folder], check=True, cwd=ROOT)


def test_a_part_that_has_grown_big_is_sealed_and_a_new_one_opened(folder, monkeypatch):
    monkeypatch.setattr("cache.store.PART_BYTES", 3000)
    records = store_records(20)
    with Store(folder, create=True) as store:
        for record in records:
            store.put(record, sync=False)
        assert len(list(folder.glob("packs/*/*.jsonl"))) > 1
        assert store.missing(r.key for r in records) == []
        assert store.get(records[0].key) == records[0]


def test_puts_without_sync_are_made_durable_in_groups(folder, monkeypatch):
    monkeypatch.setattr("cache.part.GROUP_BYTES", 2000)
    synced = []
    really = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(fd) or really(fd))
    with Store(folder, create=True) as store:
        synced.clear()
        for record in store_records(20):
            store.put(record, sync=False)
        assert 3 < len(synced) < 15


def test_a_writer_whose_part_was_sealed_by_mistake_opens_another(folder):
    first, second, third = store_records(3)
    store = Store(folder, create=True)
    store.put(first)
    store.put(second, sync=False)
    (part,) = folder.glob("parts/*")
    part.rename(folder / "parts" / "nobody.jsonl")
    assert len(adopt(folder)) == 1
    store.put(third)
    assert store.get(first.key) == first
    store.close()
    with Store(folder) as store:
        assert store.missing(r.key for r in (first, second, third)) == []
        # What was written between two looks made the pack longer than its name says.
        packs = verify_store(store).damaged_packs
        repair_packs(store, packs)
        assert verify_store(store).faults == []
        assert len(list(store.scan())) == 3


def test_the_part_of_a_live_process_is_left_alone_and_of_a_dead_one_adopted(folder):
    record = store_record()
    with Store(folder, create=True) as store:
        store.put(record)
        (mine,) = folder.glob("parts/*")
        assert not writer_is_gone(mine)
        assert store.adopt() == []
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    dead = folder / "parts" / mine.name.replace(f"-{os.getpid()}-", f"-{ended.pid}-")
    dead.write_bytes(store_record("another").to_line() + b"\n")
    with Store(folder) as store:
        assert len(store.adopt()) == 1
        assert not dead.exists()


def test_the_part_of_another_host_is_adopted_only_after_a_day_without_a_write(folder):
    Store(folder, create=True).close()
    part = folder / "parts" / f"another-host-1-{'0' * 32}.jsonl"
    part.write_bytes(store_record().to_line() + b"\n")
    with Store(folder) as store:
        assert store.adopt() == []
        day_ago = part.stat().st_mtime - 25 * 3600
        os.utime(part, (day_ago, day_ago))
        assert len(store.adopt()) == 1


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that another user can reach; pytest's own are private."""
    path = Path(tempfile.mkdtemp(prefix="rejudge-test-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


def test_a_folder_that_cannot_be_written_is_read_and_says_so_when_written(shared):
    folder = shared / "store"
    records = store_records(3)
    with Store(folder, create=True) as store:
        for record in records:
            store.put(record)
    shutil.rmtree(folder / "index")
    folders = [folder, *(path for path in folder.rglob("*") if path.is_dir())]
    for path in folders:
        path.chmod(0o555)

    def read() -> None:
        if os.geteuid() == 0:  # permissions do not bind root
            os.setresuid(NOBODY, NOBODY, NOBODY)
        store = Store(folder)
        assert store.get_many(r.key for r in records) == {r.key: r for r in records}
        with pytest.raises(StoreUnavailable, match="Permission denied"):
            store.put(store_record("new"))
        with pytest.raises(StoreUnavailable, match="cannot be written"):
            store.write_run(RunHeader(name="r", benchmark="b", model="m", tasks=()), [])
        store.close()

    try:
        in_child(read)
    finally:
        for path in folders:
            path.chmod(0o755)


WORK = """
import os, sys
from pathlib import Path
from cache.run import RunHeader, RunLine
from cache.store import Store
from cache.verify import verify_store
from tests.builders import store_records
folder = Path(sys.argv[1])
for at in range(3):
    with Store(folder, create=True) as store:
        for record in store_records(5, start=at * 5):
            store.put(record)
        store.write_run(
            RunHeader(name="r", benchmark="b", model="m", tasks=("choice",)),
            [RunLine(item=str(at), key=record.key)],
        )
        store.media_digest(Path(__file__) if "__file__" in globals() else Path(sys.executable))
        store.adopt()
        verify_store(store)
"""


def test_python_asks_for_no_lock(folder):
    """Locks are what NFS and Lustre are worst at: an audit hook sees every one Python asks for."""
    hook = (
        "import sys\n"
        "def hook(event, arguments):\n"
        "    if event in ('fcntl.flock', 'fcntl.lockf', 'fcntl.fcntl'):\n"
        "        print('LOCK', event, arguments)\n"
        "sys.addaudithook(hook)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", hook + WORK, folder], check=True, cwd=ROOT, capture_output=True
    )
    assert b"LOCK" not in done.stdout
    named = [path for path in (ROOT / "cache").rglob("*.py") if "fcntl" in path.read_text()]
    assert named == []


def test_the_system_sees_no_lock_on_a_file_of_the_store(folder, tmp_path):
    """strace, where tracing is allowed, sees what libraries ask for, too."""
    trace = tmp_path / "trace"
    strace = needed("strace")
    command = [sys.executable, "-c", WORK, str(folder)]
    traced = [strace, "-f", "-y", "-e", "trace=flock,fcntl,openat", "-o", str(trace), *command]
    done = subprocess.run(traced, cwd=ROOT, capture_output=True)
    if done.returncode != 0:  # tracing is forbidden: the kernel's own list of locks
        process = subprocess.Popen(command, cwd=ROOT)
        held = []
        while process.poll() is None:
            locks = Path("/proc/locks").read_text().splitlines()
            held += [f" {process.pid} " in line for line in locks]
        assert process.returncode == 0
        assert not any(held)
        return
    calls = trace.read_text().splitlines()
    assert any(f"{folder}/parts/" in call for call in calls), "the trace shows the store's files"
    locks = [
        call for call in calls if "flock(" in call or ("fcntl(" in call and "F_SETLK" in call)
        or ("fcntl(" in call and "F_OFD_SETLK" in call)
    ]  # fmt: skip
    assert [call for call in locks if str(folder) in call] == []
