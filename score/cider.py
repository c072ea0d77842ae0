"""CIDEr over untokenised text, as the published scorer of SONIC-O1 computes it.

Texts are split at white space into words, counted as 1- to 4-grams, weighted by tf-idf with the
document frequencies of the references of the corpus (here: a topic), and compared by cosine; the
prediction's counts are clipped to the reference's, and a Gaussian penalises another length.

    CIDEr-D = 10 · mean over n of  min(p, r) · r / (|p| |r|) · exp(−(l_p − l_r)² / 72)

Source: Vedantam et al., CIDEr: Consensus-based Image Description Evaluation, 2015, and the sums of
pycocoevalcap 1.2 (n = 4, sigma = 6), one reference a text.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

_LONGEST = 4
_SIGMA = 6.0

Grams = Counter[tuple[str, ...]]


def cider(references: Sequence[str], predictions: Sequence[str]) -> npt.NDArray[np.float64]:
    """Return CIDEr-D of each pair, shape (n,), from 0 to 10.

    The pairs are the corpus: document frequencies come from ``references``, so a pair's value
    depends on which others are there, and a single pair has 0.
    """
    expected = [_grams(text) for text in references]
    found: defaultdict[tuple[str, ...], float] = defaultdict(float)
    for grams in expected:
        for gram in grams:
            found[gram] += 1
    log_n = float(np.log(float(len(expected)))) if expected else 0.0
    weights = {gram: log_n - float(np.log(max(1.0, count))) for gram, count in found.items()}
    values = [
        _pair(_Weighted(_grams(said), weights, log_n), _Weighted(grams, weights, log_n))
        for said, grams in zip(predictions, expected, strict=True)
    ]
    return np.array(values, dtype=np.float64)


def _grams(text: str) -> Grams:
    words = text.split()
    counts: Grams = Counter()
    for n in range(1, _LONGEST + 1):
        for start in range(len(words) - n + 1):
            counts[tuple(words[start : start + n])] += 1
    return counts


class _Weighted:
    """A text's tf-idf vectors, one for each n."""

    def __init__(self, grams: Grams, weights: dict[tuple[str, ...], float], log_n: float) -> None:
        self.vectors: list[dict[tuple[str, ...], float]] = [{} for _ in range(_LONGEST)]
        self.norms = [0.0] * _LONGEST
        self.length = 0
        for gram, count in grams.items():
            n = len(gram) - 1
            value = float(count) * weights.get(gram, log_n)
            self.vectors[n][gram] = value
            self.norms[n] += value**2
            if n == 1:  # the length counts 2-grams: so does the original
                self.length += count
        self.norms = [math.sqrt(norm) for norm in self.norms]


def _pair(said: _Weighted, expected: _Weighted) -> float:
    penalty = float(np.e ** (-((float(said.length - expected.length)) ** 2) / (2 * _SIGMA**2)))
    values = np.zeros(_LONGEST)
    for n in range(_LONGEST):
        for gram, value in said.vectors[n].items():
            other = expected.vectors[n].get(gram, 0.0)
            values[n] += min(value, other) * other
        if said.norms[n] != 0 and expected.norms[n] != 0:
            values[n] /= said.norms[n] * expected.norms[n]
        values[n] *= penalty
    return float(np.mean(values) * 10.0)
