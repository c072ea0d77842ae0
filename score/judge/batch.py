"""A judge asked in batches: OpenAI's batch API, at half the price and within a day.

    requests ── file ─► batch ── poll ─► output and error files ── lines ─► records

A batch that an earlier process sent is taken up where that one was stopped; nothing is sent twice.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from cache.record import Outcome, Record
from cache.request import Request
from score.errors import JudgeUnavailable
from score.judge.batches import Batch, Batches
from score.judge.fault import Fault, classify, cleaned, fault_of
from score.judge.said import Said, api_of
from score.judge.service import client_of, secret_of
from score.judge.spec import JudgeSpec
from score.judge.work import Work

if TYPE_CHECKING:
    from openai.types import Batch as Served

#: What the service takes in one batch: https://platform.openai.com/docs/guides/batch
MOST_REQUESTS = 50_000
MOST_BYTES = 190_000_000
FIRST_POLL_S = 1.0
LONGEST_POLL_S = 60.0

_ENDED = frozenset({"completed", "expired", "cancelled"})
_TAG = "rejudge"
_AT_ONCE = 256


class _Answer(msgspec.Struct):
    status_code: int
    body: msgspec.Raw


class _Error(msgspec.Struct):
    code: str | None = None
    message: str | None = None


class _Body(msgspec.Struct):
    error: _Error = msgspec.field(default_factory=_Error)


class _Line(msgspec.Struct):
    """One line of an output or error file."""

    custom_id: str
    response: _Answer | None = None
    error: _Error | None = None


class BatchEngine:
    """Answers requests in batches."""

    def __init__(
        self,
        spec: JudgeSpec,
        environ: Mapping[str, str],
        store: Path,
        *,
        wait: bool = True,
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        """Make an engine.

        Args:
            spec: The judge.
            environ: Where its API key is read.
            store: Folder of the store, where batches are remembered.
            wait: Whether to wait for batches; else they are sent, and collected where they ended.
            say: Told what becomes of each batch.

        Raises:
            JudgeUnavailable: the environment lacks the judge's API key.
        """
        self._secret = secret_of(spec, environ)
        self._spec = spec
        self._batches = Batches(store)
        self._client = client_of(spec, self._secret)
        self._wait = wait
        self._say = say
        self.open_calls = 0
        """Calls that are with the service, and were not waited for."""

    async def answers(self, work: Work) -> AsyncGenerator[list[Record], None]:
        """Yield the records of earlier batches and of new ones; see :class:`JudgeEngine`."""
        import openai

        try:
            async for records in self._answers(work):
                yield records
        except openai.APIError as error:
            fault = classify(error, self._secret)
            raise JudgeUnavailable(
                f"the batches of judge {self._spec.name!r} at {self._spec.base_url} cannot be "
                f"reached ({fault.error})"
            ) from error

    async def close(self) -> None:
        """Close the client's connections."""
        await self._client.close()

    async def _answers(self, work: Work) -> AsyncGenerator[list[Record], None]:
        open_ = [await self._sent(batch) for batch in self._batches.of(self._spec)]
        under_way = {r.key() for batch in open_ for r in self._batches.requests(batch)}
        for requests in self._portions(work, under_way):
            path = api_of(requests[0]).path
            open_.append(await self._sent(self._batches.add(self._spec, path, requests)))
        pause_s = FIRST_POLL_S
        while open_:
            still_open = []
            for batch in open_:
                served = await self._client.batches.retrieve(batch.id)
                if served.status == "failed":
                    self._batches.drop(batch)
                    raise JudgeUnavailable(f"batch {batch.id} was refused: {self._why(served)}")
                if served.status not in _ENDED:
                    still_open.append(batch)
                    continue
                async for records in self._collected(batch, served, work):
                    yield records
                # What was yielded is durable when we are asked for more.
                self._batches.drop(batch)
                self._say(f"batch {batch.id}: {served.status}, {batch.requests} calls")
            open_ = still_open
            if open_ and (work.closed.is_set() or not self._wait):
                self.open_calls = sum(batch.requests for batch in open_)
                return
            if open_:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(work.closed.wait(), pause_s)
                pause_s = min(pause_s * 1.5, LONGEST_POLL_S)

    def _portions(self, work: Work, under_way: set[str]) -> Iterator[list[Request]]:
        """The requests that no batch has yet, as many together as the service takes."""
        portion: list[Request] = []
        size = 0
        while request := work.take():
            if request.key() in under_way:
                continue
            length = len(_input_line(request))
            if portion and (len(portion) == MOST_REQUESTS or size + length > MOST_BYTES):
                yield portion
                portion, size = [], 0
            portion.append(request)
            size += length
        if portion:
            yield portion

    async def _sent(self, batch: Batch) -> Batch:
        """Make sure that the service has a batch, and has it once."""
        if batch.id:
            return batch
        async for served in self._client.batches.list(limit=100):
            if (served.metadata or {}).get(_TAG) == batch.tag:
                return self._named(batch, id=served.id)
        if not batch.input_file:
            lines = b"".join(_input_line(request) for request in self._batches.requests(batch))
            file = await self._client.files.create(
                file=(f"{batch.tag}.jsonl", lines), purpose="batch"
            )
            batch = self._named(batch, input_file=file.id)
        served = await self._client.batches.create(
            input_file_id=batch.input_file,
            endpoint=f"/v1{batch.path}",  # type: ignore[arg-type] # one of those that it lists
            completion_window="24h",
            metadata={_TAG: batch.tag},
        )
        self._say(f"batch {served.id}: sent, {batch.requests} calls")
        return self._named(batch, id=served.id)

    def _named(self, batch: Batch, **names: str) -> Batch:
        batch = msgspec.structs.replace(batch, **names)
        self._batches.save(batch)
        return batch

    async def _collected(
        self, batch: Batch, served: Served, work: Work
    ) -> AsyncGenerator[list[Record], None]:
        """The records of a batch that ended; a request without an answer is an infra_error."""
        waiting = {request.key(): request for request in self._batches.requests(batch)}
        records: list[Record] = []
        for file in filter(None, (served.output_file_id, served.error_file_id)):
            async with self._client.files.with_streaming_response.content(file) as content:
                async for text in content.iter_lines():
                    line = _read_line(text)
                    request = waiting.pop(line.custom_id, None) if line else None
                    if line and request:
                        said = self._said(line, request)
                        said.effective["batch"] = batch.id
                        records.append(said.record(request))
                        work.done(records[-1])
                    if len(records) == _AT_ONCE:
                        yield records
                        records = []
        ended = f"batch {batch.id} ended as {served.status} without an answer to this request"
        unanswered = Said(fault=Fault(Outcome.INFRA_ERROR, ended), effective={"batch": batch.id})
        for request in waiting.values():
            records.append(unanswered.record(request))
            work.done(records[-1])
        if records:
            yield records

    def _said(self, line: _Line, request: Request) -> Said:
        if line.response is None:
            error = line.error or _Error()
            text = cleaned(error.message or "no reason given", self._secret)
            return Said(fault=fault_of(0, error.code or "", text))
        try:
            if line.response.status_code == 200:
                return api_of(request).read(bytes(line.response.body))
            error = msgspec.json.decode(line.response.body, type=_Body).error
        except (msgspec.MsgspecError, UnicodeError) as fault:
            text = cleaned(f"the line of the batch is no answer: {fault}", self._secret)
            return Said(fault=Fault(Outcome.INFRA_ERROR, text))
        text = cleaned(error.message or "no reason given", self._secret)
        return Said(fault=fault_of(line.response.status_code, error.code or "", text))

    def _why(self, served: Served) -> str:
        listed = served.errors.data if served.errors and served.errors.data else []
        told = "; ".join(error.message or error.code or "" for error in listed[:3])
        return cleaned(told or "no reason given", self._secret)


def _input_line(request: Request) -> bytes:
    api = api_of(request)
    line = {
        "custom_id": request.key(),
        "method": "POST",
        "url": f"/v1{api.path}",
        "body": api.body(request),
    }
    return msgspec.json.encode(line) + b"\n"


def _read_line(text: str) -> _Line | None:
    """A line of a result; None where it is none, so that its request counts as not answered."""
    try:
        return msgspec.json.decode(text, type=_Line)
    except msgspec.MsgspecError:
        return None
