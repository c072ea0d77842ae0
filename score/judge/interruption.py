"""SIGTERM, SIGUSR1 and ctrl-C while a judge is at work: no new call begins, those in flight end.

The first signal leaves them a grace time, the second one none. A third one ends what calls nobody.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from types import FrameType

_SIGNALS = (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT)

#: Long enough for most replies, and within the 120 s that SLURM's signal comes ahead of the end.
GRACE_S = 60.0


class Interruption:
    """Whether the command was asked to end; a context, in which signals say so."""

    def __init__(
        self, *, grace_s: float = GRACE_S, say: Callable[[str], None] = lambda text: None
    ) -> None:
        self.signal = ""
        """The name of the first signal; empty: none came."""
        self._grace_s = grace_s
        self._say = say
        self._ends_at = float("inf")
        self._old: dict[int, object] = {}

    @property
    def is_over(self) -> bool:
        """Whether calls in flight have had their time."""
        return time.monotonic() >= self._ends_at

    def __enter__(self) -> Interruption:
        # Elsewhere than in the main thread Python takes no handlers; signals stay as they are.
        if threading.current_thread() is threading.main_thread():
            self._old = {number: signal.signal(number, self._handle) for number in _SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.is_over:
            raise KeyboardInterrupt
        if self.signal:
            self._ends_at = time.monotonic()
            return
        self.signal = signal.Signals(number).name
        self._ends_at = time.monotonic() + self._grace_s
        self._say(
            f"{self.signal}: calls in flight may take {self._grace_s:g} s more; a second signal "
            "ends at once"
        )
