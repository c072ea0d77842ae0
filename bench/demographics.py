"""Who is in a clip, in canonical words.

The published values are mostly canonical; older files carry variants (``Young (18-24)``,
``South Asian``). They are mapped here, so that a slice holds all that belongs to it. A value that
is in no table stays as it is, and ``check`` reports it. ``unknown`` means that the annotations
say so, or say nothing.

Source: the value tables of SONIC-O1's annotation files.
"""

from __future__ import annotations

import re
from typing import Any

from bench.annotations import Node, shown
from bench.item import Demographic

UNKNOWN = "unknown"
FIELDS = ("race", "gender", "age", "language")

#: What fits into a video, by far.
_MOST_PEOPLE = 10_000

_SILENT = frozenset({"", "unknown", "not specified", "unspecified", "n/a", "none"})
_VARIANTS: dict[str, dict[str, tuple[str, ...]]] = {
    "race": {
        "White": ("caucasian", "european", "european american"),
        "Black": ("african", "african american", "african-american", "afro-american"),
        "Asian": (
            "south asian",
            "east asian",
            "southeast asian",
            "south east asian",
            "east/southeast asian",
            "indian/south asian",
            "asian american",
        ),
        "Indigenous": ("native american", "aboriginal", "first nations"),
        "Arab": ("arab american", "middle eastern", "middle-eastern"),
        "Hispanic": ("latino", "latina", "latinx", "latin american"),
    },
    "gender": {"Male": ("man", "m"), "Female": ("woman", "f")},
    "age": {
        "18-24": ("young", "young adult", "young adults"),
        "25-39": ("middle", "middle age", "middle aged", "middle-aged", "middle adults"),
        "40+": ("older", "older adult", "older adults", "old", "senior", "elderly"),
    },
}
_CANONICAL = {
    field: {
        variant: name
        for name, variants in names.items()
        for variant in (name.casefold(), *variants)
    }
    for field, names in _VARIANTS.items()
}
# The bracket decides where a word stands beside it: "Older adults (25-39)" are 25 to 39.
_BRACKET = re.compile(r"\b(18-24|25-39)\b|(40\+|\+40)")


def canonical(field: str, value: str) -> str | None:
    """Return the canonical word for a value of ``field``, or None for a value of no table.

    Languages have no closed table: ``English (British)`` is English, anything else stays.
    """
    text = " ".join(value.split())
    if text.casefold() in _SILENT:
        return UNKNOWN
    if field == "language":
        name = text.partition("(")[0].strip() or text
        return name[0].upper() + name[1:]
    if field == "age":
        found = _BRACKET.search(re.sub("[\u2010-\u2015\u2212]", "-", text))
        if found:
            return found[1] or "40+"
    return _CANONICAL[field].get(text.casefold())


def read_people(entry: Node) -> tuple[Demographic, ...]:
    """Return the people of an entry's ``demographics``; none where the list is empty or missing."""
    if not entry.has("demographics"):
        return ()
    people = []
    for person in entry.nodes("demographics"):
        race, gender, age, language = (_word(person, field) for field in FIELDS)
        count = person.integer("count", 0, _MOST_PEOPLE)
        if count == 0:
            expected = f"expected how many people these are, 1 to {_MOST_PEOPLE}"
            person.fault("count", f"found 0; {expected}", blocks=False)
        if count:
            people.append(Demographic(race, gender, age, language, count))
    return tuple(people)


def read_tags(video: Node) -> tuple[Demographic, ...]:
    """Return the people that a video's ``demographics_detailed_reviewed`` tags stand for.

    The tags are a list for each attribute and say who is there, not how many nor in which
    combination. They become as many people as the longest list is long; a shorter list starts
    over. So each tag is present in its own attribute, and nothing else is.
    """
    field = "demographics_detailed_reviewed"
    if not video.has(field):
        return ()
    tags = video.node(field)
    if tags is None:
        return ()
    races, genders, ages, languages = (_tag_list(tags, name) for name in FIELDS)
    length = max(map(len, (races, genders, ages, languages)))
    return tuple(
        Demographic(_nth(races, n), _nth(genders, n), _nth(ages, n), _nth(languages, n), count=1)
        for n in range(length)
    )


def _nth(words: list[str], n: int) -> str:
    return words[n % len(words)] if words else UNKNOWN


def _tag_list(tags: Node, field: str) -> list[str]:
    value = tags.value.get(field)
    if value is None:
        return []
    if not isinstance(value, list):
        tags.fault(field, f"found {shown(value)}; expected a list of texts")
        return []
    words = [_canonical_or_noted(tags, f"{field}[{n}]", field, one) for n, one in enumerate(value)]
    return list(dict.fromkeys(words))


def _word(person: Node, field: str) -> str:
    return _canonical_or_noted(person, field, field, person.value.get(field))


def _canonical_or_noted(node: Node, where: str, field: str, value: Any) -> str:
    if value is None:
        return UNKNOWN
    if not isinstance(value, str):
        node.fault(where, f"found {shown(value)}; expected text")
        return UNKNOWN
    word = canonical(field, value)
    if word is None:
        known = ", ".join(_VARIANTS[field])
        node.fault(where, f"found {shown(value)}; expected one of {known}, Unknown", blocks=False)
        return value
    return word
