"""Select records to look at."""

from __future__ import annotations

from typing import Any

from cache.errors import UnknownKey
from cache.order import Found
from cache.record import Outcome
from cache.store import Store

_SHOWN = 20
_TEXT = 80


def select_records(
    store: Store,
    *,
    run: str | None = None,
    model: str | None = None,
    outcome: str | None = None,
    limit: int = 50,
) -> tuple[list[dict[str, Any]], int]:
    """Return the records asked for, newest first, and how many there are.

    Args:
        store: where they are.
        run: only what this run asked.
        model: only this model's.
        outcome: only those that ended so.
        limit: at most so many; 0 returns all.

    Raises:
        UnknownRun: there is no such run.
        UnknownKey: ``outcome`` names none.
    """
    import polars as pl

    if outcome is not None and outcome not in {str(known) for known in Outcome}:
        raise UnknownKey(f"no outcome {outcome!r}; there are: {', '.join(Outcome)}")
    frame = store.frame()
    if run is not None:
        frame = frame.filter(pl.col("key").is_in([line.key for line in store.run(run).lines]))
    if model is not None:
        frame = frame.filter(pl.col("model") == model)
    if outcome is not None:
        frame = frame.filter(pl.col("outcome") == outcome)
    said = pl.when(pl.col("text") != "").then("text").otherwise("error")
    shown = frame.sort("created", "key", descending=[True, False]).select(
        "key", "outcome", "engine", "model", "sample", "created", said.str.head(_TEXT).alias("text")
    )
    return (shown.head(limit) if limit else shown).to_dicts(), frame.height


def find_records(store: Store, prefix: str) -> list[Found]:
    """Return every record under the one key that starts with ``prefix``.

    Raises:
        UnknownKey: none does, several do, or no record under it verifies.
    """
    key = find_key(store, prefix)
    found = store.find([key]).get(key)
    if found is None:
        raise UnknownKey(
            f"the record under {key} cannot be shown: its line does not verify. `rejudge cache "
            "verify` says where it is; the next run asks again."
        )
    return found


def find_key(store: Store, prefix: str) -> str:
    """Return the one key that starts with ``prefix``.

    Raises:
        UnknownKey: none does, or several do; lists them.
    """
    if not prefix or prefix.lower().strip("0123456789abcdef"):
        raise UnknownKey(f"{prefix!r} is no beginning of a key: it takes digits 0–9 and a–f")
    found = store.keys_starting_with(prefix, limit=_SHOWN + 1)
    if not found:
        raise UnknownKey(f"no key in {store.path} starts with {prefix}")
    if len(found) > 1:
        listed = "\n".join(f"  {key}" for key in found[:_SHOWN])
        more = "\n  …" if len(found) > _SHOWN else ""
        raise UnknownKey(f"several keys start with {prefix}:\n{listed}{more}")
    return found[0]
