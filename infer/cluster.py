"""Ray: joining a cluster, or starting one on this machine, and what an engine asks of it."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import rejudge
from infer.card import ModelCard
from infer.errors import FeatureMissing

#: Packages and modules that a worker needs; on a cluster they are sent to its nodes.
CODE = ("bench", "cache", "infer", "rejudge.py")
#: A machine that is busy may not start Ray in the time that Ray gives itself.
_TRIES = 3
#: What Ray puts behind its temporary folder: ``/ray/session_<26>_<pid>/sockets/plasma_store``. A
#: socket's path has at most 107 bytes.
_LONGEST_TEMP = 107 - len("/ray/session_2026-01-31_12-00-00_000000_4194304/sockets/plasma_store.0")


def start_ray() -> None:
    """Join the cluster that ``RAY_ADDRESS`` names, else start one on this machine.

    Raises:
        FeatureMissing: there is no cluster at that address, or Ray does not start.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Ray keeps its own logs in its session folder; on the terminal they get in the way.
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    # What an engine's process started (vLLM's EngineCore) ends with it, even by kill -9.
    os.environ.setdefault("RAY_process_group_cleanup_enabled", "true")
    options = _joining() if os.environ.get("RAY_ADDRESS") else starting(os.environ)

    import ray  # only now: its core reads the environment when it is loaded

    for left in reversed(range(_TRIES)):
        try:
            with _quiet():
                ray.init(log_to_driver=False, logging_level=logging.ERROR, **options)
            break
        except Exception as error:  # Ray raises the bare class where its start takes over 30 s
            ray.shutdown()
            if not left:
                where = os.environ.get("RAY_ADDRESS", "this machine")
                raise FeatureMissing(f"Ray did not start at {where}: {error}") from error
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)


def starting(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return what starts Ray on this machine: all CPUs that the process may use, and no dashboard.

    Its processes inherit the environment, and with it where our packages are.
    """
    options: dict[str, Any] = {
        "address": "local",  # else Ray joins a cluster of another job on this machine
        "num_cpus": len(os.sched_getaffinity(0)),
        "include_dashboard": False,
    }
    folder = environ.get("RAY_TMPDIR") or tempfile.gettempdir()
    if len(os.fsencode(folder)) > _LONGEST_TEMP:
        options["_temp_dir"] = f"/tmp/rejudge-ray-{os.getuid()}"  # noqa: S108 - Ray names its own folder in it
    return options


def _joining() -> dict[str, Any]:
    # What `ray start` starts asks for a token by default; a driver brings none by default.
    token = Path(os.environ.get("RAY_AUTH_TOKEN_PATH") or Path.home() / ".ray" / "auth_token")
    if token.exists() or "RAY_AUTH_TOKEN" in os.environ:
        os.environ.setdefault("RAY_AUTH_MODE", "token")
    # The nodes may have another rejudge, or none: they get this one's modules.
    root = Path(rejudge.__file__).parent
    modules = [str(root / name) for name in CODE]
    return {"runtime_env": {"py_modules": modules, "excludes": ["*.mp4", "*.pyc"]}}


def require_resources(card: ModelCard, decode_cpus: float) -> None:
    """Check that the running cluster can hold the engines and one decoding task.

    Raises:
        FeatureMissing: it cannot; says what is asked for and what there is.
    """
    import ray

    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    refuse_too_much(card, nodes, decode_cpus)


def refuse_too_much(
    card: ModelCard, nodes: Sequence[Mapping[str, float]], decode_cpus: float
) -> None:
    """Refuse a card that asks for more than nodes have.

    Args:
        card: The model, with the resources of its actors.
        nodes: Ray's resources of each node.
        decode_cpus: What a decoding task takes beside the actors.

    Raises:
        FeatureMissing: says what is asked for and what there is.
    """
    asked = card.resources
    for name, each, beside in (("CPU", asked.cpus, decode_cpus), ("GPU", asked.gpus, 0.0)):
        total, have = each * asked.actors + beside, sum(node.get(name, 0.0) for node in nodes)
        if total > have:
            raise FeatureMissing(
                f"model {card.name!r} asks for {total:g} {name}(s), the cluster has {have:g}: "
                "take a larger allocation or fewer actors"
            )
    fit = sum(_engines_on(node, card) for node in nodes)
    if fit < asked.actors:
        raise FeatureMissing(
            f"model {card.name!r} asks for {asked.actors} engine(s) of {asked.cpus:g} CPU(s) and "
            f"{asked.gpus:g} GPU(s), each on one node; the {len(nodes)} node(s) hold {fit}: take "
            "larger nodes, or ask for less of each"
        )


def _engines_on(node: Mapping[str, float], card: ModelCard) -> int:
    holds = [
        int(node.get(name, 0.0) / each + 1e-9)
        for name, each in (("CPU", card.resources.cpus), ("GPU", card.resources.gpus))
        if each
    ]
    return min(holds, default=card.resources.actors)


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
