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
from typing import Any

from cache.errors import CanonicalError

_encoder = json.JSONEncoder(
    sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"), check_circular=False
)


def canonical_bytes(value: Any) -> bytes:
    """Return the canonical JSON of a value made of dict, list, str, int, float, bool and None.

    Raises:
        CanonicalError: the value holds something that has no canonical form.
    """
    _refuse_other_keys(value)
    try:
        return _encoder.encode(value).encode("utf-8")
    except (TypeError, ValueError) as error:  # UnicodeEncodeError is a ValueError
        raise CanonicalError(f"no canonical JSON for this value: {error}") from error


def sha256_hex(data: bytes) -> str:
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
