"""Annotation files in JSON: read strictly, with every fault kept and none thrown.

A :class:`Node` is an object inside a file that knows the way to itself, so that a wrong field is
reported as ``vqa/task2_mcq/01_X.json entries[3] answer_index: found 7; expected …``. Reading goes
on after a fault: ``rejudge bench check`` lists all of a tree at once.
"""

from __future__ import annotations

import json
import math
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from bench.errors import Fault

_BOM = b"\xef\xbb\xbf"
_SHOWN = 60
#: More than eleven days: what is longer is no time of a video.
_MOST_S = 1_000_000.0

T = TypeVar("T", dict[str, Any], list[Any])


def shown(value: object) -> str:
    """Return a value as it stands in a fault: short, on one line."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


@dataclass(frozen=True, slots=True)
class Node:
    """An object of an annotation file, the way to it, and the list its faults go to.

    The readers return None (or nothing) for a field that is missing or wrong, after noting it.
    """

    file: str
    entry: str
    """``entries[3].questions[1]``; empty: the file's outermost object."""
    value: dict[str, Any]
    faults: list[Fault]

    def fault(self, field: str, found: str, *, blocks: bool = True) -> None:
        """Note a fault of a field."""
        self.faults.append(Fault(self.file, self.entry, field, found, blocks))

    def has(self, field: str) -> bool:
        """Whether the field is there and not null."""
        return self.value.get(field) is not None

    def text(self, field: str, *, empty: bool = False) -> str | None:
        """Return a text; without ``empty``, one that holds more than white space."""
        value = self._present(field, "text")
        if value is None:
            return None
        if not isinstance(value, str):
            self._wrong(field, "text")
            return None
        if not empty and not value.strip():
            self._wrong(field, "text that is not empty")
            return None
        return value

    def number(self, field: str) -> float | None:
        """Return a finite number."""
        value = self._present(field, "a number")
        if value is None:
            return None
        # A number that is not finite is a fault of the whole file already: see _not_json.
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self._wrong(field, "a number")
            return None
        try:
            as_float = float(value)
        except OverflowError:
            self._wrong(field, "a number within a float's range")
            return None
        return as_float if math.isfinite(as_float) else None

    def seconds(self, field: str) -> float | None:
        """Return a number of seconds that a video may have."""
        value_s = self.number(field)
        if value_s is not None and abs(value_s) > _MOST_S:
            self._wrong(field, f"seconds, at most {_MOST_S:.0f}")
            return None
        return value_s

    def integer(self, field: str, low: int, high: int | None = None) -> int | None:
        """Return a whole number within ``low`` and ``high``, both included."""
        span = f"a whole number from {low}" + ("" if high is None else f" to {high}")
        value = self._present(field, span)
        if value is None:
            return None
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or value < low or (high is not None and value > high):
            self._wrong(field, span)
            return None
        return int(value)

    def flag(self, field: str) -> bool | None:
        """Return true or false; None, noted as no obstacle, where the field is missing."""
        value = self._present(field, "true or false", blocks=False)
        if value is None or isinstance(value, bool):
            return value
        self._wrong(field, "true or false")
        return None

    def texts(self, field: str) -> tuple[str, ...] | None:
        """Return a list of texts, none of them empty."""
        value = self._present(field, "a list of texts")
        if value is None:
            return None
        if not isinstance(value, list):
            self._wrong(field, "a list of texts")
            return None
        wrong = [n for n, one in enumerate(value) if not isinstance(one, str) or not one.strip()]
        for n in wrong:
            self.fault(f"{field}[{n}]", f"found {shown(value[n])}; expected text, not empty")
        return None if wrong else tuple(value)

    def node(self, field: str) -> Node | None:
        """Return an object inside this one."""
        value = self._present(field, "an object")
        if value is None:
            return None
        if not isinstance(value, dict):
            self._wrong(field, "an object")
            return None
        return Node(self.file, f"{self.entry}.{field}".lstrip("."), value, self.faults)

    def nodes(self, field: str) -> list[Node]:
        """Return the objects of a list; what is no object is noted and left out."""
        value = self._present(field, "a list of objects")
        if value is None:
            return []
        if not isinstance(value, list):
            self._wrong(field, "a list of objects")
            return []
        return objects(self.file, f"{self.entry}.{field}".lstrip("."), value, self.faults)

    def _present(self, field: str, expected: str, *, blocks: bool = True) -> Any:
        value = self.value.get(field)
        if value is None:
            found = "found null" if field in self.value else "missing"
            self.fault(field, f"{found}; expected {expected}", blocks=blocks)
        return value

    def _wrong(self, field: str, expected: str) -> None:
        self.fault(field, f"found {shown(self.value[field])}; expected {expected}")


