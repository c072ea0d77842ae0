"""The store: what put takes, get returns; a store loses nothing and mixes nothing up."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import msgspec
import pytest

from cache.errors import RecordError, StoreUnavailable
from cache.record import Outcome, Response
from cache.store import Store
from tests.builders import store_record, store_records, store_request


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


def test_what_was_put_is_returned_by_this_and_by_a_later_store(folder):
    record = store_record(effective={"rung": 2}, outcome=Outcome.TRUNCATED)
    with Store(folder, create=True) as store:
        store.put(record)
        assert store.get(record.key) == record
    with Store(folder) as store:
        assert store.get(record.key) == record


def test_a_put_with_sync_is_there_for_other_processes_before_the_store_is_closed(folder):
    record = store_record()
    store = Store(folder, create=True)
    other = Store(folder)
    store.put(record)
    assert other.get(record.key) is None
    other.refresh()
    assert other.get(record.key) == record
    store.close()


def test_an_unknown_key_has_no_record_and_is_missing(folder):
    with Store(folder, create=True) as store:
        assert store.get("0" * 64) is None
        assert store.get("not a key") is None
        assert store.missing(["0" * 64, "not a key"]) == ["0" * 64, "not a key"]


def test_missing_keeps_the_order_and_names_each_key_once(folder):
    stored, *others = store_records(4)
    with Store(folder, create=True) as store:
        store.put(stored)
        asked = [others[2].key, stored.key, others[0].key, others[2].key, others[1].key]
        assert store.missing(asked) == [others[2].key, others[0].key, others[1].key]
    with Store(folder) as store:
        assert store.missing(asked) == [others[2].key, others[0].key, others[1].key]


def test_two_engines_with_one_prompt_do_not_answer_for_each_other(folder):
    first, second = (
        store_record(request=store_request(engine=engine), answer=engine) for engine in "AB"
    )
    with Store(folder, create=True) as store:
        store.put(first)
        assert store.missing([second.key]) == [second.key]
        store.put(second)
    with Store(folder) as store:
        assert store.get(first.key) == first
        assert store.get(second.key) == second


def test_three_samples_of_one_prompt_are_three_records(folder):
    records = [store_record(request=store_request(sample=sample)) for sample in range(3)]
    with Store(folder, create=True) as store:
        for record in records:
            store.put(record, sync=False)
    with Store(folder) as store:
        assert sorted(record.request.sample for record in store.scan()) == [0, 1, 2]


@pytest.mark.parametrize("outcome", [o for o in Outcome if not o.is_hit])
def test_an_infrastructure_failure_is_kept_but_asked_again(folder, outcome):
    record = store_record(outcome=outcome, response=Response(error="gone"))
    with Store(folder, create=True) as store:
        store.put(record)
        assert store.missing([record.key]) == [record.key]
        assert store.get(record.key) == record


def test_a_hit_after_a_failure_is_the_answer_and_no_conflict(folder):
    failure = store_record(outcome=Outcome.TIMEOUT, created="2026-01-31T12:00:00.000Z")
    hit = store_record(created="2026-01-31T13:00:00.000Z")
    late_failure = store_record(outcome=Outcome.TIMEOUT, created="2026-01-31T14:00:00.000Z")
    with Store(folder, create=True) as store:
        for record in (failure, hit, late_failure):
            store.put(record)
        assert store.get(hit.key) == hit
        assert store.missing([hit.key]) == []
        assert list(store.scan()) == [hit]


def test_of_failures_only_the_newest_is_returned(folder):
    records = [
        store_record(outcome=Outcome.TIMEOUT, created=f"2026-01-31T1{hour}:00:00.000Z")
        for hour in (2, 4, 3)
    ]
    with Store(folder, create=True) as store:
        for record in records:
            store.put(record)
        assert store.get(records[0].key) == records[1]


def test_a_record_under_a_wrong_key_is_refused(folder):
    with Store(folder, create=True) as store, pytest.raises(RecordError, match="does not belong"):
        store.put(msgspec.structs.replace(store_record(), key="0" * 64))


def test_a_record_that_would_not_read_back_is_refused_before_it_is_written(folder):
    with Store(folder, create=True) as store:
        with pytest.raises(RecordError, match="no record"):
            store.put(store_record(response=Response(text=None)))  # type: ignore[arg-type]
        with pytest.raises(RecordError, match="no JSON form"):
            store.put(store_record(answer="\ud800"))
        assert list(store.scan()) == []


def test_a_missing_folder_is_answered_with_what_to_do(folder):
    with pytest.raises(StoreUnavailable, match="holds no store") as caught:
        Store(folder)
    assert caught.value.exit_code == 3
    assert not folder.exists()


def test_a_store_is_not_made_in_a_folder_with_other_things(tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(StoreUnavailable, match=r"thesis\.tex"):
        Store(tmp_path, create=True)


@pytest.mark.parametrize(
    "content", ['{"schema": 2, "digest": "sha256"}', '{"schema": 1, "digest": "md5"}', "{", "[]"]
)
def test_a_store_of_another_schema_is_not_touched(folder, content):
    Store(folder, create=True).close()
    (folder / "format.json").write_text(content)
    with pytest.raises(StoreUnavailable, match=r"format\.json"):
        Store(folder, create=True)


def test_a_store_opened_for_reading_reads_and_says_that_it_does_not_write(folder):
    record = store_record()
    with Store(folder, create=True) as store:
        store.put(record)
    before = sorted(folder.rglob("*"))
    with Store(folder, read_only=True) as store:
        assert store.get(record.key) == record
        with pytest.raises(StoreUnavailable, match="reading only"):
            store.put(store_record("another"))
    assert sorted(folder.rglob("*")) == before


def test_closing_seals_the_part_into_a_read_only_pack(folder):
    with Store(folder, create=True) as store:
        for record in store_records(3):
            store.put(record)
        assert len(list(folder.glob("parts/*"))) == 1
    assert list(folder.glob("parts/*")) == []
    (pack,) = folder.glob("packs/*/*.jsonl")
    import hashlib

    assert pack.stem == hashlib.sha256(pack.read_bytes()).hexdigest()
    assert pack.parent.name == pack.stem[:2]
    assert pack.stat().st_mode & 0o777 == 0o444


def test_a_store_that_was_only_read_leaves_no_part(folder):
    Store(folder, create=True).close()
    with Store(folder) as store:
        store.get("0" * 64)
    assert list(folder.glob("parts/*")) == list(folder.glob("packs/*/*")) == []


def test_the_index_can_be_removed_at_any_time(folder):
    records = store_records(20)
    for at in range(0, 20, 4):
        with Store(folder, create=True) as store:
            for record in records[at : at + 4]:
                store.put(record)
    for file in folder.glob("index/*"):
        file.unlink()
    (folder / "index").rmdir()
    with Store(folder) as store:
        assert store.get_many(record.key for record in records) == {r.key: r for r in records}


@pytest.mark.parametrize("damage", [b"", b"{}\n", b"garbage"])
def test_a_damaged_index_is_made_anew(folder, damage):
    record = store_record()
    with Store(folder, create=True) as store:
        store.put(record)
    for file in folder.glob("index/*.idx"):
        file.write_bytes(damage)
    with Store(folder) as store:
        assert store.get(record.key) == record


def test_many_packs_are_covered_by_few_segments(folder):
    records = store_records(40)
    for record in records:
        with Store(folder, create=True) as store:
            store.put(record)
    assert len(list(folder.glob("packs/*/*.jsonl"))) == 40
    with Store(folder) as store:
        assert store.missing(record.key for record in records) == []
    assert len(list(folder.glob("index/*.idx"))) <= 8


def test_the_names_of_two_hosts_writers_differ_even_with_one_process_id(folder, monkeypatch):
    stores = []
    for host in ("node-1", "node-2", "node-2"):
        monkeypatch.setattr("socket.gethostname", lambda host=host: host)
        stores.append(Store(folder, create=True))
        stores[-1].put(store_record(host + str(len(stores))))
    names = sorted(file.name for file in folder.glob("parts/*"))
    assert len(names) == 3
    assert [name.split(f"-{os.getpid()}-")[0] for name in names] == ["node-1", "node-2", "node-2"]
    for store in stores:
        store.close()


def test_a_forked_child_writes_a_part_of_its_own(folder):
    ours, theirs, unflushed = store_records(3)
    store = Store(folder, create=True)
    store.put(ours)
    store.put(unflushed, sync=False)
    child = os.fork()
    if child == 0:
        store.put(theirs)
        store.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    store.refresh()
    assert {record.key for record in store.scan()} == {ours.key, theirs.key, unflushed.key}
    assert len(list(folder.glob("parts/*"))) == 1
    store.close()
    files = [file.read_bytes() for file in folder.glob("packs/*/*.jsonl")]
    assert sorted(data.count(b"\n") for data in files) == [1, 2]


def test_a_pickled_store_opens_the_same_folder_with_a_part_of_its_own(folder):
    ours, theirs = store_records(2)
    with Store(folder, create=True) as store:
        store.put(ours)
        with pickle.loads(pickle.dumps(store)) as copy:
            assert copy.get(ours.key) == ours
            copy.put(theirs)
        store.refresh()
        assert store.get(theirs.key) == theirs


def test_a_key_is_found_by_its_beginning(folder):
    records = store_records(50)
    with Store(folder, create=True) as store:
        for record in records:
            store.put(record, sync=False)
        wanted = records[7].key
        for length in (6, 20, 64):
            assert store.keys_starting_with(wanted[:length]) == [wanted]
        assert store.keys_starting_with("", limit=100) == sorted(r.key for r in records)
        store.seal()
        assert store.keys_starting_with(wanted[:6].upper()) == [wanted]
