"""Batches that a service works on, as the store remembers them.

    STORE/batches/<tag>.jsonl    the requests, one a line; written first
    STORE/batches/<tag>.json     whose they are, and the service's names for file and batch

A batch is written down before it is sent and its tag goes with it as metadata, so whatever moment a
process is killed at, the next one knows or finds out whether the service has it. Both files go when
all of its answers are in the store.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from cache.durable import retire, write_file
from cache.request import Request
from score.errors import ScoreError
from score.judge.engine import now
from score.judge.spec import JudgeSpec

FOLDER = "batches"


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """Requests that were sent together, or are about to be."""

    tag: str
    """Ours."""
    judge: str
    base_url: str
    path: str
    """Of the API, after the base URL."""
    requests: int
    created: str
    input_file: str = ""
    """The service's name of the uploaded requests; empty until it has one."""
    id: str = ""
    """The service's name of the batch; empty until it has one."""


class Batches:
    """The batches of a store."""

    def __init__(self, store: Path) -> None:
        self._folder = store / FOLDER

    def all(self) -> list[Batch]:
        """Every batch, the oldest first.

        Raises:
            ScoreError: a file of one is damaged.
        """
        found = [self._read(path) for path in self._folder.glob("[!.]*.json")]
        return sorted(found, key=lambda batch: (batch.created, batch.tag))

    def of(self, spec: JudgeSpec) -> list[Batch]:
        """Those of one judge."""
        return [batch for batch in self.all() if batch.judge == spec.name]

    def add(self, spec: JudgeSpec, path: str, requests: Sequence[Request]) -> Batch:
        """Write down a batch that is about to be sent."""
        batch = Batch(
            tag=uuid.uuid4().hex,
            judge=spec.name,
            base_url=spec.base_url,
            path=path,
            requests=len(requests),
            created=now(),
        )
        lines = (msgspec.json.encode(request) + b"\n" for request in requests)
        write_file(self._requests(batch), lines)
        self.save(batch)
        return batch

    def save(self, batch: Batch) -> None:
        """Write down what is known of a batch now."""
        write_file(self._folder / f"{batch.tag}.json", [msgspec.json.encode(batch)])

    def drop(self, batch: Batch) -> None:
        """Forget a batch whose answers are stored."""
        retire(self._folder / f"{batch.tag}.json")
        retire(self._requests(batch))

    def requests(self, batch: Batch) -> Iterator[Request]:
        """The requests of a batch."""
        with self._requests(batch).open("rb") as lines:
            for line in lines:
                yield _decoder.decode(line)

    def _requests(self, batch: Batch) -> Path:
        return self._folder / f"{batch.tag}.jsonl"

    def _read(self, path: Path) -> Batch:
        try:
            return msgspec.json.decode(path.read_bytes(), type=Batch)
        except msgspec.MsgspecError as error:
            raise ScoreError(
                f"{path} is damaged ({error}): look at the service which batch has "
                f"{path.stem} in its metadata, then remove the file"
            ) from error


_decoder = msgspec.json.Decoder(Request)
