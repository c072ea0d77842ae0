"""What is wrong with a field of a TOML file, in TOML's words.

msgspec says where a value does not fit and in Python's words why. People who write a spec know its
fields, and texts, numbers and tables. No value is repeated: it may be a key in the wrong place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec

_KINDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "dict": "a table",
    "date": "a date",
    "time": "a time",
    "datetime": "a date and time",
}


def mismatch(error: msgspec.ValidationError, spec: type[msgspec.Struct]) -> str:
    """Return the field that does not hold, and what it may be.

    Args:
        error: What ``msgspec.convert`` raised.
        spec: The class that the file was converted to; its fields' ``Meta.description`` say in
            words what a constraint asks for.
    """
    text, _, where = str(error).partition(" - at ")
    path = where.strip("`").removeprefix("$").lstrip(".")
    kind: Any = spec
    for name in filter(None, path.split(".")):
        kind = get_type_hints(_plain(kind), include_extras=True)[name]
    unknown = re.search(r"unknown field `([^`]+)`", text)
    if unknown:
        hint = "; keys are read from the environment: name the variable in api_key_env"
        known = f"; known are: {', '.join(_plain(kind).__struct_fields__)}"
        also = hint if unknown[1] == "api_key" else known
        return f"{_joined(path, unknown[1])}: unknown field{also}"
    missing = re.search(r"missing required field `([^`]+)`", text)
    if missing:
        return f"{_joined(path, missing[1])}: this field is required"
    got = re.search(r"got `(\w+)`", text)
    found = f", found {_KINDS.get(got[1], got[1])}" if got else ""
    return f"{path}: expected {_expected(kind)}{found}"


def _joined(path: str, field: str) -> str:
    return f"{path}.{field}" if path else field


def _plain(kind: Any) -> Any:
    """The type without constraints, and without None: TOML has no null."""
    if get_origin(kind) is Annotated:
        return _plain(get_args(kind)[0])
    if NoneType in get_args(kind):
        return _plain(next(arg for arg in get_args(kind) if arg is not NoneType))
    return kind


def _expected(kind: Any) -> str:
    for constraint in _constraints(kind):
        if constraint.description:
            return constraint.description
    plain = _plain(kind)
    if get_origin(plain) is Literal:
        return f"one of {', '.join(get_args(plain))}"
    name = getattr(get_origin(plain) or plain, "__name__", "")
    return _KINDS.get(name, "a table")


def _constraints(kind: Any) -> Iterator[msgspec.Meta]:
    if get_origin(kind) is Annotated:
        yield from (one for one in get_args(kind)[1:] if isinstance(one, msgspec.Meta))
    elif NoneType in get_args(kind):
        yield from (one for part in get_args(kind) for one in _constraints(part))
