"""A pair: a reference and an answer that are compared as texts, by a metric or by a judge."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts that should say the same, and the question they answer."""

    item: str
    aspect: str
    """Which text of the item: ``detailed`` or ``short`` summary, ``rationale``, ``answer``."""
    question: str
    reference: str
    answer: str
    alternatives: tuple[str, ...] = ()
    """Further references, each as good as the first."""
    key_points: tuple[tuple[str, ...], ...] = ()
    """What an answer has to contain; each is a tuple of alternatives."""
