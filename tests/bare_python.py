"""An interpreter of its own, as a foreign model's environment: numpy is there and nothing else."""

from __future__ import annotations

import venv
from pathlib import Path

import numpy as np


def make_bare_python(folder: Path) -> str:
    """Make the environment; return its interpreter."""
    venv.create(folder, symlinks=True, with_pip=False)
    packages = next(folder.glob("lib/python*/site-packages"))
    installed = Path(np.__file__).parent
    for source in (installed, installed.with_name("numpy.libs")):
        if source.exists():
            (packages / source.name).symlink_to(source)
    return str(folder / "bin" / "python")
