"""ROUGE-L F1 with Porter stemming, equal to the rouge-score package to the last bit.

P = lcs / |prediction|, R = lcs / |reference|, F1 = 2PR / (P + R) over stemmed words of [a-z0-9]+.
rouge-score fills a table of |P| × |R| cells in Python and stems every word anew. Here its own
tokenizer stems each word once, words become numbers, texts are tokenised once each, and rapidfuzz
finds the length of the longest common subsequence 64 cells at a time.

Source: Lin, ROUGE: A Package for Automatic Evaluation of Summaries, 2004; rouge-score 0.1.2.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

_WORD = re.compile(r"[a-z0-9]+")
#: What a word is made of stays, in lower case; every other byte becomes a space.
_LOWER_OR_SPACE = bytes(
    ord(chr(code).lower()) if code < 128 and chr(code).isalnum() else ord(" ")
    for code in range(256)
)


def _words(text: str) -> list[bytes]:
    if text.isascii():
        return text.encode("ascii").translate(_LOWER_OR_SPACE).split()
    # Lower case first: some letters become ASCII by it (the Kelvin sign a k).
    return [word.encode("ascii") for word in _WORD.findall(text.lower())]


class _Numbers(dict[bytes, int]):
    """word → the number of its stem; a word met for the first time is stemmed."""

    def __init__(self) -> None:
        from rouge_score.tokenizers import DefaultTokenizer

        super().__init__()
        self._stemmer: Any = DefaultTokenizer(use_stemmer=True)
        self._stems: dict[str, int] = {}

    def __missing__(self, word: bytes) -> int:
        [stem] = self._stemmer.tokenize(word.decode("ascii"))
        number = self._stems.setdefault(stem, len(self._stems))
        self[word] = number
        return number


class RougeL:
    """ROUGE-L of many pairs of texts, with the words and texts seen so far in memory."""

    def __init__(self) -> None:
        from rapidfuzz.distance import LCSseq

        self._common = LCSseq.similarity
        self._numbers = _Numbers()
        self._texts: dict[str, list[int]] = {}

    def f1(self, reference: str, prediction: str) -> float:
        """Return the F1 of a pair, in [0, 1]; 0 where a text has no words."""
        return float(self.scores([reference], [prediction])[0])

    def scores(
        self, references: Sequence[str], predictions: Sequence[str]
    ) -> npt.NDArray[np.float64]:
        """Return the F1 of each pair, shape (n,)."""
        expected = [self._tokens(text) for text in references]
        said = [self._tokens(text) for text in predictions]
        common = np.fromiter(map(self._common, expected, said), float, len(references))
        n_expected, n_said = (
            np.fromiter(map(len, side), float, len(side)) for side in (expected, said)
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            # The order of the operations is rouge-score's: another one differs in the last bit.
            precision, recall = common / n_said, common / n_expected
            found: npt.NDArray[np.float64] = 2 * precision * recall / (precision + recall)
        return np.where(common > 0, found, 0.0)

    def _tokens(self, text: str) -> list[int]:
        tokens = self._texts.get(text)
        if tokens is None:
            tokens = list(map(self._numbers.__getitem__, _words(text)))
            self._texts[text] = tokens
        return tokens
