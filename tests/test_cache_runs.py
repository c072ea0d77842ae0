"""Runs: written whole, without locks, and joined, never overwritten."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from cache.errors import RecordError, RunConflict, StoreError, UnknownRun
from cache.run import RunHeader, RunLine
from cache.store import Store

ROOT = Path(__file__).parents[1]


def header(**changes) -> RunHeader:
    fields = {"name": "first", "benchmark": "demo", "model": "model-a", "tasks": ("choice",)}
    return RunHeader(**(fields | changes))


def lines(*items: str, key: str = "0") -> list[RunLine]:
    return [RunLine(item=item, key=key * 64) for item in items]


@pytest.fixture
def store(tmp_path: Path):
    with Store(tmp_path / "store", create=True) as store:
        yield store


def test_a_run_reads_back_as_it_was_written(store):
    asked = [*lines("a", "b"), RunLine(item="a", key="1" * 64, sample=1)]
    store.write_run(header(settings={"frames": 64}, samples=2), asked)
    run = store.run("first")
    assert run.header == header(settings={"frames": 64}, samples=2)
    assert run.lines == tuple(asked)
    assert store.runs() == ["first"]


def test_the_files_first_line_is_its_header_and_the_next_its_items(store):
    store.write_run(header(), lines("a"))
    first, second, last = (store.path / "runs" / "first.jsonl").read_bytes().splitlines()
    assert msgspec.json.decode(first)["benchmark"] == "demo"
    assert msgspec.json.decode(second) == {"item": "a", "key": "0" * 64}
    assert list(msgspec.json.decode(last)) == ["digest"]


def test_writing_again_joins_lines_and_a_newer_key_replaces(store):
    store.write_run(header(created="2026-01-31"), lines("a", "b"))
    store.write_run(header(created="2026-02-01"), lines("b", "c", key="1"))
    assert {line.item: line.key[0] for line in store.run("first").lines} == {
        "a": "0",
        "b": "1",
        "c": "1",
    }
    assert store.run("first").header.created == "2026-01-31"


def test_writing_the_same_again_writes_no_file(store):
    for _ in range(3):
        store.write_run(header(), lines("a", "b"))
    assert len(list(store.path.glob("runs/*"))) == 1


def test_another_header_under_the_name_is_refused_with_what_differs(store):
    store.write_run(header(), lines("a"))
    with pytest.raises(RunConflict, match=r"model was 'model-a', is 'model-b'.*another run name"):
        store.write_run(header(model="model-b"), lines("a"))


def test_an_unknown_run_is_answered_with_the_known(store):
    store.write_run(header(), [])
    store.write_run(header(name="second"), [])
    with pytest.raises(UnknownRun, match=r"no run 'third' in .*; there are: first, second"):
        store.run("third")


@pytest.mark.parametrize("name", ["a/b", "../x", "a+0001-b", "ü b", "100%", "a.jsonl", "x" * 150])
def test_any_name_is_a_file_in_the_runs_folder(store, name):
    store.write_run(header(name="x" + name), lines("a"))
    assert store.runs() == ["x" + name]
    assert store.run("x" + name).lines == tuple(lines("a"))
    assert len(list((store.path / "runs").iterdir())) == 1


@pytest.mark.parametrize("name", ["", ".hidden", "x" * 300])
def test_a_name_that_no_file_can_have_is_refused(store, name):
    with pytest.raises(StoreError, match="cannot name a run"):
        store.write_run(header(name=name), [])


@pytest.mark.parametrize("damage", [lambda data: data[:-9], lambda data: data.replace(b"a", b"b")])
def test_a_damaged_run_is_named(store, damage):
    store.write_run(header(), lines("a"))
    path = store.path / "runs" / "first.jsonl"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(RecordError, match=r"first\.jsonl"):
        store.run("first")


@pytest.mark.slow
def test_processes_that_write_one_run_at_the_same_moment_lose_no_line(store):
    script = (
        "import sys; from pathlib import Path; from cache.store import Store;"
        "from cache.run import RunHeader, RunLine;"
        "store = Store(Path(sys.argv[1]));"
        "header = RunHeader(name='r', benchmark='demo', model='m', tasks=('choice',));"
        "print('ready', flush=True); sys.stdin.readline();"
        "[store.write_run(header, [RunLine(item=f'{sys.argv[2]}/{at}', key='0' * 64)]) "
        "for at in range(5)]"
    )
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", script, store.path, str(number)], cwd=ROOT, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )
        for number in range(6)
    ]  # fmt: skip
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("\n")
        writer.stdin.flush()
    for writer in writers:
        assert writer.wait() == 0
        writer.stdin.close()
        writer.stdout.close()
    found = {line.item for line in store.run("r").lines}
    assert found == {f"{number}/{at}" for number in range(6) for at in range(5)}
