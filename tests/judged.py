"""Grading against a scripted server, for tests: what was done, the server, and the verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cache.record import Outcome
from cache.store import Store
from score.judge.grade import AT_ONCE, Graded, Terms, grade
from score.judge.lookup import verdicts
from score.judge.verdict import JudgeFailure, Verdict
from score.pair import Pair
from tests.builders import chat_judge
from tests.openai_server import OpenAIServer, Reply, Script, chat, error

GOOD = chat('{"score": 7, "justification": "close"}')
BUSY = error(429, "slow down", retry_after_ms="5")


def graded(
    store: Store,
    script: Script | Reply,
    pairs: Sequence[Pair],
    terms: Terms = AT_ONCE,
    **changes: Any,
) -> tuple[Graded, OpenAIServer, list[Verdict | JudgeFailure]]:
    """Grade against a scripted server; what grading did, the server, and the verdicts."""
    with OpenAIServer(script) as server:
        spec = chat_judge(server.base_url, **changes)
        done = grade(store, spec, pairs, terms=terms, environ={})
    return done, server, verdicts(store, spec, pairs)


def outcomes(store: Store) -> list[Outcome]:
    """How the calls of a store ended."""
    return [record.outcome for record in store.scan()]
