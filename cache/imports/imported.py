"""What importing has in common: an answer found in a file becomes a record with its own request.

What the model was really sent is not in these files. The request names the source instead: engine
``import``, the model's name, and the item. So imported answers never stand in for a request that
this project would make, and importing a file again finds everything stored.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cache.conflict import keep_conflicts
from cache.record import Outcome, Record, Response, Usage
from cache.request import Message, Request, Text
from cache.run import RunHeader, RunLine
from cache.store import Store

ENGINE = "import"


@dataclass(frozen=True, slots=True)
class ImportedAnswer:
    """One answer of one model, as a file of another suite has it."""

    run: str
    """Run that the answer belongs to, unless the user names one."""
    benchmark: str
    task: str
    model: str
    entry: str
    """Names the answer within its run: items that were asked together share one."""
    items: tuple[str, ...]
    text: str = ""
    error: str = ""
    """What the file says of a failure; empty for an answer."""
    sample: int = 0
    created: str = ""
    output_tokens: int | None = None
    effective: dict[str, Any] = field(default_factory=dict)
    """What the file says of how the answer was made."""
    origin: str = ""
    """File and entry, for people."""


@dataclass(slots=True)
class Imported:
    """What an import did."""

    runs: list[str] = field(default_factory=list)
    answers: int = 0
    failures: int = 0
    already_stored: int = 0
    conflicts: int = 0
    """Answers that differ from what an earlier import stored for the same entry: it stays."""
    without_items: int = 0
    """Failures that no item can be named for: their questions are not in the file."""

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return asdict(self)


def store_answers(
    store: Store, answers: Iterable[ImportedAnswer], *, run: str | None = None
) -> Imported:
    """Put answers into a store, and write the runs that list them.

    Args:
        store: takes them.
        answers: of one or more runs.
        run: name of the run to make; where ``answers`` are of several runs, put before each name.

    Raises:
        RunConflict: a run of that name was made otherwise.
        StoreUnavailable: the store cannot be written.
    """
    found = list(answers)
    names = {answer.run for answer in found}
    result = Imported()
    runs: dict[str, list[tuple[ImportedAnswer, str]]] = defaultdict(list)
    records: dict[str, Record] = {}
    for answer in found:
        name = answer.run if run is None else run if len(names) == 1 else f"{run}-{answer.run}"
        record = as_record(answer, name)
        records[record.key] = record
        runs[name].append((answer, record.key))
        result.without_items += not answer.items
    stored = store.get_many(records)
    for key, record in records.items():
        if stored.get(key) == record:
            result.already_stored += 1
            continue
        store.put(record, sync=False)
        result.answers += record.outcome is Outcome.OK
        result.failures += record.outcome is not Outcome.OK
        result.conflicts += key in stored and stored[key].outcome.is_hit
    store.flush()
    if result.conflicts:
        keep_conflicts(store)
    for name, listed in sorted(runs.items()):
        _write_run(store, name, listed)
        result.runs.append(name)
    return result


def as_record(answer: ImportedAnswer, run: str) -> Record:
    """The record of an imported answer."""
    settings: dict[str, Any] = {"benchmark": answer.benchmark, "run": run}
    request = Request(
        engine=ENGINE,
        model=answer.model,
        messages=(Message(role="user", parts=(Text(text=answer.entry, name="entry"),)),),
        settings=settings,
        sample=answer.sample,
    )
    return Record(
        key=request.key(),
        request=request,
        outcome=failure_outcome(answer.error) if answer.error else Outcome.OK,
        response=Response(text=answer.text, error=answer.error),
        effective={"origin": answer.origin, **answer.effective},
        usage=Usage(output_tokens=answer.output_tokens),
        created=answer.created,
    )


#: What other suites write into their errors → how the request ended, the first that is found.
_OUTCOMES = (
    (("out of memory", "outofmemory", "oom"), Outcome.OUT_OF_MEMORY),
    (("context length", "maximum context", "too many tokens", "max_model_len", "exceeds the max"),
     Outcome.CONTEXT_OVERFLOW),
    (("content filter", "content_filter", "content policy", "safety", "blocked"),
     Outcome.CONTENT_FILTER),
    (("timeout", "timed out", "deadline"), Outcome.TIMEOUT),
    (("decode", "moov", "corrupt", "ffmpeg", "no such file", "cannot open"), Outcome.DECODE_ERROR),
)  # fmt: skip


def failure_outcome(error: str) -> Outcome:
    """The outcome that an error's words tell of; ``infra_error`` where they do not."""
    words = error.lower()
    for signs, outcome in _OUTCOMES:
        if any(sign in words for sign in signs):
            return outcome
    return Outcome.INFRA_ERROR


def _write_run(store: Store, name: str, listed: list[tuple[ImportedAnswer, str]]) -> None:
    first = listed[0][0]
    header = RunHeader(
        name=name,
        benchmark=first.benchmark,
        model=first.model,
        tasks=tuple(sorted({answer.task for answer, _ in listed})),
        settings={"engine": ENGINE},
        samples=1 + max(answer.sample for answer, _ in listed),
        created=max(answer.created for answer, _ in listed),
    )
    lines = [
        RunLine(item=item, key=key, sample=answer.sample)
        for answer, key in listed
        for item in answer.items
    ]
    store.write_run(header, lines)


def shown(path: Path, root: Path) -> str:
    """A file's name relative to what the user named."""
    return str(path.relative_to(root)) if path != root else path.name
