"""The engine actor: one copy of the model, which stores each answer before it reports it.

What is reported is never asked again, whatever is killed afterwards. An actor has its own part file
in the store, asks the ledger what to do about each row (ledger.py), and notes in a journal what it
is asking (turns.py). It goes down the budget ladder where an engine's answer says so (ladder.py).
What another job has answered since this one was planned is found in the store and not asked.
"""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import msgspec

from cache.errors import RecordError
from cache.record import Outcome, Producer, Record, Response, Times
from infer.card import ModelCard
from infer.engine import Answer, create_engine
from infer.errors import EngineDied, InferError
from infer.ladder import Attempt, climb_down
from infer.ledger import Turn
from infer.media.decode import Prepared
from infer.plan import Planned
from infer.storing import Storing
from infer.turns import Turns

_encode = msgspec.json.Encoder().encode
decode_group = msgspec.json.Decoder(list[Planned]).decode
#: What was asked by this job already: an answer that is found is its own.
_ASKED_BEFORE = (Turn.STORED, Turn.AGAIN)
_DEADLY = (
    "the engine's process, or the whole job, ended again and again while it worked on this "
    "request, the last time on this request alone; it is asked again by the next run"
)


@dataclass(frozen=True, slots=True)
class Done:
    """What the driver hears of one answered request."""

    key: str
    outcome: Outcome
    error: str
    decode_s: float
    answer_s: float
    at_s: float
    """When it was answered, in seconds since the epoch."""
    input_tokens: int
    output_tokens: int
    node: str
    found: bool = False
    """Another job had stored it meanwhile: it was not asked."""
    item: str = ""
    """The turn of a dialogue that was asked; a plan knows the items of other requests."""
    sample: int = 0


class HasMedia(Protocol):
    """Where a request's media are."""

    sharers: int
    """Requests that have them in common."""

    def prepared(self) -> Prepared:
        """Return them."""


class EngineActor:
    """One copy of the model. Works on several requests at once."""

    def __init__(self, card: dict[str, Any], store_path: str, ledger: Any) -> None:
        import ray

        self._card = msgspec.convert(card, ModelCard)
        self._ledger = ledger
        self._name = ray.get_runtime_context().get_actor_id()
        self._turns = Turns(ledger, self._name)
        self._gate = Gate(self._card.resources.concurrency)
        # As many answers may wait to be written down as the engine works on, so that an actor's
        # death costs no more than both.
        self._unwritten = asyncio.Semaphore(self._card.resources.concurrency)
        self._storing = Storing(Path(store_path))
        self._producer = producer()
        self._engine = create_engine(self._card)
        self._turns.close_with(self._engine.close)

    def __del__(self) -> None:
        # Ray lets go of an actor in order by deleting it, when nothing else refers to it.
        if turns := getattr(self, "_turns", None):
            turns.close()

    async def __call__(self, table: Any) -> dict[str, list[bytes]]:
        """Answer groups of requests; return a line for each answer, and an empty one for none."""
        columns = (table.column(name) for name in ("group", "prepared"))
        done = await asyncio.gather(
            *(
                self._group(decode_group(group.as_buffer()), media.as_buffer())
                for group, media in zip(*columns, strict=True)
            )
        )
        return {"done": [_encode(one) for some in done for one in some] or [b""]}

    async def _group(self, group: list[Planned], media: Any) -> list[Done]:
        loaded = _Loaded(media, len(group))
        turns = await self._turns.of([planned.key for planned in group])
        done = await asyncio.gather(
            *(
                self._answer(planned, loaded, turn)
                for planned, turn in zip(group, turns, strict=True)
            )
        )
        return [one for one in done if one is not None]

    async def _answer(self, planned: Planned, media: HasMedia, turn: Turn) -> Done | None:
        alone = turn is Turn.ALONE
        if alone:
            # Written down before anything else begins, or the death of the next would count as its.
            async with self._gate.alone():
                turn = await self._turns.alone(planned.key)
                record, new = await self._take(planned, media, turn)
                if record is not None and new:
                    record = await self._keep(record)
        else:
            async with self._gate.shared():
                record, new = await self._take(planned, media, turn)
            # While it is written down, the engine works on the next.
            if record is not None and new:
                record = await self._keep(record)
        if record is None:
            return None
        return _done(record, found=not (new or alone or turn in _ASKED_BEFORE))

    async def _keep(self, record: Record) -> Record:
        """Write an answer down, and that the request ended; return what is stored."""
        try:
            if fault := await self._storing.put(record):
                record = _unstorable(record, fault)
                if fault := await self._storing.put(record):
                    raise fault
        finally:
            self._unwritten.release()
        await self._turns.end(record.key)
        return record

    async def _take(
        self, planned: Planned, media: HasMedia, turn: Turn
    ) -> tuple[Record | None, bool]:
        """Return what answers a request, and whether it has to be stored."""
        key = planned.key
        if turn is Turn.STOP or self._turns.stops(key):
            return None, False
        if record := await self._answered(key, turn):
            await self._turns.end(key)
            return record, False
        if self._turns.stops(key):  # since
            return None, False
        self._turns.begin(key)
        record = await self._record(turn, planned, media)
        if record is not None:
            await self._unwritten.acquire()
        return record, record is not None

    async def _answered(self, key: str, turn: Turn) -> Record | None:
        """Return what the store has to answer a request with, since it was planned."""
        if turn is Turn.STORED:
            return await self._storing.get(key)
        # A process may have died between storing an answer and saying so.
        if turn is Turn.AGAIN or self._turns.is_suspect(key):
            return await self._storing.lasting(key)
        return await self._storing.elsewhere(key)

    async def _record(self, turn: Turn, planned: Planned, media: HasMedia) -> Record | None:
        began = time.perf_counter()
        prepared = media.prepared()
        if turn is Turn.GIVE_UP:
            said = Answer(Outcome.INFRA_ERROR, Response(error=_DEADLY))
            attempt: Attempt | None = Attempt(said, prepared.effective)
        elif prepared.error:
            said = Answer(Outcome.DECODE_ERROR, Response(error=prepared.error))
            attempt = Attempt(said, prepared.effective)
        else:
            attempt = await self._ask(planned, prepared)
        if attempt is None:
            return None
        return Record(
            key=planned.key,
            request=planned.request,
            outcome=attempt.answer.outcome,
            response=attempt.answer.response,
            effective=attempt.effective,
            usage=attempt.answer.usage,
            times=Times(
                decode_s=prepared.decode_s / media.sharers, answer_s=time.perf_counter() - began
            ),
            producer=self._producer,
            created=created_now(),
        )

    async def _ask(self, planned: Planned, prepared: Prepared) -> Attempt | None:
        try:
            return await self._attempt(planned, prepared)
        except EngineDied as error:
            logging.getLogger(__name__).error("the engine died: %s", error)
            os._exit(1)  # the ledger counts what was with it; Ray starts another
        except InferError as error:  # it would meet any other request, too
            await self._turns.end(planned.key, answered=False)
            await self._turns.halt(error)
            return None
        except Exception as error:  # one request's failure must not end the job; it is recorded
            logging.getLogger(__name__).exception("request %s failed", planned.key[:12])
            text = f"{type(error).__name__}: {error}"
            return Attempt(Answer(Outcome.INFRA_ERROR, Response(error=text)), prepared.effective)

    async def _attempt(self, planned: Planned, prepared: Prepared) -> Attempt:
        limit_s = self._card.resources.decode_timeout_s
        return await climb_down(self._engine, planned, prepared, limit_s)


