"""The relation in a temporal question: which event is asked for, and where it lies.

"When does she sit down after the doctor knocks?"  → ("When does she sit down", after, "the …")
"Before the bell rings, what is written?"          → ("what is written", before, "the bell …")
"""

from __future__ import annotations

import re

_WORD = (
    r"(?:right |immediately |shortly |just |directly )?"
    r"(?P<relation>before|after|during|while|following|once|as soon as)"
)
_LEADING = re.compile(rf"^\s*{_WORD}\s+(?P<anchor>[^,]+),\s*(?P<target>.+?)\??\s*$", re.IGNORECASE)
_TRAILING = re.compile(rf"^\s*(?P<target>.+?),?\s+{_WORD}\s+(?P<anchor>.+?)\??\s*$", re.IGNORECASE)
_MEANING = {"before": "before", "during": "during", "while": "during"}


def split_question(question: str) -> tuple[str, str, str]:
    """Return (target, relation, anchor); relation and anchor are empty where none is found.

    ``relation`` is ``before``, ``during`` or ``after``.
    """
    found = _LEADING.match(question) or _TRAILING.match(question)
    if found is None:
        return question, "", ""
    relation = _MEANING.get(found["relation"].lower(), "after")
    return found["target"], relation, found["anchor"]
