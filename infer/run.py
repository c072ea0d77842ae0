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
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from bench import registry
from bench.item import TaskType
from bench.prompt import Prompt
from cache.record import Outcome
from cache.run import RunHeader
from cache.store import Store
from infer.card import ModelCard
from infer.cluster import start_ray
from infer.engine import require_engine
from infer.errors import PlanError, RayLost
from infer.pipeline import Done, created_now, run_pipeline
from infer.plan import WHOLE, Planned, Shard, make_plan, pending

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
    input_tokens: int = 0
    output_tokens: int = 0
    nodes: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    interrupted: str = ""
    """Why the session ended before its work was done; empty when it did not."""
    first_failure: str = ""

    @property
    def failed(self) -> int:
        """Requests that stand at an outcome other than ``ok``."""
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
        dry_run: Only say what would be asked; nothing is called and nothing is written.

    Raises:
        CardError: the card names no engine.
        PlanError: the model cannot answer a task type that is asked, or media are not there.
        FeatureMissing: a package is not installed, or the engine did not start.
    """
    began = time.perf_counter()
    now = created_now()
    require_engine(card)
    prompts, tasks = _prompts(choice, card)
    with _opened(store_path, dry_run=dry_run) as store:
        plan = make_plan(
            prompts, card, store, samples=choice.samples, skip_absent=choice.skip_absent
        )
        todo, requested = pending(plan, store, shard)
        header = _header(choice, card, run, tasks, now)
        if not dry_run:
            store.write_run(header, plan.lines)
        keys = {planned.key for planned in requested}
        summary = Summary(
            run=header.name,
            store=str(store_path),
            items=len({line.item for line in plan.lines if line.key in keys}),
            requested=len(requested),
            cached=len(requested) - len(todo),
            pending=len(todo),
            absent_media=[str(path) for path in plan.absent],
        )
        if todo and not dry_run:
            summary.interrupted = _ask(todo, card, store_path, track, header.name)
            store.refresh()
        _tally(summary, store, sorted(keys), {planned.key for planned in todo}, since=now)
    summary.seconds = time.perf_counter() - began
    return summary


def _prompts(choice: Choice, card: ModelCard) -> tuple[list[Prompt], tuple[TaskType, ...]]:
    benchmark = registry.get(choice.benchmark)
    items = benchmark.load(choice.data, choice.tasks or None)
    tasks = tuple(dict.fromkeys(item.task for item in items))
    unfit = [task for task in tasks if task not in card.tasks]
    if unfit:
        raise PlanError(
            f"model {card.name!r} does not answer {', '.join(unfit)}; it answers: "
            f"{', '.join(card.tasks)}"
        )
    return benchmark.prompts(items, choice.templates)[: choice.limit], tasks


def _header(
    choice: Choice, card: ModelCard, run: str, tasks: tuple[TaskType, ...], created: str
) -> RunHeader:
    return RunHeader(
        name=run or f"{choice.benchmark}-{card.name}",
        benchmark=choice.benchmark,
        model=card.name,
        tasks=tasks,
        settings=_settings(card, choice),
        samples=choice.samples,
        created=created,
    )


@contextmanager
def _opened(path: Path, *, dry_run: bool) -> Iterator[Store]:
    """Open the store; a dry run that has none yet plans against an empty one."""
    if dry_run and not path.exists():
        with TemporaryDirectory() as folder, Store(Path(folder) / "store", create=True) as store:
            yield store
        return
    with Store(path, create=not dry_run, read_only=dry_run) as store:
        yield store


def _ask(todo: list[Planned], card: ModelCard, store_path: Path, track: Track, run: str) -> str:
    """Ask the requests; return why that ended early, or nothing."""
    try:
        with _interruptible(), redirect_stdout(sys.stderr):
            start_ray()
        # Ray puts its own handlers in place when it starts, and prints what happens to its actors.
        with _interruptible(), redirect_stdout(sys.stderr):
            done = run_pipeline(todo, card, store_path.absolute())
            for _ in track(done, len(todo), f"{card.name} on {run}"):
                pass
    except Interrupted:
        return "a signal"
    except RayLost as error:
        return str(error)
    return ""


def _tally(summary: Summary, store: Store, keys: list[str], todo: set[str], *, since: str) -> None:
    """Count how the requests stand now, from what is stored."""
    records = store.get_many(keys)
    for key in keys:
        record = records.get(key)
        if record is None:
            continue
        summary.outcomes[record.outcome] += 1
        if record.outcome is not Outcome.OK and not summary.first_failure:
            said = record.response.error or f"finish reason {record.response.finish_reason}"
            summary.first_failure = f"{key[:12]}: {record.outcome}: {said}"
        if key in todo and record.created >= since:
            summary.called += 1
            summary.nodes[record.producer.host] += 1
            summary.input_tokens += record.usage.input_tokens or 0
            summary.output_tokens += record.usage.output_tokens or 0


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
