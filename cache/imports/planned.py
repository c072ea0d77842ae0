"""Which runs an import writes: decided, and refused, before anything is stored.

One name is one run of one model on one benchmark. Its files may be imported task by task: the run
takes in the new task, and is from then on expected to answer all items of it as well.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from cache.errors import ImportFault, UnknownRun
from cache.imports.answer import ImportedAnswer
from cache.run import IMPORT_ENGINE, RunHeader, RunLine
from cache.runs import refuse_other
from cache.store import Store

#: An answer, and the key of its record.
_Listed = tuple[ImportedAnswer, str]


@dataclass(frozen=True, slots=True)
class Planned:
    """A run to write, or what is added to one."""

    header: RunHeader
    lines: tuple[RunLine, ...]


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
    by_run: dict[str, list[_Listed]] = defaultdict(list)
    for name, answer, key in listed:
        by_run[name].append((answer, key))
    planned: list[Planned] = []
    for name, found in sorted(by_run.items()):
        _refuse_several_models(name, [answer for answer, _ in found])
        planned.append(Planned(_header(store, name, found, created), _lines(found)))
    return planned


def _header(store: Store, name: str, found: list[_Listed], created: str) -> RunHeader:
    first = found[0][0]
    header = RunHeader(
        name=name,
        benchmark=first.benchmark,
        model=first.model,
        tasks=tuple(sorted({answer.task for answer, _ in found})),
        settings={"engine": IMPORT_ENGINE},
        samples=_samples(found),
        created=created,
    )
    try:
        old = store.run(name).header
    except UnknownRun:
        return header
    # Fewer samples of a task that the run has are a part of it. A task that it has not must come
    # with as many as the others: what is expected of a run is one number of samples.
    known = [one for one in found if one[0].task in old.tasks]
    new = [one for one in found if one[0].task not in old.tasks]
    samples = old.samples
    if known:
        samples = max(samples, _samples(known))
    if new and samples == old.samples:
        samples = _samples(new)
    header = msgspec.structs.replace(header, samples=samples)
    refuse_other(old, header)
    return header


def _samples(found: list[_Listed]) -> int:
    return 1 + max(answer.sample for answer, _ in found)


def _lines(found: list[_Listed]) -> tuple[RunLine, ...]:
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
