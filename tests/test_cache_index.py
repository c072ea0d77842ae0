"""The index is no more than a help: damaged, cut off or wrong, it is found out and made anew."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from cache.record import Outcome, Response
from cache.segment import Segment
from cache.store import Store
from cache.verify import verify_store
from tests.builders import store_record, store_records
from tests.store_files import filled


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


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
    monkeypatch.setattr("cache.segment_file._MAPPED_BYTES", 1)
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
