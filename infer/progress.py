"""How far a run is, on stderr: answered, failed, requests and tokens a second, time left."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cache.record import Outcome
from infer.actor import Done

#: Seconds of answers that say something of the speed.
_SHORTEST_S = 1.0


@dataclass(slots=True)
class Rates:
    """Counts and rates of the answers so far. Loading a model is no measure of its speed."""

    total: int
    done: int = 0
    failed: int = 0
    tokens: int = 0
    """Of output."""
    first_s: float = math.inf
    """When the first request was asked, on the clock of whoever asked."""
    last_s: float = -math.inf
    """When the last answer was there."""

    def note(self, done: Done) -> None:
        """Count an answer. Several are heard of at once: what counts is when they were there."""
        self.done += 1
        self.tokens += done.output_tokens
        self.failed += done.outcome is not Outcome.OK
        self.first_s = min(self.first_s, done.at_s - done.answer_s)
        self.last_s = max(self.last_s, done.at_s)

    @property
    def per_s(self) -> float | None:
        """Answers a second since the first request was asked; None while that is too short ago."""
        return self.done / self._elapsed_s if self._elapsed_s >= _SHORTEST_S else None

    @property
    def _elapsed_s(self) -> float:
        return self.last_s - self.first_s

    def __str__(self) -> str:
        said = f"{self.done} of {self.total}"
        if self.failed:
            said += f", {self.failed} failed"
        if self.per_s is not None:
            said += f", {self.per_s:.2f}/s"
            if self.tokens:
                said += f", {self.tokens / self._elapsed_s:.0f} tokens/s"
            said += f", {_span((self.total - self.done) / self.per_s)} left"
        return said


def follow(
    answers: Iterable[Done], rates: Rates, what: str, every_s: float = 30.0
) -> Iterator[Done]:
    """Yield ``answers`` unchanged, count them, and show on stderr how far they are.

    A bar on a terminal; elsewhere a line every ``every_s`` seconds.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        said_s = time.monotonic()
        for done in answers:
            rates.note(done)
            now_s = time.monotonic()
            if now_s - said_s >= every_s:
                said_s = now_s
                console.print(f"{what}: {rates}", highlight=False)
            yield done
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[rates]}"))
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(what, total=rates.total, rates="starting")
        for done in answers:
            rates.note(done)
            progress.update(task, completed=rates.done, rates=str(rates))
            yield done


def _span(seconds: float) -> str:
    minutes, left = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{left:02d}" if hours else f"{minutes}:{left:02d}"
