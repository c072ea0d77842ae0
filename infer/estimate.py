"""What the pending requests would take, before anything is asked. What is not known stays None.

Answers of the same run are the best guide: where there are some, their average is used. Else tokens
are counted from the request: text at four characters a token, frames and sound by what the card
says (``media_tokens``); where it says nothing of a kind that is given, the input is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from cache.record import Record
from cache.request import Media, Text
from infer.card import ModelCard
from infer.errors import DecodeError
from infer.media.decode import media_of
from infer.media.probe import probe
from infer.plan import Planned

_CHARACTERS_A_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Estimate:
    """Sums over the pending requests."""

    requests: int
    media_hours: float | None
    """Distinct stretches of video and sound to decode."""
    frames: int | None
    """Given to the model, at most."""
    input_tokens: int | None
    output_tokens: int | None
    basis: str
    """What the tokens were estimated from."""
    cost_usd: float | None
    """None where the price or the tokens are not known; a model of one's own has no price."""
    seconds: float | None
    """Time in the engines alone; None until there are answers of this run."""


@dataclass(slots=True)
class _Seen:
    """Averages of the answers that are there."""

    answers: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    counted: int = 0
    answer_s: float = 0.0

    def note(self, record: Record) -> None:
        if not record.outcome.is_hit or record.times.answer_s is None:
            return
        self.answers += 1
        self.answer_s += record.times.answer_s
        if record.usage.input_tokens is not None and record.usage.output_tokens is not None:
            self.counted += 1
            self.input_tokens += record.usage.input_tokens
            self.output_tokens += record.usage.output_tokens


def estimate(todo: list[Planned], card: ModelCard, answered: Iterable[Record]) -> Estimate:
    """Estimate what the pending requests would take.

    Args:
        todo: The pending requests.
        card: The model.
        answered: Records of other requests of the same run.
    """
    seen = _Seen()
    for record in answered:
        seen.note(record)
    if seen.counted:
        given: int | None = round(seen.input_tokens / seen.counted * len(todo))
        said: int | None = round(seen.output_tokens / seen.counted * len(todo))
        basis = f"the average of {seen.counted} answers of this run"
    else:
        given = _sum(_input_tokens(planned, card) for planned in todo)
        most = card.sampling.max_tokens
        said = None if most is None else most * len(todo)
        basis = "text and media for the input, max_tokens for the output (at most)"
    slots = card.resources.concurrency * card.resources.actors
    return Estimate(
        requests=len(todo),
        media_hours=_media_hours(todo),
        frames=_sum(_frames(planned) for planned in todo),
        input_tokens=given,
        output_tokens=said,
        basis=basis,
        cost_usd=_cost(card, given, said),
        seconds=seen.answer_s / seen.answers * len(todo) / slots if seen.answers else None,
    )


def _cost(card: ModelCard, given: int | None, said: int | None) -> float | None:
    if card.price is None or given is None or said is None:
        return None
    return (given * card.price.input_usd + said * card.price.output_usd) / 1_000_000


def _input_tokens(planned: Planned, card: ModelCard) -> int | None:
    parts = [part for message in planned.request.messages for part in message.parts]
    characters = sum(len(part.text) for part in parts if isinstance(part, Text))
    tokens: list[float | None] = [characters / _CHARACTERS_A_TOKEN]
    for media in media_of(planned.request):
        path = planned.files[media.sha256]
        if media.kind == "captions":
            tokens.append(Path(path).stat().st_size / _CHARACTERS_A_TOKEN)
            continue
        per, amount = card.media_tokens.per_audio_s, _length_s(media, path)
        if media.kind != "audio":
            per, amount = card.media_tokens.per_frame, _frames_of(media, planned)
        tokens.append(None if per is None or amount is None else per * amount)
    known = [count for count in tokens if count is not None]
    return round(sum(known)) if len(known) == len(tokens) else None


def _frames(planned: Planned) -> int | None:
    return _sum(
        _frames_of(media, planned)
        for media in media_of(planned.request)
        if media.kind in ("video", "image")
    )


def _frames_of(media: Media, planned: Planned) -> int | None:
    if media.kind == "image":
        return 1
    asked = planned.request.preprocessing
    counts = [] if asked.frames is None else [asked.frames]
    if asked.fps is not None:
        length_s = _length_s(media, planned.files[media.sha256])
        if length_s is None:
            return None
        counts.append(max(1, round(length_s * asked.fps)))
    return min(counts, default=None)


def _media_hours(todo: list[Planned]) -> float | None:
    stretches = {
        (media.kind, media.sha256, media.start_s, media.end_s): (
            media,
            planned.files[media.sha256],
        )
        for planned in todo
        for media in media_of(planned.request)
        if media.kind in ("video", "audio")
    }
    lengths = [_length_s(media, path) for media, path in stretches.values()]
    known = [length_s for length_s in lengths if length_s is not None]
    return sum(known) / 3600 if len(known) == len(lengths) else None


def _length_s(media: Media, path: str) -> float | None:
    if media.start_s is not None and media.end_s is not None:
        return max(0.0, media.end_s - media.start_s)
    whole_s = _duration_s(path)
    if whole_s is None:
        return None
    end_s = whole_s if media.end_s is None else min(media.end_s, whole_s)
    return max(0.0, end_s - (media.start_s or 0.0))


@lru_cache(maxsize=4096)
def _duration_s(path: str) -> float | None:
    try:
        return probe(Path(path)).duration_s
    except DecodeError:
        return None


def _sum(counts: Iterable[int | None]) -> int | None:
    """Sum, or None where one of them is not known."""
    total = 0
    for count in counts:
        if count is None:
            return None
        total += count
    return total
