"""Verdicts from the store. Nothing here calls a judge."""

from __future__ import annotations

from collections.abc import Sequence

from cache.store import Store
from score.judge.docket import Docket
from score.judge.spec import JudgeSpec
from score.judge.verdict import JudgeFailure, Verdict
from score.pair import Pair


def verdicts(store: Store, spec: JudgeSpec, pairs: Sequence[Pair]) -> list[Verdict | JudgeFailure]:
    """Return what the store knows of each pair's verdict, in the order of the pairs.

    A pair that was never judged is a ``missing`` failure; one whose calls failed for reasons that
    may pass is ``infra_failed``; one that the judge would not or could not grade is
    ``judge_failed``, with the reason.
    """
    return Docket(store, spec, pairs).results()