class Gate:
    """Lets a number of requests through at a time, or one alone."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._free = asyncio.Semaphore(width)
        self._one = asyncio.Lock()

    @asynccontextmanager
    async def shared(self) -> AsyncIterator[None]:
        """Wait for a place beside others."""
        async with self._free:
            yield

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Wait until nothing else is inside, and keep others out."""
        async with self._one:
            for _ in range(self._width):
                await self._free.acquire()
            try:
                yield
            finally:
                for _ in range(self._width):
                    self._free.release()


class _Loaded:
    """Media of a group, read from Ray's shared memory when the first request's turn comes."""

    def __init__(self, buffer: Any, sharers: int) -> None:
        self.sharers = sharers
        self._buffer = buffer
        self._prepared: Prepared | None = None

    def prepared(self) -> Prepared:
        """Return the media."""
        if self._prepared is None:
            self._prepared = pickle.loads(self._buffer)  # noqa: S301 - the pipeline's own, never from disk
        return self._prepared


def _unstorable(record: Record, fault: RecordError) -> Record:
    """What is stored in the place of an answer that cannot be: one request's failure."""
    return Record(
        key=record.key,
        request=record.request,
        outcome=Outcome.INFRA_ERROR,
        response=Response(error=f"the answer cannot be stored: {fault}"),
        times=record.times,
        producer=record.producer,
        created=record.created,
    )


def _done(record: Record, *, found: bool) -> Done:
    return Done(
        key=record.key,
        outcome=record.outcome,
        error=record.response.error,
        decode_s=record.times.decode_s or 0.0,
        answer_s=record.times.answer_s or 0.0,
        at_s=time.time(),
        input_tokens=record.usage.input_tokens or 0,
        output_tokens=record.usage.output_tokens or 0,
        node=record.producer.host,
        found=found,
    )


def created_now() -> str:
    """Return the time as records carry it: UTC, ISO 8601 with milliseconds and ``Z``."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def producer() -> Producer:
    """Say who writes records here: host, SLURM job and versions."""
    import platform

    from rejudge import __version__

    job, task = os.environ.get("SLURM_JOB_ID", ""), os.environ.get("SLURM_ARRAY_TASK_ID", "")
    return Producer(
        # On a cluster the node's name in SLURM, which jobs and their logs go by.
        host=os.environ.get("SLURMD_NODENAME") or platform.node(),
        job=f"{job}_{task}" if job and task else job,
        versions={"rejudge": __version__, "python": platform.python_version()},
    )
