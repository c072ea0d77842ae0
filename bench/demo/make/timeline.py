"""Beats laid out in time: the one place where times come from.

An utterance lasts as long as its samples do; every event starts on a video frame. So captions,
answers and pictures agree to the frame, without anybody having watched the film with a stopwatch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from bench.demo.make.effects import effect
from bench.demo.make.script import Beat, Character, Cut, Do, Say, Show, Sound
from bench.demo.make.voice import SAMPLE_RATE_HZ, Samples, loudness, speak

FRAME_RATE = 12
"""Frames a second."""

_TAIL_S = 0.6


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happens from ``start_s`` to ``end_s``."""

    id: str
    kind: str
    """speech, action, text or sound."""
    who: str
    what: str
    text: str
    """What is said, shown, or put into the captions for a sound."""
    start_s: float
    end_s: float


@dataclass(slots=True)
class Play:
    """A laid-out scene, with the questions that drawing asks of it."""

    events: dict[str, Event] = field(default_factory=dict)
    cuts: list[tuple[float, Cut]] = field(default_factory=list)
    mouths: dict[str, list[tuple[float, npt.NDArray[np.float64]]]] = field(default_factory=dict)
    duration_s: float = 0.0
    sound: Samples = field(default_factory=lambda: np.zeros(0))

    @property
    def n_frames(self) -> int:
        """How many frames the video has."""
        return round(self.duration_s * FRAME_RATE)

    def on(self, event: str, t: float) -> bool:
        """Whether the event goes on at time ``t`` in seconds."""
        return event in self.events and self.begun(event, t) and not self.done(event, t)

    def begun(self, event: str, t: float) -> bool:
        """Whether the event has started at ``t``."""
        return event in self.events and t >= self.events[event].start_s - 1e-9

    def done(self, event: str, t: float) -> bool:
        """Whether the event is over at ``t``."""
        return event in self.events and t >= self.events[event].end_s - 1e-9

    def part(self, event: str, t: float) -> float:
        """How much of the event is over at ``t``, eased, 0 to 1."""
        if event not in self.events:
            return 0.0
        span = self.events[event]
        raw = (t - span.start_s) / (span.end_s - span.start_s)
        x = min(max(raw, 0.0), 1.0)
        return x * x * (3 - 2 * x)

    def swell(self, event: str, t: float, ease_s: float = 0.4) -> float:
        """Rises from 0 to 1 at the event's start and falls back before its end."""
        if not self.on(event, t):
            return 0.0
        span = self.events[event]
        x = min(1.0, (t - span.start_s) / ease_s, (span.end_s - t) / ease_s)
        return x * x * (3 - 2 * x)

    def mouth(self, who: str, t: float) -> float:
        """How wide the mouth of ``who`` is open at ``t``, 0 to 1."""
        for start_s, levels in self.mouths.get(who, []):
            index = round((t - start_s) * FRAME_RATE)
            if 0 <= index < len(levels):
                return float(levels[index])
        return 0.0

    def place(self, t: float) -> str:
        """Where the picture is at ``t``."""
        name = ""
        for start_s, cut in self.cuts:
            if t >= start_s - 1e-9:
                name = cut.place
        return name

    def seen(self, start_s: float, end_s: float) -> set[str]:
        """Who is seen or heard between two times."""
        starts = [start for start, _ in self.cuts[1:]] + [self.duration_s]
        people: set[str] = set()
        for (begin, cut), end in zip(self.cuts, starts, strict=True):
            if begin < end_s and end > start_s:
                people |= set(cut.cast)
        for event in self.events.values():
            if event.kind == "speech" and event.start_s < end_s and event.end_s > start_s:
                people.add(event.who)
        return people


def on_frame(time_s: float) -> float:
    """The first frame's time at or after ``time_s``."""
    return math.ceil(time_s * FRAME_RATE - 1e-6) / FRAME_RATE


def lay_out(beats: Sequence[Beat], cast: dict[str, Character], *, sound: bool = True) -> Play:
    """Give every beat its time, and mix the sound.

    Args:
        beats: In the order in which they happen.
        cast: The characters by the names that beats use.
        sound: False for a silent film.
    """
    play, placed, cursor, end = Play(), list[tuple[float, Samples]](), 0.0, 0.0
    for beat in beats:
        if isinstance(beat, Cut):
            cursor = on_frame(cursor)
            play.cuts.append((cursor, beat))
            continue
        delay_s = 0.0 if isinstance(beat, Say) else beat.delay_s
        start_s = on_frame(cursor + beat.gap_s + delay_s)
        event, samples = _event(beat, cast, start_s)
        if event.id in play.events:
            raise ValueError(f"two events are called {event.id}")
        play.events[event.id] = event
        if samples is not None:
            placed.append((start_s, samples))
            if isinstance(beat, Say):
                levels = loudness(samples, FRAME_RATE)
                play.mouths.setdefault(beat.who, []).append((start_s, levels))
        end = max(end, event.end_s)
        if not beat.along:
            cursor = event.end_s
    play.duration_s = on_frame(max(end, cursor) + _TAIL_S)
    play.sound = _mix(placed, play.duration_s) if sound else np.zeros(0)
    return play


def _event(
    beat: Say | Do | Show | Sound, cast: dict[str, Character], start_s: float
) -> tuple[Event, Samples | None]:
    if isinstance(beat, Say):
        samples = speak(beat.spoken or beat.text, cast[beat.who].voice)
        what = beat.what or f'{cast[beat.who].label} says: "{beat.text}"'
        end_s = start_s + len(samples) / SAMPLE_RATE_HZ
        return Event(beat.id, "speech", beat.who, what, beat.text, start_s, end_s), samples
    if isinstance(beat, Sound):
        samples = effect(beat.effect)
        end_s = start_s + len(samples) / SAMPLE_RATE_HZ
        return Event(beat.id, "sound", "", beat.what, beat.caption, start_s, end_s), samples
    end_s = on_frame(start_s + beat.length_s)
    if isinstance(beat, Show):
        what = beat.what or f'the text "{beat.text}" is shown'
        return Event(beat.id, "text", "", what, beat.text, start_s, end_s), None
    return Event(beat.id, "action", "", beat.what, "", start_s, end_s), None


def _mix(placed: list[tuple[float, Samples]], duration_s: float) -> Samples:
    track = np.zeros(round(duration_s * SAMPLE_RATE_HZ))
    for start_s, samples in placed:
        first = round(start_s * SAMPLE_RATE_HZ)
        track[first : first + len(samples)] += samples
    return np.clip(track, -0.98, 0.98)
