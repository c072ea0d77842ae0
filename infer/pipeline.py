"""The pipeline on Ray Data: pending requests → decode (CPU tasks) → engine actors → store.

Requests about the same media are one row, decoded once; rows about one file are neighbours, in the
order of their segments. Each row is a block and so a task of its own: an engine gets the next one
as soon as it has a place free, and never waits for a batch to end. Decoding runs ahead only as far
as Ray's back-pressure lets it, so memory does not grow with the number of requests. The driver sees
small rows, for progress and counts.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from infer.actor import Done, EngineActor, decode_group
from infer.card import ModelCard
from infer.errors import EngineFailed, RayLost, last_line
from infer.media.apart import prepare_apart
from infer.media.decode import media_of
from infer.plan import Planned

_encode = msgspec.json.Encoder().encode
_decode_done = msgspec.json.Decoder(Done).decode

#: Requests about the same media in one row at most. They share one engine.
LARGEST_GROUP = 8


def run_pipeline(
    planned: Iterable[Planned], card: ModelCard, store_path: Path, ledger: Any
) -> Iterator[Done | None]:
    """Ask the planned requests; yield each as soon as its record is stored.

    Ray must be running (``cluster.start_ray``). The rows come in the order in which they end.

    Raises:
        EngineFailed: the engine did not start.
        RayLost: Ray ended.
    """
    import ray
    from ray.data import TaskPoolStrategy

    rows = [{"group": _encode(group)} for group in groups(planned)]
    prepared = ray.data.from_items(rows, override_num_blocks=len(rows)).map(
        _prepare,
        fn_kwargs={"timeout_s": card.resources.decode_timeout_s},
        num_cpus=decode_cpus(),
        # A size of its own: else Ray may decode inside of the engine's process.
        compute=TaskPoolStrategy(size=max(len(rows), card.resources.actors + 1)),
    )
    del rows
    yield from answer_rows(prepared, EngineActor, card, store_path, ledger)


def answer_rows(
    rows: Any, actor: type[EngineActor], card: ModelCard, store_path: Path, ledger: Any
) -> Iterator[Done | None]:
    """Hand the rows of a data set to engine actors; yield what they did, as they end.

    A row of which nothing was asked, because the job is to stop, yields None.

    Raises:
        EngineFailed: the engine did not start.
        RayLost: Ray ended.
    """
    import ray
    from ray.data import ActorPoolStrategy

    answered = rows.map_batches(
        actor,
        fn_constructor_args=(msgspec.to_builtins(card), str(store_path), ledger),
        batch_size=1,  # a row is a block; where GPUs are asked for, Ray wants this said
        batch_format="pyarrow",
        compute=ActorPoolStrategy(
            size=card.resources.actors,
            max_concurrent_calls_per_actor=card.resources.concurrency,
        ),
        num_cpus=card.resources.cpus,
        num_gpus=card.resources.gpus or None,
    )
    try:
        for row in answered.iter_rows():
            yield _decode_done(row["done"]) if row["done"] else None
    except (ray.exceptions.RayActorError, ray.exceptions.RayTaskError) as error:
        raise EngineFailed(
            f"the engine of model {card.name!r} did not start or stay up: {last_line(error)}"
        ) from error
    except ray.exceptions.RayError as error:
        raise RayLost(f"Ray ended under the job: {last_line(error)}") from error


def groups(planned: Iterable[Planned]) -> list[list[Planned]]:
    """Bring requests about the same media together, and groups about one file side by side."""
    by_media: dict[Any, list[Planned]] = {}
    for one in planned:
        media = media_of(one.request)
        by_media.setdefault((media, one.request.preprocessing), []).append(one)
    first_seen: dict[str, int] = {}
    for media, _ in by_media:
        first_seen.setdefault(media[0].sha256 if media else "", len(first_seen))

    def place(media: Any) -> tuple[int, float]:
        head = media[0] if media else None
        return first_seen[head.sha256 if head else ""], (head.start_s or 0.0) if head else 0.0

    ordered = sorted(by_media.items(), key=lambda item: place(item[0][0]))
    return [
        members[first : first + LARGEST_GROUP]
        for _, members in ordered
        for first in range(0, len(members), LARGEST_GROUP)
    ]


def decode_cpus() -> float:
    """CPUs that a decoding task takes: on one core it must fit beside the engine's share."""
    return 1.0 if len(os.sched_getaffinity(0)) > 1 else 0.25


def _prepare(row: dict[str, Any], timeout_s: float | None) -> dict[str, Any]:
    first = decode_group(row["group"])[0]
    prepared = prepare_apart(first.request, first.files, timeout_s)
    return {"group": row["group"], "prepared": pickle.dumps(prepared, protocol=5)}
