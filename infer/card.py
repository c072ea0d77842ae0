"""A model card: one TOML file that says how a model is run.

Bundled cards are in ``infer/models/``; the path of a user's own file works wherever a name does.

    ModelCard
    ├── engine, checkpoint, revision, settings        who answers, and with what
    ├── modality, preprocessing, sampling, tasks      what it is given and asked
    ├── resources, needs, context_tokens, price       what it takes
    └── verified, verified_by                         what was really run
"""

from __future__ import annotations

import math
import tomllib
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import msgspec

from bench.item import TaskType
from cache.request import Preprocessing, Sampling
from infer.errors import CardError, RemoteCodeRefused, UnknownModel
from infer.service import Service
from infer.worker.environment import Environment

_MOST = 2**63 - 1
_KINDS = ("video", "audio", "captions")
MODELS = Path(__file__).parent / "models"

_Positive = Annotated[int, msgspec.Meta(ge=1)]
_Amount = Annotated[float, msgspec.Meta(ge=0)]


class Verified(StrEnum):
    """How far a card was tried. ``verified_by`` says what was run."""

    REAL_WEIGHTS = "real weights"
    """The published weights answered real items."""
    TINY_CHECKPOINT = "tiny checkpoint of the same architecture"
    """The engine ran the model's own code with random weights of the published layout."""
    PROTOCOL_ONLY = "protocol only"
    """A stand-in on this machine spoke the other side's protocol."""
    NOT_RUN = "not run"
    """Written from what is published; nothing of it was run."""
    NO_WEIGHTS = "no weights"
    """There are none to try: a baseline that is all code."""


