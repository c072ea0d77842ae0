"""Members of an answer's JSON by name: spelled in any case, under the names models use."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from score.parse.document import Clash

#: Names under which a rationale is given; the first that is there counts.
RATIONALES = ("rationale", "rationale_model", "explanation", "reasoning", "reason", "justification")


def folded(members: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members with their names in snake case: ``Answer Letter`` → ``answer_letter``."""
    found: dict[str, Any] = {_snake(name): value for name, value in members.items()}
    if len(found) == len(members):
        return found
    found.clear()
    for name, value in members.items():
        snake = _snake(name)
        if snake in found and found[snake] != value:
            value = Clash((found[snake], value))
        found[snake] = value
    return found


@lru_cache(maxsize=4096)
def _snake(name: str) -> str:
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[\W_]+", "_", words).strip("_").lower()


def text_member(names: Mapping[str, Any], candidates: Sequence[str]) -> tuple[str, str]:
    """Return the text under the first of ``candidates`` that is there, and what is wrong with it.

    Returns:
        The text and ``""``; or ``""`` and the reason why there is none.
    """
    for name in candidates:
        value = names.get(name)
        if isinstance(value, str) and value.strip():
            return value, ""
        if isinstance(value, Clash):
            return "", f"{name} is given twice, differently"
    named = [name for name in candidates if name in names]
    if named:
        return "", f"{named[0]} is empty"
    return "", f"no {candidates[0]}"


def stated_confidence(names: Mapping[str, Any]) -> float | None:
    """Return how sure the model says it is, from 0 to 1; None where that cannot be read.

    ``"90%"`` is 0.9; a bare 90 is not certain to be per cent, and is not read.
    """
    value = names.get("confidence")
    factor = 1.0
    if isinstance(value, str):
        said = value.strip()
        factor = 0.01 if said.endswith("%") else 1.0
        try:
            value = float(said.removesuffix("%"))
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Compared before it is converted: an integer may be beyond a float's range.
    return float(value) * factor if 0 <= value <= 1 / factor else None