def objects(file: str, entry: str, values: list[Any], faults: list[Fault]) -> list[Node]:
    """Return a node for each object of a list; anything else in it is a fault."""
    found = []
    for n, value in enumerate(values):
        if isinstance(value, dict):
            found.append(Node(file, f"{entry}[{n}]", value, faults))
        else:
            faults.append(
                Fault(file, f"{entry}[{n}]", "", f"found {shown(value)}; expected an object")
            )
    return found


def read_json(path: Path, root: Path, faults: list[Fault], kind: type[T]) -> T | None:
    """Return a JSON file's value, or None after noting why it has none of this kind.

    Args:
        path: The file.
        root: The data folder; faults name files relative to it.
        faults: Where faults go: unreadable file, broken JSON, another kind of value, a byte order
            mark (which loading tolerates), NaN and infinity, a member named twice, a lone
            surrogate.
        kind: What the file holds, an object or a list.
    """
    file = relative(path, root)
    data = read_file(path, root, faults)
    if data is None:
        return None
    if data.startswith(_BOM):
        faults.append(Fault(file, "", "", "found a byte order mark; expected plain UTF-8", False))
        data = data[len(_BOM) :]
    twice: list[str] = []
    try:
        text = data.decode("utf-8")
        value = json.loads(text, object_pairs_hook=lambda pairs: _members(pairs, twice))
    except UnicodeDecodeError as error:
        faults.append(Fault(file, "", "", f"found a byte that is no UTF-8 at {error.start}"))
        return None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        faults.append(Fault(file, where, "", f"found broken JSON: {error.msg}"))
        return None
    except ValueError as error:  # a whole number of thousands of digits
        faults.append(Fault(file, "", "", f"found a number that cannot be read: {error}"))
        return None
    except RecursionError:
        faults.append(Fault(file, "", "", "found JSON that is nested too deep"))
        return None
    faults.extend(
        Fault(file, "", name, "found twice in one object; expected once")
        for name in dict.fromkeys(twice)
    )
    _not_json(value, "", file, faults)
    if not isinstance(value, kind):
        expected = "an object" if kind is dict else "a list of objects"
        faults.append(Fault(file, "", "", f"found {shown(value)}; expected {expected}"))
        return None
    return value


def read_file(path: Path, root: Path, faults: list[Fault]) -> bytes | None:
    """Return a file's bytes, or None after noting why it cannot be read.

    Args:
        path: The file.
        root: The data folder; faults name files relative to it.
        faults: Where faults go.
    """
    try:
        # A pipe would be waited for, for ever.
        found = not_regular(path)
        if not found:
            return path.read_bytes()
    except OSError as error:
        found = f"cannot be read: {error.strerror or error}"
    faults.append(Fault(relative(path, root), "", "", found))
    return None


def not_regular(path: Path) -> str:
    """Return what a path is where it is no regular file; links are followed.

    Raises:
        OSError: there is nothing, or nothing that may be looked at.
    """
    mode = path.stat().st_mode
    if stat.S_ISREG(mode):
        return ""
    what = "a folder" if stat.S_ISDIR(mode) else "a pipe, socket or device"
    return f"found {what}; expected a file"


def relative(path: Path, root: Path) -> str:
    """Return how faults name a file: relative to the data folder, with forward slashes."""
    return path.relative_to(root).as_posix()


def _members(pairs: list[tuple[str, Any]], twice: list[str]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        twice.extend(name for name in members if names.count(name) > 1)
    return members


def _not_json(value: Any, entry: str, file: str, faults: list[Fault]) -> None:
    # Python reads NaN, Infinity, 1e999 and lone surrogates; none of them can be part of a key.
    if isinstance(value, float) and not math.isfinite(value):
        faults.append(Fault(file, entry, "", f"found {value}; expected a finite number"))
    elif isinstance(value, str) and not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            faults.append(Fault(file, entry, "", "found half a surrogate pair; expected text"))
    elif isinstance(value, dict):
        for name, member in value.items():
            _not_json(member, f"{entry}.{name}".lstrip("."), file, faults)
    elif isinstance(value, list):
        for n, member in enumerate(value):
            _not_json(member, f"{entry}[{n}]", file, faults)
