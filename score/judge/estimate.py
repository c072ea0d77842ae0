"""What grading would take before it is done: calls, tokens, dollars, time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile

import msgspec

from cache.record import Record
from cache.store import Store
from score.judge.cost import added, cost_usd, rates
from score.judge.decide import Ask
from score.judge.docket import Docket
from score.judge.spec import JudgeSpec
from score.judge.work import Budget
from score.pair import Pair


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What :func:`score.judge.grade.grade` would do now."""

    judge: str
    pairs: int
    requests: int
    """Distinct cases among the pairs."""
    cached: int
    """Of these, settled in the store."""
    calls: int
    """Calls to make at least; unreadable replies cost more."""
    stopped: str = ""
    """Why more calls would be due than the budget allows; empty where it allows all."""
    input_tokens: int
    """Estimated, as are all that follow."""
    output_tokens: int
    cost_usd: float | None
    """None where the spec has no prices."""
    seconds: float | None
    """At the spec's concurrency and limits; None where the store has no call to learn from."""


def plan(
    store: Store,
    spec: JudgeSpec,
    pairs: Sequence[Pair],
    *,
    in_batch: bool = False,
    max_calls: int | None = None,
    max_cost_usd: float | None = None,
) -> Plan:
    """Return what grading ``pairs`` would take. Calls nothing, and needs no API key.

    Args:
        store: Where records are looked up.
        spec: Who would grade.
        pairs: What would be graded.
        in_batch: Whether calls would travel in batches.
        max_calls: How many would be made at most.
        max_cost_usd: What they would cost at most.

    Raises:
        ScoreError: a limit in dollars for a judge whose prices are not known.
    """
    docket = Docket(store, spec, pairs)
    due = [request for _, _, request in docket.pending().values()]
    known = [record for case in docket.cases for record in case.records.values()]
    learned = rates(spec, known)
    budget = Budget(
        spec, learned, max_calls=max_calls, max_cost_usd=max_cost_usd, in_batch=in_batch
    )
    calls = list(takewhile(budget.take, due))
    usage = added(learned.usage(request) for request in calls if spec.is_llm)
    tokens = (usage.input_tokens or 0) + (usage.output_tokens or 0)
    return Plan(
        judge=spec.name,
        pairs=len(pairs),
        requests=len(docket.cases),
        cached=sum(not isinstance(case.decision, Ask) for case in docket.cases),
        calls=len(calls),
        stopped=budget.used_up(len(due) - len(calls)) if len(calls) < len(due) else "",
        input_tokens=usage.input_tokens or 0,
        output_tokens=usage.output_tokens or 0,
        cost_usd=cost_usd(spec, usage, in_batch=in_batch),
        seconds=None if in_batch else _seconds(spec, len(calls), tokens, known),
    )


def _seconds(spec: JudgeSpec, calls: int, tokens: int, known: Iterable[Record]) -> float | None:
    """The longest of what concurrency, the limit of requests and that of tokens would take."""
    waits = [record.times.answer_s for record in known if record.times.answer_s is not None]
    limits = spec.limits
    least = [
        60 * count / limit
        for count, limit in (
            (calls, limits.requests_per_minute),
            (tokens, limits.tokens_per_minute),
        )
        if limit
    ]
    if waits:
        at_once = spec.concurrency if spec.is_llm else 1
        least.append(calls * sum(waits) / len(waits) / at_once)
    return round(max(least), 3) if least else None
