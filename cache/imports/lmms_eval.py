"""Sample logs of lmms-eval: ``<model>/<date>_samples_<task>.jsonl``.

Of each line are used ``doc_id`` and ``resps``, or ``filtered_resps`` where the log leaves ``resps``
out because both are the same. An item is ``<task>/<doc_id>``, the benchmark ``lmms-eval``.

A task that is scored by log-likelihood logs ``[number, is it the likeliest]`` for each choice in
place of a text (in some versions as two strings). There is no answer in it: the task is skipped by
name.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cache.errors import ImportFault
from cache.imports.answer import ImportedAnswer, named_nesting, shown

BENCHMARK = "lmms-eval"

_log = logging.getLogger("rejudge.import")
_NAME = re.compile(r"(?P<date>.*)_?samples_(?P<task>.+)")
_NUMBER = re.compile(r"-?(\d+(\.\d*)?(e[+-]?\d+)?|inf)", re.IGNORECASE)


def read_samples(source: Path, model: str | None = None) -> Iterator[ImportedAnswer]:
    """Read a sample log, or every one under a folder.

    Args:
        source: the file or folder.
        model: the model's name; None takes the name of each log's folder.

    Raises:
        ImportFault: there is none, none holds texts, or one is not what it should be; names file
            and line.
    """
    files = [source] if source.is_file() else sorted(source.rglob("*samples_*.jsonl"))
    if not files:
        raise ImportFault(f"{source} holds no sample log: <date>_samples_<task>.jsonl")
    skipped: list[str] = []
    for path in files:
        named = _NAME.fullmatch(path.stem)
        task = named["task"] if named else path.stem
        date = named["date"].rstrip("_") if named else ""
        with named_nesting(path):
            samples = _load(path)
            if _is_likelihood(samples):
                skipped.append(f"task {task!r} ({path})")
                continue
            for line, sample in samples:
                yield from _answers(
                    sample,
                    task=task,
                    model=model or path.resolve().parent.name,
                    timestamp=date,
                    where=f"{path} line {line}",
                    origin=f"{shown(path, source)} line {line}",
                )
    if skipped:
        said = f"scored by log-likelihood, so the log holds no generations: {', '.join(skipped)}"
        if len(skipped) == len(files):
            raise ImportFault(f"nothing to import: {said}")
        _log.warning("skipped: %s", said)


def _load(path: Path) -> list[tuple[int, dict[str, Any]]]:
    """Each sample with its line."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ImportFault(f"{path} cannot be read: {error}") from error
    samples: list[tuple[int, dict[str, Any]]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            sample = json.loads(line)
            sample["doc_id"]
        except (ValueError, KeyError, TypeError) as error:
            raise ImportFault(
                f"{path} line {number}: expected an object with doc_id: {error!r}"
            ) from error
        samples.append((number, sample))
    return samples


def _answers(
    sample: dict[str, Any], *, task: str, model: str, timestamp: str, where: str, origin: str
) -> Iterator[ImportedAnswer]:
    texts = _leaves(_responses(sample))
    for text in texts:
        if not isinstance(text, str | None):
            raise ImportFault(f"{where}: a response is {text!r:.60}; expected a text")
    item = f"{task}/{sample['doc_id']}"
    for at, text in enumerate(texts or [None]):
        yield ImportedAnswer(
            run=model,
            benchmark=BENCHMARK,
            task=task,
            model=model,
            entry=item,
            items=(item,),
            text=text or "",
            error="the log holds no response" if text is None else "",
            sample=at,
            timestamp=timestamp,
            origin=origin,
        )


def _responses(sample: dict[str, Any]) -> Any:
    resps = sample.get("resps") or []
    filtered = sample.get("filtered_resps") or []
    return resps if _has_any(resps) or not _has_any(filtered) else filtered


def _has_any(responses: Any) -> bool:
    return any(leaf is not None for leaf in _leaves(responses))


def _leaves(value: Any) -> list[Any]:
    """Responses stand in lists of lists, as deep as the log's version made them."""
    if isinstance(value, list):
        return [leaf for inner in value for leaf in _leaves(inner)]
    return [value]


def _is_likelihood(samples: list[tuple[int, dict[str, Any]]]) -> bool:
    answered = [found for _, sample in samples if _has_any(found := _responses(sample))]
    return bool(answered) and all(_scores_choices(found) for found in answered)


def _scores_choices(value: Any) -> bool:
    if not isinstance(value, list):
        return isinstance(value, int | float)
    if len(value) == 2 and all(isinstance(leaf, str) for leaf in value):
        return bool(_NUMBER.fullmatch(value[0])) and value[1] in ("True", "False")
    return bool(value) and all(_scores_choices(inner) for inner in value)
