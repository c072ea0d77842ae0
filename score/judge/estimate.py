"""What grading would cost before it is done: calls, tokens, dollars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from cache.record import Record
from cache.request import Request
from cache.store import Store
from score.judge.decide import Ask
from score.judge.docket import Docket
from score.judge.spec import JudgeSpec
from score.pair import Pair

CHARACTERS_PER_TOKEN = 4.0
"""Of English text, roughly: used where the store has no call of the judge to learn from."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What :func:`score.judge.grade.grade` would do now."""

    judge: str
    pairs: int
    requests: int
    """Distinct question, reference and answer among the pairs."""
    cached: int
    """Of these, settled in the store."""
    calls: int
    """Calls to make at least; unreadable replies cost more."""
    input_tokens: int
    """Estimated, as are the next two."""
    output_tokens: int
    cost_usd: float | None
    """None where the spec has no prices."""


def plan(store: Store, spec: JudgeSpec, pairs: Sequence[Pair]) -> Plan:
    """Return what grading ``pairs`` would take. Calls nothing, and needs no API key."""
    docket = Docket(store, spec, pairs)
    calls = [request for _, _, request in docket.pending().values()]
    known = [record for case in docket.cases for record in case.records.values()]
    input_tokens, output_tokens = _tokens(spec, calls, known) if spec.is_llm else (0, 0)
    return Plan(
        judge=spec.name,
        pairs=len(pairs),
        requests=len(docket.cases),
        cached=sum(not isinstance(case.decision, Ask) for case in docket.cases),
        calls=len(calls),
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cost_usd=cost_usd(spec, input_tokens, output_tokens),
    )


def cost_usd(spec: JudgeSpec, input_tokens: int, output_tokens: int) -> float | None:
    """US dollars for these tokens; 0 for a judge that runs here, None without prices."""
    if not spec.is_llm:
        return 0.0
    if spec.prices is None:
        return None
    prices = spec.prices
    total = (
        input_tokens * prices.input_usd_per_million + output_tokens * prices.output_usd_per_million
    )
    return total / 1_000_000


def _tokens(spec: JudgeSpec, calls: Sequence[Request], known: Iterable[Record]) -> tuple[int, int]:
    """Input and output tokens of calls: by what earlier calls took, else by rule of thumb."""
    counted = [
        (_characters(record.request), record.usage.input_tokens, record.usage.output_tokens)
        for record in known
        if record.usage.input_tokens and record.usage.output_tokens
    ]
    per_character, per_call = 1 / CHARACTERS_PER_TOKEN, float(spec.expected_output_tokens)
    if counted:
        per_character = sum(tokens for _, tokens, _ in counted) / sum(
            size for size, _, _ in counted
        )
        per_call = sum(tokens for _, _, tokens in counted) / len(counted)
    characters = sum(_characters(request) for request in calls)
    return round(characters * per_character), round(len(calls) * per_call)


def _characters(request: Request) -> int:
    return sum(
        len(getattr(part, "text", "")) for message in request.messages for part in message.parts
    )
