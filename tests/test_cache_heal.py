"""Damaged packs in the way: what takes their place loses nothing of them, and sound copies heal."""

from __future__ import annotations

from pathlib import Path

import pytest

from cache.merge import merge_stores
from cache.quarantine import quarantined
from cache.seal import seal_part, write_pack
from cache.store import Store
from cache.verify import repair_packs, verify_store
from tests.builders import store_record, store_records
from tests.store_files import filled, rot

RECORDS = store_records(5)
LINES = [record.to_line() + b"\n" for record in RECORDS]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


def append(file: Path, data: bytes) -> None:
    file.chmod(0o644)
    with file.open("ab") as opened:
        opened.write(data)
    file.chmod(0o444)


def repaired(folder: Path) -> None:
    with Store(folder) as store:
        repair_packs(store, verify_store(store).damaged_packs)
    with Store(folder) as store:
        assert verify_store(store).faults == []


def keys(folder: Path) -> set[str]:
    with Store(folder, read_only=True) as store:
        return {record.key for record in store.scan()}


def test_a_pack_with_junk_at_its_end_is_repaired_under_its_own_name(folder):
    """Its sound lines are just those that its name was made from."""
    pack = filled(folder, RECORDS)
    whole = pack.read_bytes()
    append(pack, b"junk\n")
    repaired(folder)
    assert pack.read_bytes() == whole
    assert [one.text for one in quarantined(folder)] == ["junk"]


def test_two_packs_under_each_others_names_are_both_repaired(folder):
    one, other = filled(folder, RECORDS[:2]), filled(folder, RECORDS[2:])
    contents = one.read_bytes(), other.read_bytes()
    for pack, data in ((one, contents[1]), (other, contents[0])):
        pack.chmod(0o644)
        pack.write_bytes(data)
    repaired(folder)
    assert (one.read_bytes(), other.read_bytes()) == contents
    assert keys(folder) == {record.key for record in RECORDS}


def test_a_part_that_is_sealed_onto_a_damaged_pack_restores_it_and_keeps_what_else_is_in_it(folder):
    pack = filled(folder, RECORDS)
    late = store_record("late")
    append(pack, late.to_line() + b"\ntorn")
    rot(pack, b"answer 3", b"answer 9")
    (folder / "parts" / "gone.jsonl").write_bytes(b"".join(LINES))
    assert seal_part(folder, "parts/gone.jsonl") == str(pack.relative_to(folder))
    assert pack.read_bytes() == b"".join(LINES)
    assert keys(folder) == {record.key for record in (*RECORDS, late)}
    assert {one.text for one in quarantined(folder)} == {
        LINES[3].decode().replace("answer 3", "answer 9").removesuffix("\n"),
        "torn",
    }


def test_records_that_are_written_as_a_pack_are_not_trusted_to_a_damaged_file_of_that_name(folder):
    pack = filled(folder, RECORDS)
    rot(pack, b"answer 3", b"answer 9")
    assert write_pack(folder, lambda: iter(LINES)) == str(pack.relative_to(folder))
    assert pack.read_bytes() == b"".join(LINES)
    assert len(list(folder.glob("packs/*/*"))) == 1


def test_merging_a_sound_copy_brings_back_what_verify_found_to_be_lost(folder, tmp_path):
    pack, copy = filled(folder, RECORDS), filled(tmp_path / "copy", RECORDS)
    rot(pack, b"answer 3", b"answer 9")
    with Store(folder) as store:
        assert verify_store(store).damaged_packs
    with Store(folder) as store:
        assert store.missing(record.key for record in RECORDS) == [RECORDS[3].key]
        assert merge_stores(store, [tmp_path / "copy"]).packs == 1
        assert store.missing(record.key for record in RECORDS) == []
        assert verify_store(store).faults == []
        assert merge_stores(store, [tmp_path / "copy"]).packs == 0
    assert pack.read_bytes() == copy.read_bytes()


def test_two_copies_that_are_damaged_in_different_places_make_a_whole(folder, tmp_path):
    rot(filled(folder, RECORDS), b"answer 3", b"answer 9")
    rot(filled(tmp_path / "copy", RECORDS), b"answer 1", b"answer 8")
    with Store(folder) as store:
        verify_store(store)
        merge_stores(store, [tmp_path / "copy"])
    repaired(folder)
    assert keys(folder) == {record.key for record in RECORDS}
