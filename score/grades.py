"""A judge's verdicts on a run, lined up with its answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from score.answers import Answer
from score.metrics import Grade
from score.pairs import numbered_pairs

if TYPE_CHECKING:
    from cache.store import Store
    from score.judge.spec import JudgeSpec


def run_grades(
    store: Store, spec: JudgeSpec, answers: Sequence[Answer]
) -> dict[str, dict[int, Grade]]:
    """Read what the store knows of a judge's verdicts; no judge is called.

    Returns:
        aspect → position of the answer → grade.
    """
    from score.judge.lookup import verdicts
    from score.judge.verdict import Verdict

    numbered = list(numbered_pairs(answers))
    found = verdicts(store, spec, [pair for _, pair in numbered])
    grades: dict[str, dict[int, Grade]] = defaultdict(dict)
    for (position, pair), verdict in zip(numbered, found, strict=True):
        grades[pair.aspect][position] = (
            Grade(verdict.score)
            if isinstance(verdict, Verdict)
            else Grade(np.nan, verdict.status, verdict.reason)
        )
    return grades
