"""One session of a run: ask what the store lacks, and say how the run stands.

Requests are asked as a plan has them; of dialogues, their turns are the requests.
"""

from __future__ import annotations

import os
import secrets
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from cache.record import Outcome, Record
from cache.run import RunHeader
from cache.store import Store
from infer.attempts import begin_job, end_job, is_alone, tidy
from infer.card import ModelCard
from infer.dialogue import Dialogues, Talk
from infer.dialogue_run import DialogueRun
from infer.driver import Header
from infer.estimate import Estimate, estimate
from infer.job import Job, Signals
from infer.needs import require_here
from infer.plan import Plan, Planned, Shard, pending
from infer.progress import Rates, follow

#: Records that are in memory at once while they are counted.
_AT_ONCE = 1024


@dataclass(slots=True)
class Summary:
    """How a run stands. Counts are of this shard's requests unless they say items."""

    run: str
    store: str
    items: int
    requested: int
    cached: int
    pending: int
    called: int = 0
    """Calls that ended during this session, failures included."""
    outcomes: Counter[str] = field(default_factory=Counter)
    """How the requests stand now, cached ones included; those never answered are not in it."""
    absent_media: list[str] = field(default_factory=list)
    waiting: int = 0
    """Turns of dialogues that were not asked because an earlier one failed for now."""
    input_tokens: int = 0
    output_tokens: int = 0
    """Tokens of this session's calls, as the engine counts them."""
    shortened: int = 0
    """Turns of dialogues whose history had no room and was cut."""
    short_media: int = 0
    """Requests about media that end long before what was asked for."""
    rungs: Counter[str] = field(default_factory=Counter)
    """Requests by the rung of the budget ladder that they stand at; empty without a ladder."""
    nodes: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    requests_per_s: float | None = None
    """Since the first request was asked: loading a model is no measure of its speed."""
    interrupted: str = ""
    """Why the session ended before its work was done; empty when it did not."""
    first_failure: str = ""
    estimate: Estimate | None = None
    """What the pending requests would take; of a dry run."""

    @property
    def failed(self) -> int:
        """Requests that stand at an outcome other than ``ok``."""
        return sum(n for outcome, n in self.outcomes.items() if outcome != Outcome.OK)

    @property
    def exit_code(self) -> int:
        """0 done, 1 some requests failed or lack their media, 75 interrupted and resumable."""
        if self.interrupted:
            return 75
        return 1 if self.failed or self.absent_media or self.waiting else 0

    def as_dict(self) -> dict[str, Any]:
        """Return the summary for ``--json``."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found | {"failed": self.failed}


@dataclass(frozen=True, slots=True)
class Session:
    """What a run is done with."""

    card: ModelCard
    store: Store
    shard: Shard
    grace_s: float
    signals: Signals
    header: RunHeader
    dry_run: bool


def ask_plan(session: Session, plan: Plan) -> Summary:
    """Ask a plan's requests that the store does not answer."""
    store, card = session.store, session.card
    todo, requested = pending(plan, store, session.shard)
    if not session.dry_run:
        if todo:
            require_here(card, os.environ)
        store.write_run(session.header, plan.lines)
    keys = {planned.key for planned in requested}
    summary = Summary(
        run=session.header.name,
        store=str(store.path),
        items=len({line.item for line in plan.lines if line.key in keys}),
        requested=len(requested),
        cached=len(requested) - len(todo),
        pending=len(todo),
        absent_media=[str(path) for path in plan.absent],
    )
    if session.dry_run:
        summary.estimate = estimate(todo, card, _answered(store, sorted(keys)))
    asked = {planned.key for planned in todo}
    if todo and not session.dry_run:
        asked -= _ask(session, todo, summary)
    elif not session.dry_run:
        tidy(store, session.header.name, session.shard)
    _tally(summary, store, sorted(keys), asked, since=session.header.created)
    return summary


def have_dialogues(session: Session, plan: Dialogues) -> Summary:
    """Have dialogues as far as the store does not know them. Requests are their turns."""
    store, card = session.store, session.card
    run = DialogueRun(plan, session.header, store, session.shard)
    if not session.dry_run:
        if run.todo:
            require_here(card, os.environ)
        run.write()
    cached, asked_before = run.answered, run.pending
    summary = Summary(
        run=session.header.name,
        store=str(store.path),
        items=run.items,
        requested=run.turns,
        cached=run.turns - asked_before,
        pending=asked_before,
        absent_media=[str(path) for path in plan.absent],
    )
    if session.dry_run:
        answered = _answered(store, sorted(cached))
        summary.estimate = estimate(list(run.nominal()), card, answered)
    elif run.todo:
        try:
            cached |= _ask(session, run.todo, summary, run)
        finally:
            store.refresh()
            run.look_up()
            run.write()
    else:
        tidy(store, session.header.name, session.shard)
    since = session.header.created
    _tally(summary, store, sorted(run.keys), run.keys - cached, since=since)
    summary.waiting = 0 if session.dry_run else run.waiting
    return summary


def _ask(
    session: Session,
    todo: Sequence[Planned | Talk],
    summary: Summary,
    dialogues: DialogueRun | None = None,
) -> set[str]:
    """Ask the requests; say in the summary how fast that was and why it ended early.

    Returns:
        Keys of those that another job had stored when their turn came: they count as cached.
    """
    store, card, run = session.store, session.card, session.header.name
    journals = begin_job(store.path, run, session.shard)
    header = Header(
        card=card,
        store=str(store.path.absolute()),
        journals=str(journals),
        grace_s=session.grace_s,
        dialogues=dialogues is not None,
    )
    if not is_alone(journals):  # else both would ask the same at the same time
        begin = secrets.randbelow(len(todo))
        todo = [*todo[begin:], *todo[:begin]]
    job = Job(header, todo, session.signals)
    rates = Rates(summary.pending)
    found: set[str] = set()
    try:
        for done in follow(job.answers(), rates, f"{card.name} on {run}"):
            if dialogues is not None:
                dialogues.heard(done)
            if done.found:
                found.add(done.key)
                summary.cached, summary.pending = summary.cached + 1, summary.pending - 1
    finally:
        store.refresh()
        end_job(journals, store, innocent=job.settled)
    summary.interrupted, summary.requests_per_s = job.interrupted, rates.per_s
    return found


def _answered(store: Store, keys: Sequence[str]) -> Iterator[Record]:
    for first in range(0, len(keys), _AT_ONCE):
        yield from store.get_many(keys[first : first + _AT_ONCE]).values()


def _tally(summary: Summary, store: Store, keys: list[str], todo: set[str], *, since: str) -> None:
    """Count how the requests stand now, from what is stored."""
    for record in _answered(store, keys):
        summary.outcomes[record.outcome] += 1
        summary.shortened += bool(record.effective.get("context", {}).get("dropped"))
        facts = [*record.effective.get("video", ()), *record.effective.get("audio", ())]
        summary.short_media += any("missing_s" in one for one in facts if isinstance(one, dict))
        if rung := record.effective.get("rung"):
            summary.rungs[str(rung["number"])] += 1
        if record.outcome is not Outcome.OK and not summary.first_failure:
            said = record.response.error or f"finish reason {record.response.finish_reason}"
            summary.first_failure = f"{record.key[:12]}: {record.outcome}: {said}"
        if record.key in todo and record.created >= since:
            summary.called += 1
            summary.nodes[record.producer.host] += 1
            summary.input_tokens += record.usage.input_tokens or 0
            summary.output_tokens += record.usage.output_tokens or 0
