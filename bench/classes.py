"""OmniAssistBench's classes, the major task each belongs to, and its tier.

    basic        social perception, temporal perception, referential perception,
                 non-audio prompt following
    advanced     context-aware response, proactive response, process tracking
    real-world   real-world cases; their sub-task is the case: meeting, handicraft or blind

Source: OmniAssistBench, Table 1 and Tables 5 and 6.
"""

from __future__ import annotations

from dataclasses import dataclass

REAL_CASE = "real case"


@dataclass(frozen=True, slots=True)
class SubTask:
    """Where an item stands in the benchmark's three levels."""

    name: str
    major: str
    tier: str


_MAJOR = {
    "social perception": (
        "basic",
        ("identity identification", "addressee identification", "complex emotion understanding"),
    ),
    "temporal perception": ("basic", ("dynamic counting", "event retrieval", "appearance order")),
    "referential perception": ("basic", ("linguistic reference", "action reference")),
    "non-audio prompt following": (
        "basic",
        ("OCR-based prompt following", "gesture-based prompt following"),
    ),
    "context-aware response": ("advanced", ("context-aware response",)),
    "proactive response": (
        "advanced",
        ("single event-triggered response", "multi events-triggered response"),
    ),
    "process tracking": ("advanced", ("step tracking", "checklist tracking", "multitask tracking")),
}
# What a sample of a real case is called, by the beginning of its name.
_CASES = {
    "meeting": "meeting",
    "handcraft": "handicraft",
    "handicraft": "handicraft",
    "blind": "blind",
}


def _plain(name: str) -> str:
    words = name.casefold().replace("-", " ").replace("_", " ").split()
    # The paper's tables say "linguistic reference perception" and "multi event-triggered".
    if words and words[-1] == "perception":
        words.pop()
    return " ".join("event" if word == "events" else word for word in words)


_BY_CLASS = {
    _plain(name): SubTask(name, major, tier)
    for major, (tier, names) in _MAJOR.items()
    for name in names
}


def class_names() -> list[str]:
    """Return the names of all classes."""
    return [sub_task.name for sub_task in _BY_CLASS.values()] + [REAL_CASE]


def sub_task(class_name: str, sample: str) -> SubTask | None:
    """Return the sub-task of a row, or None where the class is unknown.

    Args:
        class_name: The ``class`` of the row; case and hyphens do not matter.
        sample: The sample's name, which says which real case it is.
    """
    plain = _plain(class_name)
    if plain in (REAL_CASE, "real cases", "real world cases", "real world case"):
        begins = sample.casefold()
        case = next((case for start, case in _CASES.items() if begins.startswith(start)), sample)
        return SubTask(case, "real-world cases", "real-world")
    return _BY_CLASS.get(plain)
