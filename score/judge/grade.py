"""Grading: call what the store lacks, and put every answer there as it comes.

Nothing is called twice: not for two pairs with the same texts, not for what an earlier run settled.
A killed process loses only the calls in flight. Unreadable replies are asked again in rounds, each
attempt under its own key, as often as the spec allows.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

import msgspec

from cache.record import Record
from cache.store import Store
from score.errors import JudgeUnavailable
from score.judge.decide import Ask
from score.judge.docket import Docket
from score.judge.engine import engine_for
from score.judge.estimate import cost_usd
from score.judge.spec import JudgeSpec
from score.judge.verdict import JudgeFailure, Verdict
from score.pair import Pair
from score.track import Track, untracked


class Graded(msgspec.Struct, kw_only=True):
    """What grading did. Counts of verdicts and failures are over distinct requests."""

    judge: str
    pairs: int
    requests: int
    """Distinct question, reference and answer among the pairs."""
    cached: int = 0
    """Of these, settled in the store before anything was called."""
    called: int = 0
    """Calls made, further attempts included."""
    ok: int = 0
    """Requests that have a verdict now."""
    judge_failed: int = 0
    infra_failed: int = 0
    missing: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    """None where the spec has no prices."""
    seconds: float = 0.0
    reasons: dict[str, int] = {}
    """Why requests have no verdict, and how many, the most frequent first."""

    @property
    def complete(self) -> bool:
        """Whether every pair has a verdict."""
        return self.ok == self.requests


def grade(
    store: Store,
    spec: JudgeSpec,
    pairs: Sequence[Pair],
    *,
    environ: Mapping[str, str] = os.environ,
    track: Track = untracked,
) -> Graded:
    """Let a judge grade ``pairs``, as far as the store lacks their verdicts.

    Args:
        store: where records are looked up and put.
        spec: who grades.
        pairs: what to grade.
        environ: where the API key is read.
        track: shows the progress of each round of calls.

    Raises:
        JudgeUnavailable: the API key is missing, or the service takes no request. Verdicts that
            arrived before are in the store.
        FeatureMissing: the judge needs a package or a model that is not installed.
    """
    start = time.monotonic()
    docket = Docket(store, spec, pairs)
    done = Graded(judge=spec.name, pairs=len(pairs), requests=len(docket.cases))
    done.cached = sum(not isinstance(case.decision, Ask) for case in docket.cases)
    try:
        _call(store, spec, docket, done, environ, track)
    except JudgeUnavailable as error:
        _sum_up(docket, done)
        raise JudgeUnavailable(
            f"{error}. Stopped with {done.ok} of {done.requests} verdicts in the store; the same "
            "command goes on from there"
        ) from error
    finally:
        store.flush()
    _sum_up(docket, done)
    done.cost_usd = cost_usd(spec, done.input_tokens, done.output_tokens)
    done.seconds = round(time.monotonic() - start, 3)
    return done


def _call(
    store: Store,
    spec: JudgeSpec,
    docket: Docket,
    done: Graded,
    environ: Mapping[str, str],
    track: Track,
) -> None:
    asked: set[str] = set()
    pending = docket.pending()
    if not pending:
        return
    with asyncio.Runner() as runner:
        engine = engine_for(spec, environ)
        # A round ends when all its answers are in; only unreadable ones leave something to ask.
        while pending:
            asked.update(pending)
            requests = [request for _, _, request in pending.values()]
            answers = _answers(runner, engine.answers(requests))
            for record in track(answers, len(requests), f"judge {spec.name}"):
                # A formula is free to repeat; an answer that was paid for must not be lost.
                store.put(record, sync=spec.is_llm)
                case, sample, _ = pending[record.key]
                case.records[sample] = record
                _count(done, record)
            pending = {key: ask for key, ask in docket.pending().items() if key not in asked}
        runner.run(engine.close())


def _answers(runner: asyncio.Runner, records: AsyncIterator[Record]) -> Iterator[Record]:
    """Calls run while the next record is waited for; between records the store is written."""

    async def next_one() -> Record | None:
        return await anext(records, None)

    while (record := runner.run(next_one())) is not None:
        yield record


def _count(done: Graded, record: Record) -> None:
    done.called += 1
    done.input_tokens += record.usage.input_tokens or 0
    done.output_tokens += record.usage.output_tokens or 0


def _sum_up(docket: Docket, done: Graded) -> None:
    results = [case.result for case in docket.cases]
    failures = [result.status for result in results if isinstance(result, JudgeFailure)]
    done.ok = sum(isinstance(result, Verdict) for result in results)
    done.judge_failed = failures.count("judge_failed")
    done.infra_failed = failures.count("infra_failed")
    done.missing = failures.count("missing")
    done.reasons = dict(docket.failures().most_common())
