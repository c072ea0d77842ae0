"""An item: one question on one piece of media, with its reference and its attributes.

Item
├── id, benchmark, task, topic
├── cluster          the video or dialogue it belongs to: the unit of resampling
├── clip             the media asked about: files and, where it is not the whole, a segment
├── question, question_id, options
├── reference        SummaryReference | ChoiceReference | IntervalReference | AssistantReference
└── attributes       what slices are made of
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class TaskType(StrEnum):
    """What kind of answer an item asks for."""

    SUMMARY = "summary"
    EMPATHIC = "empathic"
    """The empathic variant of a summary: it has no reference, only a word-category profile."""
    CHOICE = "choice"
    LOCALIZATION = "localization"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of media given as input: ``[start_s, end_s)`` seconds on the media's clock."""

    start_s: float
    end_s: float


def seconds_text(value_s: float) -> str:
    """Return the shortest text of a number of seconds, as in ids and prompts: 120, 120.5."""
    return str(int(value_s)) if float(value_s).is_integer() else repr(float(value_s))


@dataclass(frozen=True, slots=True)
class Clip:
    """Media files that belong together, and the stretch of them that is meant."""

    video: Path
    audio: Path | None = None
    """A separate sound file; None where the sound, if any, is the video file's own track."""
    captions: Path | None = None
    segment: Segment | None = None
    """None: the whole file."""


@dataclass(frozen=True, slots=True)
class Demographic:
    """People in a clip who share these attributes, and how many they are."""

    race: str
    gender: str
    age: str
    language: str
    count: int


@dataclass(frozen=True, slots=True)
class Attributes:
    """What slices are made of. ``unknown`` where the annotations do not say."""

    duration: str = "unknown"
    """short, medium or long."""
    duration_s: float | None = None
    """Length of the whole video; None where the metadata do not say."""
    demographics: tuple[Demographic, ...] = ()
    relation: str = "unknown"
    """before, after, during, immediately … (localization items)."""
    requires_audio: bool | None = None
    sub_task: str = "unknown"
    """One of OmniAssistBench's classes (assistant items), with its major task and tier; for the
    real-world cases meeting, handicraft or blind."""
    major_task: str = "unknown"
    tier: str = "unknown"


@dataclass(frozen=True, slots=True)
class SummaryReference:
    """The accepted summary of a whole video."""

    detailed: str
    short: tuple[str, ...]
    """Bullets."""


@dataclass(frozen=True, slots=True)
class ChoiceReference:
    """The right option, as its index into the item's options (0 is A)."""

    index: int
    rationale: str = ""


@dataclass(frozen=True, slots=True)
class IntervalReference:
    """The interval ``[start_s, end_s)`` in seconds on the media's clock."""

    start_s: float
    end_s: float
    rationale: str = ""


@dataclass(frozen=True, slots=True)
class AssistantReference:
    """Accepted answers of a dialogue turn, and the key points each must contain."""

    answers: tuple[str, ...]
    """Alternatives: any of these. ``[KEEP QUIET]`` where silence is right; empty: not scored."""
    key_points: tuple[tuple[str, ...], ...] = ()
    """Key points; each is a tuple of alternatives."""


Reference = SummaryReference | ChoiceReference | IntervalReference | AssistantReference


@dataclass(frozen=True, slots=True)
class Item:
    """One question on one piece of media."""

    id: str
    """Unique within its benchmark, and stable: ``choice/01/003/120-300/1``."""
    benchmark: str
    task: TaskType
    topic: str
    cluster: str
    clip: Clip
    question: str = ""
    question_id: str = ""
    """The name under which the question is asked where one prompt holds several."""
    options: tuple[str, ...] = ()
    """Option texts without their letters."""
    reference: Reference | None = None
    """None where the benchmark has none (empathic summaries)."""
    attributes: Attributes = Attributes()
    turn: int = 0
    """Number of the turn within its dialogue, from 1; 0 for items that are no dialogue."""
    example: Clip | None = None
    """A video that is shown once, before the first turn of the dialogue."""
