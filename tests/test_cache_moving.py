"""Reading while others write, seal, join and collect: no answer missed, none twice."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

import cache.cover
import cache.frame
import cache.gc
import cache.segment_file
from cache.errors import StoreUnavailable
from cache.gc import collect_garbage
from cache.pack import list_packs
from cache.record import Record
from cache.segment import Segment
from cache.store import Store
from tests.builders import store_record, store_records
from tests.store_files import filled


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


def again(record: Record, created: str) -> Record:
    """Another answer to the same request."""
    return msgspec.structs.replace(record, created=created)


EARLIER, LATER = "2026-01-01T00:00:00.000Z", "2027-01-01T00:00:00.000Z"


@pytest.mark.parametrize("created", [EARLIER, LATER])
def test_an_answer_that_comes_a_second_time_while_a_store_is_scanned_is_yielded_once(
    folder, created
):
    records = store_records(3)
    filled(folder, records)
    with Store(folder) as writer, Store(folder, read_only=True) as store:
        writer.put(store_record("in the part"))
        scan = store.scan()
        seen = [next(scan).key]
        for record in records:
            writer.put(again(record, created))
        seen += [record.key for record in scan]
    assert sorted(seen) == sorted(r.key for r in (*records, store_record("in the part")))


@pytest.mark.parametrize("created", [EARLIER, LATER])
def test_a_part_that_is_sealed_while_a_store_is_scanned_is_followed_and_yields_nothing_twice(
    folder, created
):
    records = store_records(6)
    filled(folder, records[:3])
    with Store(folder, read_only=True) as store:
        writers = [Store(folder), Store(folder)]
        writers[0].put(records[3])
        writers[1].put(records[4])
        scan = store.scan()
        seen = [next(scan).key]
        # What was read gets a second answer, in a part that moves before it is read.
        writers[0].put(again(records[0], created))
        writers[1].put(records[5])
        for writer in writers:
            writer.close()
        seen += [record.key for record in scan]
    assert sorted(seen) == sorted(record.key for record in records)


def test_packs_that_are_joined_while_a_store_is_scanned_are_yielded_once(folder):
    records = store_records(8)
    for at in range(0, 8, 2):
        filled(folder, records[at : at + 2])
    with Store(folder, read_only=True) as store:
        scan = store.scan()
        seen = [next(scan).key for _ in range(3)]
        with Store(folder) as collector:
            assert collect_garbage(collector, apply=True).packs == 4
        seen += [record.key for record in scan]
    assert sorted(seen) == sorted(record.key for record in records)


def test_an_answer_that_comes_a_second_time_while_a_table_is_made_is_one_row(folder, monkeypatch):
    records = store_records(3)
    filled(folder, records)
    really = cache.frame._read
    with Store(folder) as writer, Store(folder, read_only=True) as store:
        writer.put(store_record("in the part"))

        def read(store: Store):
            writer.put(again(records[1], LATER))
            return really(store)

        monkeypatch.setattr(cache.frame, "_read", read)
        frame = store.frame()
    assert frame.height == frame["key"].n_unique() == 4


def test_a_listing_that_saw_neither_the_old_pack_nor_the_new_is_not_believed(folder, monkeypatch):
    """A folder is listed after its pack went, and the one of the pack that replaces it before."""
    records = store_records(4)
    filled(folder, records[:2])
    filled(folder, records[2:])
    listings = [dict(list(list_packs(folder).items())[:1])]

    def listed(root: Path):
        return listings.pop() if listings else list_packs(root)

    monkeypatch.setattr(cache.cover, "list_packs", listed)
    with Store(folder, read_only=True) as store:
        assert store.missing(record.key for record in records) == []


def test_segments_that_are_joined_between_listing_and_opening_cost_no_reading_of_packs(
    folder, monkeypatch
):
    records = store_records(16)
    for at in range(0, 16, 2):
        filled(folder, records[at : at + 2])
    assert len(list(folder.glob("index/*.idx"))) == 8
    really_load, really_read = Segment.load, cache.cover.read_pack
    read: list[str] = []
    joined = False

    def load(path: Path) -> Segment:
        nonlocal joined
        if not joined:
            joined = True
            filled(folder, [store_record("one more")])  # a ninth segment: all are joined
            assert len(list(folder.glob("index/*.idx"))) < 8
            read.clear()
        return really_load(path)

    def read_pack(root: Path, name: str, *check):
        read.append(name)
        return really_read(root, name, *check)

    monkeypatch.setattr(Segment, "load", load)
    monkeypatch.setattr(cache.cover, "read_pack", read_pack)
    with Store(folder, read_only=True) as store:
        assert store.missing(record.key for record in records) == []
    assert joined
    assert read == []


def test_the_collection_leaves_a_big_segment_to_those_who_have_it_mapped(folder, monkeypatch):
    """Over a network a mapped file that is removed is gone for those who have it mapped."""
    monkeypatch.setattr(cache.segment_file, "_MAPPED_BYTES", 1)
    filled(folder, store_records(4))
    (old,) = folder.glob("index/*.idx")
    data = old.read_bytes()
    (folder / "index" / f"{'0' * 64}.idx").write_bytes(data)
    with Store(folder) as store:
        garbage = collect_garbage(store, apply=True)
    assert len(garbage.files) == 1
    assert len(list(folder.glob("index/*.idx"))) == 1
    assert [path.read_bytes() for path in folder.glob("index/.*.tmp")] == [data]
    with Store(folder) as store:
        assert collect_garbage(store, apply=True).files == []


def test_a_big_segment_is_mapped_from_the_file_that_was_checked(folder, monkeypatch):
    monkeypatch.setattr(cache.segment_file, "_MAPPED_BYTES", 1)
    records = store_records(4)
    filled(folder, records)
    (file,) = folder.glob("index/*.idx")
    really = cache.segment_file._check_line

    def check_line(check: int) -> bytes:
        file.unlink(missing_ok=True)  # another process puts something else in its place
        file.write_bytes(b"something else")
        return really(check)

    monkeypatch.setattr(cache.segment_file, "_check_line", check_line)
    segment = Segment.load(file)
    assert len(segment) == 4
    assert len(set(segment.columns["offset"].tolist())) == 4


def test_a_line_is_no_garbage_as_long_as_what_stands_in_for_it_is_in_an_open_part(folder):
    record = store_record()
    filled(folder, [again(record, LATER)])
    with Store(folder) as writer, Store(folder) as store:
        writer.put(again(record, EARLIER), sync=False)
        assert collect_garbage(store, apply=True).lines == {}
        writer.seal()
        assert collect_garbage(store, apply=True).lines == {"a later answer": 1}


def test_of_two_collections_at_once_the_second_is_refused(folder, monkeypatch):
    """Of two copies of a line each could take the one that the other keeps."""
    record = store_record()
    filled(folder, [record, store_record("a")])
    filled(folder, [record, store_record("b")])
    really = cache.gc._write_anew

    def write_anew(*arguments: object) -> None:
        with Store(folder) as other, pytest.raises(StoreUnavailable, match="another collection"):
            collect_garbage(other, apply=True)
        with Store(folder) as other:
            assert not collect_garbage(other).applied, "looking is free"
        really(*arguments)

    monkeypatch.setattr(cache.gc, "_write_anew", write_anew)
    with Store(folder) as store:
        assert collect_garbage(store, apply=True).lines == {"a copy of another line": 1}
        assert store.get(record.key) == record
    assert not (folder / "collecting").exists()


def test_a_collection_that_was_killed_stands_in_nobodys_way(folder):
    filled(folder, store_records(2))
    for name in ("", "torn", f"{os.uname().nodename}-{os.getpid()}-{'0' * 32}"):
        (folder / "collecting").write_text(name)
        with Store(folder) as store:
            assert collect_garbage(store, apply=True).applied
    (folder / "collecting").write_text(f"another-host-1-{'0' * 32}")
    with Store(folder) as store, pytest.raises(StoreUnavailable, match="remove that file"):
        collect_garbage(store, apply=True)
    os.utime(folder / "collecting", (1, 1))
    with Store(folder) as store:
        assert collect_garbage(store, apply=True).applied
