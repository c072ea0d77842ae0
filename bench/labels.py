"""Rows of ``labels.csv``, and the alternatives that its answers and key points hold.

An empty field of a table is often written as ``nan``: in the columns that may be empty it is one.

A text that is a Python or JSON list literal means "any of these"; in a numbered list each number's
content may be such a list. Literals are parsed, never evaluated: what is no literal stays the text
that it is.
"""

from __future__ import annotations

import ast
import csv
import io
import itertools
import json
import math
import re
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from bench.annotations import read_file, relative
from bench.errors import Fault

COLUMNS = ("video_name", "class", "turns", "question", "gt_answer", "key_points", "example_video")
SILENCE = "[KEEP QUIET]"
#: What a row without a question asks.
UNSAID_QUESTION = "What is the next step?"

#: Columns that may be empty.
_OPTIONAL = ("question", "gt_answer", "key_points", "example_video")
_NO_VALUE = frozenset({"nan", "NaN", "NAN"})
_SILENT = re.compile(r"\W*keep\s+quiet\W*", re.I)
_QUOTE = r"[\"'\u2018\u2019\u201c\u201d]"
#: How a list or tuple of texts begins or ends, be it whole or not.
_LISTED = re.compile(rf"\A{_QUOTE}?[\[(]\s*{_QUOTE}|{_QUOTE}\s*\]{_QUOTE}?\Z")
_NUMBER = re.compile(r"[ \t]*(\d{1,6})[.)](?!\d)[ \t]*")
_LONGEST_LITERAL = 100_000
_MOST_COMBINATIONS = 32


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the file: its texts by column, and the line on which it begins."""

    line: int
    texts: dict[str, str]

    def __getitem__(self, column: str) -> str:
        return self.texts[column]


def read_rows(path: Path, root: Path, faults: list[Fault]) -> list[Row]:
    """Return the rows of ``labels.csv``; a byte order mark and CRLF are fine.

    Args:
        path: The file.
        root: The data folder; faults name files relative to it.
        faults: Where faults go: unreadable, not UTF-8, a missing column, a row with other than a
            field a column, text after a closing quote.
    """
    file = relative(path, root)
    data = read_file(path, root, faults)
    if data is None:
        return []
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        faults.append(Fault(file, "", "", f"found a byte that is no UTF-8 at {error.start}"))
        return []
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows: list[Row] = []
    header: list[str] | None = None
    line = 1
    try:
        for fields in reader:
            begins, line = line, reader.line_num + 1
            if not any(field.strip() for field in fields):
                continue
            if header is None:
                header = [name.strip() for name in fields]
                if not _check_header(header, file, faults):
                    return []
            elif len(fields) != len(header):
                found = f"found {len(fields)} fields; expected {len(header)}, one a column"
                faults.append(Fault(file, f"line {begins}", "", found))
            else:
                rows.append(_row(begins, header, fields))
    except csv.Error as error:
        faults.append(Fault(file, f"line {line}", "", f"found broken CSV: {error}"))
    if header is not None and not rows:
        faults.append(Fault(file, "", "", "found no rows that can be read; expected one a clip"))
    if header is None:
        faults.append(Fault(file, "", "", f"found no header; expected {', '.join(COLUMNS)}"))
    return rows


def _row(line: int, header: list[str], fields: list[str]) -> Row:
    texts = dict(zip(header, fields, strict=True))
    empty = {name: "" for name in _OPTIONAL if texts[name].strip() in _NO_VALUE}
    return Row(line, texts | empty)


def is_silence(text: str) -> bool:
    """Whether a text is ``KEEP QUIET``, in any case, with or without brackets and punctuation."""
    return _SILENT.fullmatch(text) is not None


def _check_header(header: list[str], file: str, faults: list[Fault]) -> bool:
    missing = [name for name in COLUMNS if name not in header]
    faults.extend(
        Fault(file, "line 1", name, f"column missing; found {', '.join(header)}")
        for name in missing
    )
    twice = [name for name in COLUMNS if header.count(name) > 1]
    faults.extend(Fault(file, "line 1", name, "found twice; expected once") for name in twice)
    return not missing and not twice


def answers(text: str, note: Callable[[str], None]) -> tuple[str, ...]:
    """Return the accepted answers that a ``gt_answer`` holds; none where it is empty.

    A numbered list is one answer. Where its numbers hold alternatives, each combination of them is
    an answer; beyond 32 combinations there are two: the first of them, and one that names the
    alternatives.

    Args:
        text: The field.
        note: Called with what looks like a list and is none, and with what is empty in a list.
    """
    if not text.strip():
        return ()
    numbered = _numbered(text)
    if numbered is None:
        return tuple(dict.fromkeys(_quiet(one) for one in alternatives(text, note)))
    parts = [(number, alternatives(content, note)) for number, content in numbered]
    parts = [(number, some) for number, some in parts if some]
    if not parts:
        return ()
    if len(parts) == 1 and all(map(is_silence, parts[0][1])):
        return (SILENCE,)
    if math.prod(len(some) for _, some in parts) > _MOST_COMBINATIONS:
        first = [(number, some[0]) for number, some in parts]
        return _list_of(first), _list_of((number, " OR ".join(some)) for number, some in parts)
    numbers = [number for number, _ in parts]
    return tuple(
        _list_of(zip(numbers, chosen, strict=True))
        for chosen in itertools.product(*(some for _, some in parts))
    )


def key_points(text: str, note: Callable[[str], None]) -> tuple[tuple[str, ...], ...]:
    """Return the key points that the field holds, each a tuple of alternatives.

    Args:
        text: The field: one key point, or a numbered list of them.
        note: Called with what looks like a list and is none, and with what is empty in a list.
    """
    if not text.strip():
        return ()
    contents = [content for _, content in _numbered(text) or [(1, text)]]
    found = (tuple(map(_quiet, alternatives(content, note))) for content in contents)
    return tuple(some for some in found if some)


def alternatives(text: str, note: Callable[[str], None]) -> tuple[str, ...]:
    """Return the alternatives of a list literal, or the text itself where it is none.

    Empty alternatives are left out: no reply says nothing. So of ``['']`` nothing is left.

    Args:
        text: The text.
        note: Called where the text begins or ends as a list and is no flat list of texts, and
            where an alternative is empty.
    """
    text = text.strip()
    in_brackets = text.startswith("[") and text.endswith("]")
    if is_silence(text) or not (in_brackets or _LISTED.search(text)):
        return (text,)
    value = _literal(text) if in_brackets else None
    if (
        not isinstance(value, list)
        or not value
        or not all(isinstance(one, (str, int, float)) for one in value)
    ):
        note(f"found {text[:60]!r}, which looks like a list and is none; it is taken as a text")
        return (text,)
    found = tuple(dict.fromkeys(str(one).strip() for one in value))
    if "" in found:
        note(f"found {text[:60]!r}, of which an alternative is empty; it is left out")
    return tuple(one for one in found if one)


def _literal(text: str) -> object:
    if len(text) > _LONGEST_LITERAL:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # "\d" in a text is no mistake here
            return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None


def _numbered(text: str) -> list[tuple[int, str]] | None:
    """Split a numbered list into its numbers' contents; None where the text is no such list."""
    found: list[tuple[int, list[str]]] = []
    for line in text.strip().splitlines():
        match = _NUMBER.match(line)
        # Only the next number begins a new one: "3. June" may well stand inside the second.
        if match and int(match[1]) == len(found) + 1:
            found.append((len(found) + 1, [line[match.end() :]]))
        elif found:
            found[-1][1].append(line)
        else:
            return None
    return [(number, "\n".join(lines).strip()) for number, lines in found] or None


def _list_of(parts: Iterable[tuple[int, str]]) -> str:
    return "\n".join(f"{number}. {text}" for number, text in parts)


def _quiet(text: str) -> str:
    return SILENCE if is_silence(text) else text
