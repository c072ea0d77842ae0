"""The budget ladder: fewer frames and less sound until the request fits.

    rung 0                what the request asks for: its frames, the whole sound
    rung 1, 2 …           preprocessing.ladder: frames and 10-second chunks of sound, together

Only an overflow of the context and exhausted memory step down; the last rung's failure is the
outcome. Where the engine can count tokens, rungs that cannot fit are passed over without being
asked. A rung that would give the engine the same media again is passed over, too.

Source: SONIC-O1, appendix D.3. There frames halve from the model's maximum (256, 128, 64, 32) and
sound goes from the whole track to 64, 32 and 16 chunks.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from cache.record import Outcome, Response
from cache.request import Rung
from infer.engine import Answer, CountsTokens, Engine
from infer.media.apart import at_rung
from infer.media.decode import Prepared
from infer.media.frames import Frames
from infer.media.sound import Sound
from infer.plan import Planned

_STEPS_DOWN = frozenset({Outcome.CONTEXT_OVERFLOW, Outcome.OUT_OF_MEMORY})


@dataclass(frozen=True, slots=True)
class Attempt:
    """An answer, and the settings that led to it."""

    answer: Answer
    effective: dict[str, Any]


async def climb_down(
    engine: Engine, planned: Planned, prepared: Prepared, timeout_s: float | None = None
) -> Attempt:
    """Ask, with smaller media where those asked for are too many.

    Args:
        engine: Who is asked.
        planned: The request, with the paths of its files.
        prepared: Its media as asked for: rung 0.
        timeout_s: When decoding for a rung counts as hung; None derives it from what is asked.
    """
    ladder = planned.request.preprocessing.ladder
    if not ladder:
        answer = await engine.answer(planned.request, prepared)
        return Attempt(answer, prepared.effective | answer.effective)
    said: Answer | None = None
    tries: list[dict[str, Any]] = []
    number, given = 0, prepared
    async for number, given in _rungs(planned, prepared, timeout_s):
        if tokens := await _too_many(engine, planned, given):
            tries.append({"rung": number, "counted_tokens": tokens})
            continue
        said = await _ask(engine, planned, given)
        tries.append({"rung": number, "outcome": str(said.outcome)})
        if said.outcome not in _STEPS_DOWN:
            break
    if said is None:  # not even the last rung can fit: the engine says so in its own words
        said = await _ask(engine, planned, given)
        tries.append({"rung": number, "outcome": str(said.outcome)})
    used = {"rung": _rung(number, ladder), "tries": tries}
    return Attempt(said, given.effective | said.effective | used)


async def _rungs(
    planned: Planned, prepared: Prepared, timeout_s: float | None
) -> AsyncIterator[tuple[int, Prepared]]:
    yield 0, prepared
    before = _sizes(prepared)
    for number, rung in enumerate(planned.request.preprocessing.ladder, start=1):
        given = await asyncio.to_thread(
            at_rung, planned.request, planned.files, prepared, rung, timeout_s
        )
        if given.error or _sizes(given) != before:
            yield number, given
        before = _sizes(given)


async def _too_many(engine: Engine, planned: Planned, given: Prepared) -> int:
    """Count the input tokens if they are more than the engine takes; else, or unknown: 0."""
    if given.error or not isinstance(engine, CountsTokens) or engine.input_limit is None:
        return 0
    tokens = await engine.count_tokens(planned.request, given)
    return tokens if tokens is not None and tokens > engine.input_limit else 0


async def _ask(engine: Engine, planned: Planned, given: Prepared) -> Answer:
    if given.error:
        return Answer(Outcome.DECODE_ERROR, Response(error=given.error))
    return await engine.answer(planned.request, given)


def _sizes(prepared: Prepared) -> list[int]:
    """How many frames and samples the engine would get."""
    frames = [len(part.times_s) for part in prepared.media if isinstance(part, Frames)]
    return frames + [len(part.samples) for part in prepared.media if isinstance(part, Sound)]


def _rung(number: int, ladder: tuple[Rung, ...]) -> dict[str, int | None]:
    if number == 0:
        return {"number": 0}
    rung = ladder[number - 1]
    return {"number": number, "frames": rung.frames, "audio_chunks": rung.audio_chunks}
