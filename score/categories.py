"""Word categories of empathic summaries: per cent of their words in each.

    category:<name> = 100 · words in the category / words

What the words and the categories are, a dictionary says: ``dictionary.py``. More is neither better
nor worse, so these means have no reading in which failures count as wrong.

LIWC's *Tone* is not here: how it is made of the counts is its makers' secret.

Source: SONIC-O1, section 4.4 and Appendix J.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bench.item import TaskType
from score.answers import UNPARSED, Answer
from score.dictionary import Dictionary, words
from score.metrics import Cells, Column
from score.parse.prediction import SummaryPrediction

if TYPE_CHECKING:
    import numpy.typing as npt

#: How the metrics' names begin.
PREFIX = "category:"


def category_shares(dictionary: Dictionary, texts: Sequence[str]) -> npt.NDArray[np.float64]:
    """Return the per cent of words in each category, shape (texts, categories).

    A text without words has NaN.
    """
    wanted = len(dictionary.categories)
    shares = np.full((len(texts), wanted), np.nan)
    for row, text in enumerate(texts):
        said = words(text)
        if said:
            found = [category for word in said for category in dictionary.lookup(word)]
            counts = np.bincount(np.array(found, dtype=np.int64), minlength=wanted)
            shares[row] = 100.0 * counts / len(said)
    return shares


def category_columns(answers: Sequence[Answer], dictionary: Dictionary) -> list[Column]:
    """Return a column for each category; none where there are no empathic summaries."""
    positions, statuses, reasons, texts = [], [], [], []
    for position, answer in enumerate(answers):
        if answer.item.task is not TaskType.EMPATHIC:
            continue
        status, reason, said = answer.status, answer.reason, ""
        if isinstance(answer.prediction, SummaryPrediction):
            said = answer.prediction.detailed
            if not words(said):
                status, reason = UNPARSED, answer.prediction.problem or "a summary without words"
        positions.append(position)
        statuses.append(status)
        reasons.append(reason)
        texts.append(said)
    if not positions:
        return []
    cells = Cells(np.array(positions), statuses, reasons)
    shares = category_shares(dictionary, texts)
    return [
        Column(f"{PREFIX}{name}", cells, shares[:, index])
        for index, name in enumerate(dictionary.categories)
    ]
