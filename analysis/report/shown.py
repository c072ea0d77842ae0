"""Metrics and numbers as readers see them: names in words, units, digits, direction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from score.categories import PREFIX

NOTHING = "–"
#: In the order in which they are shown.
_WORDS = {
    "accuracy": "Accuracy",
    "tiou": "tIoU",
    "recall_0.3": "Recall at 0.3",
    "recall_0.5": "Recall at 0.5",
    "recall_0.7": "Recall at 0.7",
    "mae": "Error of times",
    "mae_start": "Error of start",
    "mae_end": "Error of end",
}
_ENDINGS = {
    "_judge": "judge",
    "_rouge_l": "ROUGE-L",
    "_similarity": "similarity",
    "_cider": "CIDEr",
}
TASKS = {
    "summary": "Summaries",
    "empathic": "Empathic summaries",
    "choice": "Multiple choice",
    "localization": "Temporal localization",
    "assistant": "Assistant dialogues",
}


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric of a task, by one judge where it is a judge's."""

    task: str
    name: str
    judge: str = ""
    per_point: float | None = field(default=None, compare=False)
    """What a judge's score is multiplied by where it is shown as points of 100."""

    @property
    def label(self) -> str:
        """Its name in words, without task and judge."""
        if self.name.startswith(PREFIX):
            return self.name.removeprefix(PREFIX).capitalize()
        for ending, words in _ENDINGS.items():
            if self.name.endswith(ending):
                return f"{self.name.removesuffix(ending).capitalize()}: {words}"
        return _WORDS.get(self.name, self.name)

    @property
    def place(self) -> int:
        """Where it stands among the metrics of its task; texts' come last."""
        return list(_WORDS).index(self.name) if self.name in _WORDS else len(_WORDS)

    @property
    def title(self) -> str:
        """Its name with its judge and unit."""
        judge = f" ({self.judge})" if self.judge else ""
        unit = f", {self.unit}" if self.unit else ""
        return f"{self.label}{judge}{unit}"

    @property
    def scale(self) -> float:
        """From the value in the files to the one that is shown."""
        if self.per_point is not None:
            return self.per_point
        fraction = self.name in ("accuracy", "tiou") or self.name.startswith("recall_")
        return 100.0 if fraction or self.name.endswith("_rouge_l") else 1.0

    @property
    def unit(self) -> str:
        """What the shown value is in; empty: a bare number."""
        if self.per_point is not None:
            return "points of 100"
        if self.name.startswith("mae"):
            return "s"
        return "%" if self.scale != 1 or self.name.startswith(PREFIX) else ""

    @property
    def digits(self) -> int:
        """Digits after the point."""
        return 1 if self.unit else 2

    @property
    def better(self) -> str:
        """``higher``, ``lower`` or ``neither``."""
        if self.name.startswith(PREFIX):
            return "neither"
        return "lower" if self.name.startswith("mae") else "higher"

    def show(self, value: float | None, *, sign: bool = False) -> str:
        """Return a value as it is printed."""
        if value is None:
            return NOTHING
        return number(value * self.scale, self.digits, sign=sign)


def number(value: float | None, digits: int = 2, *, sign: bool = False) -> str:
    """Return a number as it is printed; a huge one with its power of ten."""
    if value is None or not math.isfinite(value):
        return NOTHING
    form = f".{digits}{'e' if abs(value) >= 1e7 else 'f'}"
    return format(value, f"+{form}" if sign else form).replace("-", "−")


def placed(ends: Sequence[float], least: float, most: float) -> tuple[float, ...] | None:
    """Return places on a picture from ``least`` to ``most``, in per cent of its width.

    Returns:
        A place for each end; None where a number or the width is not finite: a model may answer
        1e308 seconds.
    """
    width = most - least or 1.0
    if not all(map(math.isfinite, (*ends, width))):
        return None
    # Divided first: a hundred times an end may be no number any more.
    return tuple(round(100 * ((end - least) / width), 1) for end in ends)


def p_value(value: float | None) -> str:
    """Return a p-value as it is printed."""
    if value is None:
        return NOTHING
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def task_title(task: str) -> str:
    """Return a task type's name for headings."""
    return TASKS.get(task, task)
