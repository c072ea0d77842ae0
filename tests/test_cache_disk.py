"""A disk that is full, or can only be read, and the order in which things become durable."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cache.errors import (
    StoreUnavailable,
)
from cache.seal import adopt
from cache.store import Store
from cache.verify import open_for_verifying, repair_packs, verify_store
from tests.builders import store_records
from tests.store_files import fill_the_disk, filled, in_child, rot


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


def test_on_a_full_disk_verify_fails_and_repair_and_seal_say_that_they_cannot(folder):
    records = store_records(5)
    pack = filled(folder, records)
    rot(pack, b"answer 3", b"answer 9")
    (folder / "parts" / "gone.jsonl").write_bytes(records[0].to_line() + b"\ntorn\n")

    def work() -> None:
        store = Store(folder)
        fill_the_disk()
        found = verify_store(store)
        assert "quarantine: cannot be written" in str(found.faults[-1])
        with pytest.raises(StoreUnavailable, match="repair stopped"):
            repair_packs(store, found.damaged_packs)
        with pytest.raises(StoreUnavailable):
            store.adopt()

    in_child(work)
    assert pack.exists()


def test_a_store_that_can_only_be_read_is_not_repaired(folder):
    rot(filled(folder, store_records(5)), b"answer 3", b"answer 9")
    with Store(folder, read_only=True) as store:
        damaged = verify_store(store).damaged_packs
        with pytest.raises(StoreUnavailable, match="read-only"):
            repair_packs(store, damaged)
    with open_for_verifying(folder) as store:
        assert not store.read_only


def test_an_export_to_a_full_disk_leaves_the_old_file(folder, tmp_path):
    filled(folder, store_records(5))
    out = tmp_path / "out.parquet"
    out.write_text("old")

    # A process of its own: Polars' threads do not survive a fork.
    script = (
        "import sys; from pathlib import Path; from cache.errors import StoreUnavailable;"
        "from cache.export import export; from cache.store import Store;"
        "from tests.store_files import fill_the_disk;"
        "store = Store(Path(sys.argv[1]), read_only=True); fill_the_disk()\n"
        "try: export(store, Path(sys.argv[2]), 'parquet')\n"
        "except StoreUnavailable: sys.exit(3)\n"
    )
    command = [sys.executable, "-c", script, folder, out]
    assert subprocess.run(command, cwd=Path(__file__).parents[1], timeout=60).returncode == 3
    assert out.read_text() == "old"
    assert list(tmp_path.glob(".*.tmp")) == []


def named(fd: int) -> str:
    return str(Path(f"/proc/self/fd/{fd}").readlink())


def test_folders_are_durable_before_what_is_put_into_them(folder, monkeypatch):
    done: list[tuple[str, str]] = []
    really_sync, really_rename = os.fsync, Path.rename

    def sync(fd: int) -> None:
        done.append(("sync", named(fd)))
        really_sync(fd)

    def rename(path: Path, target: Path) -> Path:
        done.append(("rename", str(target)))
        return really_rename(path, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(Path, "rename", rename)
    pack = filled(folder, store_records(2))
    assert ("sync", str(folder.parent)) in done
    first_part = next(at for at, one in enumerate(done) if "/parts/" in one[1])
    assert done.index(("sync", str(folder))) < first_part
    renamed = done.index(("rename", str(pack)))
    assert done.index(("sync", str(folder / "packs"))) < renamed
    assert ("sync", str(pack.parent)) in done[renamed:]


def test_many_parts_are_sealed_with_one_look_at_each_folder(folder, monkeypatch):
    Store(folder, create=True).close()
    for number, record in enumerate(store_records(40)):
        (folder / "parts" / f"gone-{number}.jsonl").write_bytes(record.to_line() + b"\n")
    synced: list[str] = []
    really = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(named(fd)) or really(fd))
    assert len(adopt(folder)) == 40
    assert synced.count(str(folder / "parts")) == 1
    assert len(list(folder.glob("index/*.idx"))) == 1
    with Store(folder) as store:
        assert store.missing(record.key for record in store_records(40)) == []
