"""Threads share one store: one call at a time goes in, the others wait."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from cache.store import Store
from tests.builders import store_record
from tests.store_files import in_child


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


def at_once(*works: Callable[[], None]) -> list[BaseException]:
    """Run each in a thread of its own; return what they raised."""
    raised: list[BaseException] = []

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


def test_threads_that_put_flush_seal_and_read_through_one_store_lose_and_mix_nothing(folder):
    names = [[f"{number}-{at}" for at in range(60)] for number in range(4)]

    with Store(folder, create=True) as store:

        def write(mine: list[str]) -> None:
            for at, name in enumerate(mine):
                record = store_record(name, name * 50)
                store.put(record, sync=at % 3 == 0)
                if at % 20 == 10:
                    store.seal()
                if at % 7 == 0:
                    store.flush()
                    assert store.get(record.key) == record
                    assert store.missing([record.key]) == []

        def read() -> None:
            for _ in range(15):
                keys = [record.key for record in store.scan()]
                assert len(keys) == len(set(keys))
                store.refresh()

        assert at_once(*[lambda mine=mine: write(mine) for mine in names], read) == []
        assert store.faults == []
    with Store(folder) as store:
        expected = {name: name * 50 for mine in names for name in mine}
        found = {one.request.messages[0].parts[1].text: one.response.text for one in store.scan()}
        assert found == expected
        assert store.faults == []


def test_a_store_may_be_closed_by_another_thread_than_the_one_that_put(folder):
    store = Store(folder, create=True)
    assert at_once(lambda: store.put(store_record("theirs"), sync=False)) == []
    store.close()
    with Store(folder) as other:
        assert other.missing([store_record("theirs").key]) == []


def test_a_child_forked_while_a_thread_is_inside_does_not_wait_for_it(folder):
    store = Store(folder, create=True)
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with store.lock:
            inside.set()
            leave.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait()

    def work() -> None:
        store.put(store_record(f"of the child {os.getpid()}"))
        store.close()

    in_child(work)
    leave.set()
    thread.join()
    store.refresh()
    assert len(list(store.scan())) == 1
