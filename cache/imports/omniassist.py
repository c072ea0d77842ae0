"""Reply files of OmniAssistBench: CSV ``video_name, output_text[, token_retries]``.

Read strictly: an answer that a wrong quote or comma would cut, join or swallow is a fault. Further
columns are left out, which a warning says.
"""

from __future__ import annotations

import csv
import logging
from collections.abc import Iterator
from pathlib import Path

from cache.errors import ImportFault
from cache.imports.answer import ImportedAnswer, shown

BENCHMARK = "omniassist"

_log = logging.getLogger("rejudge.import")
_KNOWN = frozenset({"video_name", "output_text", "token_retries"})
#: Characters of one field. The csv module's own limit, 131,072, is less than some answers have.
_LONGEST = 2**31 - 1


def read_replies(source: Path, model: str | None = None) -> Iterator[ImportedAnswer]:
    """Read a reply file, or every one under a folder.

    Args:
        source: the file or folder.
        model: the model's name; None takes each file's own.

    Raises:
        ImportFault: there is none, or one is not what it should be; names file and line.
    """
    files = [source] if source.is_file() else sorted(source.rglob("*.csv"))
    if not files:
        raise ImportFault(f"{source} holds no CSV file with video_name and output_text")
    for path in files:
        yield from _read_file(path, shown(path, source), model or path.stem)


def _read_file(path: Path, name: str, model: str) -> Iterator[ImportedAnswer]:
    seen: dict[str, int] = {}
    for line, row in _rows(path):
        video = row["video_name"].strip().removesuffix(".mp4")
        if not video:
            raise ImportFault(f"{path} line {line}: expected a video_name and an output_text")
        if video in seen:
            raise ImportFault(
                f"{path} line {line}: {video!r} is there twice, first on line {seen[video]}"
            )
        seen[video] = line
        retries = row.get("token_retries", "").strip()
        if retries and not _is_number(retries):
            # So an unquoted comma shows in a file that has this column.
            raise ImportFault(
                f"{path} line {line}: token_retries is {retries!r:.60}, no number: is a comma in "
                "output_text not quoted?"
            )
        yield ImportedAnswer(
            run=model,
            benchmark=BENCHMARK,
            task="assistant",
            model=model,
            entry=f"assistant/{video}",
            items=(f"assistant/{video}",),
            text=row["output_text"],
            effective={"token_retries": retries} if retries else {},
            origin=f"{name} line {line}",
        )


def _rows(path: Path) -> list[tuple[int, dict[str, str]]]:
    """Each row by its columns' names, with the line on which it begins."""
    rows: list[tuple[int, list[str]]] = []
    began = 1
    usual = csv.field_size_limit(_LONGEST)
    try:
        # utf-8-sig: spreadsheets put a mark before the first column's name.
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            for row in reader:
                if row:
                    rows.append((began, row))
                began = reader.line_num + 1
    except csv.Error as error:
        raise ImportFault(
            f"{path} line {began}: the row that begins here is no CSV: {error}; is a quote open, "
            "or not doubled?"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise ImportFault(f"{path} cannot be read: {error}") from error
    finally:
        csv.field_size_limit(usual)
    columns = rows[0][1] if rows else []
    for needed in ("video_name", "output_text"):
        if columns.count(needed) != 1:
            raise ImportFault(
                f"{path} has the columns {', '.join(columns) or 'none'}; expected video_name and "
                "output_text, each once"
            )
    if more := sorted(repr(name) for name in columns if name not in _KNOWN):
        _log.warning("%s: not taken in are the columns %s", path, ", ".join(more))
    for line, row in rows[1:]:
        if len(row) != len(columns):
            raise ImportFault(
                f"{path} line {line}: expected a video_name and an output_text, {len(columns)} "
                f"columns in all, found {len(row)}: a text with a comma stands in quotes"
            )
    return [(line, dict(zip(columns, row, strict=True))) for line, row in rows[1:]]


def _is_number(text: str) -> bool:
    """Whether a text is a number; ``nan`` is what tables write for none."""
    try:
        float(text)
    except ValueError:
        return False
    return True
