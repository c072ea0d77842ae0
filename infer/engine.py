"""What an engine is: it answers requests whose media are prepared.

One file each in ``infer/engines/``, named like the engine. It has a ``create(card)`` that loads the
model and returns an object with the methods of :class:`Engine`. Where it needs packages, it has
``NEEDS``: package → the extra that brings it; where it takes settings, ``Settings``, their struct.
A card may also name a module of the user's own (``mypackage.engine``).
"""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, runtime_checkable

import msgspec

from cache.record import Outcome, Response, Usage
from cache.request import Request
from infer.card import ModelCard
from infer.errors import CardError, FeatureMissing
from infer.media.decode import Prepared
from infer.storable import storable, token_count

_ENGINES = Path(__file__).parent / "engines"


@dataclass(frozen=True, slots=True)
class Answer:
    """How a request ended and what came back, fit to be stored whatever the engine made it of."""

    outcome: Outcome
    response: Response
    usage: Usage = field(default_factory=Usage)
    effective: dict[str, Any] = field(default_factory=dict)
    """Settings as they really were, beyond those of decoding."""

    def __post_init__(self) -> None:
        said, counted = msgspec.structs.asdict(self.response), msgspec.structs.asdict(self.usage)
        counts = {name: token_count(value) for name, value in counted.items()}
        object.__setattr__(self, "response", Response(**storable(said)))
        object.__setattr__(self, "usage", Usage(**counts))
        object.__setattr__(self, "effective", storable(self.effective))


class Engine(Protocol):
    """Answers requests, several at a time."""

    async def answer(self, request: Request, prepared: Prepared) -> Answer:
        """Return the answer to one request.

        A failure that belongs to the request (too long, refused, filtered) is an answer with its
        outcome. What is raised becomes an ``infra_error``, tried again by the next run; but with
        ``EngineDied`` the actor is started anew, and an ``InferError`` (``ServiceRefused`` …),
        which any other request would meet as well, ends the job.
        """
        ...

    def close(self) -> None:
        """End what would outlive the process, such as processes of the engine's own."""
        ...


@runtime_checkable
class CountsTokens(Protocol):
    """An engine that knows before it is asked whether a request fits. Optional."""

    input_limit: int | None
    """Most input tokens that a request may have; None where that is not known."""

    async def count_tokens(self, request: Request, prepared: Prepared) -> int | None:
        """Return how many input tokens a request has, as the model will see it."""
        ...


def require_engine(card: ModelCard) -> None:
    """Check, before anything starts, that a card's engine exists and its packages are installed.

    Raises:
        CardError: no engine or module of this name, or settings that it does not know.
        FeatureMissing: a package that it needs, or Ray, is not installed.
    """
    check_settings(card)
    for package, extra in needed_packages(card).items():
        if not is_installed(package):
            raise FeatureMissing(
                f"engine {card.engine!r} needs the package {package}: "
                f"pip install 'rejudge[{extra}]' (scoring does not need it)"
            )


def needed_packages(card: ModelCard) -> dict[str, str]:
    """Return the packages that a card's engine needs: package → the extra that brings it.

    Raises:
        CardError: no engine or module of this name.
    """
    return {"ray": "infer", **getattr(_module(card), "NEEDS", {})}


def check_settings(card: ModelCard) -> None:
    """Check ``[settings]`` of a card against those that its engine's module declares.

    Raises:
        CardError: no such engine, a setting that it does not know, or a value that is none.
    """
    known = getattr(_module(card), "Settings", None)
    try:
        if known is not None:
            msgspec.convert(card.settings, known)
    except msgspec.ValidationError as error:
        raise CardError(f"model card {card.name!r}: settings: {error}") from error


def create_engine(card: ModelCard) -> Engine:
    """Load the engine that a card names.

    Raises:
        CardError: no engine or module of this name.
        FeatureMissing: the engine's checkpoint is not there.
    """
    engine: Engine = _module(card).create(card)
    return engine


def _module(card: ModelCard) -> ModuleType:
    name = card.engine if "." in card.engine else f"infer.engines.{card.engine}"
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not name.startswith(error.name):
            raise
        known = sorted(path.stem for path in _ENGINES.glob("[!_]*.py"))
        raise CardError(
            f"model card {card.name!r}: no engine {card.engine!r}; there are: {', '.join(known)}; "
            "or the dotted name of a module of your own"
        ) from error


def is_installed(package: str) -> bool:
    """Whether a package can be imported here; nothing of it is imported but its parent."""
    try:
        return importlib.util.find_spec(package) is not None
    except (ValueError, ModuleNotFoundError):  # blocked, half loaded, or its parent is not there
        return False
