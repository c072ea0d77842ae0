"""Any interleaving of puts, kills, seals, merges and collections yields what was acknowledged."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from cache.gc import collect_garbage
from cache.merge import merge_stores
from cache.record import Outcome, Record, Response
from cache.seal import adopt
from cache.store import Store
from cache.verify import verify_store
from tests.builders import store_record

WRITERS = st.integers(0, 2)
FOLDERS = st.integers(0, 1)


class Union(RuleBasedStateMachine):
    """Two stores, three writers in each, and a model: the records that were acknowledged."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="rejudge-union-"))
        self.folders = [self.root / "a", self.root / "b"]
        self.writers: dict[tuple[int, int], Store] = {}
        self.waiting: dict[tuple[int, int], list[Record]] = defaultdict(list)
        self.acknowledged: list[list[Record]] = [[], []]
        self.damage = 0
        self.clock = 0
        for folder in self.folders:
            Store(folder, create=True).close()

    def teardown(self) -> None:
        for writer in self.writers.values():
            writer.close()
        shutil.rmtree(self.root)

    def _writer(self, folder: int, writer: int) -> Store:
        if (folder, writer) not in self.writers:
            self.writers[folder, writer] = Store(self.folders[folder])
        return self.writers[folder, writer]

    @rule(
        folder=FOLDERS, writer=WRITERS, question=st.integers(0, 5), sync=st.booleans(),
        outcome=st.sampled_from([Outcome.OK, Outcome.OK, Outcome.TIMEOUT, Outcome.REFUSED]),
    )  # fmt: skip
    def put(self, folder, writer, question, sync, outcome):
        self.clock += 1
        record = store_record(
            f"question {question}",
            outcome=outcome,
            response=Response(text=f"answer {self.clock}"),
            created=f"2026-01-31T12:00:00.{self.clock:03d}Z",
        )
        self._writer(folder, writer).put(record, sync=sync)
        self.waiting[folder, writer].append(record)
        if sync:
            self._acknowledge(folder, writer)

    def _acknowledge(self, folder: int, writer: int) -> None:
        self.acknowledged[folder] += self.waiting.pop((folder, writer), [])

    @rule(folder=FOLDERS, writer=WRITERS)
    def flush(self, folder, writer):
        self._writer(folder, writer).flush()
        self._acknowledge(folder, writer)

    @rule(folder=FOLDERS, writer=WRITERS)
    def close(self, folder, writer):
        self._writer(folder, writer).close()
        del self.writers[folder, writer]
        self._acknowledge(folder, writer)

    @rule(folder=FOLDERS, writer=WRITERS, torn=st.binary(min_size=1, max_size=9))
    def kill(self, folder, writer, torn):
        """The writer is gone without a word, perhaps in the middle of a write."""
        store = self._writer(folder, writer)
        part = store._part.name
        with contextlib.suppress(TypeError):
            os.close(store._part._fd)
        del self.writers[folder, writer]
        # What it had written reached the disk here, though nobody was promised that.
        self._acknowledge(folder, writer)
        if part and (self.folders[folder] / part).exists():
            path = self.folders[folder] / part
            with path.open("ab") as file:
                file.write(torn.replace(b"\n", b"") or b"{")
            path.rename(path.with_name(f"dead-{path.name.rpartition('-')[2]}"))
            self.damage += 1

    @rule(folder=FOLDERS)
    def adopt(self, folder):
        adopt(self.folders[folder])

    @rule(source=FOLDERS)
    def merge(self, source):
        for writer in range(3):
            if (source, writer) in self.writers:
                self.flush(source, writer)
        with Store(self.folders[1 - source]) as store:
            merge_stores(store, [self.folders[source]])
        self.acknowledged[1 - source] += self.acknowledged[source]

    @rule(folder=FOLDERS)
    def collect(self, folder):
        with Store(self.folders[folder]) as store:
            collect_garbage(store, apply=True)

    @rule(folder=FOLDERS)
    def lose_the_index(self, folder):
        for file in self.folders[folder].glob("index/*"):
            file.unlink()

    @precondition(lambda self: self.writers)
    @rule(data=st.data())
    def refresh(self, data):
        self.writers[data.draw(st.sampled_from(sorted(self.writers)))].refresh()

    @invariant()
    def every_reader_sees_the_first_hit_or_else_the_newest_failure(self):
        for number, folder in enumerate(self.folders):
            expected = expected_answers(self.acknowledged[number])
            unsure = {
                record.key
                for (where, _), waiting in self.waiting.items()
                if where == number
                for record in waiting
            }
            readers = [Store(folder, read_only=True)]
            try:
                for reader in readers:
                    found = {record.key: record for record in reader.scan()}
                    for key, record in expected.items():
                        if key not in unsure:
                            assert found[key] == record == reader.get(key)
                    assert found.keys() <= expected.keys() | unsure
                    hits = {key for key, record in found.items() if record.outcome.is_hit}
                    assert set(reader.missing(expected)) == expected.keys() - hits
            finally:
                for reader in readers:
                    reader.close()

    @rule(folder=FOLDERS)
    def verify(self, folder):
        with Store(self.folders[folder]) as store:
            result = verify_store(store)
            assert all(fault.file.startswith("parts/dead-") for fault in result.faults)


def expected_answers(records: list[Record]) -> dict[str, Record]:
    """The rule of docs/store-format.md, read literally: times are all distinct here."""
    answers: dict[str, Record] = {}
    for key in {record.key for record in records}:
        under = sorted((r for r in records if r.key == key), key=lambda record: record.created)
        hits = [record for record in under if record.outcome.is_hit]
        answers[key] = hits[0] if hits else under[-1]
    return answers


TestUnion = pytest.mark.slow(Union.TestCase)
TestUnion.settings = settings(
    max_examples=25,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
