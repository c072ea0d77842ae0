"""Which runs an import writes: decided, and refused, before anything is stored.

The header of a run is fixed once it is written, and with it the tasks whose items the run is
expected to answer. Whoever imports a model task by task still gets every answer into a run:

    first import     <name>          all tasks of this import
    later imports    <name>          answers of tasks that it has
                     <name>@<task>   answers of a task that it has not, one run a task
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from cache.errors import ImportFault, UnknownRun
from cache.imports.answer import ENGINE, ImportedAnswer
from cache.run import RunHeader, RunLine
from cache.runs import refuse_other
from cache.store import Store


@dataclass(frozen=True, slots=True)
class Planned:
    """A run to write."""

    header: RunHeader
    lines: tuple[RunLine, ...]
    beside: str = ""
    """The run that this one stands beside, because that one was made for other tasks."""


def plan_runs(
    store: Store, listed: Sequence[tuple[str, ImportedAnswer, str]], created: str
) -> list[Planned]:
    """Plan the runs that list answers.

    Args:
        store: where they will be written.
        listed: name of the run, answer, and the key of its record.
        created: when the import was made.

    Raises:
        ImportFault: answers of several models or benchmarks fall under one name.
        RunConflict: a run of that name was made otherwise.
        StoreError: the name cannot name a run, or the run of that name is damaged.
    """
    by_run: dict[str, list[tuple[ImportedAnswer, str]]] = defaultdict(list)
    for name, answer, key in listed:
        by_run[name].append((answer, key))
    planned: list[Planned] = []
    for name, found in sorted(by_run.items()):
        _refuse_several_models(name, [answer for answer, _ in found])
        planned += _plan(store, name, found, created)
    return planned


def _plan(
    store: Store, name: str, found: list[tuple[ImportedAnswer, str]], created: str
) -> list[Planned]:
    try:
        old = store.run(name).header
    except UnknownRun:
        return [Planned(_header(name, found, created), _lines(found))]
    own = [one for one in found if one[0].task in old.tasks]
    # A run stays what it was made for; fewer samples of fewer tasks are a part of that.
    asked = msgspec.structs.replace(_header(name, own or found, created), tasks=old.tasks)
    samples = max(old.samples, asked.samples) if own else old.samples
    refuse_other(old, msgspec.structs.replace(asked, samples=samples))
    planned = [Planned(old, _lines(own))] if own else []
    others: dict[str, list[tuple[ImportedAnswer, str]]] = defaultdict(list)
    for one in found:
        if one[0].task not in old.tasks:
            others[one[0].task].append(one)
    for task, some in sorted(others.items()):
        planned += (
            Planned(plan.header, plan.lines, beside=name)
            for plan in _plan(store, f"{name}@{task}", some, created)
        )
    return planned


def _header(name: str, found: list[tuple[ImportedAnswer, str]], created: str) -> RunHeader:
    first = found[0][0]
    return RunHeader(
        name=name,
        benchmark=first.benchmark,
        model=first.model,
        tasks=tuple(sorted({answer.task for answer, _ in found})),
        settings={"engine": ENGINE},
        samples=1 + max(answer.sample for answer, _ in found),
        created=created,
    )


def _lines(found: list[tuple[ImportedAnswer, str]]) -> tuple[RunLine, ...]:
    return tuple(
        RunLine(item=item, key=key, sample=answer.sample)
        for answer, key in found
        for item in answer.items
    )


def _refuse_several_models(name: str, answers: list[ImportedAnswer]) -> None:
    first = answers[0]
    for answer in answers:
        if (answer.benchmark, answer.model) != (first.benchmark, first.model):
            raise ImportFault(
                f"{first.origin} is of model {first.model!r} and {answer.origin} of "
                f"{answer.model!r}, and both would be run {name!r}: import them one by one, each "
                "with a --run of its own"
            )
