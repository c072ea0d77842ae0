"""A prompt: the messages that ask one or more items, before media are turned into digests.

A prompt names media by their files; the inference stage replaces each :class:`Clip` by what the
model's card asks for (frames, sound, captions) and each :class:`EarlierAnswer` by what the model
said, and leaves :class:`Spoken` out where the model hears it. Several items may share a prompt:
SONIC-O1 asks all temporal questions of a segment at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bench.item import Clip, TaskType


@dataclass(frozen=True, slots=True)
class EarlierAnswer:
    """The place of the model's own answer to an earlier item of the same dialogue."""

    item: str


@dataclass(frozen=True, slots=True)
class NamedText:
    """Text of a prompt, with the name of what it is for readers that are no chat model."""

    text: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Spoken:
    """What is said aloud in the clip before it: a text only where the sound is not given."""

    text: str


PromptPart = NamedText | Clip | EarlierAnswer | Spoken


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """One turn of a prompt."""

    role: Literal["system", "user", "assistant"]
    parts: tuple[PromptPart, ...]


@dataclass(frozen=True, slots=True)
class Prompt:
    """The messages that ask ``items``."""

    items: tuple[str, ...]
    """Ids of the items that the answer will answer, in the order asked."""
    task: TaskType
    messages: tuple[PromptMessage, ...]
