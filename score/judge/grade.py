"""Grading: call what the store lacks, and put every answer there as it comes.

Nothing is called twice by one process: not for two pairs with the same texts, not for what an
earlier run settled, not for what a batch is working on, and not for what another process settled
some seconds ago. A killed process loses only the calls in flight; one that is asked to end waits
for them. Unreadable replies are asked again in rounds, each attempt under its own key, as often as
the spec allows.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from cache.record import Record
from cache.request import Request
from cache.store import Store
from score.collector import collector_paused, collector_spared
from score.errors import JudgeUnavailable, ScoreError
from score.judge.batch import BatchEngine
from score.judge.batches import Batches
from score.judge.cost import rates
from score.judge.decide import Ask
from score.judge.docket import Case, Docket
from score.judge.engine import JudgeEngine, engine_for
from score.judge.interruption import Interruption
from score.judge.spec import JudgeSpec
from score.judge.verdict import JudgeFailure, Verdict
from score.judge.work import Budget, Elsewhere, Work
from score.pair import Pair
from score.track import Track, untracked


class Graded(msgspec.Struct, kw_only=True):
    """What grading did. Counts of verdicts and failures are over distinct cases."""

    judge: str
    pairs: int
    requests: int
    """Distinct cases among the pairs."""
    cached: int = 0
    """Of these, settled in the store before anything was called."""
    elsewhere: int = 0
    """Answers that another process put into the store meanwhile; they were not asked for here."""
    called: int = 0
    """Answers that arrived, those to further attempts included."""
    ok: int = 0
    """Cases that have a verdict now."""
    judge_failed: int = 0
    infra_failed: int = 0
    missing: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    """None where the spec has no prices."""
    seconds: float = 0.0
    stopped: str = ""
    """Why calls are left that the same command would make or collect; empty where none is."""
    interrupted: bool = False
    """Stopped by a signal or at a batch under way, and not because the budget is used up."""
    reasons: dict[str, int] = {}
    """Why cases have no verdict, and how many, the most frequent first."""

    @property
    def complete(self) -> bool:
        """Whether every pair has a verdict."""
        return self.ok == self.requests


@dataclass(frozen=True, slots=True)
class Terms:
    """How calls are made, and when they stop. None of it moves a verdict."""

    max_calls: int | None = None
    max_cost_usd: float | None = None
    in_batch: bool = False
    """Whether calls travel in batches."""
    wait: bool = True
    """Whether to wait for batches."""


#: Answers of a service are durable after so many seconds at the latest.
FLUSH_EVERY_S = 1.0

#: How long a signal may wait until it is heeded.
_LOOK_FOR_SIGNALS_S = 0.2

_Pending = Mapping[str, tuple[Case, int, Request]]

AT_ONCE = Terms()
"""Every call, one by one, now."""


def grade(
    store: Store,
    spec: JudgeSpec,
    pairs: Sequence[Pair],
    *,
    terms: Terms = AT_ONCE,
    environ: Mapping[str, str] = os.environ,
    track: Track = untracked,
    say: Callable[[str], None] = lambda text: None,
    interruption: Interruption | None = None,
) -> Graded:
    """Let a judge grade ``pairs``, as far as the store lacks their verdicts.

    Args:
        store: where records are looked up and put.
        spec: who grades.
        pairs: what to grade.
        terms: budget, and whether calls travel in batches.
        environ: where the API key is read.
        track: shows the progress of each round of calls.
        say: told what becomes of batches.
        interruption: says when no more calls may begin; None: never.

    Raises:
        JudgeUnavailable: the API key is missing, or the service takes no request. Verdicts that
            arrived before are in the store.
        FeatureMissing: the judge needs a package or a model that is not installed.
        ScoreError: the terms do not fit the judge, or a batch has calls that would be made here.
    """
    start = time.monotonic()
    with collector_paused():
        docket = Docket(store, spec, pairs)
    done = Graded(judge=spec.name, pairs=len(pairs), requests=len(docket.cases))
    done.cached = sum(not isinstance(case.decision, Ask) for case in docket.cases)
    grading = _Grading(store, spec, docket, done, terms, interruption or Interruption())
    try:
        with collector_spared():
            grading.run(environ, track, say)
    except JudgeUnavailable as error:
        _sum_up(docket, done)
        raise JudgeUnavailable(
            f"{error}. Stopped with {done.ok} of {done.requests} verdicts in the store; the same "
            "command goes on from there"
        ) from error
    finally:
        store.flush()
    _sum_up(docket, done)
    done.cost_usd = grading.budget.spent_usd
    done.seconds = round(time.monotonic() - start, 3)
    return done


class _Grading:
    """One call of :func:`grade`."""

    def __init__(
        self,
        store: Store,
        spec: JudgeSpec,
        docket: Docket,
        done: Graded,
        terms: Terms,
        interruption: Interruption,
    ) -> None:
        known = (record for case in docket.cases for record in case.records.values())
        self.budget = Budget(
            spec,
            rates(spec, known),
            max_calls=terms.max_calls,
            max_cost_usd=terms.max_cost_usd,
            in_batch=terms.in_batch,
        )
        self._store = store
        self._spec = spec
        self._docket = docket
        self._done = done
        self._terms = terms
        self._interruption = interruption
        self._elsewhere = Elsewhere(store)
        self._start = time.monotonic()

    def run(self, environ: Mapping[str, str], track: Track, say: Callable[[str], None]) -> None:
        """Make the calls."""
        pending = self._docket.pending()
        if self._terms.in_batch and not self._spec.is_llm:
            raise ScoreError(f"judge {self._spec.name} is a formula: it has no batches")
        batches = Batches(self._store.path)
        if not self._terms.in_batch:
            _refuse_under_way(batches, self._spec, pending)
        if not pending and not (self._terms.in_batch and batches.of(self._spec)):
            return
        asked: set[str] = set()
        with asyncio.Runner() as runner:
            engine = self._engine(environ, say)
            try:
                # A round ends when its answers are in; only unreadable ones leave some to ask.
                while True:
                    asked.update(pending)
                    if self._round(runner, engine, pending, track):
                        break
                    left = self._docket.pending().items()
                    pending = {key: ask for key, ask in left if key not in asked}
                    if not pending:
                        break
            finally:
                runner.run(engine.close())

    def _round(
        self, runner: asyncio.Runner, engine: JudgeEngine, pending: _Pending, track: Track
    ) -> bool:
        """Make the calls that are due; whether there shall be no more."""
        requests = [request for _, _, request in pending.values()]
        work = Work(requests, self.budget, self._keep, self._elsewhere)
        if self._interruption.signal:
            work.closed.set()
        answers = self._answers(runner, engine.answers(work), work)
        for record in track(answers, len(work), self.progress):
            if record.key in pending:
                case, sample, _ = pending[record.key]
                case.heard(sample, record)
            _count(self._done, record)
        for record in work.found:
            case, sample, _ = pending[record.key]
            case.heard(sample, record)
        self._done.elsewhere += len(work.found)
        return self._is_stopped(engine, len(work))

    def progress(self) -> str:
        """How fast the calls go, and what they cost so far."""
        text = f"judge {self._spec.name}"
        if self._done.called:
            seconds = max(time.monotonic() - self._start, 1e-3)
            text += f", {self._done.called / seconds:.1f}/s"
        if self._spec.is_llm and self.budget.spent_usd is not None:
            text += f", {self.budget.spent_usd:,.2f} USD so far"
        return text

    def _engine(self, environ: Mapping[str, str], say: Callable[[str], None]) -> JudgeEngine:
        if not self._terms.in_batch:
            return engine_for(self._spec, environ)
        wait = self._terms.wait
        return BatchEngine(self._spec, environ, self._store.path, wait=wait, say=say)

    def _is_stopped(self, engine: JudgeEngine, held: int) -> bool:
        if isinstance(engine, BatchEngine) and engine.open_calls:
            self._done.stopped = f"{engine.open_calls} calls are in batches that did not end yet"
            self._done.interrupted = True
        if self._interruption.signal and self._docket.pending():
            self._done.stopped = f"interrupted by a signal ({self._interruption.signal})"
            self._done.interrupted = True
        elif held:
            self._done.stopped = self.budget.used_up(held)
        return bool(self._done.stopped)

    def _answers(
        self, runner: asyncio.Runner, answers: AsyncGenerator[list[Record], None], work: Work
    ) -> Iterator[Record]:
        """Calls run while the next answers are waited for; each was put as it came."""
        flushed = time.monotonic()

        async def more() -> list[Record] | None:
            nonlocal flushed
            # A killed process loses nothing that was put; a dead machine what was not flushed.
            if self._terms.in_batch or time.monotonic() - flushed > FLUSH_EVERY_S:
                self._store.flush()
                flushed = time.monotonic()
            waited = asyncio.ensure_future(anext(answers, None))
            while not (await asyncio.wait({waited}, timeout=_LOOK_FOR_SIGNALS_S))[0]:
                if self._interruption.signal:
                    work.closed.set()
                if self._interruption.is_over:
                    waited.cancel()
            return None if waited.cancelled() else waited.result()

        try:
            while (records := runner.run(more())) is not None:
                yield from records
                if self._interruption.signal:
                    work.closed.set()
        finally:
            runner.run(answers.aclose())

    def _keep(self, record: Record) -> None:
        self._store.put(record, sync=False)


def _refuse_under_way(batches: Batches, spec: JudgeSpec, pending: Mapping[str, object]) -> None:
    for batch in batches.of(spec):
        twice = sum(request.key() in pending for request in batches.requests(batch))
        if twice:
            raise ScoreError(
                f"{twice} of these calls are in batch {batch.id or batch.tag} of {batch.created}: "
                "collect it with --batch, or cancel it at the service and then collect it"
            )


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
