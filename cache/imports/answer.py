"""An answer as another suite's file has it, and the record that it becomes.

What the model was really sent is not in these files. The request names the source instead: engine
``import``, the model's name, and the item. So imported answers never stand in for a request that
this project would make, and importing a file again finds everything stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cache.errors import CanonicalError, ImportFault, RecordError
from cache.imports.failure import failure_outcome
from cache.record import Outcome, Record, Response, Usage
from cache.request import Message, Request, Text
from cache.run import IMPORT_ENGINE


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
    timestamp: str = ""
    """When the file says that the answer was made, in its own words. It decides nothing: of two
    answers the one that was imported first stays."""
    output_tokens: int | None = None
    effective: dict[str, Any] = field(default_factory=dict)
    """What the file says of how the answer was made."""
    origin: str = ""
    """File and entry, for people."""


def as_record(answer: ImportedAnswer, run: str, created: str) -> Record:
    """The record of an imported answer, checked: the store will take it.

    Args:
        answer: what a file holds.
        run: name of its run.
        created: when it is imported: UTC, ISO 8601 with milliseconds and ``Z``.

    Raises:
        ImportFault: it cannot be stored (a lone surrogate, nesting too deep); names its place.
    """
    request = Request(
        engine=IMPORT_ENGINE,
        model=answer.model,
        messages=(Message(role="user", parts=(Text(text=answer.entry, name="entry"),)),),
        settings={"benchmark": answer.benchmark, "run": run},
        sample=answer.sample,
    )
    effective: dict[str, Any] = {"origin": answer.origin}
    if answer.timestamp:
        effective["timestamp"] = answer.timestamp
    try:
        record = Record(
            key=request.key(),
            request=request,
            outcome=failure_outcome(answer.error) if answer.error else Outcome.OK,
            response=Response(text=answer.text, error=answer.error),
            effective=effective | answer.effective,
            usage=Usage(output_tokens=answer.output_tokens),
            created=created,
        )
        record.to_sound_line()
    except (CanonicalError, RecordError, RecursionError) as error:
        raise ImportFault(f"{answer.origin} cannot be stored: {error}") from error
    return record


@contextmanager
def named_nesting(path: Path) -> Iterator[None]:
    """Turn JSON that is nested deeper than Python can follow into a fault of its file.

    Raises:
        ImportFault: names the file.
    """
    try:
        yield
    except RecursionError as error:
        raise ImportFault(f"{path} cannot be read: its JSON is nested too deeply") from error


def shown(path: Path, root: Path) -> str:
    """A file's name relative to what the user named."""
    return str(path.relative_to(root)) if path != root else path.name
