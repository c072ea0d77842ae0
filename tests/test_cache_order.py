"""Two answers under one key: the first stays for every reader, the second is kept and counted."""

from __future__ import annotations

import itertools
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cache.conflict import find_surplus, keep_conflicts
from cache.order import Found, answer, in_order, surplus
from cache.quarantine import quarantined
from cache.record import Outcome, Response
from cache.seal import adopt
from cache.store import Store
from tests.builders import store_record


def at(hour: int, answer: str = "A man.", **changes) -> msgspec.Struct:
    return store_record(answer=answer, created=f"2026-01-31T{hour:02d}:00:00.000Z", **changes)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


def write(folder: Path, *records) -> None:
    with Store(folder, create=True) as store:
        for record in records:
            store.put(record, sync=False)


def test_of_two_writers_answers_the_one_created_first_stays_whoever_sealed_first(folder):
    """The same shard run twice, overlapping in time."""
    early, late = at(1, "early"), at(2, "late")
    write(folder, late)
    write(folder, early)
    with Store(folder) as store:
        assert store.get(early.key) == early
        assert [record.response.text for record in store.scan()] == ["early"]
        assert store.frame()["text"].to_list() == ["early"]
        same, otherwise = find_surplus(store)
        assert (len(same), [one.record for one in otherwise]) == (0, [late])


def test_the_later_answer_is_kept_in_quarantine_with_where_it_came_from(folder):
    early, late = at(1, "early"), at(2, "late")
    write(folder, store_record("another"), late)
    write(folder, early)
    with Store(folder) as store:
        for _ in range(2):
            keep_conflicts(store)
    (kept,) = quarantined(folder)
    assert kept.data == late.to_line()
    assert kept.line == 2
    assert kept.file.startswith("packs/")


def test_the_same_answer_twice_is_surplus_but_no_conflict(folder):
    write(folder, at(1), at(2))
    with Store(folder) as store:
        same, otherwise = find_surplus(store)
        assert (len(same), len(otherwise)) == (1, 0)
        assert store.index.counts() == (1, 1)


def test_a_failure_beside_a_hit_is_neither(folder):
    write(folder, at(1, outcome=Outcome.TIMEOUT), at(2), at(3, outcome=Outcome.INFRA_ERROR))
    with Store(folder) as store:
        assert find_surplus(store) == ([], [])


def test_two_puts_in_one_millisecond_keep_their_order_through_sealing(folder):
    for first, second in itertools.permutations(["one", "two", "three"], 2):
        here = folder / f"{first}-{second}"
        with Store(here, create=True) as store:
            store.put(store_record(answer=first))
            store.put(store_record(answer=second))
            assert store.get(store_record().key).response.text == first
        with Store(here) as store:
            assert store.get(store_record().key).response.text == first


def test_copies_of_one_line_in_several_files_are_one_record(folder):
    record = store_record()
    write(folder, record)
    (folder / "parts" / "copy.jsonl").write_bytes(record.to_line() + b"\n")
    with Store(folder) as store:
        assert len(store.find([record.key])[record.key]) == 2
        assert list(store.scan()) == [record]
        assert store.frame().height == 1
        assert find_surplus(store) == ([], [])


one_found = st.builds(
    lambda file, created, text, outcome: (
        file,
        store_record(
            answer=text,
            created=f"2026-01-31T0{created}:00:00.000Z",
            outcome=outcome,
            response=Response(text=text),
        ),
    ),
    st.sampled_from(["parts/a", "parts/b", "packs/c"]),
    st.integers(0, 2),
    st.sampled_from(["x", "y", "z"]),
    st.sampled_from([Outcome.OK, Outcome.TIMEOUT, Outcome.REFUSED]),
)


def placed(pairs) -> list[Found]:
    return [
        Found(file, offset, record.to_line(), record) for offset, (file, record) in enumerate(pairs)
    ]


@given(st.lists(one_found, min_size=1, max_size=6), st.randoms())
def test_the_answer_depends_neither_on_the_order_of_reading_nor_on_names(pairs, random):
    found = placed(pairs)
    shuffled = found[:]
    random.shuffle(shuffled)
    renamed = {"parts/a": "packs/z", "parts/b": "packs/0", "packs/c": "packs/m"}
    moved = [Found(renamed[one.file], one.offset, one.line, one.record) for one in shuffled]
    assert answer(shuffled).line == answer(found).line == answer(moved).line
    assert [one.line for one in in_order(shuffled)] == [one.line for one in in_order(moved)]


@given(st.lists(one_found, min_size=1, max_size=6))
def test_no_answer_is_lost_between_first_same_and_other(pairs):
    found = placed(pairs)
    same, otherwise = surplus(found)
    hits = {one.line for one in found if one.record.outcome.is_hit}
    counted = [one.line for one in (*same, *otherwise)]
    assert len(counted) == len(set(counted)) == max(len(hits) - 1, 0)
    if hits:
        assert answer(found).line in hits
        assert answer(found).line not in counted


def test_adopting_changes_no_answer(folder):
    early, late = at(1, "early"), at(2, "late")
    Store(folder, create=True).close()
    for name, record in (("b", early), ("a", late)):
        (folder / "parts" / f"{name}.jsonl").write_bytes(record.to_line() + b"\n")
    with Store(folder) as store:
        assert store.get(early.key) == early
        adopt(folder)
        assert store.get(early.key) == early
        store.refresh()
        assert store.get(early.key) == early
