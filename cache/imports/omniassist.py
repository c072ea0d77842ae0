"""Reply files of OmniAssistBench: CSV ``video_name, output_text[, token_retries]``."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from cache.errors import ImportFault
from cache.imports.imported import ImportedAnswer, shown

BENCHMARK = "omniassist"


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
    try:
        # utf-8-sig: spreadsheets put a mark before the first column's name.
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            columns = reader.fieldnames or []
            if "video_name" not in columns or "output_text" not in columns:
                raise ImportFault(
                    f"{path} has the columns {', '.join(columns) or 'none'}; expected video_name "
                    "and output_text"
                )
            rows = [(reader.line_num, row) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ImportFault(f"{path} cannot be read: {error}") from error
    seen: dict[str, int] = {}
    for line, row in rows:
        video = (row["video_name"] or "").strip().removesuffix(".mp4")
        if not video or row["output_text"] is None:
            raise ImportFault(f"{path} line {line}: expected a video_name and an output_text")
        if video in seen:
            raise ImportFault(
                f"{path} line {line}: {video!r} is there twice, first on line {seen[video]}"
            )
        seen[video] = line
        retries = (row.get("token_retries") or "").strip()
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
