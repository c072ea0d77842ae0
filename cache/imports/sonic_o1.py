"""Prediction files of the SONIC-O1 suite.

    predictions/[<experiment>/]<model>/<task>/<TT_Topic_Name>.json
        {model, topic_name, task, generated_at, entries: [{video_number, segment?, outputs | error,
         preprocessing, timestamp}]}

The response's text is the canonical JSON of ``outputs``. Item ids are those of the benchmark:
``choice/<TT>/<video number>/<start>-<end>/<ordinal among entries of this segment>``. Questions of a
localization entry are those that its outputs name; of a failed one the file does not say.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeGuard

from cache.canonical import canonical_bytes
from cache.errors import CanonicalError, ImportFault
from cache.imports.answer import ImportedAnswer, named_nesting, shown

BENCHMARK = "sonic-o1"

_TOPIC = re.compile(r"(\d{2})_.+")
_TASKS = (
    (re.compile(r"\bt(ask)?_?1(?!\d)|summar"), "summary"),
    (re.compile(r"\bt(ask)?_?2(?!\d)|mcq|choice"), "choice"),
    (re.compile(r"\bt(ask)?_?3(?!\d)|temporal|locali[sz]"), "localization"),
)
_EFFECTIVE = ("preprocessing",)


def read_predictions(source: Path) -> Iterator[ImportedAnswer]:
    """Read a prediction file, or every one under a folder.

    Raises:
        ImportFault: there is none, or one is not what it should be; names file and entry.
    """
    files = [source] if source.is_file() else sorted(source.rglob("*.json"))
    named = [path for path in files if _TOPIC.fullmatch(path.stem)]
    if not named:
        raise ImportFault(
            f"{source} holds no prediction file of SONIC-O1: <model>/<task>/<TT_Topic_Name>.json"
        )
    for path in named:
        with named_nesting(path):
            yield from _read_file(path, shown(path, source))


def _read_file(path: Path, name: str) -> Iterator[ImportedAnswer]:
    content = _load(path)
    entries = content.get("entries")
    model = content.get("model")
    if not isinstance(entries, list) or not isinstance(model, str) or not model:
        raise ImportFault(f"{path}: expected an object with `model` and a list `entries`")
    task = _task(path, content)
    topic = _TOPIC.fullmatch(path.stem)
    assert topic is not None
    experiment = _experiment(path)
    seen: Counter[str] = Counter()
    for number, entry in enumerate(entries):
        where = f"{path} entries[{number}]"
        if not isinstance(entry, dict):
            raise ImportFault(f"{where}: expected an object, found {entry!r:.60}")
        prefix = _prefix(entry, task, topic[1], where)
        if task in ("choice", "localization"):
            ordinal = seen[prefix]
            seen[prefix] += 1
            prefix = f"{prefix}/{ordinal}"
        text, error = _answer(entry, where)
        effective = {key: entry[key] for key in _EFFECTIVE if isinstance(entry.get(key), dict)}
        yield ImportedAnswer(
            run="-".join(part for part in (model.rpartition("/")[2], experiment) if part),
            benchmark=BENCHMARK,
            task=task,
            model=model,
            entry=prefix,
            items=_items(entry, task, prefix),
            text=text,
            error=error,
            timestamp=str(entry.get("timestamp") or content.get("generated_at") or ""),
            effective=effective,
            origin=f"{name} entries[{number}]",
        )


def _load(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ImportFault(f"{path} cannot be read: {error}") from error
    if not isinstance(content, dict):
        raise ImportFault(f"{path}: expected an object, found a {type(content).__name__}")
    return content


def _task(path: Path, content: dict[str, Any]) -> str:
    for name in (str(content.get("task", "")), path.parent.name):
        words = name.lower()
        if "empathic" in words:
            return "empathic"
        for pattern, task in _TASKS:
            if pattern.search(words):
                return task
    raise ImportFault(
        f"{path}: found task {content.get('task')!r} in folder {path.parent.name!r}; expected "
        "task1_summarization, task2_mcq or task3_temporal_localization"
    )


def _experiment(path: Path) -> str:
    """The folder between ``predictions`` and the model's, if there is one."""
    # Absolute: the same files make the same run from wherever they are named.
    folders = path.absolute().parts[:-1]
    if "predictions" not in folders:
        return ""
    after = folders[len(folders) - folders[::-1].index("predictions") :]
    return after[0] if len(after) == 3 else ""


def _prefix(entry: dict[str, Any], task: str, topic: str, where: str) -> str:
    video = entry.get("video_number")
    if not isinstance(video, str) or not video:
        raise ImportFault(f"{where}.video_number: found {video!r}; expected a text such as '001'")
    if task not in ("choice", "localization"):
        return f"{task}/{topic}/{video}"
    segment = entry.get("segment")
    start, end = (
        (segment.get("start"), segment.get("end")) if isinstance(segment, dict) else (None, None)
    )
    if not _is_number(start) or not _is_number(end):
        raise ImportFault(f"{where}.segment: found {segment!r}; expected {{start, end}} in seconds")
    return f"{task}/{topic}/{video}/{_seconds(start)}-{_seconds(end)}"


def _is_number(value: Any) -> TypeGuard[float]:
    # The bounds leave out NaN, infinity, and integers that no float can hold.
    return isinstance(value, int | float) and not isinstance(value, bool) and -1e9 < value < 1e9


def _seconds(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def _answer(entry: dict[str, Any], where: str) -> tuple[str, str]:
    """The response's text, and the error."""
    outputs, error = entry.get("outputs"), entry.get("error")
    if error:
        return "", error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)
    if outputs is None:
        return "", "the file holds neither outputs nor an error"
    if isinstance(outputs, str):
        return outputs, ""
    try:
        return canonical_bytes(outputs).decode(), ""
    except CanonicalError as fault:
        raise ImportFault(f"{where}.outputs: {fault}") from fault


def _items(entry: dict[str, Any], task: str, prefix: str) -> tuple[str, ...]:
    if task != "localization":
        return (prefix,)
    outputs = entry.get("outputs")
    questions = outputs.get("questions") if isinstance(outputs, dict) else None
    named = [
        question["question_id"]
        for question in (questions if isinstance(questions, list) else [])
        if isinstance(question, dict) and isinstance(question.get("question_id"), str)
    ]
    return tuple(f"{prefix}/{name}" for name in dict.fromkeys(named))
