"""Merging is the union of packs and runs; collecting garbage keeps every answer."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from cache.cli import cache as cache_cli
from cache.errors import (
    RecordError,
    RunConflict,
    StoreError,
    StoreUnavailable,
)
from cache.gc import collect_garbage
from cache.merge import merge_stores, open_sources
from cache.quarantine import quarantined
from cache.record import Outcome
from cache.run import RunHeader, RunLine
from cache.store import Store
from cache.verify import verify_store
from tests.builders import store_record, store_records, store_request
from tests.store_files import filled, rot


def write(folder: Path, *records) -> Path:
    with Store(folder, create=True) as store:
        for record in records:
            store.put(record, sync=False)
    return folder


def write_run(folder: Path, *items: str, key: str = "0", **changes) -> None:
    header = {"name": "r", "benchmark": "demo", "model": "m", "tasks": ("choice",)} | changes
    with Store(folder) as store:
        store.write_run(RunHeader(**header), [RunLine(item=item, key=key * 64) for item in items])


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def at(hour: int, answer: str, **changes):
    return store_record(answer=answer, created=f"2026-01-31T{hour:02d}:00:00.000Z", **changes)


def test_a_merge_holds_what_its_sources_hold_and_leaves_them_alone(tmp_path):
    records = store_records(6)
    a = write(tmp_path / "a", *records[:4])
    b = write(tmp_path / "b", *records[2:])
    write_run(a, "one", "two")
    write_run(b, "two", "three")
    before = snapshot(a), snapshot(b)
    with Store(tmp_path / "c", create=True) as store:
        merged = merge_stores(store, [a, b])
        assert (merged.packs, merged.conflicts, merged.other_keys) == (2, 0, 0)
        assert {r.key: r for r in store.scan()} == {r.key: r for r in records}
        assert {line.item for line in store.run("r").lines} == {"one", "two", "three"}
    assert (snapshot(a), snapshot(b)) == before


def test_merging_again_or_in_another_order_changes_nothing(tmp_path):
    a = write(tmp_path / "a", at(1, "early"), store_record("x"))
    b = write(tmp_path / "b", at(2, "late"), store_record("y"))
    stores = []
    for name, sources in (("ab", [a, b]), ("ba", [b, a]), ("aba", [a, b, a])):
        with Store(tmp_path / name, create=True) as store:
            for source in sources:
                merge_stores(store, [source])
            stores.append({r.key: r for r in store.scan()})
            assert store.get(store_record().key).response.text == "early"
            assert verify_store(store).faults == []
    assert stores[0] == stores[1] == stores[2]
    packs = [set((tmp_path / name).glob("packs/*/*")) for name in ("ab", "ba", "aba")]
    assert len({frozenset(path.name for path in found) for found in packs}) == 1


def test_two_answers_from_two_stores_are_a_conflict_that_is_kept(tmp_path):
    a, b = write(tmp_path / "a", at(1, "early")), write(tmp_path / "b", at(2, "late"))
    with Store(tmp_path / "c", create=True) as store:
        assert merge_stores(store, [b, a]).conflicts == 1
        assert [one.data for one in quarantined(store.path)] == [at(2, "late").to_line()]


def test_the_open_parts_of_a_source_are_taken_as_far_as_they_are_written(tmp_path):
    first, second = store_records(2)
    source = Store(tmp_path / "a", create=True)
    source.put(first)
    with Store(tmp_path / "b", create=True) as store:
        assert merge_stores(store, [tmp_path / "a"]).parts == 1
        assert store.missing([first.key, second.key]) == [second.key]
        source.put(second)
        merge_stores(store, [tmp_path / "a"])
        assert store.missing([first.key, second.key]) == []
        assert len(list(store.scan())) == 2
    source.close()


def test_a_damaged_source_gives_its_sound_lines_and_its_damage_is_named(tmp_path):
    records = store_records(3)
    a = write(tmp_path / "a", *records)
    (pack,) = a.glob("packs/*/*")
    pack.chmod(0o644)
    pack.write_bytes(pack.read_bytes().replace(b"answer 1", b"answer 9"))
    (a / "parts" / "dead.jsonl").write_bytes(b"torn")
    with Store(tmp_path / "b", create=True) as store:
        merge_stores(store, [a])
        assert {r.key for r in store.scan()} == {records[0].key, records[2].key}
        assert verify_store(store).faults == []
        kept = quarantined(store.path)
        assert {one.file for one in kept} == {
            f"{a}/{pack.relative_to(a)}",
            f"{a}/parts/dead.jsonl",
        }


def test_runs_of_one_name_and_two_makes_are_refused_before_anything_is_copied(tmp_path):
    a, b = write(tmp_path / "a", store_record("x")), write(tmp_path / "b", store_record("y"))
    write_run(a, "one")
    write_run(b, "one", model="another")
    with Store(tmp_path / "c", create=True) as store:
        merge_stores(store, [a])
        with pytest.raises(RunConflict, match="another"):
            merge_stores(store, [b])
        assert [r.key for r in store.scan()] == [store_record("x").key]


def test_an_item_asked_by_two_keys_keeps_ours_and_is_counted(tmp_path):
    a, b = write(tmp_path / "a"), write(tmp_path / "b")
    write_run(a, "one", "two", key="1")
    write_run(b, "two", "three", key="2")
    with Store(a) as store:
        assert merge_stores(store, [b]).other_keys == 1
        keys = {line.item: line.key[0] for line in store.run("r").lines}
        assert keys == {"one": "1", "two": "1", "three": "2"}


def test_a_store_is_not_merged_into_itself_nor_from_what_is_none(tmp_path):
    with Store(tmp_path / "a", create=True) as store:
        with pytest.raises(StoreError, match="itself"):
            merge_stores(store, [tmp_path / "a"])
        with pytest.raises(StoreUnavailable, match="holds no store"):
            merge_stores(store, [tmp_path / "nothing"])


def test_collecting_is_dry_unless_asked_otherwise(tmp_path):
    folder = write(tmp_path / "a", at(1, "early"), at(2, "late"))
    with Store(folder, read_only=True) as store:
        before = snapshot(folder)
        garbage = collect_garbage(store)
        assert garbage.lines == {"a later answer": 1}
        assert not garbage.applied
        assert snapshot(folder) == before


def test_collecting_keeps_every_answer_and_what_differed_in_quarantine(tmp_path):
    folder = tmp_path / "a"
    others = store_records(5)
    write(folder, at(1, "failed", outcome=Outcome.TIMEOUT), *others[:3])
    write(folder, at(2, "early"), *others[3:])
    write(folder, at(3, "late"), at(4, "early"), others[0])
    with Store(folder) as store:
        answers = {r.key: r for r in store.scan()}
        garbage = collect_garbage(store, apply=True)
        assert garbage.lines == {
            "a failure that was tried again": 1,
            "a later answer": 2,
            "a copy of another line": 1,
        }
        assert {r.key: r for r in store.scan()} == answers
        assert store.index.rows == len(answers)
        assert verify_store(store).faults == []
        assert collect_garbage(store).lines == {}
    assert at(3, "late").to_line() in [one.data for one in quarantined(folder)]
    assert len(list(folder.glob("packs/*/*.jsonl"))) == 1
    with Store(folder) as store:
        assert {r.key: r for r in store.scan()} == answers


def test_answers_that_no_run_names_go_only_for_the_models_asked_for(tmp_path):
    named, other, judge = (store_record(name) for name in ("named", "other", "judge"))

    judge = store_record(request=store_request(model="a-judge"))
    folder = write(tmp_path / "a", named, other, judge)
    with Store(folder) as store:
        store.write_run(
            RunHeader(name="r", benchmark="b", model="model-a", tasks=()),
            [RunLine(item="i", key=named.key)],
        )
        assert collect_garbage(store, unreferenced=["model-a"]).lines == {"no run names it": 1}
        collect_garbage(store, apply=True, unreferenced=["model-a"])
        assert {r.key for r in store.scan()} == {named.key, judge.key}


def test_what_killed_processes_left_is_collected_after_a_day(tmp_path):
    folder = write(tmp_path / "a", store_record())
    new, old = folder / "packs" / ".new.tmp", folder / "runs" / ".old.tmp"
    for path in (new, old):
        path.write_bytes(b"half")
    day_ago = old.stat().st_mtime - 25 * 3600
    os.utime(old, (day_ago, day_ago))
    with Store(folder) as store:
        assert collect_garbage(store, apply=True).files == ["runs/.old.tmp"]
    assert new.exists()
    assert not old.exists()


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
