"""The words in which a scene is written down: who is in it, what happens, what is asked.

A scene is a list of beats. They follow one another; a beat that goes ``along`` starts where the
next one does. Nothing here holds a time: times come from ``timeline.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from bench.demo.make.people import Look

if TYPE_CHECKING:
    from bench.demo.make.canvas import Canvas
    from bench.demo.make.timeline import Play

Relation = Literal["before", "after", "during", "immediately after"]


@dataclass(frozen=True, slots=True)
class Voice:
    """How espeak-ng speaks for a character."""

    name: str
    """An espeak-ng voice with its variant, such as ``en-gb+f2``."""
    pitch: int = 50
    words_per_minute: int = 165


@dataclass(frozen=True, slots=True)
class Character:
    """Somebody who is seen or heard."""

    label: str
    """How annotations call the character: ``the doctor``."""
    voice: Voice
    look: Look
    race: str
    gender: str
    age: str
    language: str = "English"


@dataclass(frozen=True, slots=True)
class Say:
    """A character speaks one caption's worth of text."""

    id: str
    who: str
    text: str
    what: str = ""
    """The event as an annotator would name it."""
    gap_s: float = 0.45
    spoken: str = ""
    """What the synthesizer is given where it would read the text wrongly."""
    along: bool = False


@dataclass(frozen=True, slots=True)
class Do:
    """Something visible happens."""

    id: str
    what: str
    length_s: float
    gap_s: float = 0.25
    along: bool = False
    delay_s: float = 0.0
    """Of a beat that goes along: how long after the next beat's start it starts."""


@dataclass(frozen=True, slots=True)
class Show:
    """Text can be read in the picture."""

    id: str
    text: str
    length_s: float
    what: str = ""
    gap_s: float = 0.25
    along: bool = False
    delay_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Sound:
    """A sound that is no speech."""

    id: str
    effect: str
    what: str
    caption: str = ""
    """Its line in the captions, in brackets; empty: captions do not mention it."""
    gap_s: float = 0.25
    along: bool = False
    delay_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Cut:
    """The picture changes to another place, or another view of it."""

    place: str
    cast: tuple[str, ...]
    """Who can be seen there."""


Beat = Say | Do | Show | Sound | Cut


@dataclass(frozen=True, slots=True)
class Chapter:
    """One line of a summary's timeline, from the start of one event to the end of another."""

    first: str
    last: str
    title: str
    note: str


@dataclass(frozen=True, slots=True)
class Summary:
    """The accepted summary of a scene."""

    detailed: str
    short: tuple[str, ...]
    chapters: tuple[Chapter, ...]
    glossary: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """A multiple-choice question."""

    segment: int
    """Index into the scene's segments."""
    question: str
    letter: str
    """Where the right option stands; E where the segment does not tell."""
    right: str
    """Empty where the letter is E."""
    wrong: tuple[str, ...]
    rationale: str
    tags: tuple[str, ...]
    audio: bool


@dataclass(frozen=True, slots=True)
class Moment:
    """A question about when something happens, relative to something else."""

    segment: int
    relation: Relation
    anchor: str
    target: str
    question: str
    rationale: str
    audio: bool


@dataclass(frozen=True, slots=True)
class Scene:
    """One video of the SONIC-O1-shaped half."""

    topic: str
    number: str
    video_id: str
    title: str
    cast: dict[str, Character]
    beats: tuple[Beat, ...]
    draw: Callable[[Canvas, Play, float], None]
    """Draws the picture at a time in seconds."""
    segments: tuple[tuple[float, float | None], ...]
    """Start and end in seconds; None is the end of the video."""
    summary: Summary
    choices: tuple[Choice, ...]
    moments: tuple[Moment, ...]
    has_sound: bool = True
    has_captions: bool = True


@dataclass(frozen=True, slots=True)
class Turn:
    """One clip of a dialogue, and what the assistant should answer."""

    name: str
    beats: tuple[Beat, ...]
    question: str
    answer: str
    key_points: str
    example: str = ""


@dataclass(frozen=True, slots=True)
class Dialogue:
    """Clips of the OmniAssistBench-shaped half that belong together."""

    sub_task: str
    turns: tuple[Turn, ...]
    draw: Callable[[Canvas, Play, float], None]
    cast: dict[str, Character]
    extras: dict[str, tuple[Beat, ...]] = field(default_factory=dict)
    """Further clips without a question, by name: example videos."""
