"""The history of a dialogue before its model: the oldest goes first where there is no room for all.

    example | clip 1 → answer 1 | clip 2 → answer 2 | … | clip k
    ───────────────────────────►│ dropped in pieces of 10 s, from the left

Over the limit, the oldest 10 seconds of the oldest clip are dropped, again and again. A clip that
is used up goes with what is written beside it and with the answer that follows it: no answer stands
without its clip. The last piece of the last clip stays: it is the turn itself. Dropping is by the
clips' own clocks, of pictures and sound alike; of a clip of which anything is left, at least its
last frame is.

What is dropped depends on the request and on how the model's tokens are counted, so it is no part
of the key; the record says it. Only growing histories are cut, so a turn begins where the one
before it had to begin.

Source: OmniAssistBench, section 4.1, and its published evaluation code for the 10 seconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np

from cache.record import Outcome
from cache.request import Media, Message, Request, Text
from infer.dialogue import Cut, Dialogue, Parts
from infer.engine import Answer, CountsTokens, Engine
from infer.errors import FileUncut
from infer.ladder import Attempt
from infer.media.decode import Decoded, Prepared, sound_facts
from infer.media.file import MediaFile
from infer.media.frames import Frames
from infer.media.sound import Sound

PIECE_S = 10
_EXAMPLE = "example"


@dataclass(frozen=True, slots=True)
class Shown:
    """A clip of a dialogue, decoded."""

    step: int
    """The turn in which it is shown."""
    item: str
    """That turn's item; ``example`` for the video before the first."""
    parts: Parts
    prepared: Prepared
    """Of the media among the parts."""

    @property
    def length_s(self) -> float:
        """How long the clip is; 0 where nothing of it has a length."""
        facts = (one for some in self.prepared.effective.values() for one in some)
        return max((one["end_s"] - one["start_s"] for one in facts if "end_s" in one), default=0.0)

    def without(self, pieces: int) -> Shown:
        """Return the clip without its first pieces."""
        if not pieces or self.prepared.error:
            return self
        from_s = float(pieces * PIECE_S)
        seen: Counter[str] = Counter()
        decoded = iter(self.prepared.media)
        parts: list[Text | Media] = []
        media: list[Decoded] = []
        effective: dict[str, list[dict[str, Any]]] = {}
        for part in self.parts:
            if isinstance(part, Media):
                facts = self.prepared.effective[part.kind][seen[part.kind]]
                seen[part.kind] += 1
                kept, facts = _without(next(decoded), facts, from_s)
                media.append(kept)
                effective.setdefault(part.kind, []).append(facts)
                part = msgspec.structs.replace(part, start_s=(part.start_s or 0.0) + from_s)
            parts.append(part)
        prepared = Prepared(tuple(media), effective, decode_s=self.prepared.decode_s)
        return replace(self, parts=tuple(parts), prepared=prepared)


@dataclass(frozen=True, slots=True)
class History:
    """Everything up to a turn, from the first clip that may still have room."""

    dialogue: Dialogue
    number: int
    """The turn that is asked."""
    said: Sequence[Text]
    """The answers to the turns before it."""
    clips: Sequence[Shown | None]
    """All clips up to the turn, in the order shown; None where they are known to have no room."""
    least: Cut
    """What is dropped in any case: the turn before had no room for it."""

    def cuts(self) -> Iterator[Cut]:
        """Yield where the history may begin, the longest first."""
        cut: Cut | None = self.least
        while cut is not None:
            yield cut
            cut = self._next(cut)

    def sent(self, cut: Cut) -> tuple[Request, Prepared]:
        """Return the request and the media that are given to the model."""
        kept = [
            shown.without(cut.pieces if at == cut.clip else 0)
            for at, shown in enumerate(self.clips)
            if shown is not None and at >= cut.clip
        ]
        messages = list(self.dialogue.opening)
        for step in range(kept[0].step, self.number + 1):
            parts = tuple(part for shown in kept if shown.step == step for part in shown.parts)
            messages.append(Message(role="user", parts=parts))
            if step < self.number:
                messages.append(Message(role="assistant", parts=(self.said[step],)))
        request = msgspec.structs.replace(self.dialogue.base, messages=tuple(messages))
        return request, _together([shown.prepared for shown in kept])

    def length_s(self, cut: Cut) -> float:
        """Return how much of the clips a cut leaves."""
        kept = (one.length_s for one in self.clips[cut.clip :] if one is not None)
        return sum(kept) - cut.pieces * PIECE_S

    def dropped(self, cut: Cut) -> list[dict[str, Any]]:
        """Say what the model is not given: whole clips, and the beginning of one."""
        facts: list[dict[str, Any]] = [
            {"clip": name, "whole": True} for name in clip_names(self.dialogue)[: cut.clip]
        ]
        if cut.pieces:
            name = clip_names(self.dialogue)[cut.clip]
            facts.append({"clip": name, "seconds": cut.pieces * PIECE_S})
        return facts

    def _next(self, cut: Cut) -> Cut | None:
        shown = self.clips[cut.clip]
        assert shown is not None, "no clip that may have room was left out"
        if (cut.pieces + 1) * PIECE_S < shown.length_s:
            return Cut(cut.clip, cut.pieces + 1)
        return Cut(cut.clip + 1) if cut.clip + 1 < len(self.clips) else None


def clips_of(dialogue: Dialogue) -> list[tuple[int, str, Parts]]:
    """Return the clips in the order in which they are shown: (turn, name, parts)."""
    clips = []
    for number, step in enumerate(dialogue.steps):
        if step.example:
            clips.append((number, _EXAMPLE, step.example))
        clips.append((number, step.item, step.clip))
    return clips


