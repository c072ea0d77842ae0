"""Damage: torn, glued, flipped and cut lines are isolated and named; nothing after them is lost."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cache.quarantine import quarantined
from cache.seal import adopt
from cache.store import Store
from cache.verify import repair_packs, verify_store
from tests.builders import store_record, store_records

DEAD = "elsewhere-of-old.jsonl"
"""A part whose name is no writer's: nobody can be alive behind it."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    Store(folder, create=True).close()
    return folder


def lines_of(records) -> list[bytes]:
    return [record.to_line() for record in records]


def keys_of(store: Store) -> set[str]:
    return {record.key for record in store.scan()}


def places(faults) -> list[tuple[str, int]]:
    return [(fault.file, fault.line) for fault in faults]


def test_a_torn_line_of_a_dead_writer_is_isolated_and_a_new_writer_goes_on(folder):
    first, second, third = store_records(3)
    part = folder / "parts" / DEAD
    part.write_bytes(b"\n".join([*lines_of([first, second]), b'{"key":"ab']))
    with Store(folder) as store:
        store.put(third)
        assert keys_of(store) == {first.key, second.key, third.key}
        assert places(store.faults) == [(f"parts/{DEAD}", 3)]
        assert part.read_bytes().endswith(b'{"key":"ab')


def test_the_unfinished_line_of_a_live_writer_is_no_fault_and_is_read_when_it_is_whole(folder):
    first, second = store_records(2)
    name = f"{os.uname().nodename}-{os.getppid()}-{'0' * 32}.jsonl"
    part = folder / "parts" / name
    line = second.to_line()
    part.write_bytes(first.to_line() + b"\n" + line[:50])
    with Store(folder) as store:
        assert store.faults == []
        assert store.missing([first.key, second.key]) == [second.key]
        with part.open("ab") as file:
            file.write(line[50:] + b"\n")
        store.refresh()
        assert store.get(second.key) == second


def test_a_record_that_a_dead_writer_wrote_up_to_its_newline_counts(folder):
    record = store_record()
    (folder / "parts" / DEAD).write_bytes(record.to_line())
    with Store(folder) as store:
        assert store.get(record.key) == record
        assert store.faults == []
        adopt(folder)
        store.refresh()
        assert store.get(record.key) == record


def test_two_objects_on_one_line_and_a_cut_character_lose_nothing_after_them(folder):
    a, b, c, d = store_records(4)
    cut = "é".encode()[:1]
    data = a.to_line() + b.to_line() + b"\n" + c.to_line() + b"\n" + b'{"x":1}{"y":2}\n'
    (folder / "parts" / DEAD).write_bytes(data + d.to_line() + b"\n" + b'{"text":"' + cut)
    with Store(folder, read_only=True) as store:
        assert keys_of(store) == {r.key for r in (a, b, c, d)}
        assert places(store.faults) == [(f"parts/{DEAD}", line) for line in (1, 3, 5)]
        assert "2 records on one line" in store.faults[0].reason
        assert "not UTF-8" in store.faults[2].reason


@pytest.mark.parametrize("torn", [b'{"key":"ab', b"\x00" * 100, b'{"key":"' + b"0" * 64, b"\xff"])
def test_a_record_glued_to_a_torn_line_is_found(folder, torn):
    first, second = store_records(2)
    (folder / "parts" / DEAD).write_bytes(torn + first.to_line() + b"\n" + second.to_line() + b"\n")
    with Store(folder) as store:
        assert keys_of(store) == {first.key, second.key}
        assert store.get(first.key) == first
        (fault,) = store.faults
        assert (fault.line, fault.offset, fault.data) == (1, 0, torn)


def test_a_record_that_quotes_another_records_line_is_one_record(folder):
    inner = store_record("inner").to_line().decode()
    outer = store_record("outer", answer=inner, effective={"key": "0" * 64, "digest": "1" * 64})
    torn = b'{"key":"'
    (folder / "parts" / DEAD).write_bytes(torn + outer.to_line() + b"\n")
    with Store(folder) as store:
        assert [record.key for record in store.scan()] == [outer.key]
        assert store.get(outer.key) == outer


def test_sealing_a_damaged_part_keeps_its_records_byte_for_byte_and_its_damage(folder):
    first, second = store_records(2)
    torn = b'{"key":"ab'
    data = torn + b"\n" + first.to_line() + b"\n" + second.to_line() + b"\n" + b"\xff\xfe"
    (folder / "parts" / DEAD).write_bytes(data)
    (pack,) = adopt(folder)
    assert (folder / pack).read_bytes() == first.to_line() + b"\n" + second.to_line() + b"\n"
    assert not (folder / "parts" / DEAD).exists()
    kept = quarantined(folder)
    assert [(one.file, one.line, one.data) for one in kept] == [
        (f"parts/{DEAD}", 1, torn),
        (f"parts/{DEAD}", 4, b"\xff\xfe"),
    ]


