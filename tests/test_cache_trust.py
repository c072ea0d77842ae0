"""What the store does not take on trust: living writers, its index, packs that rotted, threads."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner

import cache.live
import cache.seal
from cache import layout
from cache.cli import cache as cache_cli
from cache.errors import (
    CanonicalError,
    RecordError,
    RunConflict,
    StoreError,
    StoreUnavailable,
    UnknownKey,
)
from cache.export import export
from cache.gc import collect_garbage
from cache.ls import find_records
from cache.merge import merge_stores, open_sources
from cache.part import Part
from cache.quarantine import quarantined
from cache.record import Outcome, Response
from cache.request import Transport
from cache.run import RunHeader, RunLine
from cache.seal import adopt, seal_part
from cache.segment import Segment
from cache.store import Store
from cache.verify import open_for_verifying, repair_packs, verify_store
from tests.builders import store_record, store_records, store_request


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


def filled(folder: Path, records) -> Path:
    """A store of one pack; return the pack."""
    before = set(folder.glob("packs/*/*.jsonl"))
    with Store(folder, create=True) as store:
        for record in records:
            store.put(record, sync=False)
    (pack,) = set(folder.glob("packs/*/*.jsonl")) - before
    return pack


def rot(file: Path, old: bytes, new: bytes) -> None:
    """Change bytes as a failing disk does: size and times stay."""
    stat = file.stat()
    data = file.read_bytes()
    assert data.count(old)
    file.chmod(0o644)
    file.write_bytes(data.replace(old, new, 1))
    file.chmod(stat.st_mode)
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))


# --- writers that are wrongly taken for dead ------------------------------------------------------


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


def test_two_threads_cannot_put_through_one_store(folder):
    with Store(folder, create=True) as store:
        store.put(store_record("mine"))
        caught: list[BaseException] = []

        def put() -> None:
            try:
                store.put(store_record("theirs"))
            except StoreError as error:
                caught.append(error)

        thread = threading.Thread(target=put)
        thread.start()
        thread.join()
        assert "two threads" in str(caught[0])
        store.put(store_record("mine again"))


def test_a_closed_part_may_be_followed_by_one_of_another_thread(folder):
    with Store(folder, create=True) as store:
        store.put(store_record("mine"))
        store.seal()
        thread = threading.Thread(target=store.put, args=(store_record("theirs"),))
        thread.start()
        thread.join()
        store.refresh()
        assert store.missing([store_record("theirs").key]) == []


# --- records that could not be read back ----------------------------------------------------------


@pytest.mark.parametrize("settings", [None, "", [], (), 0, False, "text", [1]])
def test_settings_that_are_no_object_have_no_key(settings):
    with pytest.raises(CanonicalError):
        store_request(settings=settings).key()


@pytest.mark.parametrize(
    "transport",
    [None, Transport(base_url=None), Transport(timeout_s="60"), Transport(concurrency=8.0),
     Transport(concurrency=True)],
)  # fmt: skip
def test_a_record_whose_transport_would_not_read_back_is_refused(folder, transport):
    request = store_request(transport=transport)
    with Store(folder, create=True) as store:
        with pytest.raises(RecordError):
            store.put(store_record(request=request))
        sound = store_request(transport=Transport(base_url="http://h/v1", timeout_s=60))
        store.put(store_record(request=sound))
        assert store.get(sound.key()) is not None


# --- the index ------------------------------------------------------------------------------------

TIMEOUT = store_record("slow", "", outcome=Outcome.TIMEOUT, response=Response(error="no reply"))


def test_a_flipped_bit_anywhere_in_the_index_is_found_and_the_index_made_anew(folder):
    records = store_records(5)
    filled(folder, [*records, TIMEOUT])
    (file,) = folder.glob("index/*.idx")
    whole = file.read_bytes()
    for at in [*range(0, len(whole), 23), len(whole) - 50]:
        changed = bytearray(whole)
        changed[at] ^= 1
        file.write_bytes(changed)
        with Store(folder, read_only=True) as store:
            keys = [record.key for record in (*records, TIMEOUT)]
            assert store.missing(keys) == [TIMEOUT.key]
            assert store.get_many(keys) == {r.key: r for r in (*records, TIMEOUT)}
    with Store(folder) as store:
        assert [fault.file for fault in verify_store(store).faults] == [f"index/{file.name}"]
    with Store(folder) as store:
        assert verify_store(store).faults == []
    assert file.read_bytes() == whole


def test_an_index_that_is_cut_off_is_made_anew_also_under_the_hands_of_a_reader(folder):
    records = store_records(50)
    filled(folder, records)
    (file,) = folder.glob("index/*.idx")
    with Store(folder) as store:
        os.truncate(file, 1024)
        assert store.get(records[7].key) == records[7]
    with Store(folder) as store:
        assert store.get(records[7].key) == records[7]
        assert store.index.damaged


def test_a_big_segment_is_mapped_and_stays_for_those_who_have_it_mapped(folder, monkeypatch):
    monkeypatch.setattr("cache.segment._MAPPED_BYTES", 1)
    for start in range(0, 24, 2):
        filled(folder, store_records(2, start=start))
    with Store(folder) as store:
        assert store.missing(record.key for record in store_records(24)) == []
    assert list(folder.glob("index/.*.tmp"))


def test_verify_compares_the_index_with_the_packs(folder):
    pack = filled(folder, [*store_records(3), TIMEOUT])
    (file,) = folder.glob("index/*.idx")
    wrong = Segment.load(file)
    wrong.columns["hit"][:] = np.ones(4, np.uint8)
    wrong.store(folder / "index")
    with Store(folder) as store:
        assert store.missing([TIMEOUT.key]) == []
        (fault,) = verify_store(store).faults
        assert str(pack.relative_to(folder)) in fault.reason
        assert store.missing([TIMEOUT.key]) == [TIMEOUT.key]
    with Store(folder) as store:
        assert store.missing([TIMEOUT.key]) == [TIMEOUT.key]


# --- packs that rotted ----------------------------------------------------------------------------


def test_a_table_an_export_and_a_scan_pass_over_what_rotted(folder, tmp_path):
    records = store_records(5)
    rot(filled(folder, records), b"answer 3", b"answer 9")
    sound = {record.key for record in records} - {records[3].key}
    with Store(folder, read_only=True) as store:
        assert set(store.frame()["key"]) == sound
    with Store(folder, read_only=True) as store:
        assert {record.key for record in store.scan()} == sound
    for form in ("parquet", "jsonl"):
        with Store(folder, read_only=True) as store:
            assert export(store, tmp_path / "out", form) == 4
            assert store.faults
        arguments = ["export", "--store", folder, "--out", tmp_path / "out", "--format", form]
        result = CliRunner().invoke(cache_cli, [str(one) for one in arguments])
        assert result.exit_code == 1
        assert "left out" in result.stderr


def test_a_rotted_newline_costs_the_table_no_neighbouring_record(folder):
    records = store_records(3)
    rot(filled(folder, records), b"}\n", b"}x")
    with Store(folder, read_only=True) as store:
        assert set(store.frame()["key"]) == {record.key for record in store.scan()}
        assert records[2].key in set(store.frame()["key"])


def test_a_record_that_does_not_verify_is_said_to_be_so(folder):
    record = store_record("q", "answer")
    rot(filled(folder, [record, store_record()]), b'"text":"answer', b'"text":"onswer')
    with Store(folder, read_only=True) as store, pytest.raises(UnknownKey, match="not verify"):
        find_records(store, record.key)


def test_the_collection_leaves_a_rotted_pack_to_repair_and_counts_what_it_removes(folder):
    records = store_records(5)
    filled(folder, records)
    later = [msgspec.structs.replace(r, created="2027-01-01T00:00:00.000Z") for r in records]
    rotted = filled(folder, later)
    rot(rotted, b"answer 3", b"answer 9")
    with Store(folder) as store:
        assert collect_garbage(store, apply=True).lines == {}
    assert rotted.exists()
    with Store(folder) as store:
        repair_packs(store, verify_store(store).damaged_packs)
        assert sum(collect_garbage(store, apply=True).lines.values()) == 4
        assert verify_store(store).faults == []


def test_damage_within_the_quarantine_is_found(folder):
    Store(folder, create=True).close()
    (folder / "parts" / "gone.jsonl").write_bytes(b'{"key":"ab\n')
    adopt(folder)
    with Store(folder) as store:
        assert verify_store(store).faults == []
        (file,) = folder.glob("quarantine/*.jsonl")
        rot(file, b'"ab', b'"cd') if b'"ab' in file.read_bytes() else rot(file, b"ab", b"cd")
        reasons = [fault.reason for fault in verify_store(store).faults]
        assert any("name" in reason for reason in reasons)
        assert any("digest" in reason for reason in reasons)
        assert len(quarantined(folder)) == 1


# --- a disk that is full or read-only -------------------------------------------------------------


def in_child(work) -> None:
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


def fill_the_disk() -> None:
    """From now on no file of this process can grow, as on a full disk."""
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))


def test_on_a_full_disk_verify_fails_and_repair_and_seal_say_that_they_cannot(folder):
    records = store_records(5)
    pack = filled(folder, records)
    rot(pack, b"answer 3", b"answer 9")
    (folder / "parts" / "gone.jsonl").write_bytes(records[0].to_line() + b"\ntorn\n")

    def work() -> None:
        store = Store(folder)
        fill_the_disk()
        found = verify_store(store)
        assert "quarantine: cannot be written" in str(found.faults[-1])
        with pytest.raises(StoreUnavailable, match="repair stopped"):
            repair_packs(store, found.damaged_packs)
        with pytest.raises(StoreUnavailable):
            store.adopt()

    in_child(work)
    assert pack.exists()


def test_a_store_that_can_only_be_read_is_not_repaired(folder):
    rot(filled(folder, store_records(5)), b"answer 3", b"answer 9")
    with Store(folder, read_only=True) as store:
        damaged = verify_store(store).damaged_packs
        with pytest.raises(StoreUnavailable, match="read-only"):
            repair_packs(store, damaged)
    with open_for_verifying(folder) as store:
        assert not store.read_only


def test_an_export_to_a_full_disk_leaves_the_old_file(folder, tmp_path):
    filled(folder, store_records(5))
    out = tmp_path / "out.parquet"
    out.write_text("old")

    # A process of its own: Polars' threads do not survive a fork.
    script = (
        "import sys; from pathlib import Path; from cache.errors import StoreUnavailable;"
        "from cache.export import export; from cache.store import Store;"
        "from tests.test_cache_trust import fill_the_disk;"
        "store = Store(Path(sys.argv[1]), read_only=True); fill_the_disk()\n"
        "try: export(store, Path(sys.argv[2]), 'parquet')\n"
        "except StoreUnavailable: sys.exit(3)\n"
    )
    command = [sys.executable, "-c", script, folder, out]
    assert subprocess.run(command, cwd=Path(__file__).parents[1], timeout=60).returncode == 3
    assert out.read_text() == "old"
    assert list(tmp_path.glob(".*.tmp")) == []


# --- merging --------------------------------------------------------------------------------------


def with_run(folder: Path, model: str) -> Path:
    with Store(folder, create=True) as store:
        header = RunHeader(name="r", benchmark="b", model=model, tasks=())
        store.write_run(header, [RunLine(item="1", key="0" * 64)])
    return folder


def test_sources_whose_runs_contradict_each_other_are_refused_before_anything_is_made(tmp_path):
    a, b = with_run(tmp_path / "a", "x"), with_run(tmp_path / "b", "y")
    with pytest.raises(RunConflict, match=f"{b}"):
        open_sources([a, b])
    arguments = ["merge", str(a), str(b), "--store", str(tmp_path / "new")]
    result = CliRunner().invoke(cache_cli, arguments)
    assert isinstance(result.exception, RunConflict)
    assert not (tmp_path / "new").exists()


def test_a_damaged_run_of_a_source_stops_the_merge_before_anything_is_copied(tmp_path):
    a = with_run(tmp_path / "a", "x")
    filled(a, store_records(2))
    (run,) = a.glob("runs/*")
    rot(run, b'"b"', b'"c"')
    with Store(tmp_path / "new", create=True) as store:
        with pytest.raises(RecordError, match=f"{a}: "):
            merge_stores(store, [a])
        assert list((tmp_path / "new").glob("packs/*/*")) == []


def test_a_part_that_is_sealed_while_its_store_is_merged_is_not_missed(tmp_path, monkeypatch):
    source = Store(tmp_path / "a", create=True)
    filled(tmp_path / "a", store_records(2))
    late = store_record("late")
    source.put(late)

    def sealing(work):
        source.seal()  # after the packs were listed
        return work

    with Store(tmp_path / "new", create=True) as store:
        merge_stores(store, [tmp_path / "a"], progress=sealing)
        assert store.get(late.key) == late


# --- order, and input that is refused -------------------------------------------------------------


def named(fd: int) -> str:
    return str(Path(f"/proc/self/fd/{fd}").readlink())


def test_folders_are_durable_before_what_is_put_into_them(folder, monkeypatch):
    done: list[tuple[str, str]] = []
    really_sync, really_rename = os.fsync, Path.rename

    def sync(fd: int) -> None:
        done.append(("sync", named(fd)))
        really_sync(fd)

    def rename(path: Path, target: Path) -> Path:
        done.append(("rename", str(target)))
        return really_rename(path, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(Path, "rename", rename)
    pack = filled(folder, store_records(2))
    assert ("sync", str(folder.parent)) in done
    first_part = next(at for at, one in enumerate(done) if "/parts/" in one[1])
    assert done.index(("sync", str(folder))) < first_part
    renamed = done.index(("rename", str(pack)))
    assert done.index(("sync", str(folder / "packs"))) < renamed
    assert ("sync", str(pack.parent)) in done[renamed:]


def test_many_parts_are_sealed_with_one_look_at_each_folder(folder, monkeypatch):
    Store(folder, create=True).close()
    for number, record in enumerate(store_records(40)):
        (folder / "parts" / f"gone-{number}.jsonl").write_bytes(record.to_line() + b"\n")
    synced: list[str] = []
    really = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(named(fd)) or really(fd))
    assert len(adopt(folder)) == 40
    assert synced.count(str(folder / "parts")) == 1
    assert len(list(folder.glob("index/*.idx"))) == 1
    with Store(folder) as store:
        assert store.missing(record.key for record in store_records(40)) == []


def test_a_header_with_a_tuple_is_the_header_that_is_read_back(folder):
    header = RunHeader(name="r", benchmark="b", model="m", tasks=(), settings={"a": (1, 2)})
    with Store(folder, create=True) as store:
        store.write_run(header, [RunLine(item="1", key="k")])
        store.write_run(header, [RunLine(item="2", key="k")])
        assert len(store.run("r").lines) == 2


@pytest.mark.parametrize("schema", ["true", "1.0"])
def test_a_schema_that_only_equals_ours_is_refused(folder, schema):
    Store(folder, create=True).close()
    (folder / "format.json").write_text(f'{{"schema": {schema}, "digest": "sha256"}}\n')
    with pytest.raises(StoreUnavailable, match="schema"):
        layout.open_folder(folder, create=False)


@pytest.mark.parametrize(
    "arguments", [["ls", "--limit", "-1"], ["seal", "--idle-hours", "-1"],
                  ["seal", "--idle-hours", "nan"]],
)  # fmt: skip
def test_numbers_that_mean_nothing_are_refused(folder, arguments):
    Store(folder, create=True).close()
    result = CliRunner().invoke(cache_cli, [*arguments, "--store", str(folder)])
    code = getattr(result.exception, "exit_code", result.exit_code)
    assert code == 2
