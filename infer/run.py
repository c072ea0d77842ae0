"""One inference run: load, plan, ask what the store lacks, and say how it went."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from bench import registry
from bench.item import Item, TaskType
from bench.prompt import Prompt
from cache.run import RunHeader
from cache.store import Store
from infer.ablation import AS_IN_CARD, Ablation
from infer.actor import created_now
from infer.card import ModelCard
from infer.checkpoint import pinned
from infer.dialogue import make_dialogues
from infer.engine import require_engine
from infer.errors import PlanError
from infer.job import Signals
from infer.plan import WHOLE, Shard, make_plan
from infer.session import Session, Summary, ask_plan, have_dialogues

#: Long enough for most answers, and within the 120 s that SLURM's signal comes ahead of the end.
GRACE_S = 90.0


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
    ablation: Ablation = AS_IN_CARD

    def run_name(self, model: str) -> str:
        """Return the default name of a run: another one for other settings."""
        samples = f"-samples{self.samples}" if self.samples > 1 else ""
        return f"{self.benchmark}-{model}{self.ablation.label()}{samples}"


def infer(
    choice: Choice,
    card: ModelCard,
    store_path: Path,
    *,
    run: str = "",
    shard: Shard = WHOLE,
    grace_s: float = GRACE_S,
    dry_run: bool = False,
) -> Summary:
    """Answer what the store cannot answer yet; show on stderr how far that is.

    Args:
        choice: What of a benchmark is asked, and which settings of the card differ.
        card: The model.
        store_path: The store; it is made if it is not there.
        run: Name of the run; :meth:`Choice.run_name` by default.
        shard: The part of the requests to answer.
        grace_s: How long what is in flight may take to end after a signal.
        dry_run: Only say what would be asked; nothing is called and nothing is written.

    Raises:
        CardError: the card names no engine.
        PlanError: the model cannot answer a task type that is asked, or media are not there.
        FeatureMissing: a package is not installed, or too few CPUs or GPUs are there.
        EngineFailed: the engine did not start or stay up.
        ServiceRefused: the service turns down every request.
        Interrupted: a signal came before anything was asked.
    """
    if not 0 <= grace_s < math.inf:
        raise PlanError(f"--grace {grace_s}: expected seconds")
    began, now = time.perf_counter(), created_now()
    in_dialogues = _is_dialogues(choice)
    card = choice.ablation.apply(card.in_dialogues() if in_dialogues else card)
    require_engine(card)
    _require_utf8(choice.data)
    with Signals() as signals, _opened(store_path, dry_run=dry_run) as store:
        card = pinned(card, store.media_digest)
        prompts, items, tasks = _prompts(choice, card)
        header = _header(choice, card, run, tasks, now)
        store.check_run(header)
        session = Session(card, store, shard, grace_s, signals, header, dry_run=dry_run)
        if in_dialogues:
            dialogues = make_dialogues(
                prompts,
                items,
                card,
                store,
                samples=choice.samples,
                skip_absent=choice.skip_absent,
            )
            summary = have_dialogues(session, dialogues)
        else:
            plan = make_plan(
                prompts, card, store, samples=choice.samples, skip_absent=choice.skip_absent
            )
            summary = ask_plan(session, plan)
    summary.store = str(store_path)
    summary.seconds = time.perf_counter() - began
    return summary


def _require_utf8(path: Path | None) -> None:
    # Requests travel to Ray's processes as JSON, and the paths of their media with them.
    try:
        str(path or "").encode()
    except UnicodeEncodeError as error:
        raise PlanError(
            f"the path of the data is not UTF-8: {str(path)!a}; rename the folder, or link to it"
        ) from error


def _is_dialogues(choice: Choice) -> bool:
    tasks = choice.tasks or registry.get(choice.benchmark).tasks
    found = TaskType.ASSISTANT in tasks
    if found and set(tasks) != {TaskType.ASSISTANT}:
        raise PlanError("dialogues are a run of their own: ask for --task assistant alone")
    if choice.ablation.teacher_forcing and not found:
        raise PlanError(f"--teacher-forcing is for dialogues, and {choice.benchmark} has none")
    return found


def _prompts(
    choice: Choice, card: ModelCard
) -> tuple[list[Prompt], list[Item], tuple[TaskType, ...]]:
    benchmark = registry.get(choice.benchmark)
    items = benchmark.load(choice.data, choice.tasks or None)
    tasks = tuple(dict.fromkeys(item.task for item in items))
    unfit = [task for task in tasks if task not in card.tasks]
    if unfit:
        raise PlanError(
            f"model {card.name!r} does not answer {', '.join(unfit)}; it answers: "
            f"{', '.join(card.tasks)}"
        )
    return benchmark.prompts(items, choice.templates)[: choice.limit], items, tasks


def _header(
    choice: Choice, card: ModelCard, run: str, tasks: tuple[TaskType, ...], created: str
) -> RunHeader:
    return RunHeader(
        name=run or choice.run_name(card.name),
        benchmark=choice.benchmark,
        model=card.name,
        tasks=tasks,
        settings=_settings(card, choice, tasks),
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


def _settings(card: ModelCard, choice: Choice, tasks: tuple[TaskType, ...]) -> dict[str, Any]:
    # What a reader of the run wants to see, and what two runs of one name must share.
    settings: dict[str, Any] = {
        "engine": card.engine,
        "revision": card.revision,
        "modality": card.modality,
        "preprocessing": msgspec.to_builtins(card.preprocessing),
        "sampling": msgspec.to_builtins(card.sampling),
        "engine_settings": card.settings,
    }
    if TaskType.ASSISTANT in tasks:
        settings["teacher_forcing"] = card.dialogue.teacher_forcing
    if choice.templates:
        texts = sorted(path.read_bytes() for path in choice.templates.rglob("*") if path.is_file())
        settings["templates"] = hashlib.sha256(b"\0".join(texts)).hexdigest()
    return settings
