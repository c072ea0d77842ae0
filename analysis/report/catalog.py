"""The catalog: what the browser of answers filters by, in compact columns.

    catalog       names: columns (run, model, sample), tasks, topics, metrics, error types; and of
                  each column one character an item
    items-NNN     items: id, task, topic, beginning of the question, the chunk that holds it
    metric-NNN    one metric's values, run by run, over the items of its task
    keys-NNN      the first twelve digits of the records' keys, one file a column

30,000 answers are 30,000 characters of states, and as many of error types for each judge.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from analysis.report.folder import Folder
from analysis.report.script import as_json
from analysis.report.shown import Metric, task_title
from analysis.report.source import Source
from score.answers import STATUSES
from score.statistics.answer import HEADLINE

#: Digits of a key in ``keys-NNN``: enough to find one among millions.
KEY_DIGITS = 12
_NOTHING = "."
#: The character of a set of statuses, one bit each in the order of ``STATUSES``.
_MASKS = "0123456789abcdefghijklmnopqrstuv"
_SNIPPET = 90
#: Characters of items in one file.
_ITEMS = 400_000


def metrics_of(source: Source) -> list[Metric]:
    """Return the metrics of all tasks, the headline ones first."""
    rows = source.scored.scores.select("task", "metric", "judge").unique().iter_rows()
    found = [source.metric(*row) for row in rows]
    tasks = list(dict.fromkeys(source.scored.items["task"]))
    order = {task: at for at, task in enumerate(tasks)}
    return sorted(
        found,
        key=lambda one: (
            order.get(one.task, len(order)), one.name not in HEADLINE.get(one.task, ()),
            one.place, one.name, one.judge,
        ),
    )  # fmt: skip


def write_catalog(
    source: Source, folder: Folder, ids: Sequence[str], chunks: Sequence[int], metrics: list[Metric]
) -> None:
    """Write the catalog's files.

    Args:
        source: What is reported.
        folder: Where to.
        ids: The items, in their order.
        chunks: The first item of each chunk.
        metrics: The metrics, in their order.
    """
    facts = {
        item: (task, topic)
        for item, task, topic in source.predictions.select("item", "task", "topic").iter_rows()
    }
    tasks = list(dict.fromkeys(facts[name][0] for name in ids))
    topics = sorted({topic for _, topic in facts.values()})
    columns = source.columns
    at = {name: place for place, name in enumerate(ids)}
    types = sorted(source.errors["error_type"].unique())
    judges = sorted(source.errors["judge"].unique())
    parts = list(_item_parts(source, ids, facts, tasks, topics))
    for number, part in enumerate(parts):
        folder.script(f"items-{number:03}", part)
    _write_metrics(source, folder, ids, facts, metrics)
    _write_keys(source, folder, at)
    catalog = {
        "benchmark": source.benchmark,
        "columns": [{"run": run, "model": model, "sample": n} for run, model, n in columns],
        "samples": len({sample for *_, sample in columns}) > 1,
        "tasks": [{"name": name, "title": task_title(name)} for name in tasks],
        "topics": topics,
        "statuses": list(STATUSES),
        "errorTypes": types,
        "errorJudges": judges,
        "metrics": [_metric(one) for one in metrics],
        "itemFiles": len(parts),
        "chunks": list(chunks),
        "keyDigits": KEY_DIGITS,
        "states": _states(source, at),
        "errors": _errors(source, at, types, judges),
    }
    folder.script("catalog", as_json(catalog))


def _metric(one: Metric) -> dict[str, Any]:
    return {"task": one.task, "name": one.name, "judge": one.judge, "label": one.label,
            "title": one.title, "scale": one.scale, "digits": one.digits, "unit": one.unit,
            "better": one.better}  # fmt: skip


def _item_parts(
    source: Source,
    ids: Sequence[str],
    facts: dict[str, tuple[str, str]],
    tasks: list[str],
    topics: list[str],
) -> Iterator[str]:
    """Rows of [id, task, topic, beginning of the question], several thousand a file."""
    task_at = {name: at for at, name in enumerate(tasks)}
    topic_at = {name: at for at, name in enumerate(topics)}
    rows: list[list[Any]] = []
    size = 0
    for name in ids:
        task, topic = facts[name]
        item = source.items.get(name)
        snippet = _snippet(item.question) if item is not None else ""
        rows.append([name, task_at[task], topic_at[topic], snippet])
        size += len(name) + len(snippet) + 12
        if size > _ITEMS:
            yield as_json(rows)
            rows, size = [], 0
    yield as_json(rows)


def _snippet(text: str) -> str:
    line = " ".join(text[: 4 * _SNIPPET].split())
    return line if len(line) <= _SNIPPET else f"{line[:_SNIPPET]}…"


def _states(source: Source, at: dict[str, int]) -> list[str]:
    """For each column a character an item: in which statuses its metrics ended."""
    bits = {status: 1 << place for place, status in enumerate(STATUSES)}
    masks: dict[tuple[str, int], list[int]] = {
        (run, sample): [0] * len(at) for run, _, sample in source.columns
    }
    for run, sample, item, status in source.ended.select(
        "run", "sample", "item", "status"
    ).iter_rows():
        if (run, sample) in masks and item in at:
            masks[run, sample][at[item]] |= bits[status]
    return [
        "".join(_MASKS[mask] if mask else _NOTHING for mask in masks[run, sample])
        for run, _, sample in source.columns
    ]


def _errors(
    source: Source, at: dict[str, int], types: list[str], judges: list[str]
) -> list[list[str]]:
    """For each judge and column a character an item: its error type."""
    sign = {name: _MASKS[place] for place, name in enumerate(types)}
    found: dict[tuple[str, str, int], list[str]] = defaultdict(lambda: [_NOTHING] * len(at))
    rows = source.errors.select("judge", "run", "sample", "item", "error_type")
    for judge, run, sample, item, kind in rows.iter_rows():
        if item in at:
            found[judge, run, sample][at[item]] = sign[kind]
    return [
        ["".join(found[judge, run, sample]) for run, _, sample in source.columns]
        for judge in judges
    ]


def _write_metrics(
    source: Source,
    folder: Folder,
    ids: Sequence[str],
    facts: dict[str, tuple[str, str]],
    metrics: Sequence[Metric],
) -> None:
    places: dict[str, dict[str, int]] = defaultdict(dict)
    for name in ids:
        of_task = places[facts[name][0]]
        of_task[name] = len(of_task)
    parts = source.scored.scores.partition_by("task", "metric", "judge", as_dict=True)
    for number, metric in enumerate(metrics):
        where = places[metric.task]
        values: dict[tuple[str, int], list[float | None]] = {
            (run, sample): [None] * len(where) for run, _, sample in source.columns
        }
        part = parts[metric.task, metric.name, metric.judge]
        for run, sample, item, value in part.select("run", "sample", "item", "value").iter_rows():
            if value is not None and item in where and (run, sample) in values:
                values[run, sample][where[item]] = _rounded(value * metric.scale)
        folder.script(f"metric-{number:03}", as_json(list(values.values())))


def _rounded(value: float) -> float | int:
    """A value as short as it may be; a model may answer 1e308 seconds."""
    if abs(value) > 1e9:
        return float(f"{value:.3e}")
    short = round(value, 4)
    return int(short) if short.is_integer() else short


def _write_keys(source: Source, folder: Folder, at: dict[str, int]) -> None:
    blank = " " * KEY_DIGITS
    found = {(run, sample): [blank] * len(at) for run, _, sample in source.columns}
    for run, sample, item, key in source.predictions.select(
        "run", "sample", "item", "key"
    ).iter_rows():
        found[run, sample][at[item]] = (key or "")[:KEY_DIGITS].ljust(KEY_DIGITS)
    for number, digits in enumerate(found.values()):
        folder.script(f"keys-{number:03}", as_json("".join(digits)))
