"""What a store holds, in numbers."""

from __future__ import annotations

import contextlib
from dataclasses import asdict, dataclass
from typing import Any

from cache.conflict import find_surplus
from cache.errors import StoreUnavailable
from cache.pack import list_packs
from cache.quarantine import quarantined
from cache.store import Store


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts of a store."""

    keys: int
    """Requests with a record."""
    hits: int
    """Requests that need not be asked again."""
    records: int
    """Lines, several under one key included."""
    surplus: int
    """Later answers that say the same as the first of their key."""
    conflicts: int
    """Later answers that say something else."""
    outcomes: dict[str, int]
    models: list[dict[str, Any]]
    """Engine, model, outcome and number of keys, the most frequent first."""
    runs: list[str]
    packs: int
    parts: int
    size_bytes: int
    """Of packs and parts."""
    text_bytes: int
    """Of the responses' texts alone."""
    faults: int
    """Places that do not verify."""
    quarantined: int

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return asdict(self)


def store_stats(store: Store) -> Stats:
    """Count what a store holds.

    Raises:
        StoreUnavailable: it cannot be read.
    """
    import polars as pl

    frame = store.frame()
    keys, hits = store.index.counts()
    same, otherwise = find_surplus(store)
    try:
        packs = list_packs(store.path)
        found = len(quarantined(store.path))
    except OSError as error:
        raise StoreUnavailable(f"{store.path} cannot be read: {error}") from error

    def size(part: str) -> int:
        with contextlib.suppress(FileNotFoundError):  # sealed in this moment
            return (store.path / part).stat().st_size
        return 0

    parts = [file for file in store.index.files if file.startswith("parts/")]
    models = (
        frame.group_by("engine", "model", "outcome")
        .agg(pl.len().alias("keys"))
        .sort("keys", "engine", "model", "outcome", descending=[True, False, False, False])
    )
    outcomes = frame["outcome"].value_counts(sort=True)
    return Stats(
        keys=keys,
        hits=hits,
        records=store.index.rows,
        surplus=len(same),
        conflicts=len(otherwise),
        outcomes=dict(outcomes.iter_rows()),
        models=models.to_dicts(),
        runs=store.runs(),
        packs=len(packs),
        parts=len(parts),
        size_bytes=sum(stamp.size for stamp in packs.values()) + sum(map(size, parts)),
        text_bytes=int(frame["text"].str.len_bytes().sum())
        + int(frame["reasoning"].str.len_bytes().sum()),
        faults=len(store.faults),
        quarantined=found,
    )
