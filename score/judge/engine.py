"""Who answers a judge's requests: a chat model over HTTP, or a formula on this machine.

An engine takes requests and gives records, in any order, as they are answered. It does not know
the store, pairs or verdicts; a batch interface is one more engine.
"""

from __future__ import annotations

import os
import platform
from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from typing import Protocol

from cache.record import Producer, Record
from cache.request import Request
from score.judge.spec import JudgeSpec


class JudgeEngine(Protocol):
    """Answers requests."""

    def answers(self, requests: Iterable[Request]) -> AsyncIterator[Record]:
        """Yield one record a request as it is answered, failures included.

        Raises:
            JudgeUnavailable: the service takes no request at all. What was answered before has
                been yielded; the rest was not asked.
        """
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


def engine_for(spec: JudgeSpec, environ: Mapping[str, str]) -> JudgeEngine:
    """Return the engine that a spec asks for.

    Raises:
        JudgeUnavailable: the environment lacks the judge's API key.
    """
    if spec.engine == "openai":
        from score.judge.chat import ChatEngine

        return ChatEngine(spec, environ)
    from score.judge.local import EmbeddingEngine, LexicalEngine

    return LexicalEngine() if spec.engine == "lexical" else EmbeddingEngine()


@cache
def producer(*packages: str) -> Producer:
    """Who writes: this host, its SLURM job if any, the versions of ``packages`` and rejudge."""
    job, task = os.environ.get("SLURM_ARRAY_JOB_ID"), os.environ.get("SLURM_ARRAY_TASK_ID")
    return Producer(
        host=platform.node(),
        job=f"{job}_{task}" if job and task else os.environ.get("SLURM_JOB_ID", ""),
        versions={name: version(name) for name in ("rejudge", *packages)},
    )


def now() -> str:
    """The time as records give it: UTC, milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
