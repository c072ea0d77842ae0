"""The store as a table, in numbers, and as files for others."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import polars as pl
import pytest

from cache.errors import StoreError, StoreUnavailable, UnknownRun
from cache.export import export
from cache.record import Outcome, Producer, Response, Times, Usage, parse_line
from cache.run import RunHeader, RunLine
from cache.stats import store_stats
from cache.store import Store
from tests.builders import store_record, store_records, store_request

RICH = store_record(
    request=store_request("é\n\"\\", revision="r1", sample=2, settings={"outcome": "x", "a": [1]}),
    response=Response(text="line\nline \U0001f600", reasoning="hm", finish_reason="stop"),
    effective={"text": "not the answer"},
    usage=Usage(input_tokens=10, output_tokens=2**40),
    times=Times(decode_s=1, answer_s=0.5),
    producer=Producer(host="node-1", job="17_3", versions={"a": "b"}),
)  # fmt: skip
FAILED = store_record("fails", outcome=Outcome.TIMEOUT, response=Response(error="no reply in 60 s"))


@pytest.fixture
def store(tmp_path: Path):
    with Store(tmp_path / "store", create=True) as store:
        yield store


def test_a_row_holds_what_its_record_holds(store):
    store.put(RICH)
    (row,) = store.frame().to_dicts()
    assert row == {
        "key": RICH.key,
        "outcome": "ok",
        "engine": "scripted",
        "model": "model-a",
        "revision": "r1",
        "sample": 2,
        "text": "line\nline \U0001f600",
        "reasoning": "hm",
        "finish_reason": "stop",
        "error": "",
        "input_tokens": 10,
        "output_tokens": 2**40,
        "decode_s": 1.0,
        "answer_s": 0.5,
        "host": "node-1",
        "job": "17_3",
        "created": RICH.created,
    }


def test_members_that_a_line_leaves_out_have_their_defaults(store):
    store.put(FAILED)
    (row,) = store.frame().to_dicts()
    assert (row["text"], row["error"]) == ("", "no reply in 60 s")
    assert (row["sample"], row["revision"], row["host"]) == (0, "", "")
    assert (row["input_tokens"], row["decode_s"]) == (None, None)


def test_an_empty_store_is_a_table_of_no_rows(store):
    assert store.frame().height == 0
    assert "text" in store.frame().columns


def test_the_table_has_the_rows_of_a_scan_from_packs_parts_and_damaged_files(store):
    records = store_records(9)
    for record in records[:3]:
        store.put(record, sync=False)
    store.seal()
    for record in records[3:6]:
        store.put(record, sync=False)
    damaged = b"torn\n" + b"".join(record.to_line() + b"\n" for record in records[6:]) + b"half"
    (store.path / "parts" / "dead.jsonl").write_bytes(damaged)
    frame = store.frame()
    assert sorted(frame["key"]) == sorted(r.key for r in store.scan())
    assert sorted(frame["text"]) == [f"answer {number}" for number in range(9)]


def test_stats_count_keys_hits_records_and_bytes(store):
    records = store_records(3)
    for record in (*records, FAILED, RICH):
        store.put(record, sync=False)
    store.seal()
    store.put(msgspec.structs.replace(records[0], created="2026-02-01"))
    store.put(
        msgspec.structs.replace(records[1], created="2026-02-01", response=Response(text="?"))
    )
    stats = store_stats(store)
    assert (stats.keys, stats.hits, stats.records) == (5, 4, 7)
    assert (stats.surplus, stats.conflicts) == (1, 1)
    assert stats.outcomes == {"ok": 4, "timeout": 1}
    assert (stats.packs, stats.parts, stats.faults, stats.quarantined) == (1, 1, 0, 0)
    files = [*store.path.glob("packs/*/*"), *store.path.glob("parts/*")]
    assert stats.size_bytes == sum(file.stat().st_size for file in files)
    answers = [record.response.text + record.response.reasoning for record in store.scan()]
    assert stats.text_bytes == sum(len(text.encode()) for text in answers)


def test_json_lines_are_exported_as_they_are_stored(store, tmp_path):
    for record in (RICH, FAILED):
        store.put(record)
    assert export(store, tmp_path / "out.jsonl", "jsonl").records == 2
    lines = (tmp_path / "out.jsonl").read_bytes().splitlines()
    assert {parse_line(line).key for line in lines} == {RICH.key, FAILED.key}


@pytest.mark.parametrize("place", ["format.json", "packs/3f/x.jsonl", "", "../store/new/x.jsonl"])
def test_an_export_into_the_store_itself_is_refused(store, place):
    store.put(RICH)
    with pytest.raises(StoreError, match="in the store itself"):
        export(store, store.path / place, "jsonl")
    assert list(store.scan()) == [RICH]


def test_an_export_replaces_files_only_and_what_a_link_leads_to(store, tmp_path):
    """Not a device, a pipe or a folder: renaming a file over `/dev/null` would replace it."""
    store.put(RICH)
    os.mkfifo(tmp_path / "pipe")
    for what in (tmp_path / "pipe", tmp_path, Path("/dev/null")):
        with pytest.raises(StoreError, match="no regular file"):
            export(store, what, "jsonl")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "real.jsonl")
    export(store, tmp_path / "link.jsonl", "jsonl")
    assert (tmp_path / "link.jsonl").is_symlink()
    assert parse_line((tmp_path / "real.jsonl").read_bytes().removesuffix(b"\n")) == RICH


def test_a_parquet_table_holds_the_request_word_for_word(store, tmp_path):
    store.put(RICH)
    assert export(store, tmp_path / "out.parquet", "parquet").records == 1
    (row,) = pl.read_parquet(tmp_path / "out.parquet").to_dicts()
    assert msgspec.json.decode(row["request"], type=type(RICH.request)) == RICH.request
    assert row["text"] == RICH.response.text


def test_a_run_is_exported_item_by_item(store, tmp_path):
    records = store_records(3)
    for record in records:
        store.put(record)
    lines = [
        RunLine(item="b", key=records[1].key),
        RunLine(item="a", key=records[0].key),
        RunLine(item="a2", key=records[0].key),
        RunLine(item="never answered", key="0" * 64),
    ]
    store.write_run(RunHeader(name="r", benchmark="x", model="m", tasks=()), lines)
    assert export(store, tmp_path / "r.parquet", "parquet", run="r").records == 3
    frame = pl.read_parquet(tmp_path / "r.parquet")
    assert list(zip(frame["item"], frame["text"], strict=True)) == [
        ("b", "answer 1"),
        ("a", "answer 0"),
        ("a2", "answer 0"),
    ]
    assert export(store, tmp_path / "r.jsonl", "jsonl", run="r").records == 2
    with pytest.raises(UnknownRun):
        export(store, tmp_path / "x.parquet", "parquet", run="nope")


def test_an_export_that_cannot_be_written_says_so(store, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnavailable, match="cannot be written"):
        export(store, tmp_path / "file" / "out.jsonl", "jsonl")
