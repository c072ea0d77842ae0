"""Ray: joining a cluster, or starting one on this machine."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def start_ray() -> None:
    """Join the cluster that ``RAY_ADDRESS`` names, else start one on this machine."""
    import ray

    if ray.is_initialized():
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Ray keeps its own logs in its session folder; on the terminal they get in the way.
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    # Workers must import rejudge's packages from where the driver found them. Processes that Ray
    # starts here inherit the environment; a runtime_env would start each of them a second time.
    path = _with(str(Path(__file__).parent.parent))
    options: dict[str, Any] = {"num_cpus": len(os.sched_getaffinity(0)), "include_dashboard": False}
    if "RAY_ADDRESS" in os.environ:
        options = {"runtime_env": {"env_vars": {"PYTHONPATH": path}}}
    else:
        os.environ["PYTHONPATH"] = path
    with _quiet():
        ray.init(log_to_driver=False, logging_level=logging.ERROR, **options)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)


@contextmanager
def _quiet() -> Iterator[None]:
    """Drop what Ray's C++ core writes to stderr while it starts; its errors are exceptions."""
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _with(root: str) -> str:
    old = os.environ.get("PYTHONPATH", "")
    return f"{root}{os.pathsep}{old}" if old else root
