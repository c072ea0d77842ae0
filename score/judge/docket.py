"""Pairs → distinct cases, with what the store holds about each.

Pairs with the same question, reference and answer are one case, whatever item or run they come
from. Records are looked up a round at a time: the first sample index of all cases, then the next
one of those that need it, so that most cases cost one key.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from cache.record import Record
from cache.request import Request
from cache.store import Store
from score.judge.decide import Ask, decide, unsettled
from score.judge.request import judge_request, resample, texts_of
from score.judge.spec import JudgeSpec
from score.judge.verdict import JudgeFailure, Verdict
from score.pair import Pair


@dataclass(slots=True)
class Case:
    """One distinct question, reference and answer before a judge."""

    spec: JudgeSpec
    request: Request
    """With sample index 0."""
    records: dict[int, Record] = field(default_factory=dict)
    """By sample index: the newest that is known. :meth:`heard` adds one."""
    _decision: Verdict | JudgeFailure | Ask | None = None

    def heard(self, sample: int, record: Record) -> None:
        """Take in what is known of a sample index."""
        self.records[sample] = record
        self._decision = None

    @property
    def decision(self) -> Verdict | JudgeFailure | Ask:
        """Its verdict or lasting failure, or what to ask next."""
        if self._decision is None:
            self._decision = decide(self.spec, self.records)
        return self._decision

    @property
    def result(self) -> Verdict | JudgeFailure:
        """Its verdict, or why it has none as things stand."""
        decision = self.decision
        return unsettled(self.records, decision) if isinstance(decision, Ask) else decision

    def pending(self) -> Iterator[tuple[int, Request]]:
        """Sample indices to ask next, each with its request."""
        decision = self.decision
        if isinstance(decision, Ask):
            for sample in decision.samples:
                yield sample, resample(self.request, sample)


class Docket:
    """All cases of some pairs before one judge."""

    def __init__(self, store: Store, spec: JudgeSpec, pairs: Sequence[Pair]) -> None:
        self.cases: list[Case] = []
        """Distinct, in the order of the pairs."""
        seen: set[tuple[tuple[str, str], ...]] = set()
        for pair in pairs:
            texts = tuple(texts_of(pair).items())
            if texts not in seen:
                seen.add(texts)
                self.cases.append(Case(spec, judge_request(spec, pair)))
        self._look_up(store)

    def pending(self) -> dict[str, tuple[Case, int, Request]]:
        """Requests to make next, by key."""
        return {
            request.key(): (case, sample, request)
            for case in self.cases
            for sample, request in case.pending()
        }

    def failures(self) -> Counter[str]:
        """How many cases have no verdict, by reason."""
        results = (case.result for case in self.cases)
        return Counter(
            f"{result.status}: {result.reason}"
            for result in results
            if isinstance(result, JudgeFailure)
        )

    def _look_up(self, store: Store) -> None:
        looked: set[str] = set()
        cases = self.cases
        while cases:
            wanted = {
                request.key(): (case, sample)
                for case in cases
                for sample, request in case.pending()
            }
            found = store.get_many([key for key in wanted if key not in looked])
            looked.update(wanted)
            for key, record in found.items():
                case, sample = wanted[key]
                case.heard(sample, record)
            cases = [wanted[key][0] for key in found]
