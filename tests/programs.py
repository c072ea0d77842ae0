"""Programs of the system that tests need: a test that lacks one is skipped, but fails in CI."""

from __future__ import annotations

import os
import shutil
from typing import NoReturn

import pytest


def needed(*names: str, packages: str = "") -> str:
    """Find a program of the system, or end the test.

    Args:
        names: What the program may be called; Debian's name for it first.
        packages: What to install for it, where that is not its first name.

    Returns:
        Its path.
    """
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        missing(names[0], packages or names[0])
    return found


def missing(what: str, packages: str) -> NoReturn:
    """End a test that lacks something of the system: say how to install it."""
    message = f"no {what}: apt-get install --no-install-recommends {packages}"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)
