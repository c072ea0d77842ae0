"""What an engine is: it answers requests whose media are prepared.

One file each in ``infer/engines/``, named like the engine; it has a ``create(card)`` that loads
the model and returns an object with the methods of :class:`Engine`. A card may also name a
module of the user's own (``mypackage.engine``).
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from cache.record import Outcome, Response, Usage
from cache.request import Request
from infer.card import ModelCard
from infer.errors import CardError
from infer.media.decode import Prepared

_ENGINES = Path(__file__).parent / "engines"


@dataclass(frozen=True, slots=True)
class Answer:
    """How a request ended and what came back."""

    outcome: Outcome
    response: Response
    usage: Usage = field(default_factory=Usage)
    effective: dict[str, Any] = field(default_factory=dict)
    """Settings as they really were, beyond those of decoding."""


class Engine(Protocol):
    """Answers requests, several at a time."""

    async def answer(self, request: Request, prepared: Prepared) -> Answer:
        """Return the answer to one request.

        A failure that belongs to the request (too long, refused, filtered) is an answer with its
        outcome. Whatever is raised becomes an ``infra_error``, tried again by the next run.
        """
        ...

    def close(self) -> None:
        """End what would outlive the process, such as processes of the engine's own."""
        ...


def create_engine(card: ModelCard) -> Engine:
    """Load the engine that a card names.

    Raises:
        CardError: no engine or module of this name.
        FeatureMissing: the engine's package or checkpoint is not there.
    """
    known = sorted(path.stem for path in _ENGINES.glob("[!_]*.py"))
    name = card.engine if "." in card.engine else f"infer.engines.{card.engine}"
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not name.startswith(error.name):
            raise
        raise CardError(
            f"model card {card.name!r}: no engine {card.engine!r}; there are: {', '.join(known)}; "
            "or the dotted name of a module of your own"
        ) from error
    engine: Engine = module.create(card)
    return engine
