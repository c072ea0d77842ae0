"""What an engine hands over, made fit for a record: text that has UTF-8, counts that are counts.

Models, services and adapters are other people's code. What they say was paid for, so what cannot
be stored as it is is put right or left out here, and is no reason to lose the rest of an answer.
"""

from __future__ import annotations

import operator
from typing import Any

#: Every reader of JSON holds a number up to this exactly, and sums of them fit into 64 bits.
_MOST = 2**53 - 1


def storable(value: Any) -> Any:
    """Return JSON whose texts have UTF-8: pairs of surrogates are joined, halves become U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {storable(name): storable(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [storable(member) for member in value]
    return value


def token_count(value: Any) -> int | None:
    """Return a number of tokens, 0 … 2^53 − 1; None for what is none (5.5, ``"5"``, −1)."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    try:
        count = operator.index(value)
    except TypeError:
        return None
    return count if 0 <= count <= _MOST else None
