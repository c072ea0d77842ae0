"""One item of a run, explained: what was said, what was read, what each metric made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from bench.errors import UnknownItem
from bench.item import Item
from bench.search import find_item
from score.answers import Answer, run_answers
from score.categories import category_columns
from score.dictionary import Dictionary
from score.errors import ScoreError
from score.grades import grades_of, run_verdicts
from score.metrics import (
    Column,
    choice_columns,
    interval_columns,
    judge_column,
    located,
    texts,
)
from score.mistakes import mistakes
from score.overwrite import overwritten
from score.profile import STRICT, Profile
from score.rouge import RougeL

if TYPE_CHECKING:
    from cache.store import Store
    from score.judge.spec import JudgeSpec


@dataclass(frozen=True, slots=True)
class Explanation:
    """How one answer was scored."""

    item: Item
    sample: int
    status: str
    reason: str
    said: str
    """The response, untouched; empty where there is none."""
    read: dict[str, Any]
    """What was read from it."""
    metrics: list[dict[str, Any]]
    """metric, judge, value, status and reason."""
    error_type: str
    why: str


def explain(
    store: Store,
    items: Sequence[Item],
    run: str,
    item: str,
    *,
    judges: Sequence[JudgeSpec] = (),
    profile: Profile = STRICT,
    dictionary: Dictionary | None = None,
) -> list[Explanation]:
    """Explain how an item of a run was scored, one explanation a sample.

    Args:
        store: The store; it is only read.
        items: The benchmark's items, of all task types that the run asks.
        run: The run's name.
        item: The item's id, or the beginning of it where only one item begins so.
        judges: Judges whose verdicts are looked up in the store.
        profile: Which reading of the definitions is scored.
        dictionary: The word categories of empathic summaries.

    Raises:
        ScoreError: the run or the profile does not expect this item, or several begin so.
    """
    _, answers = run_answers(store, run, items)
    if profile.last_entry_only:
        answers = overwritten(answers)
    expected = {answer.item.id: answer.item for answer in answers}
    try:
        wanted = find_item(list(expected.values()), item).id
    except UnknownItem as error:
        raise ScoreError(f"run {run}: {error}") from error
    return [
        _explained(store, answer, judges, profile, dictionary)
        for answer in answers
        if answer.item.id == wanted
    ]


def _explained(
    store: Store,
    answer: Answer,
    judges: Sequence[JudgeSpec],
    profile: Profile,
    dictionary: Dictionary | None,
) -> Explanation:
    alone = [answer]
    interval = located(alone, profile)
    columns = choice_columns(alone, profile)
    columns += interval_columns(interval, profile) if interval is not None else []
    columns += category_columns(alone, dictionary) if dictionary is not None else []
    compared = texts(alone, answer.item.task, profile)
    columns += [found.column("rouge_l", RougeL().scores) for found in compared]
    judged: list[Column] = []
    for spec in judges:
        grades = grades_of(run_verdicts(store, spec, alone))
        judged = [
            judge_column(found, spec.name, grades.get(found.aspect, {}), profile)
            for found in compared
        ]
        columns += judged
    mistake = mistakes(alone, interval, judges[-1] if judges else None, judged)
    record = store.get(answer.key) if answer.key else None
    return Explanation(
        item=answer.item,
        sample=answer.sample,
        status=answer.status,
        reason=answer.reason,
        said=record.response.text if record is not None else "",
        read=msgspec.structs.asdict(answer.prediction) if answer.prediction is not None else {},
        metrics=[_cell(column) for column in columns],
        error_type=mistake.types[0] if mistake.types else "",
        why=mistake.reasons[0] if mistake.reasons else "",
    )


def _cell(column: Column) -> dict[str, Any]:
    value = float(column.values[0])
    return {
        "metric": column.metric,
        "judge": column.judge,
        "value": None if value != value else value,
        "status": column.cells.statuses[0],
        "reason": column.cells.reasons[0],
    }


def as_dict(found: Explanation) -> dict[str, Any]:
    """Return an explanation as JSON values."""
    members = {name: getattr(found, name) for name in Explanation.__slots__ if name != "item"}
    return {
        "item": found.item.id,
        "question": found.item.question,
        "reference": asdict(found.item.reference) if found.item.reference is not None else None,
        "segment": asdict(found.item.clip.segment) if found.item.clip.segment else None,
        **members,
    }


def as_text(found: Explanation) -> str:
    """Return an explanation for people."""
    shown = as_dict(found)
    lines = [f"{shown['item']}  sample {found.sample}", f"question   {shown['question']}"]
    lines += _members("reference", shown["reference"] or "none")
    lines += _members("segment", shown["segment"]) if shown["segment"] else []
    lines += [f"said       {found.said!r}", *_members("read", found.read or "nothing")]
    lines += [f"status     {found.status}" + (f": {found.reason}" if found.reason else "")]
    for cell in found.metrics:
        name = " ".join(filter(None, (cell["metric"], cell["judge"])))
        value = f"{cell['value']:.4f}" if cell["value"] is not None else cell["status"]
        lines.append(f"  {name:<24} {value}  {cell['reason']}".rstrip())
    if found.error_type:
        lines.append(f"error type {found.error_type}: {found.why}")
    return "\n".join(lines)


def _members(name: str, value: Any) -> list[str]:
    """A line for each text and number in a value, by the way to it."""
    if isinstance(value, dict):
        inner = [(f"{name}.{key}", member) for key, member in value.items()]
    elif isinstance(value, (list, tuple)):
        inner = [(f"{name}[{number}]", member) for number, member in enumerate(value)]
    else:
        text = "none" if value is None else str(value)
        plain = "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)
        return [f"{name:<10} {plain}".rstrip()]
    return [line for way, member in inner for line in _members(way, member)]
