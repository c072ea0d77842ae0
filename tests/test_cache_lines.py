"""Finding lines with NumPy gives what reading them one by one gives."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cache.lines
from cache.keys import key_numbers, key_texts
from cache.lines import Check, Lines, Position, read_lines
from cache.record import Outcome, parse_line
from cache.segment import Segment
from cache.segment_file import Stamp
from tests.builders import store_record, store_records


def read(data: bytes, check: Check = Check.DIGEST, **how) -> Lines:
    return read_lines(io.BytesIO(data), "parts/x.jsonl", check, **how)[0]


def keys(lines: Lines) -> list[str]:
    return key_texts(lines.keys)


@given(st.lists(st.sampled_from(Outcome), max_size=8), st.sampled_from(Check))
def test_key_place_and_hit_of_every_line_are_found(outcomes, check):
    records = [
        store_record(f"question {number}", "é" * number, outcome=outcome)
        for number, outcome in enumerate(outcomes)
    ]
    data = b"".join(record.to_line() + b"\n" for record in records)
    found = read(data, check)
    assert keys(found) == [record.key for record in records]
    assert found.hits.tolist() == [record.outcome.is_hit for record in records]
    for record, offset, length in zip(records, found.offsets, found.lengths, strict=True):
        assert parse_line(data[int(offset) : int(offset) + int(length)]) == record
    assert found.faults == ()


@pytest.mark.parametrize("block", [1, 7, 100, 700, 5000])
def test_blocks_of_any_size_give_the_same(block, monkeypatch):
    records = store_records(9)
    data = b"\n".join(record.to_line() for record in records[:5]) + b"\ntorn\n\n"
    data += b"\n".join(record.to_line() for record in records[5:]) + b"\nrest"
    whole = read(data)
    monkeypatch.setattr(cache.lines, "BLOCK", block)
    found = read(data)
    assert keys(found) == keys(whole) == [record.key for record in records]
    assert found.offsets.tolist() == whole.offsets.tolist()
    assert found.faults == whole.faults
    assert [(fault.line, fault.data) for fault in found.faults] == [(6, b"torn"), (12, b"rest")]


def test_reading_goes_on_where_it_stopped_and_leaves_an_unfinished_line(monkeypatch):
    first, second = store_records(2)
    data = first.to_line() + b"\n" + second.to_line() + b"\n"
    cut = len(first.to_line()) + 50
    found, position = read_lines(io.BytesIO(data[:cut]), "x", Check.DIGEST, final=False)
    assert keys(found) == [first.key]
    assert position == Position(len(first.to_line()) + 1, 2)
    found, position = read_lines(io.BytesIO(data), "x", Check.DIGEST, start=position, final=False)
    assert keys(found) == [second.key]
    assert found.offsets.tolist() == [len(first.to_line()) + 1]
    assert position == Position(len(data), 3)


def test_upper_case_keys_and_unknown_outcomes_are_no_records():
    record = store_record()
    for line in (
        record.to_line().replace(record.key.encode(), record.key.upper().encode()),
        record.to_line().replace(b'"ok"', b'"OK"'),
    ):
        found = read(line + b"\n", Check.SHAPE)
        assert keys(found) == []
        assert len(found.faults) == 1


@given(st.lists(st.binary(min_size=32, max_size=32)))
def test_keys_become_numbers_and_texts_again(octets):
    texts = [one.hex() for one in octets]
    assert key_texts(key_numbers(texts)) == texts


def segment_of(rows: list[tuple[str, bool]], name: str) -> Segment:
    lines = Lines(
        key_numbers([key for key, _ in rows]),
        np.arange(len(rows), dtype=np.uint64) * 100,
        np.full(len(rows), 50, np.uint32),
        np.array([hit for _, hit in rows], np.bool_),
    )
    return Segment.of_lines([(Stamp(name, 1, 2), lines)])


# Few first bytes, so that keys share their first eight and the rest decides.
some_keys = st.tuples(st.sampled_from("01"), st.sampled_from("ab")).map(
    lambda pair: pair[0] * 16 + pair[1] * 48
)
some_rows = st.lists(st.tuples(some_keys, st.booleans()), max_size=6)


@given(st.lists(some_rows, min_size=1, max_size=4), st.lists(some_keys, max_size=5), st.booleans())
def test_segments_joined_stored_and_loaded_find_every_row(tmp_path_factory, groups, asked, store):
    folder = tmp_path_factory.mktemp("index") if store else None
    segments = [segment_of(rows, f"packs/{at}.jsonl") for at, rows in enumerate(groups)]
    joined = Segment.merge(segments, folder)
    expected = sorted(
        (key, f"packs/{at}.jsonl", row * 100, 50, hit)
        for at, rows in enumerate(groups)
        for row, (key, hit) in enumerate(rows)
        for wanted in asked
        if wanted == key
    )
    which, rows = joined.find(key_numbers(asked))
    found = sorted(
        (asked[number], *place, hit)
        for number, place, hit in zip(
            which.tolist(), joined.places(rows), joined.hits(rows).tolist(), strict=True
        )
    )
    assert found == expected
    assert key_texts(joined.keys(rows)) == [asked[number] for number in which.tolist()]


@given(st.lists(some_rows, min_size=2, max_size=4), st.data())
def test_a_file_can_be_left_out_of_a_segment(groups, data):
    segments = [segment_of(rows, f"packs/{at}.jsonl") for at, rows in enumerate(groups)]
    gone = data.draw(st.sets(st.integers(0, len(groups) - 1)))
    joined = Segment.merge(segments, None, without={f"packs/{at}.jsonl" for at in gone})
    every = np.arange(len(joined))
    found = sorted(
        (key, *place)
        for key, place in zip(key_texts(joined.keys(every)), joined.places(every), strict=True)
    )
    assert found == sorted(
        (key, f"packs/{at}.jsonl", row * 100, 50)
        for at, rows in enumerate(groups)
        if at not in gone
        for row, (key, _) in enumerate(rows)
    )
    assert [stamp.name for stamp in joined.files] == [
        f"packs/{at}.jsonl" for at in range(len(groups)) if at not in gone
    ]
