"""Where a worker's model runs: the table ``[worker]`` of a model card. None of it is in a key.

[worker]
python = "$VITA_PYTHON"           interpreter of the model's environment; $NAME is looked up
import_paths = ["$VITA_CODE"]     folders it imports from, such as a clone of the model's code
timeout_s = 900                   of one call; a worker that needs longer is killed
load_timeout_s = 1800
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec

from infer.errors import CardError, FeatureMissing

_ADAPTERS = Path(__file__).parent / "adapters"
_Seconds = Annotated[float, msgspec.Meta(gt=0)]
_NAME = re.compile(r"\$(?:(\w+)|\{(\w+)\})")


class Environment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An interpreter, and how long to wait for what it runs."""

    python: str = ""
    import_paths: tuple[str, ...] = ()
    timeout_s: _Seconds = 900.0
    load_timeout_s: _Seconds = 1800.0
    adapter: str = ""
    """Path of the adapter. A card names it under ``[settings]``; a run puts its path here, and its
    name and digest there."""

    def interpreter(self, model: str, environ: Mapping[str, str]) -> str:
        """Return the path of the interpreter.

        Raises:
            CardError: the card names none.
            FeatureMissing: a variable is not set, or there is no such program.
        """
        if not self.python:
            raise CardError(f"model card {model!r}: the engine 'worker' needs worker.python")
        asked = Path(_expanded(self.python, model, environ)).expanduser()
        # which() resolves a bare name, and tells a program from any other file.
        found = shutil.which(str(asked))
        if found is None:
            raise FeatureMissing(
                f"model {model!r} runs in an environment of its own, whose interpreter {asked} is "
                "not there: make the environment as the card says, then name its python"
            )
        return str(Path(found).absolute())

    def folders(self, model: str, environ: Mapping[str, str]) -> tuple[str, ...]:
        """Return the folders to import from.

        Raises:
            FeatureMissing: a variable is not set, or a folder is not there.
        """
        found = tuple(
            str(Path(_expanded(path, model, environ)).expanduser().absolute())
            for path in self.import_paths
        )
        for path in found:
            if not Path(path).is_dir():
                raise FeatureMissing(f"model {model!r} imports from {path}, which is not there")
        return found


def find_adapter(name: str, model: str) -> Path:
    """Return the path of an adapter: a bundled one by its name, one's own by its path (``.py``).

    Raises:
        CardError: there is none.
    """
    path = Path(name) if name.endswith(".py") else _ADAPTERS / f"{name}.py"
    if not path.is_file():
        known = ", ".join(sorted(found.stem for found in _ADAPTERS.glob("[!_]*.py")))
        raise CardError(
            f"model card {model!r}: no adapter {name!r}; there are: {known}; or the path of "
            "your own (.py), from the card's folder on"
        )
    return path.absolute()


def _expanded(text: str, model: str, environ: Mapping[str, str]) -> str:
    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        if not environ.get(name):
            raise FeatureMissing(
                f"model {model!r} runs in an environment of its own: set {name} as its card says"
            )
        return environ[name]

    return _NAME.sub(value, text)
