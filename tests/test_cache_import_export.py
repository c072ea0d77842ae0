"""What was exported as JSON lines is taken in again as it was: every byte, every run."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from cache.cli import cache as cache_cli
from cache.errors import ImportFault, RunConflict
from cache.export import export
from cache.imports.read import plan_import
from cache.quarantine import quarantined
from cache.record import Outcome, Response
from cache.run import Run, RunHeader, RunLine
from cache.store import Store
from cache.verify import verify_store
from tests.builders import store_record, store_records

RECORDS = store_records(9)
FAILED = store_record("fails", outcome=Outcome.TIMEOUT, response=Response(error="no reply"))
HEADER = RunHeader(name="a/b +é", benchmark="b", model="m", tasks=("x",), settings={"n": [1, 2.5]})


@pytest.fixture
def source(tmp_path: Path):
    with Store(tmp_path / "source", create=True) as store:
        for record in (*RECORDS[:5], FAILED):
            store.put(record)
        store.seal()
        for record in RECORDS[5:]:
            store.put(record)
        store.write_run(HEADER, [RunLine(item="1", key=RECORDS[0].key)])
        store.write_run(HEADER, [RunLine(item="2", key=RECORDS[1].key, sample=3)])
        second = RunHeader(name="second", benchmark="b", model="m", tasks=())
        store.write_run(second, [RunLine(item="1", key=RECORDS[8].key)])
        yield store


def state(store: Store) -> tuple[dict[str, bytes], list[Run]]:
    """Each key's line, and every run."""
    store.refresh()
    lines = {found.record.key: found.line for found in store.scan_found()}
    return lines, [store.run(name) for name in store.runs()]


def take(store: Store, out: Path):
    return plan_import(out, "rejudge")(store)


def test_records_and_runs_come_back_byte_for_byte(source, tmp_path):
    out = tmp_path / "answers.jsonl"
    written = export(source, out, "jsonl")
    assert (written.records, written.runs) == (10, 2)
    with Store(tmp_path / "new", create=True) as new:
        found = take(new, out)
        assert (found.answers, found.failures, found.runs) == (9, 1, ["a/b +é", "second"])
        assert state(new) == state(source)
        assert verify_store(new).faults == []
        export(new, tmp_path / "again.jsonl", "jsonl")
    assert sorted((tmp_path / "again.jsonl").read_bytes().splitlines()) == sorted(
        out.read_bytes().splitlines()
    )
    assert (tmp_path / "again.runs.jsonl").read_bytes() == (
        tmp_path / "answers.runs.jsonl"
    ).read_bytes()


def test_taking_in_again_or_what_overlaps_stores_only_what_is_new(source, tmp_path):
    export(source, tmp_path / "all.jsonl", "jsonl")
    export(source, tmp_path / "one.jsonl", "jsonl", run="second")
    with Store(tmp_path / "new", create=True) as new:
        assert take(new, tmp_path / "one.jsonl").answers == 1
        assert new.runs() == ["second"]
        found = take(new, tmp_path / "all.jsonl")
        assert (found.answers, found.already_stored) == (8, 1)
        files = {path for path in new.path.rglob("*") if path.is_file()}
        found = take(new, tmp_path / "all.jsonl")
        assert (found.answers, found.failures, found.already_stored) == (0, 0, 10)
        assert {path for path in new.path.rglob("*") if path.is_file()} == files
        assert new.index.rows == 10


def test_a_second_answer_is_a_conflict_and_the_one_created_first_stays(source, tmp_path):
    export(source, tmp_path / "all.jsonl", "jsonl")
    other = msgspec.structs.replace(
        RECORDS[0], created="2020-01-01T00:00:00.000Z", response=Response(text="earlier")
    )
    with Store(tmp_path / "new", create=True) as new:
        new.put(other)
        assert take(new, tmp_path / "all.jsonl").conflicts == 1
        assert new.get(other.key) == other
        assert RECORDS[0].key in quarantined(new.path)[0].text


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: data.replace(b"answer 3", b"answer 9"), r"line \d+: .*digest"),
        (lambda data: data[:-100], "line 10: .*cut off"),
        (lambda data: b'{"key":"ab\n' + data, "line 1: "),
        (lambda data: data.replace(b"\n", b"", 1), "line 1: "),
        (lambda data: b"\n" + data, "line 1: "),
        (lambda data: b"\xef\xbb\xbf" + data, "line 1: "),
    ],
)
def test_a_line_that_does_not_verify_is_named_and_nothing_is_stored(
    source, tmp_path, damage, message
):
    out = tmp_path / "answers.jsonl"
    export(source, out, "jsonl")
    out.write_bytes(damage(out.read_bytes()))
    with pytest.raises(ImportFault, match=message):
        plan_import(out, "rejudge")


@pytest.mark.parametrize("size", [0, 1, 200, -1, -30])
def test_runs_that_were_cut_off_are_refused(source, tmp_path, size):
    out = tmp_path / "answers.jsonl"
    export(source, out, "jsonl", run="second")
    runs = tmp_path / "answers.runs.jsonl"
    data = runs.read_bytes()[:size]
    runs.write_bytes(data)
    if data:
        with pytest.raises(ImportFault, match=r"answers\.runs\.jsonl"):
            plan_import(out, "rejudge")
    else:  # as an export of a store without runs leaves it
        with Store(tmp_path / "new", create=True) as new:
            assert take(new, out).runs == []


def test_a_run_that_was_made_otherwise_is_refused_before_anything_is_stored(source, tmp_path):
    export(source, tmp_path / "all.jsonl", "jsonl")
    with Store(tmp_path / "new", create=True) as new:
        new.write_run(RunHeader(name="second", benchmark="b", model="other", tasks=()), [])
        with pytest.raises(RunConflict, match="Choose another run name"):
            take(new, tmp_path / "all.jsonl")
        assert list(new.scan()) == []


def test_the_runs_of_an_earlier_export_are_not_taken_for_those_of_a_later(source, tmp_path):
    out = tmp_path / "answers.jsonl"
    export(source, out, "jsonl")
    with Store(tmp_path / "other", create=True) as other:
        other.put(RECORDS[0])
        export(other, out, "jsonl")
    with Store(tmp_path / "new", create=True) as new:
        assert take(new, out).runs == []


def test_what_is_no_export_is_answered_with_what_to_do(source, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ImportFault, match="holds no export"):
        plan_import(tmp_path / "empty", "rejudge")
    with pytest.raises(ImportFault, match="rejudge cache merge"):
        plan_import(source.path, "rejudge")
    with pytest.raises(ImportFault, match="--run and --model are not for rejudge"):
        plan_import(tmp_path, "rejudge", run="x")


def test_the_commands_say_what_they_wrote_and_took(source, tmp_path):
    def call(*arguments: object) -> dict:
        result = CliRunner().invoke(cache_cli, [*map(str, arguments), "--json"])
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    out = tmp_path / "answers.jsonl"
    shown = call("export", "--store", source.path, "--format", "jsonl", "--out", out)
    runs_out = str(tmp_path / "answers.runs.jsonl")
    assert shown == {
        "out": str(out), "records": 10, "runs_out": runs_out, "runs": 2, "left_out": 0,
        "faults": 0,
    }  # fmt: skip
    shown = call("import", out, "--format", "rejudge", "--store", tmp_path / "new")
    assert (shown["answers"], shown["failures"], shown["runs"]) == (9, 1, ["a/b +é", "second"])
