"""The requests of a round, handed out as far as the budget allows.

    calls made              ≤ max_calls
    dollars spent
    + what calls in flight
      are expected to cost  ≤ max_cost_usd

A call's tokens are known only when it was answered, so a budget of dollars may be missed by what
the calls in flight take beyond their estimate.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import Callable, Iterable
from itertools import islice

from cache.record import Record, Usage
from cache.request import Request
from cache.store import Store
from score.errors import ScoreError
from score.judge.cost import Rates, cost_usd
from score.judge.spec import JudgeSpec

#: How old what is known of other processes' answers may be.
LOOK_EVERY_S = 2.0
#: Requests that are looked up together.
_AHEAD = 1_000


class Budget:
    """What may be spent, and what was: over all rounds of one grading."""

    def __init__(
        self,
        spec: JudgeSpec,
        rates: Rates,
        *,
        max_calls: int | None = None,
        max_cost_usd: float | None = None,
        in_batch: bool = False,
    ) -> None:
        """Set the limits; None: there is none.

        Raises:
            ScoreError: a limit in dollars for a judge whose prices are not known.
        """
        if max_cost_usd is not None and spec.is_llm and spec.prices is None:
            raise ScoreError(
                f"judge {spec.name} has no prices in its spec, so no cost can be limited: add "
                "[prices], or limit the calls with --max-calls"
            )
        self._spec = spec
        self._rates = rates
        self._max_calls = max_calls
        self._max_cost_usd = max_cost_usd
        self._in_batch = in_batch
        self._expected: dict[str, float] = {}
        self._too_dear = 0.0
        self.calls = 0
        """Made, or on their way."""
        self.spent_usd: float | None = self._cost(Usage())
        """By what was answered; None without prices."""

    def take(self, request: Request) -> bool:
        """Whether there is money for a call; if so, it is set aside."""
        if self._max_calls is not None and self.calls >= self._max_calls:
            return False
        cost = self._cost(self._rates.usage(request)) or 0.0
        if self._max_cost_usd is not None:
            bound = (self.spent_usd or 0.0) + sum(self._expected.values())
            if bound + cost > self._max_cost_usd:
                self._too_dear = cost
                return False
            self._expected[request.key()] = cost
        self.calls += 1
        return True

    def used_up(self, left: int) -> str:
        """Say why ``left`` calls were not made."""
        if not self.calls and self._too_dear:
            return (
                f"a call is expected to cost {self._too_dear:.2g} USD, and the budget is "
                f"{self._max_cost_usd:g} USD: {left} calls were not made"
            )
        return f"the budget is used up: {left} calls were not made"

    def settle(self, record: Record) -> None:
        """Note what a call really cost."""
        self._expected.pop(record.key, None)
        cost = self._cost(record.usage)
        if cost is not None and self.spent_usd is not None:
            self.spent_usd += cost

    def _cost(self, usage: Usage) -> float | None:
        return cost_usd(self._spec, usage, in_batch=self._in_batch)


class Work:
    """Requests that wait to be asked."""

    def __init__(
        self,
        requests: Iterable[Request],
        budget: Budget,
        keep: Callable[[Record], None],
        elsewhere: Callable[[Iterable[Request]], Record | None] = lambda waiting: None,
    ) -> None:
        """Queue requests.

        Args:
            requests: In the order in which they are asked.
            budget: How many may be.
            keep: Makes an answer last.
            elsewhere: The answer to the first of these requests that another process got since they
                were looked up.
        """
        self._waiting = deque(requests)
        self._budget = budget
        self._keep = keep
        self._elsewhere = elsewhere
        self.closed = asyncio.Event()
        """No new call may begin."""
        self.found: list[Record] = []
        """Answers that another process got meanwhile."""

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def take(self) -> Request | None:
        """The next request; None where none waits, or there is no money for it as things stand."""
        while self._waiting and not self.closed.is_set():
            if record := self._elsewhere(self._waiting):
                self._waiting.popleft()
                self._note(record)
            elif self._budget.take(self._waiting[0]):
                return self._waiting.popleft()
            else:
                return None
        return None

    def done(self, record: Record) -> None:
        """Keep an answer: at once, before anything else is asked, for it may have been paid for."""
        self._keep(record)
        self._budget.settle(record)

    def _note(self, record: Record) -> None:
        if not self.found:
            # Two processes in the same order would go on asking the same at the same time.
            rest = list(self._waiting)
            random.shuffle(rest)
            self._waiting = deque(rest)
        self.found.append(record)


class Elsewhere:
    """What other processes put into a store meanwhile."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._looked = time.monotonic()
        self._missing: set[str] = set()

    def __call__(self, waiting: Iterable[Request]) -> Record | None:
        """The answer to the first of the requests that would be asked next."""
        if time.monotonic() - self._looked > LOOK_EVERY_S:
            self._store.refresh()
            self._looked = time.monotonic()
            self._missing.clear()
        key = next(iter(waiting)).key()
        if key not in self._missing:
            ahead = (request.key() for request in islice(waiting, _AHEAD))
            self._missing = set(self._store.missing(ahead))
        return None if key in self._missing else self._store.get(key)