def clip_names(dialogue: Dialogue) -> list[str]:
    """Return the names of the clips: their items, and ``example``."""
    return [name for _, name, _ in clips_of(dialogue)]


async def ask_within(engine: Engine, history: History) -> Attempt:
    """Ask a turn with as much of its history as there is room for.

    Where the engine counts tokens, the first cut that fits is found by counting; else, and where
    the engine finds it too long after all, by asking. An answer whose input was over the limit, as
    its service counted, is not taken while there is more to drop. Where files cannot be cut, clips
    are dropped whole.
    """
    cuts = list(history.cuts())
    limit = _limit(engine, history.dialogue.base.preprocessing.context_tokens)
    counts: dict[int, int | None] = {}
    at = 0
    if isinstance(engine, CountsTokens) and limit is not None:
        at = await _first_that_fits(engine, history, cuts, limit, counts)
    said: tuple[int, Prepared, Answer] | None = None
    asked = 0
    while at < len(cuts):
        request, prepared = history.sent(cuts[at])
        try:
            answer = await engine.answer(request, prepared)
        except FileUncut:
            if said is None:
                raise
            at += 1
            continue
        said, asked = (at, prepared, answer), asked + 1
        if answer.outcome is Outcome.CONTEXT_OVERFLOW:
            at += 1
        elif counts.get(at) is None and _is_over(answer.usage.input_tokens, limit):
            at = _next_by_share(history, cuts, at, (limit or 0) / (answer.usage.input_tokens or 1))
        else:
            break
    assert said is not None, "a history has at least one cut"
    at, prepared, answer = said
    context = _facts(history, cuts[at], answer, limit, counts.get(at), len(counts), asked)
    return Attempt(answer, prepared.effective | answer.effective | {"context": context})


def _is_over(tokens: int | None, limit: int | None) -> bool:
    return tokens is not None and limit is not None and tokens > limit


def _next_by_share(history: History, cuts: Sequence[Cut], at: int, share: float) -> int:
    """Return the next cut that leaves no more than a share of what the one at ``at`` leaves.

    As if the tokens of the text were spread over the seconds, too: near enough, where every try
    costs an answer.
    """
    left_s = history.length_s(cuts[at]) * share
    rest = range(at + 1, len(cuts))
    return next(
        (one for one in rest if history.length_s(cuts[one]) <= left_s), max(len(cuts) - 1, at + 1)
    )


async def _first_that_fits(
    engine: CountsTokens, history: History, cuts: Sequence[Cut], limit: int,
    counts: dict[int, int | None],
) -> int:  # fmt: skip
    """Return the number of the first cut that fits; of the last one where none does."""

    async def fits(at: int) -> bool:
        tokens = await engine.count_tokens(*history.sent(cuts[at]))
        counts[at] = tokens
        return tokens is not None and tokens <= limit

    last = len(cuts) - 1
    over, step = -1, 1
    while not await fits(at := min(over + step, last)):
        if at == last:
            return last
        over, step = at, step * 2
    # Dropping more never makes it longer, so between one that is over and one that fits …
    while at - over > 1:
        middle = (over + at) // 2
        if await fits(middle):
            at = middle
        else:
            over = middle
    return at


def _limit(engine: Engine, asked: int | None) -> int | None:
    own = engine.input_limit if isinstance(engine, CountsTokens) else None
    return min((limit for limit in (asked, own) if limit is not None), default=None)


def _facts(
    history: History, cut: Cut, answer: Answer, limit: int | None, tokens: int | None,
    counted: int, asked: int,
) -> dict[str, Any]:  # fmt: skip
    begins = history.clips[cut.clip]
    assert begins is not None
    return {
        "limit_tokens": limit,
        "input_tokens": tokens if tokens is not None else answer.usage.input_tokens,
        "begins": {"clip": cut.clip, "pieces": cut.pieces},
        "dropped": history.dropped(cut),
        "turns_dropped": begins.step,
        "counted": counted,
        "asked": asked,
    }


def _without(
    decoded: Decoded, facts: dict[str, Any], from_s: float
) -> tuple[Decoded, dict[str, Any]]:
    start_s = facts.get("start_s", 0.0) + from_s
    moved = facts | ({"start_s": start_s} if "start_s" in facts else {})
    match decoded:
        case Frames(pixels, times_s):
            first = min(int(np.searchsorted(times_s, start_s - 1e-6)), len(times_s) - 1)
            kept = Frames(pixels[first:], times_s[first:])
            moved.pop("mean_luma", None)  # of the whole
            times = [round(float(at_s), 3) for at_s in kept.times_s]
            return kept, moved | {"frames": len(times), "times_s": times}
        case Sound(samples, rate_hz):
            rest = samples[round(from_s * rate_hz) :]
            # The sound may end before the pictures do.
            left = Sound(rest, rate_hz) if len(rest) else None
            return left, moved | sound_facts(left)
        case MediaFile():
            return replace(decoded, start_s=start_s), moved
        case tuple():
            cues = tuple(cue for cue in decoded if cue.end_s > start_s)
            return cues, moved | {"cues": len(cues)}
    return decoded, moved


def _together(prepared: Sequence[Prepared]) -> Prepared:
    """Return the media of several clips as those of one request."""
    effective: dict[str, list[dict[str, Any]]] = {}
    for one in prepared:
        for kind, facts in one.effective.items():
            effective.setdefault(kind, []).extend(facts)
    return Prepared(
        media=tuple(media for one in prepared for media in one.media),
        effective=effective,
        error=next((one.error for one in prepared if one.error), ""),
        decode_s=sum(one.decode_s for one in prepared),
    )
