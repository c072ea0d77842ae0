"""An engine for tests of interruptions: the answers of ``chance``, at a pace that a test sets.

All that it is told lies in the folder ``$PACED``, so that keys, and with them the answers, are the
same for every test:

    calls          is written here: a line for each call, with its key and the node
    hold-after     the number of calls that are answered before further ones wait
    meet           the number of nodes that have to be at work before any call is answered
    release        is there when nothing waits any longer
    broken-<k>     is there when task k of the array lacks what it needs
"""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

from cache.request import Request
from infer.card import ModelCard
from infer.engine import Answer
from infer.engines.chance import ChanceEngine
from infer.errors import FeatureMissing
from infer.media.decode import Prepared

_LONGEST_S = 300.0


def folder() -> Path:
    return Path(os.environ["PACED"])


def calls(paced: Path) -> list[tuple[str, str]]:
    """Key and node of each call so far, oldest first."""
    log = paced / "calls"
    if not log.exists():
        return []
    return [(line.split()[0], line.split()[1]) for line in log.read_text().splitlines()]


def write_card(
    path: Path, *, seed: int = 0, actors: int = 1, gpus: float = 0.0, concurrency: int = 2
) -> Path:
    """Write a card for this engine."""
    path.write_text(
        'name = "paced"\nengine = "tests.paced_engine"\nmodality = "captions"\n'
        'tasks = ["summary", "choice", "localization"]\ndescription = "For tests."\n'
        f'verified = "no weights"\n[sampling]\nseed = {seed}\n[resources]\ncpus = 0.5\n'
        f"gpus = {gpus}\nactors = {actors}\nconcurrency = {concurrency}\n"
    )
    return path


class PacedEngine(ChanceEngine):
    """Guesses, when it may."""

    async def answer(self, request: Request, prepared: Prepared) -> Answer:
        number = self._log(request.key())
        until = time.monotonic() + _LONGEST_S
        while self._waits(number) and time.monotonic() < until:
            await asyncio.sleep(0.05)
        return await super().answer(request, prepared)

    def _log(self, key: str) -> int:
        node = os.environ.get("SLURMD_NODENAME", "-")
        descriptor = os.open(folder() / "calls", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(descriptor, f"{key} {node}\n".encode())
        os.close(descriptor)
        return len(calls(folder()))

    def _waits(self, number: int) -> bool:
        if (folder() / "release").exists():
            return False
        meet, hold = folder() / "meet", folder() / "hold-after"
        if meet.exists():
            return len({node for _, node in calls(folder())}) < int(meet.read_text())
        return hold.exists() and number > int(hold.read_text())


def create(card: ModelCard) -> PacedEngine:
    return PacedEngine()


_task = os.environ.get("SLURM_ARRAY_TASK_ID")
if _task is not None and (folder() / f"broken-{_task}").exists():
    raise FeatureMissing("the driver of this node's GPU is broken")
