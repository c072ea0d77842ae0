"""How a chain stands: of each stage its state, its parts, and how many items are done.

What SLURM says (queue.py), what the jobs noted (part.py) and what the store holds are put together:
SLURM forgets ended jobs after minutes, and does not know why a job of ours ended.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from bench.errors import BenchError
from cache.errors import StoreUnavailable, UnknownRun
from cache.store import Store
from score.errors import ScoreError
from slurm.part import Left, look
from slurm.queue import FAILED, Entry, entries
from slurm.submission import Submission, Submitted

#: Reasons for which SLURM keeps a job in the queue that asks for more than there can be.
_NEVER = ("PartitionTimeLimit", "PartitionNodeLimit", "BadConstraints")


class State(StrEnum):
    """How a part, or a stage, stands."""

    FAILED = "failed"
    RUNNING = "running"
    PREEMPTED = "preempted"
    """SLURM took its nodes away; it comes back by itself."""
    REQUEUED = "requeued"
    """It ran, and waits in the queue to go on."""
    PENDING = "pending"
    CANCELLED = "cancelled"
    DONE = "done"

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens by itself."""
        return self in (State.FAILED, State.CANCELLED, State.DONE)


@dataclass(frozen=True, slots=True)
class PartStatus:
    """One part of a stage."""

    part: str
    state: State
    job: str = ""
    node: str = ""
    restarts: int = 0
    why: str = ""
    """Why it failed, waits or goes on again; what failed in it, where it is done."""
    log: str = ""


@dataclass(frozen=True, slots=True)
class StageStatus:
    """One stage of a chain."""

    stage: str
    job: str
    state: State
    parts: tuple[PartStatus, ...]
    unit: str = ""
    """What is counted: items or verdicts; empty where nothing is."""
    done: int | None = None
    total: int | None = None
    """None as long as nobody has looked what there is to do."""
    uncounted: str = ""
    """Why it cannot be counted; empty where it can, or nothing is there yet."""

    @property
    def counts(self) -> Counter[State]:
        """Parts by their state."""
        return Counter(part.state for part in self.parts)


@dataclass(frozen=True, slots=True)
class ChainStatus:
    """A whole chain."""

    chain: str
    submitted: str
    store: str
    stages: tuple[StageStatus, ...] = field(default=())

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens by itself."""
        return all(stage.state.is_over for stage in self.stages)

    @property
    def is_well(self) -> bool:
        """Whether nothing failed or was cancelled."""
        return not any(stage.state in (State.FAILED, State.CANCELLED) for stage in self.stages)

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return asdict(self)


def chain_status(submission: Submission, environ: Mapping[str, str] = os.environ) -> ChainStatus:
    """Say how a submitted chain stands.

    Raises:
        SlurmUnavailable: squeue is not there, or fails.
    """
    known = entries(submission.jobs, environ)
    stages = []
    for one in submission.stages:
        parts = tuple(_part(one, k, known) for k in range(1, one.stage.parts + 1))
        stages.append(
            StageStatus(one.stage.name, one.job, _state(parts), parts, *_progress(submission, one))
        )
    return ChainStatus(submission.chain, submission.at, submission.store, tuple(stages))


def _part(one: Submitted, k: int, known: Mapping[str, Entry]) -> PartStatus:
    name = one.stage.part(k)
    if k not in one.parts:
        left = look(one.stage, k)
        return PartStatus(name, State.DONE, why=_shortcomings(left), log=left.log)
    left = look(one.stage, k, one.job)
    job = f"{one.job}_{k}" if one.stage.is_array else one.job
    entry = known.get(job)
    state, why = _noted(left) if entry is None else _told(entry, left)
    started = [event for event in left.events if event.event == "started"]
    node = entry.node if entry is not None and entry.node else started[-1].node if started else ""
    restarts = started[-1].restart if started else 0
    if state in (State.REQUEUED, State.PREEMPTED):
        restarts += 1
    return PartStatus(name, state, job, node, restarts, why, left.log)


def _told(entry: Entry, left: Left) -> tuple[State, str]:
    """State and reason of a part that SLURM knows."""
    if entry.state == "COMPLETED":
        return State.DONE, _shortcomings(left)
    if entry.state in FAILED:
        own = left.ended is not None and entry.state == "FAILED"
        return State.FAILED, left.failure if own else FAILED[entry.state]
    if entry.state == "CANCELLED" or entry.reason == "DependencyNeverSatisfied":
        ran = bool(left.events)
        return State.CANCELLED, "cancelled" if ran else "what it waits for did not end well"
    if entry.state == "PREEMPTED":
        return State.PREEMPTED, "another job took its nodes"
    if entry.reason in _NEVER and not left.events:
        return State.PENDING, f"{entry.reason}: it will never start as it is; scancel, and edit"
    if entry.state in ("PENDING", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT"):
        return (State.REQUEUED, left.interruption) if left.events else (State.PENDING, entry.reason)
    return State.RUNNING, ""


def _noted(left: Left) -> tuple[State, str]:
    """State and reason of a part that SLURM has forgotten, or has never heard of."""
    if left.ended_well:
        return State.DONE, _shortcomings(left)
    if not left.events:
        return State.CANCELLED, "it never started, and SLURM knows nothing of it any more"
    return State.FAILED, left.failure


def _shortcomings(left: Left) -> str:
    """What is not well in a part that is done."""
    result = left.result or {}
    if failed := result.get("failed"):
        return f"{failed} of {result['requested']} requests failed; {result['first_failure']}"
    without = sum(int(result.get(name, 0)) for name in ("judge_failed", "infra_failed", "missing"))
    if not without:
        return ""
    stopped = f"; stopped: {result['stopped']}" if result.get("stopped") else ""
    return f"{without} of {result['requests']} answers have no verdict{stopped}"


def _state(parts: tuple[PartStatus, ...]) -> State:
    """A stage's: the first in the order of :class:`State` that one of its parts is in."""
    there = {part.state for part in parts}
    return next(state for state in State if state in there)


def _progress(submission: Submission, one: Submitted) -> tuple[str, int | None, int | None, str]:
    stage = one.stage
    if stage.run:
        return ("items", *_items(submission, stage.run), "")
    if stage.judge:
        try:
            return ("verdicts", *_verdicts(submission, one), "")
        except (BenchError, ScoreError) as error:  # a file was moved since: the rest still holds
            return "verdicts", None, None, str(error)
    return "", None, None, ""


def _items(submission: Submission, run: str) -> tuple[int | None, int | None]:
    try:
        with Store(Path(submission.store), read_only=True) as store:
            lines = store.run(run).lines
            missing = set(store.missing(line.key for line in lines))
    except (StoreUnavailable, UnknownRun):
        return None, None
    items = {line.item for line in lines}
    waiting = {line.item for line in lines if line.key in missing}
    return len(items) - len(waiting), len(items)


def _verdicts(submission: Submission, one: Submitted) -> tuple[int | None, int | None]:
    from score.judge.estimate import plan
    from score.judge.spec import load_spec
    from score.runs import pairs_of

    runs = [other.stage.run for other in submission.stages if other.stage.run]
    data = Path(submission.data) if submission.data else None
    try:
        with Store(Path(submission.store), read_only=True) as store:
            pairs = pairs_of(store, submission.benchmark, data, runs)
            planned = plan(store, load_spec(one.stage.judge), pairs)
    except (StoreUnavailable, UnknownRun):
        return None, None
    return planned.cached, planned.requests