def sealed(folder: Path, records) -> Path:
    with Store(folder) as store:
        for record in records:
            store.put(record, sync=False)
    (pack,) = folder.glob("packs/*/*.jsonl")
    pack.chmod(0o644)
    return pack


@pytest.mark.slow
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(at=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
def test_a_flipped_byte_anywhere_in_a_pack_is_found_named_and_never_served(
    tmp_path_factory, at, flip
):
    folder = tmp_path_factory.mktemp("flip") / "store"
    Store(folder, create=True).close()
    records = store_records(6)
    pack = sealed(folder, records)
    data = bytearray(pack.read_bytes())
    where = int(at * len(data))
    data[where] ^= flip
    stat = pack.stat()
    pack.write_bytes(data)
    # Even with size and times as they were: bits also rot without anybody writing.
    os.utime(pack, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    sound = data.split(b"\n")
    with Store(folder, read_only=True) as store:
        for record in records:
            found = store.get(record.key)
            assert found is None or found == record
            if found is None:
                assert store.missing([record.key]) == [record.key]
            assert (found == record) == any(record.to_line() in line for line in sound)
        result = verify_store(store)
        name = str(pack.relative_to(folder))
        line = bytes(data[:where]).count(b"\n") + 1
        assert result.damaged_packs == [name]
        assert (name, line) in places(result.faults) or bytes(data).count(b"\n\n")


def test_a_cut_verdict_alone_is_asked_again(folder):
    records = store_records(5)
    pack = sealed(folder, records)
    lines = pack.read_bytes().split(b"\n")
    lines[2] = lines[2][:100]
    pack.write_bytes(b"\n".join(lines))
    with Store(folder) as store:
        assert store.missing(record.key for record in records) == [records[2].key]
        assert store.get(records[3].key) == records[3]
        store.put(records[2])
        assert store.missing(record.key for record in records) == []


def test_a_pack_cut_short_keeps_what_is_before_the_cut(folder):
    records = store_records(5)
    pack = sealed(folder, records)
    size = len(b"\n".join(lines_of(records[:3]))) + 20
    pack.write_bytes(pack.read_bytes()[:size])
    with Store(folder) as store:
        assert keys_of(store) == {record.key for record in records[:3]}
        assert places(store.faults)[-1] == (str(pack.relative_to(folder)), 4)


def test_verifying_copies_damage_to_quarantine_once_and_repair_takes_it_out_of_the_pack(folder):
    records = store_records(5)
    pack = sealed(folder, records)
    data = pack.read_bytes().replace(b"answer 3", b"answer 4", 1)
    pack.write_bytes(data)
    with Store(folder) as store:
        for _ in range(2):
            result = verify_store(store)
        assert len(quarantined(folder)) == 1
        assert b"question 3" in quarantined(folder)[0].data
        repair_packs(store, result.damaged_packs)
        again = verify_store(store)
        assert again.faults == []
        assert again.records == 4
        assert [one.line for one in again.quarantined] == [4]
        assert store.missing(record.key for record in records) == [records[3].key]
    assert not pack.exists()


def test_a_missing_pack_is_only_missing(folder):
    records = store_records(2)
    pack = sealed(folder, records)
    with Store(folder) as store:
        assert store.get(records[0].key) == records[0]
    with Store(folder) as store:
        pack.unlink()
        assert store.get(records[0].key) is None
        assert store.missing([records[1].key]) == [records[1].key]


def test_a_damaged_quarantine_file_is_itself_reported(folder):
    (folder / "quarantine" / "x.jsonl").write_bytes(b"{not json\n")
    (found,) = quarantined(folder)
    assert "damaged itself" in found.reason
    assert found.data == b"{not json"


@pytest.mark.slow
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    noise=st.lists(
        st.binary(max_size=40) | st.sampled_from([b'{"key":"', b"{}", b"\n"]), min_size=1
    )
)
def test_records_survive_any_noise_between_lines(tmp_path_factory, noise):
    folder = tmp_path_factory.mktemp("noise") / "store"
    Store(folder, create=True).close()
    records = store_records(len(noise))
    data = b"".join(
        junk + b"\n" + record.to_line() + b"\n" for junk, record in zip(noise, records, strict=True)
    )
    (folder / "parts" / DEAD).write_bytes(data)
    with Store(folder) as store:
        assert store.get_many(r.key for r in records) == {r.key: r for r in records}
        adopt(folder)
        store.refresh()
        assert store.get_many(r.key for r in records) == {r.key: r for r in records}
        assert store.faults == []
        kept = b"".join(one.data for one in quarantined(folder))
        assert kept == b"".join(noise).replace(b"\n", b"")


def test_a_line_of_the_quarantine_is_json_for_people_and_scripts(folder):
    (folder / "parts" / DEAD).write_bytes(b'{"key":"ab\n')
    adopt(folder)
    (file,) = folder.glob("quarantine/*.jsonl")
    entry = json.loads(file.read_text())
    assert entry["file"] == f"parts/{DEAD}"
    assert entry["line"] == 1
    assert entry["text"] == '{"key":"ab'
