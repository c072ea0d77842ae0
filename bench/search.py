"""Finding an item by its id, by the beginning of it, or by what it nearly is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rapidfuzz import fuzz, process

from bench.errors import UnknownItem
from bench.item import Item, TaskType
from bench.prompt import Prompt
from bench.registry import Benchmark

_LISTED = 8


def find_item(items: Sequence[Item], wanted: str) -> Item:
    """Return the item whose id is ``wanted``, or the only one whose id begins with it.

    Raises:
        UnknownItem: there is none, or more than one; the message names the nearest.
    """
    begin = [item for item in items if item.id.startswith(wanted)]
    exact = [item for item in begin if item.id == wanted]
    if exact or len(begin) == 1:
        return (exact or begin)[0]
    if begin:
        listed = ", ".join(item.id for item in begin[:_LISTED])
        more = f" and {len(begin) - _LISTED} more" if len(begin) > _LISTED else ""
        raise UnknownItem(f"{len(begin)} items begin with {wanted!r}: {listed}{more}")
    ids = [item.id for item in items]
    # The most alike first; what is equally so stays in the benchmark's order.
    alike = process.extract(wanted, ids, scorer=fuzz.ratio, limit=_LISTED, score_cutoff=40)
    near = [name for name, _, _ in alike] or ids[:_LISTED]
    raise UnknownItem(f"no item {wanted!r}; the nearest are: {', '.join(near) or 'none'}")


def look_up(
    benchmark: Benchmark, wanted: str, data: Path | None, templates: Path | None = None
) -> tuple[Item, Prompt]:
    """Return an item of a benchmark and the prompt that asks it.

    Args:
        benchmark: The benchmark.
        wanted: The item's id, or the beginning of it.
        data: Folder of the benchmark's data; None takes the bundled data.
        templates: A user's folder of templates.

    Raises:
        BenchError: the data or the templates are not usable, or there is no such item.
    """
    first = wanted.partition("/")[0]
    # The task types on request, such as empathic, are loaded only where the id names them.
    named = [task for task in benchmark.offered if task == first and task not in benchmark.tasks]
    tasks: list[TaskType] | None = named or None
    items = benchmark.load(data, tasks)
    item = find_item(items, wanted)
    dialogue = [other for other in items if other.cluster == item.cluster]
    prompts = benchmark.prompts(dialogue, templates)
    return item, next(prompt for prompt in prompts if item.id in prompt.items)
