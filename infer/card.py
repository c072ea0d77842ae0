"""A model card: one TOML file that says how a model is run.

Bundled cards are in ``infer/models/``; the path of a user's own file works wherever a name does.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any

import msgspec

from cache.request import Preprocessing, Sampling
from infer.errors import CardError, UnknownModel

_KINDS = ("video", "audio", "captions")
MODELS = Path(__file__).parent / "models"


class Resources(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one engine actor takes, and how many there may be."""

    cpus: Annotated[float, msgspec.Meta(ge=0)] = 1.0
    gpus: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    actors: Annotated[int, msgspec.Meta(ge=1)] = 1
    concurrency: Annotated[int, msgspec.Meta(ge=1)] = 8
    """Requests that one actor works on at a time."""


class ModelCard(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a model is run. What can change an answer ends up in the request and so in the key."""

    name: str
    engine: str
    checkpoint: str
    """A folder, ``package:NAME`` for weights inside a Python package, or a hub's model id."""
    revision: str = ""
    modality: str
    """Kinds of media the model is given, joined by ``+``: video, audio, captions."""
    tasks: tuple[str, ...]
    description: str
    verified: str
    """How far this card was tried: with real weights, a tiny checkpoint, or the protocol only."""
    preprocessing: Preprocessing = Preprocessing()
    sampling: Sampling = Sampling()
    settings: dict[str, Any] = {}
    resources: Resources = Resources()


def names() -> list[str]:
    """Return the names of the bundled cards."""
    return sorted(path.stem for path in MODELS.glob("*.toml"))


def load_card(name: str) -> ModelCard:
    """Return the card of a bundled model or of a TOML file.

    Raises:
        UnknownModel: neither a bundled card nor a file.
        CardError: the file is not valid TOML or a field does not hold.
    """
    path = Path(name) if name.endswith(".toml") else MODELS / f"{name}.toml"
    if not path.is_file():
        known = ", ".join(names())
        raise UnknownModel(f"no model {name!r}; there are: {known}; or the path of a card (.toml)")
    try:
        card = msgspec.convert(tomllib.loads(path.read_text("utf-8")), ModelCard)
        check_modality(card.modality)
        _check_positive(card.preprocessing)
        _check_frames(card)
        return card
    except (
        tomllib.TOMLDecodeError,
        UnicodeDecodeError,
        msgspec.ValidationError,
        CardError,
    ) as error:
        raise CardError(f"{path}: {error}; see docs/inference.md on model cards") from error


def _check_positive(asked: Preprocessing) -> None:
    for name in ("frames", "fps", "shorter_edge_px", "sample_rate_hz"):
        value = getattr(asked, name)
        if value is not None and value <= 0:
            raise CardError(f"preprocessing.{name} is {value}: expected more than 0")


def _check_frames(card: ModelCard) -> None:
    asked = card.preprocessing
    if "video" in card.modality and asked.frames is None and asked.fps is None:
        raise CardError("preprocessing must say how many frames to take: frames, fps or both")


def check_modality(modality: str) -> str:
    """Return ``modality`` with its kinds in the order that requests use.

    Raises:
        CardError: a kind that is not video, audio or captions.
    """
    kinds = modality.split("+")
    if not set(kinds) <= set(_KINDS):
        raise CardError(
            f"modality {modality!r}: expected one or more of {', '.join(_KINDS)} joined by +"
        )
    return "+".join(kind for kind in _KINDS if kind in kinds)
