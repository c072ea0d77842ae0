"""Python's collector of cycles, where records are so many that it takes longer than the work.

Records and answers hold no cycles.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Collect nothing meanwhile."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextmanager
def collector_spared() -> Iterator[None]:
    """Collect only what comes up meanwhile, for work that takes long: what is there is kept."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
