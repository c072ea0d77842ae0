"""Sample logs of lmms-eval: ``<model>/<date>_samples_<task>.jsonl``.

Of each line are used ``doc_id`` and ``resps``, or ``filtered_resps`` where the log leaves ``resps``
out because both are the same. An item is ``<task>/<doc_id>``, the benchmark ``lmms-eval``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cache.errors import ImportFault
from cache.imports.imported import ImportedAnswer, shown

BENCHMARK = "lmms-eval"

_NAME = re.compile(r"(?P<date>.*)_?samples_(?P<task>.+)")


def read_samples(source: Path, model: str | None = None) -> Iterator[ImportedAnswer]:
    """Read a sample log, or every one under a folder.

    Args:
        source: the file or folder.
        model: the model's name; None takes the name of each log's folder.

    Raises:
        ImportFault: there is none, or one is not what it should be; names file and line.
    """
    files = [source] if source.is_file() else sorted(source.rglob("*samples_*.jsonl"))
    if not files:
        raise ImportFault(f"{source} holds no sample log: <date>_samples_<task>.jsonl")
    for path in files:
        yield from _read_file(path, shown(path, source), model or path.resolve().parent.name)


def _read_file(path: Path, name: str, model: str) -> Iterator[ImportedAnswer]:
    named = _NAME.fullmatch(path.stem)
    task = named["task"] if named else path.stem
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ImportFault(f"{path} cannot be read: {error}") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            sample = json.loads(line)
            doc = sample["doc_id"]
        except (ValueError, KeyError, TypeError) as error:
            raise ImportFault(
                f"{path} line {number}: expected an object with doc_id: {error!r}"
            ) from error
        texts = list(_texts(sample.get("resps"))) or list(_texts(sample.get("filtered_resps")))
        item = f"{task}/{doc}"
        for at, text in enumerate(texts or [""]):
            yield ImportedAnswer(
                run=model,
                benchmark=BENCHMARK,
                task=task,
                model=model,
                entry=item,
                items=(item,),
                text=text,
                error="" if texts else "the log holds no response",
                sample=at,
                created=(named["date"].rstrip("_") if named else ""),
                origin=f"{name} line {number}",
            )


def _texts(value: Any) -> Iterator[str]:
    """Responses stand in lists of lists, as deep as the log's version made them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
