"""Canonical JSON and the digests made from it.

The same value has the same bytes on every machine and Python version:

* UTF-8, no escapes beyond those JSON demands, no white space;
* object members sorted by the code points of their names;
* integers and floats kept apart (``1`` and ``1.0`` differ); floats as Python's shortest repr;
* no NaN, no infinity, no lone surrogate, no default conversion of other types.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

import msgspec

from cache.errors import CanonicalError

_encoder = json.JSONEncoder(
    sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"), check_circular=False
)
_fast_encoder = msgspec.json.Encoder(order="sorted")


def canonical_bytes(value: Any) -> bytes:
    """Return the canonical JSON of a value made of dict, list, str, int, float, bool and None.

    Raises:
        CanonicalError: the value holds something that has no canonical form.
    """
    try:
        _refuse_other_keys(value)
        return _encoder.encode(value).encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:  # UnicodeEncodeError is a ValueError
        raise CanonicalError(f"no canonical JSON for this value: {error}") from error


def canonical_struct(value: msgspec.Struct, floats: Iterable[float | None]) -> bytes | None:
    """Return a struct's canonical JSON, ten times as fast as by way of a dictionary.

    Args:
        value: a struct of strings, integers, floats, other structs and ``msgspec.Raw``.
        floats: every float in it.

    Returns:
        The same bytes that :func:`canonical_bytes` gives for the struct's members, or None where
        a float is one that msgspec writes otherwise than Python (1e16 for 1e+16, null for NaN).

    Raises:
        CanonicalError: a text holds a lone surrogate, or a member is of a type JSON lacks.
    """
    for number in floats:
        # In this range both write the shortest digits that read back, without an exponent.
        if not (number is None or number == 0 or 1e-4 <= abs(number) < 1e16):
            return None
    try:
        return _fast_encoder.encode(value)
    except (TypeError, ValueError) as error:
        raise CanonicalError(f"no canonical JSON for this value: {error}") from error


def sha256_hex(data: bytes | memoryview) -> str:
    """Return the sha256 of ``data`` as 64 lower-case hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def _refuse_other_keys(value: Any) -> None:
    # json would turn the keys 1, True and None into strings, so that two values shared one form.
    if isinstance(value, dict):
        for name, member in value.items():
            if not isinstance(name, str):
                raise CanonicalError(f"object member names are strings; found {name!r}")
            _refuse_other_keys(member)
    elif isinstance(value, (list, tuple)):
        for member in value:
            _refuse_other_keys(member)
