"""Which runs of a store are meant, their items, and the pairs of their answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench import registry
from bench.item import Item, TaskType
from cache.store import Store
from score.errors import ScoreError
from score.pair import Pair
from score.pairs import run_pairs


def chosen_runs(store: Store, benchmark: str, names: Sequence[str] = ()) -> list[str]:
    """Return the named runs, or all runs of the benchmark where none is named.

    Raises:
        BenchError: the benchmark is unknown.
        ScoreError: no run of the benchmark, or a named one is of another.
        StoreError: no run of this name.
    """
    registry.get(benchmark)
    if not names:
        found = [name for name in store.runs() if store.run(name).header.benchmark == benchmark]
        if not found:
            there = ", ".join(store.runs()) or "none"
            raise ScoreError(
                f"{store.path} holds no run of {benchmark}; its runs: {there}. Make one with "
                f"rejudge infer {benchmark}"
            )
        return found
    for name in names:
        other = store.run(name).header.benchmark
        if other != benchmark:
            raise ScoreError(f"run {name} is of benchmark {other}, not of {benchmark}")
    return list(dict.fromkeys(names))


def items_of(store: Store, benchmark: str, data: Path | None, runs: Sequence[str]) -> list[Item]:
    """Return the benchmark's items of all task types that the runs ask.

    Raises:
        BenchError: the benchmark is unknown, or its data are missing or have faults.
    """
    asked = {TaskType(task) for run in runs for task in store.run(run).header.tasks}
    return registry.get(benchmark).load(data, [task for task in TaskType if task in asked])


def pairs_of(store: Store, benchmark: str, data: Path | None, runs: Sequence[str]) -> list[Pair]:
    """Return what there is to judge in ``runs``: the pairs of each, one after the other.

    Raises:
        BenchError: the benchmark is unknown, or its data are missing or have faults.
        ScoreError: a run has items that the data lack.
    """
    items = items_of(store, benchmark, data, runs)
    return [pair for run in runs for pair in run_pairs(store, run, items)]
