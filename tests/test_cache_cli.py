"""``rejudge cache``: every command on a real store, for people and for machines."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import click
import polars as pl
import pytest
from click.testing import CliRunner

from cache.cli import cache
from cache.errors import StoreUnavailable, UnknownKey, UnknownRun
from cache.record import Outcome, Response
from cache.run import RunHeader, RunLine
from cache.store import Store
from tests.builders import store_record, store_records

RECORDS = store_records(20)
FAILED = store_record("fails", outcome=Outcome.TIMEOUT, response=Response(error="no reply in 60 s"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    with Store(folder, create=True) as store:
        for record in (*RECORDS, FAILED):
            store.put(record, sync=False)
        store.write_run(
            RunHeader(name="first", benchmark="demo", model="model-a", tasks=("choice",)),
            [RunLine(item=f"item/{at}", key=record.key) for at, record in enumerate(RECORDS[:3])],
        )
    return folder


def call(*arguments: object, code: int = 0) -> str:
    result = CliRunner().invoke(cache, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result.stdout


def call_json(*arguments: object, code: int = 0) -> dict:
    return json.loads(call(*arguments, "--json", code=code))


def test_every_command_has_help_with_an_example():
    for name, command in cache.commands.items():
        assert f"Example: rejudge cache {name}" in command.help
        assert f"Usage: cache {name}" in call(name, "--help")
        for parameter in command.params:
            is_option = isinstance(parameter, click.Option)
            assert not is_option or parameter.help, f"{name} {parameter.name}"


def test_stats_count_and_name(folder):
    text = call("stats", "--store", folder)
    assert "21 request(s), 20 answered for good; 21 record(s)" in text
    assert "1 run(s): first" in text
    found = call_json("stats", "--store", folder)
    assert found["outcomes"] == {"ok": 20, "timeout": 1}
    assert found["packs"] == 1


def test_ls_lists_what_is_asked_for(folder):
    assert "no reply in 60 s" in call("ls", "--store", folder, "--outcome", "timeout")
    assert "… 16 more" in call("ls", "--store", folder, "--limit", 5)
    assert call_json("ls", "--store", folder, "--run", "first")["total"] == 3
    assert call_json("ls", "--store", folder, "--model", "other") == {"total": 0, "records": []}
    assert len(call_json("ls", "--store", folder, "--limit", 0)["records"]) == 21
    with pytest.raises(UnknownRun, match="there are: first"):
        call("ls", "--store", folder, "--run", "second")
    with pytest.raises(UnknownKey, match="context_overflow"):
        call("ls", "--store", folder, "--outcome", "bad")


def test_cat_prints_the_record_whose_key_starts_so(folder):
    text = call("cat", RECORDS[3].key[:10], "--store", folder)
    assert RECORDS[3].key in text
    assert "question 3" in text
    assert text.rstrip().endswith("answer 3")
    (found,) = call_json("cat", RECORDS[3].key, "--store", folder)["records"]
    assert found["response"]["text"] == "answer 3"


def test_cat_lists_the_keys_where_several_start_so(folder):
    first = sorted(record.key for record in (*RECORDS, FAILED))
    digit = next(a[0] for a, b in itertools.pairwise(first) if a[0] == b[0])
    with pytest.raises(UnknownKey) as caught:
        call("cat", digit, "--store", folder)
    assert all(key in str(caught.value) for key in first if key.startswith(digit))
    with pytest.raises(UnknownKey, match="no key"):
        call("cat", "0" * 64, "--store", folder)
    with pytest.raises(UnknownKey, match="no beginning of a key"):
        call("cat", "question", "--store", folder)


def test_cat_shows_no_control_characters_of_a_model(folder):
    with Store(folder) as store:
        record = store_record("evil", "\x1b[2J\x07gone")
        store.put(record)
    assert "\x1b" not in call("cat", record.key, "--store", folder)
    assert "\x1b" not in call("ls", "--store", folder, "--limit", 0)


def test_cat_all_shows_every_record_under_the_key(folder):
    late = store_record("question 0", "another answer", created="2027-01-01T00:00:00.000Z")
    with Store(folder) as store:
        store.put(late)
    found = call_json("cat", late.key, "--store", folder, "--all")["records"]
    assert [record["response"]["text"] for record in found] == ["answer 0", "another answer"]


def test_verify_exits_1_and_names_file_and_line(folder):
    assert "all verified" in call("verify", "--store", folder)
    (pack,) = folder.glob("packs/*/*")
    pack.chmod(0o644)
    pack.write_bytes(pack.read_bytes().replace(b"answer 7", b"answer 8"))
    text = call("verify", "--store", folder, code=1)
    assert f"FAULT     {pack.relative_to(folder)} line 8: the digest does not match" in text
    found = call_json("verify", "--store", folder, code=1)
    assert [fault["line"] for fault in found["faults"]] == [0, 8]
    call("verify", "--store", folder, "--repair", code=1)
    assert "earlier" in call("verify", "--store", folder)


def test_seal_adopts_the_parts_of_the_dead(folder):
    (folder / "parts" / "dead.jsonl").write_bytes(store_record("new").to_line() + b"\n")
    assert "1 part(s) sealed" in call("seal", "--store", folder)
    assert call_json("seal", "--store", folder) == {"packs": [], "conflicts": 0}


def test_merge_makes_the_store_where_there_is_none(folder, tmp_path):
    text = call("merge", folder, "--store", tmp_path / "all")
    assert text.startswith("1 pack(s) and 0 part(s) copied, 1 run(s)")
    assert call_json("merge", folder, "--store", tmp_path / "all")["packs"] == 0


def test_gc_says_what_would_go_before_it_goes(folder):
    with Store(folder) as store:
        store.put(store_record("question 0", created="2027-01-01T00:00:00.000Z"))
    assert "1 line(s)" in call("gc", "--store", folder)
    assert "can go" in call("gc", "--store", folder)
    assert "removed" in call("gc", "--store", folder, "--apply")
    assert "0 line(s)" in call("gc", "--store", folder)


def test_export_writes_a_table_or_lines(folder, tmp_path):
    out = tmp_path / "answers.parquet"
    assert call("export", "--store", folder, "--out", out) == f"21 record(s) → {out}\n"
    assert pl.read_parquet(out).height == 21
    lines = tmp_path / "answers.jsonl"
    arguments = ("export", "--store", folder, "--out", lines, "--format", "jsonl", "--run", "first")
    assert call_json(*arguments)["records"] == 3
    assert lines.read_bytes().count(b"\n") == 3


def test_import_makes_a_run(tmp_path):
    (tmp_path / "model-x.csv").write_text("video_name,output_text\na-seg1,Hello.\n")
    store = tmp_path / "new"
    text = call("import", tmp_path / "model-x.csv", "--format", "omniassist", "--store", store)
    assert text == ("1 answer(s) and 0 failure(s) imported, 0 already stored; run(s): model-x\n")
    found = call_json("ls", "--store", store, "--run", "model-x")
    assert [record["text"] for record in found["records"]] == ["Hello."]


def test_a_folder_that_is_no_store_is_not_made_one_by_looking(tmp_path):
    for command in ("stats", "ls", "verify", "seal", "gc"):
        with pytest.raises(StoreUnavailable, match="holds no store"):
            call(command, "--store", tmp_path / "none")
    assert not (tmp_path / "none").exists()
