"""Living writers that are wrongly taken for dead lose nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import cache.live
import cache.seal
from cache.errors import (
    StoreUnavailable,
)
from cache.part import Part
from cache.seal import adopt, seal_part
from cache.store import Store
from cache.verify import verify_store
from tests.builders import store_record
from tests.programs import needed

ROOT = Path(__file__).parents[1]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


def test_a_put_is_not_acknowledged_from_a_part_that_was_sealed_as_soon_as_it_was_opened(
    folder, monkeypatch
):
    store = Store(folder, create=True)
    really, left = Part._open, 3

    def opened(part: Part) -> int:
        nonlocal left
        fd = really(part)
        if left:
            left -= 1
            seal_part(folder, part.name)
        return fd

    monkeypatch.setattr(Part, "_open", opened)
    record = store_record()
    store.put(record)
    with Store(folder, read_only=True) as other:
        assert other.get(record.key) == record


def test_a_writer_whose_every_part_is_sealed_says_so(folder, monkeypatch):
    store = Store(folder, create=True)
    really = Part._open

    def opened(part: Part) -> int:
        fd = really(part)
        seal_part(folder, part.name)
        return fd

    monkeypatch.setattr(Part, "_open", opened)
    with pytest.raises(StoreUnavailable, match="different host names"):
        store.put(store_record())


def test_the_empty_part_of_a_writer_thought_dead_is_left_for_a_minute(folder):
    Store(folder, create=True).close()
    part = folder / "parts" / "gone.jsonl"
    part.touch()
    adopt(folder)
    assert part.exists()
    os.utime(part, (1, 1))
    adopt(folder)
    assert not part.exists()


@pytest.mark.slow
def test_living_writers_lose_nothing_under_adopters_that_think_them_dead(folder, tmp_path):
    """As from another PID namespace under the same host name: every look-up says `gone`."""
    Store(folder, create=True).close()

    def write(number: int) -> None:
        store, at = Store(folder), 0
        acknowledged = os.open(tmp_path / f"acknowledged-{number}", os.O_CREAT | os.O_WRONLY)
        while True:
            at += 1
            name = f"{number}-{at}"
            store.put(store_record(name, name * 60))
            if at % 5 == 0:
                store.seal()
            os.write(acknowledged, f"{name}\n".encode())

    def take_for_dead(number: int) -> None:
        cache.seal.writer_is_gone = lambda *_, **__: True
        cache.live.writer_is_gone = lambda *_, **__: True
        while True:
            adopt(folder)

    children = []
    for number, work in enumerate([write, write, write, take_for_dead, take_for_dead]):
        child = os.fork()
        if child == 0:
            try:
                work(number)
            finally:
                os._exit(1)
        children.append(child)
    time.sleep(6)
    for child in children:
        assert os.waitpid(child, os.WNOHANG)[0] == 0, "nobody may give up"
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    files = tmp_path.glob("acknowledged-*")
    names = [name for file in files for name in file.read_text().split("\n")[:-1]]
    expected = {store_record(name, name * 60).key: name for name in names}
    assert len(expected) > 20
    with Store(folder) as store:
        assert store.missing(expected) == []
        found = store.get_many(expected)
        assert {key: record.response.text for key, record in found.items()} == {
            key: name * 60 for key, name in expected.items()
        }


def part_of(folder: Path, pid: int) -> Path:
    """A part whose name says that process ``pid`` of this host writes it."""
    Store(folder, create=True).close()
    part = folder / "parts" / f"{os.uname().nodename}-{pid}-{'0' * 32}.jsonl"
    part.write_bytes(store_record().to_line() + b"\n")
    return part


def test_a_part_of_our_own_process_id_that_we_did_not_write_is_of_an_earlier_life(folder):
    """In a container the process of every job has the same small number."""
    part = part_of(folder, os.getpid())
    with Store(folder) as store:
        store.put(store_record("mine"))
        assert len(store.adopt()) == 1
        assert not part.exists()
        assert len(list(folder.glob("parts/*"))) == 1, "our own is left alone"


def test_a_part_that_was_last_written_before_its_process_started_is_of_another(folder):
    part = part_of(folder, os.getppid())
    with Store(folder) as store:
        assert store.adopt() == []
        before = part.stat().st_mtime - 10 * 365 * 86400
        os.utime(part, (before, before))
        assert len(store.adopt()) == 1


def test_a_part_of_a_process_in_another_pid_namespace_is_sealed_and_nothing_is_lost(folder):
    """A container that shares our host name, but whose processes we cannot see."""
    Store(folder, create=True).close()
    script = (
        "import sys; from pathlib import Path; from cache.store import Store;"
        "from tests.builders import store_record;"
        "store = Store(Path(sys.argv[1]));"
        "store.put(store_record('first')); print('put', flush=True); sys.stdin.readline();"
        "store.put(store_record('second')); store.close()"
    )
    apart = [needed("unshare", packages="util-linux"), "--pid", "--fork", "--mount-proc"]
    tried = subprocess.run([*apart, "true"], capture_output=True, text=True)
    if tried.returncode != 0:
        pytest.skip(tried.stderr.strip())
    inside = subprocess.Popen(
        [*apart, sys.executable, "-c", script, folder],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert inside.stdout.readline() == "put\n"
    (part,) = folder.glob("parts/*")
    assert "-1-" in part.name or "-2-" in part.name
    day_ago = part.stat().st_mtime - 86400  # process 1 of this host is older than the part
    os.utime(part, (day_ago - 10**9, day_ago - 10**9))
    with Store(folder) as store:
        assert len(store.adopt()) == 1
    inside.stdin.write("\n")
    inside.stdin.close()
    assert inside.wait(timeout=60) == 0
    inside.stdout.close()
    with Store(folder) as store:
        assert store.missing(store_record(name).key for name in ("first", "second")) == []
        assert verify_store(store).faults == []
