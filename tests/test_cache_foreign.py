"""A store that people, copies and permissions have been at: nothing is silently taken for empty."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from cache.cli import cache as cache_cli
from cache.errors import RecordError, StoreError, StoreUnavailable
from cache.record import Record
from cache.run import RunHeader, RunLine
from cache.store import Store
from cache.verify import Verification, verify_store
from tests.builders import store_record, store_records
from tests.store_files import filled, in_child

NOBODY = 65534
RECORDS = store_records(4)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A store with a pack, a run and a quarantine, where another user can reach it."""
    above = Path(tempfile.mkdtemp(prefix="rejudge-test-"))
    above.chmod(0o755)
    filled(above / "store", RECORDS)
    with Store(above / "store") as store:
        lines = [RunLine(item=str(at), key=record.key) for at, record in enumerate(RECORDS)]
        store.write_run(RunHeader(name="r", benchmark="b", model="m", tasks=("choice",)), lines)
    yield above / "store"
    shutil.rmtree(above)


def verified(folder: Path) -> Verification:
    with Store(folder, read_only=True) as store:
        return verify_store(store)


def without_permission(path: Path, work) -> None:
    """Run ``work`` in a child that may not read ``path``."""

    def child() -> None:
        if os.geteuid() == 0:  # permissions do not bind root
            os.setresuid(NOBODY, NOBODY, NOBODY)
        work()

    mode = path.stat().st_mode
    path.chmod(0)
    try:
        in_child(child)
    finally:
        path.chmod(mode)


@pytest.mark.parametrize("name", ["parts", "packs"])
def test_a_folder_that_cannot_be_read_is_not_an_empty_one(folder, name):
    def work() -> None:
        with pytest.raises(StoreUnavailable, match=f"Permission denied.*{name}"):
            Store(folder, read_only=True)

    without_permission(folder / name, work)


def test_runs_that_cannot_be_read_are_not_none(folder):
    def work() -> None:
        store = Store(folder, read_only=True)
        for ask in (store.runs, lambda: store.run("r"), lambda: verify_store(store)):
            with pytest.raises(StoreUnavailable, match="runs"):
                ask()

    without_permission(folder / "runs", work)


def test_an_index_that_cannot_be_read_costs_time_only(folder):
    def work() -> None:
        assert Store(folder, read_only=True).missing(record.key for record in RECORDS) == []

    without_permission(folder / "index", work)
    for file in folder.glob("index/*"):
        without_permission(file, work)


@pytest.mark.parametrize("kind", ["packs/*/*", "runs/*", "quarantine/*"])
def test_verify_reports_a_file_that_cannot_be_read_and_goes_on(folder, kind):
    (folder / "quarantine" / "a-0123456789abcdef.jsonl").write_text("")
    (file,) = folder.glob(kind)

    def work() -> None:
        found = verified(folder)
        reasons = {fault.file: fault.reason for fault in found.faults}
        assert reasons[str(file.relative_to(folder))] == "cannot be read: Permission denied"
        assert found.damaged_packs == []
        if kind == "runs/*":
            with pytest.raises(StoreUnavailable, match="run 'r' cannot be read"):
                Store(folder, read_only=True).run("r")

    without_permission(file, work)


def moved(file: Path, folder: Path, name: str) -> str:
    """Move a file of the store; return where it is to be named."""
    (folder / name).parent.mkdir(exist_ok=True)
    file.rename(folder / name)
    return name


@pytest.mark.parametrize(
    ("put", "reason"),
    [
        (lambda pack, folder: moved(pack, folder, f"packs/{pack.name}"), "no reader looks here"),
        (lambda pack, folder: moved(pack, folder, f"{pack.relative_to(folder)}~"), "no reader"),
        (lambda pack, folder: moved(pack, folder, "parts/copy.jsonl.gz"), "no reader looks here"),
        (lambda pack, folder: moved(pack, folder, "packs/3f/\udcff.jsonl"), "no reader looks here"),
        (lambda pack, folder: linked(pack, folder, "/nothing/here"), "a link to nothing"),
        (lambda pack, folder: linked(pack, folder, pack.name), "a link to nothing"),
    ],
)
def test_a_pack_that_no_reader_looks_at_is_named_and_so_are_the_requests_it_answered(
    folder, put, reason
):
    (pack,) = folder.glob("packs/*/*.jsonl")
    name = put(pack, folder)
    found = verified(folder)
    ((file, why),) = [(fault.file, fault.reason) for fault in found.faults]
    assert (file, found.unanswered) == (name, len(RECORDS))
    assert reason in why
    assert found.damaged_packs == []


