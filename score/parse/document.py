"""JSON in a response: in code fences, after prose, with comments, cut off, or nearly JSON.

A value is returned only when it is certain. Of an answer that was cut off, that is what was
complete before the cut: ``{"start_s": 12.5, "end_s": 18`` has a start and no end, because the next
character could have been a digit. Members that are given twice with different values become a
:class:`Clash`.
"""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass
from typing import Any

import msgspec

from score.parse.lenient import Unreadable, clean

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Clash:
    """A member given more than once, with different values."""

    values: tuple[Any, ...]


class Document(msgspec.Struct, frozen=True):
    """A JSON object or array found in a text."""

    value: Any
    cut: Path | None = None
    """Where the text ended: the path of the value being written then. None: it is whole."""
    repaired: bool = False

    def is_whole(self, *path: str | int) -> bool:
        """Whether the value at ``path`` was complete when the text ended."""
        return self.cut is None or self.cut[: len(path)] != path


def documents(text: str) -> list[Document]:
    """Return the JSON objects and arrays of ``text``, outermost ones, in their order."""
    found = []
    position = failed = 0
    while (opening := _OPENING.search(text, position)) is not None:
        start = opening.start()
        try:
            value, position = _decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            document, position = _nearly(text, start)
            if document is None:
                failed += 1
                if failed > _MOST_FAILURES:  # a model that repeats itself, not an answer
                    break
                continue
            found.append(document)
        else:
            found.append(Document(value))
    return found


_MOST_FAILURES = 16
_OPENING = re.compile(r"[{\[]")
#: What may follow an opening bracket for it to be worth repairing: a key, a comment, an object.
_PROMISING = re.compile(r"""\{\s*(?:["'“/#]|[A-Za-z_]\w*\s*:|\Z)|\[\s*(?:\{|//)""")


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    for name in members:
        values = [value for other, value in pairs if other == name]
        if any(value != values[0] for value in values):
            members[name] = Clash(tuple(values))
    return members


_decoder = json.JSONDecoder(object_pairs_hook=_members, strict=False)


def _nearly(text: str, start: int) -> tuple[Document | None, int]:
    if not _PROMISING.match(text, start):
        return None, start + 1
    try:
        cleaned = clean(text, start)
    except Unreadable as problem:
        return _guarded_repair(text, start, problem.end)
    try:
        value = _decoder.decode(cleaned.text)
    except (ValueError, RecursionError):
        return None, start + 1
    return Document(value, cleaned.cut, repaired=True), cleaned.end


def _guarded_repair(text: str, start: int, end: int | None) -> tuple[Document | None, int]:
    """Let json_repair read what is no JSON by its brackets, and keep only what can be checked.

    What is left at this point is mostly quotation marks inside strings. json_repair guesses where
    strings end, so every member must be found again in the source, once, as it was read.
    """
    import json_repair

    if end is None:
        return None, start + 1
    span = text[start:end]
    try:
        value = ast.literal_eval(span)  # Python's own literals, read exactly
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        try:
            value = json_repair.loads(span, skip_json_loads=True)
        except (ValueError, RecursionError):  # nested deeper than it follows
            return None, start + 1
    if not isinstance(value, dict) or not value or not _is_faithful(value, span):
        return None, start + 1
    return Document(value, repaired=True), end


def _is_faithful(value: dict[str, Any], span: str) -> bool:
    names = re.findall(r"""(?:^|[{,\n])\s*["']?([A-Za-z_]\w*)["']?\s*:""", span)
    if sorted(names) != sorted(_names(value)):
        return False
    return all(_is_in_source(name, member, span) for name, member in _leaves(value))


def _names(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [*map(str, value), *(name for member in value.values() for name in _names(member))]
    if isinstance(value, list):
        return [name for member in value for name in _names(member)]
    return []


def _leaves(value: Any, name: str = "") -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [leaf for key, member in value.items() for leaf in _leaves(member, str(key))]
    if isinstance(value, list):
        return [leaf for member in value for leaf in _leaves(member)]
    return [(name, value)]


def _is_in_source(name: str, value: Any, span: str) -> bool:
    if isinstance(value, bool) or value is None:
        return True
    if isinstance(value, str):
        plain = value.replace("\\", "").replace('"', "").replace("\n", " ")
        return plain in span.replace("\\n", " ").replace("\\", "").replace('"', "").replace(
            "\n", " "
        )
    number = re.escape(repr(value))
    before = rf"""{re.escape(name)}["']?\s*:\s*""" if name else r"[\[,]\s*"
    return re.search(rf"{before}{number}0*\s*(?=[,}}\]\n])", span) is not None