class Resources(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one engine actor takes, and how many there may be."""

    cpus: _Amount = 1.0
    gpus: _Amount = 0.0
    """GPUs of one actor. vLLM shards the model over them (tensor parallel)."""
    actors: _Positive = 1
    concurrency: _Positive = 8
    """Requests that one actor works on at a time."""
    decode_timeout_s: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """When decoding a request's media counts as hung. None: 60 s, and as long as playing takes."""


class Needs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a machine must have beside the engine's own packages."""

    packages: tuple[str, ...] = ()
    """Python packages, by the name that is imported."""
    gpu_memory_gb: _Amount | None = None
    """GPU memory of one actor, all its GPUs together, at the card's settings. An estimate."""
    note: str = ""


class Price(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """US dollars a million tokens, as the provider lists them. For estimates only."""

    input_usd: _Amount
    output_usd: _Amount


class MediaTokens(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Input tokens that media cost, for estimates only; None where it is not known."""

    per_frame: _Amount | None = None
    """At the card's own frame size."""
    per_audio_s: _Amount | None = None


class InDialogues(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What differs from the rest of a card where the model is asked in dialogues."""

    preprocessing: Preprocessing | None = None
    """Instead of the card's own. None: the card's own without its ladder, for a dialogue that does
    not fit loses what is oldest."""
    sampling: Sampling | None = None
    """Instead of the card's own; None: the same."""
    settings: dict[str, Any] = {}
    """Laid over the card's own, table by table."""
    teacher_forcing: bool = False
    """Earlier answers are the accepted ones instead of the model's own."""


class ModelCard(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a model is run. What can change an answer ends up in the request and so in the key."""

    name: str
    engine: str
    checkpoint: str = ""
    """A folder, ``package:NAME`` for weights inside a Python package, or a hub's model id; empty
    for a service, whose model id is ``settings.model``."""
    revision: str = ""
    """A hub's commit. Of weights on this machine it may stay empty: see ``checkpoint.py``."""
    modality: str
    """Kinds of media the model is given, joined by ``+``: video, audio, captions."""
    tasks: tuple[str, ...]
    description: str
    verified: Verified
    verified_by: str = ""
    """What was run, and what was not."""
    preprocessing: Preprocessing = Preprocessing()
    sampling: Sampling = Sampling()
    settings: dict[str, Any] = {}
    service: Service = Service()
    worker: Environment = Environment()
    resources: Resources = Resources()
    needs: Needs = Needs()
    context_tokens: _Positive | None = None
    """Tokens that prompt and answer may take together; None where it is not published."""
    price: Price | None = None
    """None where it is not known, or where the model runs on one's own machine."""
    media_tokens: MediaTokens = MediaTokens()
    trust_remote_code: bool = False
    """Whether loading the checkpoint runs code that it brings. Then the user has to agree."""
    dialogue: InDialogues = InDialogues()

    def in_dialogues(self) -> ModelCard:
        """Return the card as it holds for dialogues."""
        changed = self.dialogue
        asked = changed.preprocessing or self.preprocessing
        return msgspec.structs.replace(
            self,
            preprocessing=msgspec.structs.replace(asked, ladder=()),
            sampling=changed.sampling or self.sampling,
            settings=_laid_over(self.settings, changed.settings),
        )


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
        written = tomllib.loads(path.read_text("utf-8"))
        _check_values(written, "")
        card = _in_its_place(msgspec.convert(written, ModelCard), path.parent)
        for held in (card, card.in_dialogues()):
            _check_positive(held.preprocessing)
            _check_frames(held)
            _check_sampling(held.sampling)
        _check_ladder(card.preprocessing)
        return card
    except (
        tomllib.TOMLDecodeError,
        UnicodeDecodeError,
        msgspec.ValidationError,
        CardError,
    ) as error:
        raise CardError(f"{path}: {error}; see docs/inference.md on model cards") from error


def _in_its_place(card: ModelCard, folder: Path) -> ModelCard:
    """Return a card with its kinds of media in order and its adapters' paths from ``folder`` on."""
    if not card.name.strip():
        raise CardError("name is empty")
    if unknown := [task for task in card.tasks if task not in list(TaskType)]:
        known = ", ".join(TaskType)
        raise CardError(f"tasks has {unknown[0]!r}: expected some of {known}")
    if card.worker.adapter:
        raise CardError("worker.adapter: name the adapter under [settings]")
    dialogue = card.dialogue
    return msgspec.structs.replace(
        card,
        modality=check_modality(card.modality),
        settings=_placed(card, card.settings, folder),
        dialogue=msgspec.structs.replace(
            dialogue, settings=_placed(card, dialogue.settings, folder)
        ),
    )


def _placed(card: ModelCard, settings: dict[str, Any], folder: Path) -> dict[str, Any]:
    if card.engine != "worker" or "adapter" not in settings:
        return settings
    name = settings["adapter"]
    if not isinstance(name, str):
        raise CardError(f"settings.adapter is {name!r}: expected a text")
    own = name.endswith(".py")
    return settings | {"adapter": str((folder / name).absolute())} if own else settings


def _check_values(value: Any, name: str) -> None:
    """Refuse what TOML has and JSON has not: keys are made of JSON."""
    if isinstance(value, dict):
        for member, inner in value.items():
            _check_values(inner, f"{name}.{member}" if name else member)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            _check_values(inner, f"{name}[{number}]")
    elif isinstance(value, float) and not math.isfinite(value):
        raise CardError(f"{name} is {value}: expected a finite number")
    elif isinstance(value, int) and not -_MOST <= value <= _MOST:
        raise CardError(f"{name} is {value}: expected a number of 64 bits")
    elif not isinstance(value, str | int | float):
        raise CardError(f"{name} is a date or a time: write it as a text, in quotes")


def _laid_over(own: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    merged = dict(own)
    for name, value in other.items():
        under = own.get(name)
        both = isinstance(under, dict) and isinstance(value, dict)
        merged[name] = _laid_over(under, value) if both else value  # type: ignore[arg-type]
    return merged


def check_trust(card: ModelCard, *, trusted: bool) -> None:
    """Refuse a card whose checkpoint brings code, unless the user said that it may run.

    Raises:
        RemoteCodeRefused: the card needs it and the user did not agree.
    """
    if card.trust_remote_code and not trusted:
        raise RemoteCodeRefused(
            f"model {card.name!r} runs Python code that its checkpoint {card.checkpoint!r} brings; "
            "read that code, then say --trust-remote-code"
        )


def _check_positive(asked: Preprocessing) -> None:
    for name in ("frames", "fps", "shorter_edge_px", "sample_rate_hz", "context_tokens"):
        value = getattr(asked, name)
        if value is not None and value <= 0:
            raise CardError(f"preprocessing.{name} is {value}: expected more than 0")


def _check_frames(card: ModelCard) -> None:
    asked = card.preprocessing
    if "video" in card.modality and asked.frames is None and asked.fps is None:
        raise CardError("preprocessing must say how many frames to take: frames, fps or both")


def _check_ladder(asked: Preprocessing) -> None:
    above = asked.frames
    for number, rung in enumerate(asked.ladder):
        where = f"preprocessing.ladder[{number}]"
        if rung.frames < 1 or (rung.audio_chunks is not None and rung.audio_chunks < 1):
            raise CardError(f"{where} has a budget below 1: leave the rung out")
        if above is not None and rung.frames >= above:
            raise CardError(
                f"{where}.frames is {rung.frames}: expected fewer than the {above} before it"
            )
        above = rung.frames


def _check_sampling(asked: Sampling) -> None:
    if asked.temperature is not None and asked.temperature < 0:
        raise CardError(f"sampling.temperature is {asked.temperature}: expected 0 or more")
    if asked.top_p is not None and not 0 < asked.top_p <= 1:
        raise CardError(f"sampling.top_p is {asked.top_p}: expected more than 0 and at most 1")
    if asked.max_tokens is not None and asked.max_tokens < 1:
        raise CardError(f"sampling.max_tokens is {asked.max_tokens}: expected 1 or more")


def check_modality(modality: str) -> str:
    """Return ``modality`` with its kinds in the order that requests use.

    Raises:
        CardError: a kind that is not video, audio or captions, or one that is named twice.
    """
    kinds = modality.split("+")
    if not set(kinds) <= set(_KINDS) or len(set(kinds)) < len(kinds):
        raise CardError(
            f"modality {modality!r}: expected one or more of {', '.join(_KINDS)} joined by +"
        )
    return "+".join(kind for kind in _KINDS if kind in kinds)
