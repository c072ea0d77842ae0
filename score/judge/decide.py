"""The records of one case → its verdict, its failure, or what is still to be asked. Pure.

Requests about one case differ by their sample index, 0, 1, 2 …; at most ``spec.most_requests`` are
used up. The first ``spec.samples`` readable replies make the verdict. An unreadable reply uses up
its index and the next one is asked; any other failure that a repeat would not change (a content
filter, a refusal, a cut reply) ends the case; failures of the infrastructure keep their index and
are asked again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cache.record import Outcome, Record
from score.judge.spec import JudgeSpec
from score.judge.verdict import JudgeFailure, Verdict, parse_verdict


@dataclass(frozen=True, slots=True)
class Ask:
    """The sample indices to ask next."""

    samples: tuple[int, ...]


def decide(spec: JudgeSpec, records: Mapping[int, Record]) -> Verdict | JudgeFailure | Ask:
    """Decide a case from its records by sample index."""
    readable: list[Verdict] = []
    unreadable: list[JudgeFailure] = []
    ask: list[int] = []
    for sample in range(spec.most_requests):
        if len(readable) + len(ask) == spec.samples:
            break
        record = records.get(sample)
        if record is None or not record.outcome.is_hit:
            ask.append(sample)
            continue
        if record.outcome is not Outcome.OK:
            return JudgeFailure("judge_failed", _reason(record))
        reply = parse_verdict(record.response.text, spec.scale, spec.aspects)
        if isinstance(reply, Verdict):
            readable.append(reply)
        else:
            unreadable.append(reply)
    if ask:
        return Ask(tuple(ask))
    if len(readable) < spec.samples:
        tried = len(unreadable) + len(readable)
        return JudgeFailure("judge_failed", f"{unreadable[-1].reason} (last of {tried} attempts)")
    return readable[0] if spec.samples == 1 else _together(readable)


def _together(readable: Sequence[Verdict]) -> Verdict:
    """The mean of several samples, with what the first of them said."""
    scores = tuple(verdict.score for verdict in readable)
    names = dict.fromkeys(name for verdict in readable for name in verdict.aspects)
    aspects = {
        name: _mean([verdict.aspects[name] for verdict in readable if name in verdict.aspects])
        for name in names
    }
    return Verdict(sum(scores) / len(scores), readable[0].justification, aspects, scores)


def _mean(values: Sequence[float | None]) -> float | None:
    applicable = [value for value in values if value is not None]
    return sum(applicable) / len(applicable) if applicable else None


def unsettled(records: Mapping[int, Record], ask: Ask) -> JudgeFailure:
    """What a case is while it waits for an answer: never asked, or the infrastructure failed."""
    failed = [records[sample] for sample in ask.samples if sample in records]
    if failed:
        return JudgeFailure("infra_failed", _reason(failed[0]))
    if records:
        return JudgeFailure("missing", "the replies so far are unreadable; attempts are left")
    return JudgeFailure("missing", "not judged yet")


def _reason(record: Record) -> str:
    error = record.response.error
    return f"{record.outcome.value}: {error}" if error else record.outcome.value
