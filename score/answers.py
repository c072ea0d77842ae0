"""The answers of a run: every expected item with its prediction, or the reason why it has none.

Expected are all items of the task types that the run set out to answer, times its samples. Each
ends in one state:

    scored         a prediction was read (its parts may still lack one value)
    unparsed       the model answered, but nothing can be read; or it could not or would not answer
    infra_failed   the model was never heard: timeout, memory, a server's error, undecodable media
    missing        not asked, not answered yet, or left out of an answer to several questions
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from bench.item import ChoiceReference, Item, TaskType
from cache.record import Outcome, Record
from cache.run import RunHeader, RunLine
from score.errors import ScoreError
from score.parse.assistant import parse_assistant
from score.parse.choice import parse_choice
from score.parse.localization import parse_localization
from score.parse.prediction import ParseFailure, Prediction
from score.parse.summary import parse_empathic, parse_summary

if TYPE_CHECKING:
    from cache.store import Store

SCORED = "scored"
UNPARSED = "unparsed"
JUDGE_FAILED = "judge_failed"
INFRA_FAILED = "infra_failed"
MISSING = "missing"
#: How the scoring of an item can end.
STATUSES = (SCORED, UNPARSED, JUDGE_FAILED, INFRA_FAILED, MISSING)

#: The model was not heard. A file that does not decode is no fault of the model's either.
_INFRA = frozenset(
    {Outcome.OUT_OF_MEMORY, Outcome.TIMEOUT, Outcome.INFRA_ERROR, Outcome.DECODE_ERROR}
)
#: The model's own end of the matter: its context is too small, it declined, a filter spoke.
_DECLINED = frozenset({Outcome.CONTEXT_OVERFLOW, Outcome.CONTENT_FILTER, Outcome.REFUSED})


class Answer(msgspec.Struct, frozen=True):
    """What became of one expected item of a run."""

    item: Item
    sample: int
    key: str
    """The request's key; empty when the run never asked."""
    status: str
    reason: str = ""
    prediction: Prediction | None = None
    flags: tuple[str, ...] = ()


def run_answers(store: Store, run: str, items: Sequence[Item]) -> tuple[RunHeader, list[Answer]]:
    """Read a run's answers from the store.

    Args:
        store: The store; it is only read.
        run: The run's name.
        items: The benchmark's items, in its order.

    Returns:
        The run's header, and its answers in the order of ``items``, sample by sample.

    Raises:
        ScoreError: the run asked items that are not among ``items``.
    """
    stored = store.run(run)
    tasks = frozenset(stored.header.tasks)
    expected = [item for item in items if item.task in tasks]
    _refuse_strangers(stored.header, stored.lines, items)
    keys = {(line.item, line.sample): line.key for line in stored.lines}
    records = store.get_many(dict.fromkeys(keys.values()))
    return stored.header, answers_of(expected, keys, records, stored.header.samples)


def answers_of(
    expected: Sequence[Item],
    keys: dict[tuple[str, int], str],
    records: dict[str, Record],
    samples: int = 1,
) -> list[Answer]:
    """Line up expected items with the records that answer them.

    Args:
        expected: The items, in the order in which their prompt asks them.
        keys: (item id, sample) → key of the request that asks it.
        records: key → record, for the keys that the store has.
        samples: Answers expected for each item.
    """
    slots = [(item, sample) for item in expected for sample in range(samples)]
    together: dict[str, dict[str, Item]] = defaultdict(dict)
    for item, sample in slots:
        key = keys.get((item.id, sample))
        if key is not None:
            together[key][item.id] = item
    parsed: dict[str, dict[str, Prediction] | ParseFailure] = {}
    answers = []
    for item, sample in slots:
        key = keys.get((item.id, sample), "")
        record = records.get(key)
        if record is None:
            reason = "the store has no record of it" if key else "the run does not ask it"
            answers.append(Answer(item, sample, key, MISSING, reason))
            continue
        if record.outcome in _INFRA or record.outcome in _DECLINED:
            status = INFRA_FAILED if record.outcome in _INFRA else UNPARSED
            answers.append(Answer(item, sample, key, status, str(record.outcome)))
            continue
        if key not in parsed:
            parsed[key] = _parse(record.response.text, list(together[key].values()))
        answers.append(_answer(item, sample, key, parsed[key], record.outcome))
    return answers


def _answer(
    item: Item,
    sample: int,
    key: str,
    parsed: dict[str, Prediction] | ParseFailure,
    outcome: Outcome,
) -> Answer:
    # A truncated answer counts as far as it is certain: what it says before the cut.
    flags = (str(outcome),) if outcome is not Outcome.OK else ()
    if isinstance(parsed, ParseFailure):
        reason = ": ".join([*flags, parsed.reason])
        return Answer(item, sample, key, UNPARSED, reason, flags=flags)
    prediction = parsed.get(item.id)
    if prediction is None:
        reason = ": ".join([*flags, "the answer leaves this question out"])
        return Answer(item, sample, key, MISSING, reason, flags=flags)
    return Answer(item, sample, key, SCORED, "", prediction, (*flags, *prediction.flags))


def _parse(text: str, items: Sequence[Item]) -> dict[str, Prediction] | ParseFailure:
    """Parse one response for all the items that it answers."""
    task = items[0].task
    if task is TaskType.LOCALIZATION:
        found = parse_localization(text, [item.question_id for item in items])
        if isinstance(found, ParseFailure):
            return found
        return {item.id: found[item.question_id] for item in items if item.question_id in found}
    predictions: dict[str, Prediction] = {}
    for item in items:
        prediction = _parse_one(text, item)
        if isinstance(prediction, ParseFailure):
            return prediction
        predictions[item.id] = prediction
    return predictions


def _parse_one(text: str, item: Item) -> Prediction | ParseFailure:
    if item.task is TaskType.CHOICE:
        assert isinstance(item.reference, ChoiceReference)
        return parse_choice(text, item.options)
    if item.task is TaskType.ASSISTANT:
        return parse_assistant(text)
    return parse_empathic(text) if item.task is TaskType.EMPATHIC else parse_summary(text)


def _refuse_strangers(header: RunHeader, lines: Iterable[RunLine], items: Iterable[Item]) -> None:
    unknown = {line.item for line in lines}.difference(item.id for item in items)
    if not unknown:
        return
    # An imported answer may answer a question that was not asked; its entry is still known.
    entries = {item.id.rpartition("/")[0] for item in items}
    strangers = sorted(item for item in unknown if item.rpartition("/")[0] not in entries)
    if strangers:
        raise ScoreError(
            f"run {header.name}: {len(strangers)} of its items are not in {header.benchmark}, "
            f"for example {', '.join(strangers[:3])}; score it against the data it was made from"
        )
