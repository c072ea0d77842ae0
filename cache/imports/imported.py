"""Store what was read from other suites' files, and write the runs that list it.

Everything is checked before anything is stored: an import that is refused leaves no trace. Of two
answers for one entry the one that was imported first stays, whatever the files say of their time.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta

from cache.conflict import keep_conflicts
from cache.errors import ImportFault
from cache.imports.answer import ImportedAnswer, as_record
from cache.imports.planned import plan_runs
from cache.order import Found, answer
from cache.record import Outcome, Record
from cache.store import Store

_log = logging.getLogger("rejudge.import")


@dataclass(slots=True)
class Imported:
    """What an import did: each answer is in one of the first four counts."""

    runs: list[str] = field(default_factory=list)
    answers: int = 0
    failures: int = 0
    already_stored: int = 0
    conflicts: int = 0
    """Answers that differ from what an earlier import stored for the same entry: it stays."""
    without_items: int = 0
    """Failures that no item can be named for: their questions are not in the file."""
    naming_no_question: int = 0
    """Answers that no item can be named for: they hold no question's id."""

    def as_dict(self) -> dict[str, object]:
        """For ``--json``."""
        return asdict(self)


def store_answers(
    store: Store,
    answers: Iterable[ImportedAnswer],
    *,
    run: str | None = None,
    now: datetime | None = None,
) -> Imported:
    """Put answers into a store, and write the runs that list them.

    Args:
        store: takes them.
        answers: of one or more runs.
        run: name of the run to make; where ``answers`` are of several runs, put before each name.
        now: when they are imported; None asks the clock.

    Raises:
        ImportFault: two answers claim one place, or one cannot be stored; names file and entry.
        RunConflict: a run of that name was made otherwise.
        StoreUnavailable: the store cannot be written.
    """
    found = list(answers)
    names = {one.run for one in found}
    named = [
        (one.run if run is None else run if len(names) == 1 else f"{run}-{one.run}", one)
        for one in found
    ]
    _refuse_repeats(named)
    moment = _stamp(now or datetime.now(UTC))
    records = [as_record(one, name, moment) for name, one in named]
    stored = store.find(record.key for record in records)
    created = _after(moment, stored)
    if created != moment:
        records = [as_record(one, name, created) for name, one in named]
    listed = [(name, one, record.key) for (name, one), record in zip(named, records, strict=True)]
    planned = plan_runs(store, listed, created)
    result = Imported(runs=sorted(plan.header.name for plan in planned))
    for plan in planned:
        store.write_run(plan.header, plan.lines)
    _put(store, records, stored, result)
    _count_without_items(found, result)
    return result


def _refuse_repeats(named: Sequence[tuple[str, ImportedAnswer]]) -> None:
    first: dict[tuple[str, str, str, int], ImportedAnswer] = {}
    for name, one in named:
        for place in dict.fromkeys((one.entry, *one.items)):
            known = first.setdefault((name, one.model, place, one.sample), one)
            if known is not one:
                raise ImportFault(
                    f"{known.origin} and {one.origin} both answer {place!r} in run {name!r}: keep "
                    "one of them, or import each file with a --run of its own"
                )


def _stamp(moment: datetime) -> str:
    utc = moment.astimezone(UTC)
    return utc.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _after(moment: str, stored: Mapping[str, Sequence[Found]]) -> str:
    """A time after every record of these entries, also where two clocks disagree."""
    latest = max((one.record.created for some in stored.values() for one in some), default="")
    if latest < moment:
        return moment
    try:
        return _stamp(datetime.fromisoformat(latest) + timedelta(milliseconds=1))
    except (ValueError, OverflowError):
        # No time that this project writes; nothing sensible comes after it.
        return moment


def _put(
    store: Store,
    records: Sequence[Record],
    stored: Mapping[str, Sequence[Found]],
    result: Imported,
) -> None:
    new_conflicts = False
    for record in records:
        known = stored.get(record.key, ())
        is_new = not any(_alike(one.record, record) for one in known)
        if is_new:
            store.put(record, sync=False)
        served = answer(known).record if known else None
        if served is not None and served.outcome.is_hit and not _alike(served, record):
            result.conflicts += 1
            new_conflicts |= is_new
        elif not is_new:
            result.already_stored += 1
        elif record.outcome is Outcome.OK:
            result.answers += 1
        else:
            result.failures += 1
    store.flush()
    if new_conflicts:
        keep_conflicts(store)


def _alike(one: Record, other: Record) -> bool:
    return one.outcome == other.outcome and one.response == other.response


def _count_without_items(found: Sequence[ImportedAnswer], result: Imported) -> None:
    unnamed = [one for one in found if not one.items]
    result.without_items = sum(1 for one in unnamed if one.error)
    result.naming_no_question = len(unnamed) - result.without_items
    if result.naming_no_question:
        _log.warning(
            "%d answer(s) name no question, so scoring counts their questions as missing; the "
            "first: %s",
            result.naming_no_question,
            next(one.origin for one in unnamed if not one.error),
        )
