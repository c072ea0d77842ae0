"""The store as a table, one row a key.

    key, outcome, engine, model, revision, sample, text, reasoning, finish_reason, error,
    input_tokens, output_tokens, decode_s, answer_s, host, job, created

Polars reads the lines itself, so a table costs little more than its own scan of the files. What
only some records have (settings, messages, what was effective) is read from the record.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from cache.errors import StoreError, StoreUnavailable
from cache.order import answer
from cache.scan import known_lines

_TRIES = 5

if TYPE_CHECKING:
    import polars as pl

    from cache.store import Store

#: Read as text: a count of tokens that is too large for a column must not cost the table.
_AS_TEXT = "String"
#: column → (where it stands in a line, its type, its default, which a line leaves out)
_COLUMNS: dict[str, tuple[str, str, Any]] = {
    "key": ("key", "String", None),
    "outcome": ("outcome", "String", None),
    "engine": ("request.engine", "String", None),
    "model": ("request.model", "String", None),
    "revision": ("request.revision", "String", ""),
    "sample": ("request.sample", "Int64", 0),
    "text": ("response.text", "String", ""),
    "reasoning": ("response.reasoning", "String", ""),
    "finish_reason": ("response.finish_reason", "String", ""),
    "error": ("response.error", "String", ""),
    "input_tokens": ("usage.input_tokens", _AS_TEXT, None),
    "output_tokens": ("usage.output_tokens", _AS_TEXT, None),
    "decode_s": ("times.decode_s", "Float64", None),
    "answer_s": ("times.answer_s", "Float64", None),
    "host": ("producer.host", "String", ""),
    "job": ("producer.job", "String", ""),
    "created": ("created", "String", ""),
    "_digest": ("digest", "String", None),
}


def make_frame(store: Store) -> pl.DataFrame:
    """Return one row a key: the record that answers for it.

    Polars checks no line. So each pack's bytes are compared with its name first, and what is in a
    damaged one, or in a part, is checked line by line.

    Raises:
        StoreUnavailable: a file cannot be read.
        StoreError: Polars cannot make a table of the lines.
    """
    import polars as pl

    for _ in range(_TRIES):
        store.refresh()
        store.check_packs()
        looks = store.index.looks
        try:
            frame = _answers_only(store, _read(store)).drop("_digest")
        except FileNotFoundError:  # a part was sealed, or a pack joined with others, meanwhile
            continue
        except pl.exceptions.PolarsError as error:
            raise StoreError(
                f"{store.path}: no table can be made of its lines: {error}. `rejudge cache verify` "
                "says whether they are sound."
            ) from error
        if store.index.looks == looks:  # else a line did not verify, and the files were read anew
            return frame
    raise StoreUnavailable(f"{store.path}: files come and go too fast to read a table of them")


def _read(store: Store) -> pl.DataFrame:
    import polars as pl

    faulty = {fault.file for fault in store.faults}
    schema = line_schema()
    pieces: list[pl.LazyFrame] = [pl.LazyFrame(schema=schema)]
    whole: list[str] = []
    for file in store.index.files:
        if file.startswith("packs/") and file not in faulty:
            whole.append(str(store.path / file))
        else:
            # An open part grows and may end in half a line; a damaged file holds more than records.
            data = b"\n".join(known_lines(store, file))
            if data:
                pieces.append(pl.read_ndjson(io.BytesIO(data), schema=schema).lazy())
    if whole:
        pieces.append(pl.scan_ndjson(whole, schema=schema))
    return _flat(pl.concat(pieces)).collect()


def line_schema() -> dict[str, Any]:
    """Polars' schema of the members of a line that the table shows."""
    import polars as pl

    groups: dict[str, Any] = {}
    for place, kind, _ in _COLUMNS.values():
        outer, _, inner = place.partition(".")
        if inner:
            groups.setdefault(outer, {})[inner] = getattr(pl, kind)
        else:
            groups[outer] = getattr(pl, kind)
    return {
        name: pl.Struct(found) if isinstance(found, dict) else found
        for name, found in groups.items()
    }


def _flat(lines: pl.LazyFrame) -> pl.LazyFrame:
    import polars as pl

    columns = []
    for name, (place, _, default) in _COLUMNS.items():
        outer, _, inner = place.partition(".")
        column = pl.col(outer).struct.field(inner) if inner else pl.col(outer)
        if outer == "usage":
            count = column.cast(pl.Int64, strict=False)
            column = pl.when(count >= 0).then(count)
        if default is not None:
            column = column.fill_null(default)
        columns.append(column.alias(name))
    return lines.select(columns)


def _answers_only(store: Store, frame: pl.DataFrame) -> pl.DataFrame:
    """Of several records under one key, keep the one that answers for it."""
    import polars as pl

    several = store.index.repeated()
    if not several:
        return frame
    digests = [answer(found).digest.decode() for found in store.find(several).values()]
    chosen = frame.filter(pl.col("_digest").is_in(digests)).unique("_digest", maintain_order=True)
    return pl.concat([frame.filter(~pl.col("key").is_in(several)), chosen])
