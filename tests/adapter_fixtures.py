"""A request, a dialogue and a card as a worker gets them: fixtures of the adapters' tests."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cache.request import Media, Message, Request, Sampling, Text
from infer.card import load_card
from infer.chat import make_chat
from infer.media.decode import Prepared
from infer.media.frames import Frames
from infer.media.sound import Sound
from infer.worker.media import write_ask
from infer.worker.serve import Ask, Card
from tests.adapter_stand_ins import PIXELS, QUESTION, SAMPLES, TIMES_S, AskFor, Calls


@pytest.fixture
def ask(tmp_path: Path) -> AskFor:
    """Make a request as a worker gets it."""
    numbers = itertools.count()

    def made(*, video: bool = True, sound: bool = True, system: str = "", **sampling: Any) -> Ask:
        media: list[tuple[Media, Any]] = []
        if video:
            media.append((Media(kind="video", sha256="a" * 64), Frames(PIXELS, TIMES_S)))
        if sound:
            media.append((Media(kind="audio", sha256="a" * 64), Sound(SAMPLES, 16_000)))
        parts = (*(part for part, _ in media), Text(text=QUESTION))
        messages = [Message(role="user", parts=parts)]
        if system:
            messages.insert(0, Message(role="system", parts=(Text(text=system),)))
        request = Request(
            engine="worker",
            model="m",
            messages=tuple(messages),
            sampling=Sampling(**({"max_tokens": 50} | sampling)),
        )
        chat = make_chat(request, Prepared(tuple(content for _, content in media)))
        return Ask(write_ask(request, chat, next(numbers), tmp_path))

    return made


@pytest.fixture
def dialogue(tmp_path: Path) -> Ask:
    """A dialogue's second turn: an example, two clips and the first answer."""
    shown = [
        Frames(PIXELS[:2], TIMES_S[:2]),
        Frames(PIXELS, TIMES_S),
        Frames(PIXELS[:1], TIMES_S[:1]),
    ]
    heard = [Sound(SAMPLES, 16_000), Sound(SAMPLES[:16_000], 16_000)]
    video, audio = (Media(kind=kind, sha256="a" * 64) for kind in ("video", "audio"))
    turns = [
        ("system", [Text(text="Watch.")]),
        ("user", [Text(text="An example:"), video, Text(text="Now:"), video, audio]),
        ("assistant", [Text(text="Cut it here.")]),
        ("user", [video, audio]),
    ]
    request = Request(
        engine="worker",
        model="m",
        messages=tuple(Message(role=role, parts=tuple(parts)) for role, parts in turns),  # type: ignore[arg-type]
    )
    media = (shown[0], shown[1], heard[0], shown[2], heard[1])
    return Ask(write_ask(request, make_chat(request, Prepared(media)), 0, tmp_path))


@pytest.fixture
def card(tmp_path: Path) -> Callable[[str], Card]:
    """The bundled card of a model, its weights in a folder."""

    def made(name: str) -> Card:
        bundled = load_card(name)
        weights = tmp_path / bundled.checkpoint.rpartition("/")[2]
        weights.mkdir()
        message = {
            "checkpoint": str(weights),
            "revision": None,
            "settings": bundled.settings,
            "trust_remote_code": bundled.trust_remote_code,
        }
        return Card(message, str(tmp_path))

    return made


@pytest.fixture
def calls() -> Calls:
    return Calls()
