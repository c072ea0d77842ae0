"""Ctrl-C and time limits hit a writer anywhere: what was acknowledged stays, and it can go on."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

import cache.part
from cache.errors import StoreUnavailable
from cache.store import Store
from tests.builders import store_record, store_records
from tests.store_files import in_child


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


def test_a_put_that_is_interrupted_after_its_write_takes_nothing_of_the_next_with_it(
    folder, monkeypatch
):
    """A short write is taken back from where it began, wherever that is."""
    really = os.write
    first, second, third, fourth = store_records(4)
    store = Store(folder, create=True)
    store.put(first)

    def interrupted(fd: int, data: bytes) -> int:
        really(fd, data)
        raise KeyboardInterrupt

    def cut(fd: int, data: bytes) -> int:
        return really(fd, bytes(data[:40]))

    monkeypatch.setattr(cache.part.os, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.put(second)
    monkeypatch.setattr(cache.part.os, "write", really)
    store.put(third)
    monkeypatch.setattr(cache.part.os, "write", cut)
    with pytest.raises(StoreUnavailable, match="only 40 of"):
        store.put(fourth)
    monkeypatch.setattr(cache.part.os, "write", really)
    store.put(fourth)
    with Store(folder, read_only=True) as other:
        assert other.missing(record.key for record in (first, third, fourth)) == []
        assert other.faults == []
        # What was interrupted was not acknowledged; that it is there does no harm.
        assert len(list(other.scan())) == 4
    store.close()


@pytest.mark.slow
def test_a_signal_at_any_moment_leaves_a_writer_that_can_go_on(folder, tmp_path):
    Store(folder, create=True).close()
    promised = tmp_path / "promised"

    def work() -> None:
        class Limit(Exception):
            pass

        armed: list[bool] = []

        def limit(*_: object) -> None:
            if armed and time.monotonic() < end:  # then it may still be on its way
                armed.clear()
                raise Limit

        end = time.monotonic() + 4
        signal.signal(signal.SIGALRM, limit)
        store, names = Store(folder), []
        at = 0
        while time.monotonic() < end:
            try:
                armed.append(True)
                signal.setitimer(signal.ITIMER_REAL, 0.0002 * (1 + at % 37))
                while time.monotonic() < end:  # what a finalizer raises, Python throws away
                    at += 1
                    store.put(store_record(f"{at}", f"answer {at} " * 30), sync=at % 5 == 0)
                    if at % 5 == 0:
                        names.append(at)
            except Limit:
                continue
        store.close()
        promised.write_text("\n".join(map(str, names)))

    in_child(work)
    names = promised.read_text().split()
    assert names
    with Store(folder) as store:
        store.adopt()
        expected = {store_record(name).key: f"answer {name} " * 30 for name in names}
        found = store.get_many(expected)
        assert {key: record.response.text for key, record in found.items()} == expected
        assert store.faults == []
