"""Verdicts that were read before, so that a million of them are joined to items in seconds.

    STORE/index/verdicts-<digest of judge and reader>/<sha256 of its bytes>.parquet

To find a verdict in the store takes the request's key, the record and a reader; here it takes one
digest of the texts. What is remembered holds only as long as the store has the one record that it
was read from: every key is looked up again. The folder is a memory, never the truth: it may be
removed at any time, a damaged file is passed over, and another reader starts anew.

Remembered are cases that one record settled; those of several samples or attempts are read anew.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from cache.canonical import canonical_bytes, sha256_hex
from cache.durable import SEALED, write_file
from cache.store import Store
from score.judge import decide, verdict
from score.judge.docket import Case
from score.judge.request import texts_of
from score.judge.spec import JudgeSpec
from score.judge.verdict import JudgeFailure, Verdict
from score.pair import Pair

if TYPE_CHECKING:
    import polars as pl

_log = logging.getLogger("rejudge.score")
#: New cases that are worth a file.
WORTH = 1000


def digest_of(pair: Pair) -> bytes:
    """What makes two pairs the same to a judge, in 32 bytes: :func:`texts_of`."""
    if pair.alternatives or pair.key_points:
        return hashlib.sha256(msgspec.json.encode(texts_of(pair))).digest()
    try:
        # By far the most, and a third of the time of a lookup.
        text = msgspec.json.encode((pair.question, pair.reference, pair.answer))
    except UnicodeEncodeError:
        text = msgspec.json.encode(tuple(texts_of(pair).values()))
    return hashlib.sha256(text).digest()


class Memory:
    """What one judge said, as far as the store still has it."""

    def __init__(self, store: Store, spec: JudgeSpec) -> None:
        self._store = store
        self._spec = spec
        self._folder = store.path / "index" / f"verdicts-{_digest(spec)[:16]}"

    def get(self, digests: Sequence[bytes]) -> dict[bytes, Verdict | JudgeFailure]:
        """Return what is remembered of these cases."""
        frame = self._read()
        if frame is None:
            return {}
        wanted = set(digests)
        keys = frame["key"].to_list()
        gone = set(self._store.missing(keys))
        # Which of two records under one key answers may change when stores are merged.
        gone.update(self._store.index.repeated())
        found: dict[bytes, Verdict | JudgeFailure] = {}
        rows = zip(frame["case"].to_list(), keys, *_columns(frame), strict=True)
        for case, key, score, justification, aspects, status, reason in rows:
            if case not in wanted or key in gone:
                continue
            if score is None:
                found[case] = JudgeFailure(status, reason)
            else:
                said = json.loads(aspects) if aspects else {}
                found[case] = Verdict(score, justification, said)
        return found

    def add(self, cases: Mapping[bytes, Case]) -> None:
        """Remember the cases that one record settled, where they are enough to be worth it."""
        import polars as pl

        if self._spec.samples > 1:
            return
        rows = [
            (digest, record.key, *_row(result))
            for digest, case in cases.items()
            if len(case.records) == 1
            for record, result in [(case.records[min(case.records)], case.decision)]
            if isinstance(result, Verdict | JudgeFailure)
        ]
        if len(rows) < WORTH:
            return
        file = io.BytesIO()
        pl.DataFrame(rows, schema=_schema(), orient="row").write_parquet(file, compression="lz4")
        data = file.getvalue()
        try:
            name = hashlib.sha256(data).hexdigest()
            write_file(self._folder / f"{name}.parquet", [data], mode=SEALED)
        except OSError as error:
            _log.debug("%s: verdicts are not remembered: %s", self._folder, error)

    def _read(self) -> pl.DataFrame | None:
        import polars as pl

        frames = []
        for path in sorted(self._folder.glob("[!.]*.parquet")):
            try:
                data = path.read_bytes()
            except OSError:  # removed meanwhile, or not for us
                continue
            if hashlib.sha256(data).hexdigest() != path.stem:
                _log.warning("%s is damaged and passed over; it can be removed", path)
                continue
            frames.append(pl.read_parquet(io.BytesIO(data)))
        return pl.concat(frames) if frames else None


def _digest(spec: JudgeSpec) -> str:
    """Of all that decides what a record means: the judge, and the code that reads replies."""
    readers = [Path(str(module.__file__)).read_bytes() for module in (decide, verdict)]
    return sha256_hex(canonical_bytes(spec.signature()) + b"".join(readers))


def _row(result: Verdict | JudgeFailure) -> tuple[Any, ...]:
    if isinstance(result, JudgeFailure):
        return None, "", "", result.status, result.reason
    aspects = json.dumps(dict(result.aspects)) if result.aspects else ""
    return result.score, result.justification, aspects, "", ""


def _columns(frame: pl.DataFrame) -> list[list[Any]]:
    return [
        frame[name].to_list() for name in ("score", "justification", "aspects", "status", "reason")
    ]


def _schema() -> dict[str, Any]:
    import polars as pl

    texts = ("justification", "aspects", "status", "reason")
    return {
        "case": pl.Binary,
        "key": pl.String,
        "score": pl.Float64,
        **dict.fromkeys(texts, pl.String),
    }
