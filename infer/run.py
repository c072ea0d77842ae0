"""One inference run: load, plan, ask what the store lacks, and say how it went."""

from __future__ import annotations

import hashlib
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from bench import registry
from bench.item import TaskType
from cache.record import Outcome
from cache.run import RunHeader
from cache.store import Store
from infer.card import ModelCard
from infer.errors import PlanError
from infer.pipeline import Done, run_pipeline, start_ray
from infer.plan import WHOLE, Plan, Planned, Shard, make_plan, pending

Track = Callable[[Iterable[Done], int, str], Iterator[Done]]


@dataclass(frozen=True, slots=True)
class Choice:
    """What of a benchmark is asked, and how. The same choice always makes the same plan."""

    benchmark: str
    data: Path | None = None
    tasks: tuple[TaskType, ...] = ()
    """Empty: the benchmark's own default."""
    templates: Path | None = None
    limit: int | None = None
    """Only the first so many prompts: it changes what is asked, not what is expected."""
    samples: int = 1
    skip_absent: bool = False


@dataclass(slots=True)
class Summary:
    """How a run ended. Counts are requests unless they say items."""

    run: str
    store: str
    items: int
    requested: int
    cached: int
    pending: int
    called: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    absent_media: list[str] = field(default_factory=list)
    input_tokens: int = 0
    output_tokens: int = 0
    nodes: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    interrupted: bool = False
    first_error: str = ""

    @property
    def failed(self) -> int:
        """Requests that ended other than ``ok`` in this session."""
        return sum(n for outcome, n in self.outcomes.items() if outcome != Outcome.OK)

    @property
    def exit_code(self) -> int:
        """0 done, 1 some requests failed or lack their media, 75 interrupted and resumable."""
        if self.interrupted:
            return 75
        return 1 if self.failed or self.absent_media else 0

    def as_dict(self) -> dict[str, Any]:
        """Return the summary for ``--json``."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found | {"failed": self.failed}


class Interrupted(BaseException):
    """SIGTERM, SIGUSR1 or ctrl-C: end now, the next start goes on."""


def prepare_plan(
    choice: Choice, card: ModelCard, store: Store, run: str = ""
) -> tuple[Plan, RunHeader]:
    """Load the benchmark, make the plan and write the run.

    Raises:
        PlanError: the model cannot answer a task type that is asked.
    """
    benchmark = registry.get(choice.benchmark)
    items = benchmark.load(choice.data, choice.tasks or None)
    tasks = tuple(dict.fromkeys(item.task for item in items))
    unfit = [task for task in tasks if task not in card.tasks]
    if unfit:
        raise PlanError(
            f"model {card.name!r} does not answer {', '.join(unfit)}; it answers: "
            f"{', '.join(card.tasks)}"
        )
    prompts = benchmark.prompts(items, choice.templates)[: choice.limit]
    plan = make_plan(prompts, card, store, samples=choice.samples, skip_absent=choice.skip_absent)
    header = RunHeader(
        name=run or f"{choice.benchmark}-{card.name}",
        benchmark=choice.benchmark,
        model=card.name,
        tasks=tasks,
        settings=_settings(card, choice),
        samples=choice.samples,
        created=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
    )
    return plan, header


def infer(
    choice: Choice,
    card: ModelCard,
    store_path: Path,
    track: Track,
    *,
    run: str = "",
    shard: Shard = WHOLE,
    dry_run: bool = False,
) -> Summary:
    """Answer what the store cannot answer yet.

    Args:
        choice: What of a benchmark is asked.
        card: The model, with the settings of this run.
        store_path: The store; it is made if it is not there.
        track: Wraps the answers as they come, to show progress.
        run: Name of the run; ``<benchmark>-<model>`` by default.
        shard: The part of the requests to answer.
        dry_run: Only say what would be asked; nothing is called and no run is written.
    """
    began = time.perf_counter()
    with Store(store_path, create=True) as store:
        plan, header = prepare_plan(choice, card, store, run)
        todo, requested = pending(plan, store, shard)
        if not dry_run:
            store.write_run(header, plan.lines)
    summary = Summary(
        run=header.name,
        store=str(store_path),
        items=len({line.item for line in plan.lines}),
        requested=requested,
        cached=requested - len(todo),
        pending=len(todo),
        absent_media=[str(path) for path in plan.absent],
    )
    if todo and not dry_run:
        _ask(todo, card, store_path, track, summary)
    summary.seconds = time.perf_counter() - began
    return summary


def _ask(
    todo: list[Planned], card: ModelCard, store_path: Path, track: Track, summary: Summary
) -> None:
    try:
        with _interruptible(), redirect_stdout(sys.stderr):
            start_ray()
        # Ray puts its own handlers in place when it starts, and prints what happens to its actors.
        with _interruptible(), redirect_stdout(sys.stderr):
            done = run_pipeline(todo, card, store_path.absolute())
            for answered in track(done, len(todo), f"{card.name} on {summary.run}"):
                _count(summary, answered)
    except Interrupted:
        summary.interrupted = True


def _count(summary: Summary, done: Done) -> None:
    summary.called += 1
    summary.outcomes[done.outcome] += 1
    summary.nodes[done.node] += 1
    summary.input_tokens += done.input_tokens
    summary.output_tokens += done.output_tokens
    if done.outcome != Outcome.OK and not summary.first_error:
        summary.first_error = f"{done.key[:12]}: {done.outcome}: {done.error}"


@contextmanager
def _interruptible() -> Iterator[None]:
    def interrupt(signum: int, frame: object) -> None:
        raise Interrupted

    signals = (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT)
    old = {number: signal.signal(number, interrupt) for number in signals}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def _settings(card: ModelCard, choice: Choice) -> dict[str, Any]:
    # What a reader of the run wants to see, and what two runs of one name must share.
    settings: dict[str, Any] = {
        "engine": card.engine,
        "revision": card.revision,
        "modality": card.modality,
        "preprocessing": msgspec.to_builtins(card.preprocessing),
        "sampling": msgspec.to_builtins(card.sampling),
        "engine_settings": card.settings,
    }
    if choice.templates:
        texts = sorted(path.read_bytes() for path in choice.templates.rglob("*") if path.is_file())
        settings["templates"] = hashlib.sha256(b"\0".join(texts)).hexdigest()
    return settings
