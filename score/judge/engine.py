"""Who answers a judge's requests: a service call by call or in batches, or a formula here.

An engine takes requests and gives records, in any order, as they are answered. It knows no pairs
and no verdicts.
"""

from __future__ import annotations

import os
import platform
from collections.abc import AsyncGenerator, Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Protocol

from cache.record import Producer, Record
from score.judge.spec import JudgeSpec

if TYPE_CHECKING:
    from score.judge.work import Work


class JudgeEngine(Protocol):
    """Answers requests."""

    def answers(self, work: Work) -> AsyncGenerator[list[Record], None]:
        """Yield records as requests are answered, one each, failures included.

        Each is handed to ``work.done`` first. The batches of those that were yielded may be
        forgotten when more is asked for: whoever asks has made them durable.

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
        from score.judge.service import ServiceEngine

        return ServiceEngine(spec, environ)
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
