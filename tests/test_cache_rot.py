"""Packs that rotted after they were sealed: found, passed over, left to repair."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from cache.cli import cache as cache_cli
from cache.errors import (
    UnknownKey,
)
from cache.export import export
from cache.gc import collect_garbage
from cache.ls import find_records
from cache.quarantine import quarantined
from cache.seal import adopt
from cache.store import Store
from cache.verify import repair_packs, verify_store
from tests.builders import store_record, store_records
from tests.store_files import filled, rot


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


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
            assert export(store, tmp_path / "out", form).records == 4
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
