"""Tokens and dollars of calls: of those that were made, and of those to come."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from cache.record import Record, Usage
from cache.request import Request
from score.judge.spec import JudgeSpec

CHARACTERS_PER_TOKEN = 4.0
"""Of English text, roughly: used where there is no call of the judge to learn from."""


class Rates(NamedTuple):
    """What a judge's calls take, as far as is known."""

    input_per_character: float
    output_per_call: float

    def usage(self, request: Request) -> Usage:
        """The tokens that a call will take, about."""
        return Usage(
            input_tokens=round(characters(request) * self.input_per_character),
            output_tokens=round(self.output_per_call),
        )


def rates(spec: JudgeSpec, known: Iterable[Record] = ()) -> Rates:
    """What earlier calls took, else a rule of thumb and the spec's word."""
    counted = [
        (characters(record.request), record.usage.input_tokens, record.usage.output_tokens)
        for record in known
        if record.usage.input_tokens and record.usage.output_tokens
    ]
    if not counted:
        return Rates(1 / CHARACTERS_PER_TOKEN, float(spec.expected_output_tokens))
    sizes, inputs, outputs = (sum(column) for column in zip(*counted, strict=True))
    return Rates(inputs / sizes, outputs / len(counted))


def cost_usd(spec: JudgeSpec, usage: Usage, *, in_batch: bool = False) -> float | None:
    """US dollars for these tokens; 0 for a judge that runs here, None without prices."""
    if not spec.is_llm:
        return 0.0
    prices = spec.prices
    if prices is None:
        return None
    kept = usage.cached_tokens or 0
    for_kept = prices.cached_input_usd_per_million
    if for_kept is None:
        for_kept = prices.input_usd_per_million
    total = (
        ((usage.input_tokens or 0) - kept) * prices.input_usd_per_million
        + kept * for_kept
        + (usage.output_tokens or 0) * prices.output_usd_per_million
    )
    return total / 1_000_000 * (prices.batch_factor if in_batch else 1.0)


def added(usages: Iterable[Usage]) -> Usage:
    """The tokens of several calls; what a server does not count adds nothing."""
    inputs = outputs = kept = 0
    for usage in usages:
        inputs += usage.input_tokens or 0
        outputs += usage.output_tokens or 0
        kept += usage.cached_tokens or 0
    return Usage(input_tokens=inputs, output_tokens=outputs, cached_tokens=kept)


def characters(request: Request) -> int:
    """Characters of a request's messages."""
    return sum(
        len(getattr(part, "text", "")) for message in request.messages for part in message.parts
    )
