"""What a model needs, and what of it this machine lacks. Nothing heavy is imported or started."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from infer.card import ModelCard
from infer.checkpoint import local_folder
from infer.engine import is_installed, needed_packages
from infer.errors import CardError, FeatureMissing


class Stand(msgspec.Struct, frozen=True, kw_only=True):
    """How a model stands on this machine."""

    weights: str
    """``here``, ``fetched when first used``, ``missing``, ``with the service``, ``none``."""
    lacks: tuple[str, ...] = ()
    """What is missing before it runs here, each with what to do."""


def stand(card: ModelCard, environ: Mapping[str, str]) -> Stand:
    """Look at what a card needs.

    Args:
        card: The model.
        environ: Environment variables: keys, and where the hub's files are kept.

    Raises:
        CardError: no engine or module of the card's name for it.
    """
    lacks = [*_packages(card), *_variables(card, environ), *_gpus(card), *_worker(card, environ)]
    try:
        weights = _weights(card)
    except FeatureMissing as error:
        weights = "missing"
        lacks.append(str(error))
    return Stand(weights=weights, lacks=tuple(dict.fromkeys(lacks)))


def require_here(card: ModelCard, environ: Mapping[str, str]) -> None:
    """Check, before Ray starts, what an engine would miss on this machine.

    On a cluster that is joined, its nodes have an environment of their own.

    Raises:
        CardError: an address or an interpreter that is none.
        FeatureMissing: an API key or a worker's environment is not there.
    """
    if environ.get("RAY_ADDRESS"):
        return
    card.service.address(environ)
    card.service.secret(card.name, environ)
    if card.engine == "worker":
        card.worker.interpreter(card.name, environ)
        card.worker.folders(card.name, environ)


def _packages(card: ModelCard) -> Iterator[str]:
    for package, extra in needed_packages(card).items():
        if not is_installed(package):
            yield f"pip install 'rejudge[{extra}]'"
    for package in card.needs.packages:
        if not is_installed(package):
            yield f"the Python package {package}"


def _variables(card: ModelCard, environ: Mapping[str, str]) -> Iterator[str]:
    name = card.service.api_key_env
    if name and not environ.get(name):
        yield f"an API key in the environment variable {name}"


def _gpus(card: ModelCard) -> Iterator[str]:
    here = len(list(Path("/dev").glob("nvidia[0-9]*")))
    if card.resources.gpus > here:
        memory = card.needs.gpu_memory_gb
        size = f" with about {memory:g} GB together" if memory else ""
        yield f"{card.resources.gpus:g} GPU(s){size}; here are {here}"


def _worker(card: ModelCard, environ: Mapping[str, str]) -> Iterator[str]:
    if card.engine != "worker":
        return
    try:
        card.worker.interpreter(card.name, environ)
        card.worker.folders(card.name, environ)
    except (CardError, FeatureMissing) as error:
        yield str(error)


def _weights(card: ModelCard) -> str:
    if not card.checkpoint:
        return "with the service" if card.service.api_key_env or card.service.base_url else "none"
    if local_folder(card.checkpoint) is not None or _is_cached(card):
        return "here"
    return "fetched when first used"


def _is_cached(card: ModelCard) -> bool:
    if not is_installed("huggingface_hub"):
        return False
    from huggingface_hub import try_to_load_from_cache

    return isinstance(
        try_to_load_from_cache(card.checkpoint, "config.json", revision=card.revision or None), str
    )
