"""Verdicts from the store. Nothing here calls a judge."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from cache.store import Store
from score.judge.docket import Docket
from score.judge.memory import Memory, digest_of
from score.judge.spec import JudgeSpec
from score.judge.verdict import JudgeFailure, Verdict
from score.pair import Pair

_AT_ONCE = 50_000


def verdicts(store: Store, spec: JudgeSpec, pairs: Sequence[Pair]) -> list[Verdict | JudgeFailure]:
    """Return what the store knows of each pair's verdict, in the order of the pairs.

    A pair that was never judged is a ``missing`` failure; one whose calls failed for reasons that
    may pass is ``infra_failed``; one that the judge would not or could not grade is
    ``judge_failed``, with the reason.
    """
    memory = Memory(store, spec)
    digests = [digest_of(pair) for pair in pairs]
    found = memory.get(digests)
    rest = {
        digest: pair for digest, pair in zip(digests, pairs, strict=True) if digest not in found
    }
    # Records are much larger than verdicts: never all of them at once.
    while some := dict(islice(rest.items(), _AT_ONCE)):
        cases = dict(zip(some, Docket(store, spec, list(some.values())).cases, strict=True))
        memory.add(cases)
        found |= {digest: case.result for digest, case in cases.items()}
        for digest in some:
            del rest[digest]
    return [found[digest] for digest in digests]