def linked(pack: Path, folder: Path, to: str) -> str:
    pack.unlink()
    pack.symlink_to(to)
    return str(pack.relative_to(folder))


def test_a_pack_may_be_a_link_to_a_file_elsewhere(folder):
    (pack,) = folder.glob("packs/*/*.jsonl")
    elsewhere = folder.parent / "elsewhere"
    pack.rename(elsewhere)
    pack.symlink_to(elsewhere)
    assert verified(folder).faults == []
    assert verified(folder).unanswered == 0


def test_folders_and_pipes_among_the_files_are_reported_and_stop_nobody(folder):
    (pack,) = folder.glob("packs/*/*.jsonl")
    for name in (f"{pack.parent.relative_to(folder)}/a.jsonl", "parts/b.jsonl", "runs/c.jsonl"):
        os.mkfifo(folder / name)
    (folder / "parts" / "d.jsonl").mkdir()
    with Store(folder) as store:
        assert len(list(store.scan())) == len(store.frame()) == len(RECORDS)
        assert store.runs() == ["r"]
        store.adopt()
    assert {Path(fault.file).name for fault in verified(folder).faults} == {
        "a.jsonl", "b.jsonl", "c.jsonl", "d.jsonl"
    }  # fmt: skip


def test_a_run_under_another_runs_name_is_refused_and_named(folder):
    shutil.copy(folder / "runs" / "r.jsonl", folder / "runs" / "other.jsonl")
    with Store(folder) as store, pytest.raises(RecordError, match=r"holds run 'r'.*r\.jsonl"):
        store.run("other")
    assert [fault.file for fault in verified(folder).faults] == ["runs/other.jsonl"]


@pytest.mark.parametrize(
    "name", [b"b\xff.jsonl", b"e\x1b[31m.jsonl", b"a+b.jsonl", b"\xc3\xbc.jsonl"]
)
def test_a_name_that_no_run_has_is_no_run(folder, name):
    shutil.copy(folder / "runs" / "r.jsonl", os.fsencode(folder / "runs") + b"/" + name)
    with Store(folder) as store:
        assert store.runs() == ["r"]
    assert len(verified(folder).faults) == 1


def test_a_name_with_a_lone_surrogate_cannot_name_a_run(folder):
    with Store(folder) as store, pytest.raises(StoreError, match="cannot name a run"):
        store.run("b\udcff")


def test_names_and_reasons_are_printed_without_control_characters(folder):
    name = os.fsencode(folder / "parts") + b"/p\x1b[31m\xff.jsonl"
    Path(os.fsdecode(name)).write_bytes(b'{"key":"\x1b]0;title\n')
    for arguments in ([], ["--json"]):
        result = CliRunner().invoke(cache_cli, ["verify", "--store", str(folder), *arguments])
        assert result.exit_code == 1
        assert "\x1b" not in result.output
        result.stdout.encode()
    with Store(folder) as store:
        store.adopt()  # the quarantine's lines are UTF-8, whatever the file is called
    assert "parts/p" in next(iter(folder.glob("quarantine/p*"))).read_text(encoding="utf-8")


def test_verify_looks_at_the_lines_of_open_parts_as_closely_as_at_those_of_packs(folder):
    """A line whose digest is right may still stand under the key of another request."""
    fields = {name: getattr(RECORDS[0], name) for name in RECORDS[0].__struct_fields__}
    wrong = Record(**(fields | {"key": "0" * 64}))
    (folder / "parts" / "gone.jsonl").write_bytes(wrong.to_line() + b"\n")
    (fault,) = verified(folder).faults
    assert (fault.file, fault.line) == ("parts/gone.jsonl", 1)
    assert "does not belong" in fault.reason


def test_files_of_a_store_have_no_more_permissions_than_the_umask_leaves(folder):
    new = folder.parent / "new"

    def work() -> None:
        os.umask(0o077)
        with Store(new, create=True) as store:
            store.put(store_record())
            store.write_run(RunHeader(name="r", benchmark="b", model="m", tasks=()), [])
        files = [path for path in new.rglob("*") if path.is_file()]
        assert len(files) == 4
        assert [path for path in files if path.stat().st_mode & 0o077] == []
        assert [path.stat().st_mode & 0o777 for path in new.glob("packs/*/*")] == [0o400]

    in_child(work)
