"""How every judge stands with every run of a store: what is judged, what failed, what it cost.

Nothing is called. Costs are by the prices that specs have now.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from bench.errors import BenchError
from cache.record import Record
from cache.store import Store
from score.errors import ScoreError
from score.judge.batches import Batch, Batches
from score.judge.cost import added, cost_usd
from score.judge.docket import Case, Docket
from score.judge.spec import JudgeSpec
from score.judge.verdict import JudgeFailure, Verdict
from score.pair import Pair
from score.runs import pairs_of


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """One judge and one run; or one judge and all runs, where what they share counts once."""

    judge: str
    run: str
    """Empty: all runs."""
    requests: int
    """Distinct cases."""
    verdicts: int
    judge_failed: int
    infra_failed: int
    missing: int
    pending: int
    """Calls that ``rejudge judge`` would make now."""
    calls: int
    """Answers that the store has, further attempts included."""
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    """None where the spec has no prices."""
    reasons: dict[str, int]
    """Why cases have no verdict, and how many, the most frequent first."""


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """How a store stands."""

    standings: list[Standing]
    unread: dict[str, str]
    """Runs that could not be looked at, and why."""
    batches: list[Batch]
    """Those that a service works on, or that were not collected yet."""


def status(
    store: Store, specs: Sequence[JudgeSpec], data: Path | None = None, *, every: bool = False
) -> Status:
    """Look at all runs of a store.

    Args:
        store: The store; it is only read.
        specs: The judges.
        data: Folder of the data of benchmarks that are not bundled.
        every: Whether to list judges that were never asked, too.
    """
    unread: dict[str, str] = {}
    pairs: dict[str, list[Pair]] = {}
    for run in store.runs():
        try:
            pairs[run] = _pairs(store, run, data)
        except (BenchError, ScoreError) as error:
            unread[run] = str(error)
    standings = []
    for spec in specs:
        dockets = {run: Docket(store, spec, found) for run, found in pairs.items()}
        distinct = {case.request.key(): case for one in dockets.values() for case in one.cases}
        rows = [_standing(spec, run, docket.cases) for run, docket in dockets.items()]
        if len(rows) > 1:
            rows.append(_standing(spec, "", distinct.values()))
        if every or any(row.calls for row in rows):
            standings += rows
    return Status(standings=standings, unread=unread, batches=Batches(store.path).all())


def as_text(found: Status) -> str:
    """Return the status for people."""
    lines = []
    for row in found.standings:
        price = "unknown cost" if row.cost_usd is None else f"{row.cost_usd:,.2f} USD"
        failed = f"{row.judge_failed} judge_failed, {row.infra_failed} infra_failed"
        lines += [
            f"{row.judge}  {row.run or 'all runs, what they share once'}",
            f"  {row.verdicts} of {row.requests} verdicts, {failed}, {row.missing} missing; "
            f"{row.pending} calls to make",
            f"  {row.calls} calls, {row.input_tokens:,} tokens in, {row.output_tokens:,} out, "
            f"{price}",
            *(f"  {count} × {reason}" for reason, count in list(row.reasons.items())[:5]),
        ]
    if not found.standings:
        lines.append("No judge has graded a run of this store.")
    for batch in found.batches:
        where = batch.id or "not sent yet"
        lines.append(
            f"batch {where}: {batch.requests} calls of {batch.judge} since {batch.created}; "
            "collect it with rejudge judge --batch"
        )
    lines += [f"run {run} was not looked at: {why}" for run, why in found.unread.items()]
    return "\n".join(lines)


def _pairs(store: Store, run: str, data: Path | None) -> list[Pair]:
    benchmark = store.run(run).header.benchmark
    try:
        return pairs_of(store, benchmark, None, [run])
    except BenchError:
        if data is None:
            raise
    return pairs_of(store, benchmark, data, [run])


def _standing(spec: JudgeSpec, run: str, cases: Iterable[Case]) -> Standing:
    found = list(cases)
    results = [case.result for case in found]
    failures = [result for result in results if isinstance(result, JudgeFailure)]
    counts = Counter(failure.status for failure in failures)
    reasons = Counter(f"{one.status}: {one.reason}" for one in failures)
    records = [record for case in found for record in case.records.values()]
    usage = added(record.usage for record in records)
    return Standing(
        judge=spec.name,
        run=run,
        requests=len(found),
        verdicts=sum(isinstance(result, Verdict) for result in results),
        judge_failed=counts["judge_failed"],
        infra_failed=counts["infra_failed"],
        missing=counts["missing"],
        pending=sum(len(list(case.pending())) for case in found),
        calls=len(records),
        input_tokens=usage.input_tokens or 0,
        output_tokens=usage.output_tokens or 0,
        cost_usd=_cost(spec, records),
        reasons=dict(reasons.most_common()),
    )


def _cost(spec: JudgeSpec, records: Sequence[Record]) -> float | None:
    costs = [
        cost_usd(spec, record.usage, in_batch="batch" in record.effective) for record in records
    ]
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) and (costs or spec.prices) else None
