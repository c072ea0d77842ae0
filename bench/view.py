"""What ``rejudge bench`` shows: tables and texts for people, plain values for machines.

Annotation text goes to the terminal as text: never as rich markup, and its control characters are
spelled out, so that no annotation can move the cursor or change colours.
"""

from __future__ import annotations

import dataclasses
import io
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bench.errors import BenchError, Fault
from bench.item import Clip, Item
from bench.prompt import EarlierAnswer, NamedText, Prompt, PromptPart, Spoken
from bench.registry import Benchmark

_WIDTH = 100
_CONTROL = {
    code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"
}


def benchmark_row(benchmark: Benchmark, data: Path | None) -> dict[str, Any]:
    """Return a benchmark's name, where its data are, and how many items of each task it has.

    Args:
        benchmark: The benchmark.
        data: Folder of its data; None takes the bundled data, if there are any.
    """
    where = data or benchmark.bundled
    row: dict[str, Any] = {"name": benchmark.name, "data": where, "items": {}, "note": ""}
    row["tasks"] = [task.value for task in benchmark.tasks]
    row["on_request"] = [task.value for task in benchmark.offered if task not in benchmark.tasks]
    if where is None:
        row["note"] = "not bundled: pass --data"
        return row
    try:
        row["items"] = Counter(item.task.value for item in benchmark.load(where))
    except BenchError as error:
        row["note"] = str(error).splitlines()[0]
    return row


def benchmarks_text(rows: Sequence[dict[str, Any]]) -> str:
    """Return the table of ``rejudge bench list``."""
    table = Table("benchmark", "task", "items", "data")
    for row in rows:
        names = row["tasks"] + row["on_request"]
        counts = [str(row["items"].get(name, "")) or "–" for name in names]
        tasks = [name if name in row["tasks"] else f"{name} (on request)" for name in names]
        where = "\n".join(str(part) for part in (row["data"], row["note"]) if part)
        cells = (row["name"], "\n".join(tasks), "\n".join(counts), where)
        table.add_row(*(_cell(cell) for cell in cells))
    return _rendered(table)


def fault_row(fault: Fault) -> dict[str, Any]:
    """Return a fault as plain values."""
    return dataclasses.asdict(fault)


def faults_text(name: str, faults: Sequence[Fault]) -> str:
    """Return the list of ``rejudge bench check``, file by file."""
    if not faults:
        return f"{name}: no faults"
    lines = []
    files = dict.fromkeys(fault.file for fault in faults)
    for file in files:
        lines.append(file)
        for fault in faults:
            if fault.file == file:
                where = " ".join(part for part in (fault.entry, fault.field) if part)
                mark = "stops loading" if fault.blocks else "noted"
                lines.append(f"  [{mark}] {where}{': ' if where else ''}{fault.found}")
    blocking = sum(fault.blocks for fault in faults)
    lines.append(
        f"{name}: {len(faults)} fault(s) in {len(files)} file(s); {blocking} of them stop loading"
    )
    return "\n".join(lines)


def item_row(item: Item, prompt: Prompt) -> dict[str, Any]:
    """Return an item and its prompt as plain values."""
    messages = [
        {"role": message.role, "parts": [_part_row(part) for part in message.parts]}
        for message in prompt.messages
    ]
    kind = None if item.reference is None else type(item.reference).__name__
    return {
        "item": dataclasses.asdict(item),
        "reference_kind": kind,
        "prompt": {"items": prompt.items, "messages": messages},
    }


def item_text(item: Item, prompt: Prompt) -> str:
    """Return the text of ``rejudge bench show``."""
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    facts: list[tuple[str, object]] = [
        ("item", item.id),
        ("task", item.task.value),
        ("topic", item.topic),
        ("cluster", item.cluster),
        ("clip", _clip_text(item.clip)),
        ("question", item.question),
        *((f"({letter})", text) for letter, text in zip("ABCDE", item.options, strict=False)),
        *_members("reference", item.reference),
        *_members("attributes", item.attributes),
    ]
    for name, value in facts:
        if value not in ("", None, ()):
            table.add_row(_cell(name), _cell(str(value)))
    lines = [_rendered(table), "", f"prompt for {', '.join(prompt.items)}"]
    for message in prompt.messages:
        lines += ["", f"── {message.role}"]
        lines += [_part_text(part) for part in message.parts]
    return "\n".join(lines)


def _members(name: str, value: Any) -> list[tuple[str, object]]:
    if value is None:
        return [(name, "none: this task has no reference")]
    return [
        (f"{name}.{field.name}", getattr(value, field.name))
        for field in dataclasses.fields(value)
        if getattr(value, field.name) != "unknown"
    ]


def _clip_text(clip: Clip) -> str:
    files = [str(path) for path in (clip.video, clip.audio, clip.captions) if path is not None]
    span = "" if clip.segment is None else f" {clip.segment.start_s:g}–{clip.segment.end_s:g} s"
    return ", ".join(files) + span


def _part_text(part: PromptPart) -> str:
    match part:
        case Clip():
            return f"<clip {_clip_text(part)}>"
        case EarlierAnswer():
            return f"<the model's own answer to {part.item}>"
        case Spoken():
            return f"<said aloud, a text only without sound: {part.text.translate(_CONTROL)}>"
        case _:
            return part.text.translate(_CONTROL)


def _part_row(part: PromptPart) -> dict[str, Any]:
    match part:
        case NamedText():
            return {"text": part.text, "name": part.name}
        case EarlierAnswer():
            return {"earlier_answer": part.item}
        case Spoken():
            return {"spoken": part.text}
        case _:
            return {"clip": dataclasses.asdict(part)}


def _cell(text: str) -> Text:
    return Text(text.translate(_CONTROL), overflow="fold")


def _rendered(table: Table) -> str:
    # No colours and a fixed width: the same text on a terminal, in a pipe and in a log.
    console = Console(file=io.StringIO(), width=_WIDTH, color_system=None, markup=False)
    with console.capture() as capture:
        console.print(table)
    return "\n".join(line.rstrip() for line in capture.get().rstrip().splitlines())
