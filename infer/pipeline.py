"""The pipeline on Ray Data: pending requests → decode (CPU tasks) → engine actors → store.

Rows stream: decoding runs ahead of the engines only as far as Ray's back-pressure lets it, so
memory does not grow with the number of requests. Each engine actor has its own part file in the
store and puts an answer down, synced, before it reports it: what is reported is never asked again,
whatever is killed afterwards. The driver sees small rows, for progress and counts.
"""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from cache.record import Outcome, Producer, Record, Response, Times
from cache.store import Store
from infer.card import ModelCard
from infer.engine import Answer, create_engine
from infer.errors import EngineFailed, FeatureMissing, RayLost
from infer.media.decode import Prepared, prepare
from infer.plan import Planned

_encode = msgspec.json.Encoder().encode
_decode_planned = msgspec.json.Decoder(Planned).decode


@dataclass(frozen=True, slots=True)
class Done:
    """What the driver hears of one answered request."""

    key: str
    outcome: Outcome
    error: str
    decode_s: float
    answer_s: float
    input_tokens: int
    output_tokens: int
    node: str


def run_pipeline(planned: list[Planned], card: ModelCard, store_path: Path) -> Iterator[Done]:
    """Ask the planned requests; yield each as soon as its record is stored.

    Ray must be running (``cluster.start_ray``). The rows come in the order in which they end.

    Raises:
        FeatureMissing: the cluster cannot hold one engine actor and one decoding task.
        EngineFailed: the engine did not start.
        RayLost: Ray ended.
    """
    import ray
    from ray.data import ActorPoolStrategy

    _require(card)
    rows = ray.data.from_items([{"planned": _encode(row)} for row in planned])
    decoded = rows.map(_prepare_row, num_cpus=_decode_cpus())
    answered = decoded.map_batches(
        EngineActor,
        fn_constructor_args=(msgspec.to_builtins(card), str(store_path)),
        batch_size=card.resources.concurrency,
        compute=ActorPoolStrategy(size=card.resources.actors),
        num_cpus=card.resources.cpus,
        num_gpus=card.resources.gpus or None,
    )
    try:
        for row in answered.iter_rows():
            yield msgspec.json.decode(row["done"], type=Done)
    except (ray.exceptions.RayActorError, ray.exceptions.RayTaskError) as error:
        raise EngineFailed(
            f"the engine of model {card.name!r} did not start or stay up: {_last_line(error)}"
        ) from error
    except ray.exceptions.RayError as error:
        raise RayLost(f"Ray ended under the job: {_last_line(error)}") from error


class EngineActor:
    """One copy of the model. Works on a batch of requests at once and stores each answer."""

    def __init__(self, card: dict[str, Any], store_path: str) -> None:
        self._store = Store(Path(store_path))
        self._engine = create_engine(msgspec.convert(card, ModelCard))
        self._producer = producer()

    def __del__(self) -> None:
        self._engine.close()

    async def __call__(self, batch: dict[str, Any]) -> AsyncIterator[dict[str, list[bytes]]]:
        """Answer a batch of prepared rows; yield a row for each as it ends."""
        pairs = zip(batch["planned"], batch["prepared"], strict=True)
        tasks = [
            asyncio.create_task(self._answer(bytes(row), bytes(media))) for row, media in pairs
        ]
        for task in asyncio.as_completed(tasks):
            yield {"done": [_encode(await task)]}

    async def _answer(self, row: bytes, media: bytes) -> Done:
        planned = _decode_planned(row)
        # After a crash Ray hands the whole batch to a new actor: what is stored is not asked again.
        stored = None if self._store.missing([planned.key]) else self._store.get(planned.key)
        return _done(stored or await self._record(planned, media))

    async def _record(self, planned: Planned, media: bytes) -> Record:
        prepared: Prepared = pickle.loads(media)  # noqa: S301 - made by _prepare_row, never read from disk
        began = time.perf_counter()
        if prepared.error:
            answer = Answer(Outcome.DECODE_ERROR, Response(error=prepared.error))
        else:
            answer = await self._ask(planned, prepared)
        record = Record(
            key=planned.key,
            request=planned.request,
            outcome=answer.outcome,
            response=answer.response,
            effective=prepared.effective | answer.effective,
            usage=answer.usage,
            times=Times(decode_s=prepared.decode_s, answer_s=time.perf_counter() - began),
            producer=self._producer,
            created=created_now(),
        )
        self._store.put(record)
        return record

    async def _ask(self, planned: Planned, prepared: Prepared) -> Answer:
        try:
            return await self._engine.answer(planned.request, prepared)
        except Exception as error:  # one request's failure must not end the job; it is recorded
            logging.getLogger(__name__).exception("request %s failed", planned.key[:12])
            text = f"{type(error).__name__}: {error}"
            return Answer(Outcome.INFRA_ERROR, Response(error=text))


def _done(record: Record) -> Done:
    return Done(
        key=record.key,
        outcome=record.outcome,
        error=record.response.error,
        decode_s=record.times.decode_s or 0.0,
        answer_s=record.times.answer_s or 0.0,
        input_tokens=record.usage.input_tokens or 0,
        output_tokens=record.usage.output_tokens or 0,
        node=record.producer.host,
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
        host=platform.node(),
        job=f"{job}_{task}" if job and task else job,
        versions={"rejudge": __version__, "python": platform.python_version()},
    )


def _prepare_row(row: dict[str, Any]) -> dict[str, Any]:
    planned = _decode_planned(row["planned"])
    prepared = prepare(planned.request, planned.files)
    return {"planned": row["planned"], "prepared": pickle.dumps(prepared, protocol=5)}


def _decode_cpus() -> float:
    # On one core the engine's share and decoding must both fit.
    return 1.0 if len(os.sched_getaffinity(0)) > 1 else 0.25


def _require(card: ModelCard) -> None:
    import ray

    have = ray.cluster_resources()
    for name, asked in (
        ("CPU", card.resources.cpus * card.resources.actors + _decode_cpus()),
        ("GPU", card.resources.gpus * card.resources.actors),
    ):
        if asked > have.get(name, 0.0):
            raise FeatureMissing(
                f"model {card.name!r} asks for {asked:g} {name}(s), the cluster has "
                f"{have.get(name, 0.0):g}: take a larger allocation or fewer actors"
            )


def _last_line(error: Exception) -> str:
    # Ray's messages carry whole tracebacks; what happened stands in their last line.
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
