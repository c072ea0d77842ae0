"""The budget ladder: what does not fit is asked with less, the same way each time."""

from __future__ import annotations

import asyncio
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.item import Clip, TaskType
from bench.prompt import NamedText, Prompt, PromptMessage
from cache.record import Outcome, Response
from cache.request import Preprocessing, Request, Rung
from cache.store import Store
from infer.card import ModelCard
from infer.engine import Answer
from infer.ladder import Attempt, climb_down
from infer.media.apart import prepare_apart
from infer.media.decode import Prepared
from infer.media.frames import Frames
from infer.media.sound import Sound
from infer.plan import Planned, make_plan
from tests.clips import make_clip
from tests.scripted_engine import CountingEngine, calls

#: The paper's steps below a model's first 256 frames: half the frames, then 64, 32, 16 chunks.
LADDER = (
    Rung(frames=128, audio_chunks=64),
    Rung(frames=64, audio_chunks=32),
    Rung(frames=32, audio_chunks=16),
)


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Planned:
    """A question about 20 minutes of video at 2 frames a second, with sound."""
    folder = tmp_path_factory.mktemp("ladder")
    fast = {"preset": "ultrafast"}
    video = make_clip(folder / "v.mp4", frames=2400, rate=2, tone_hz=None, options=fast)
    return plan(folder, video, make_sound(folder / "a.wav", 1200), fps=2.0)


@pytest.fixture(scope="module")
def prepared(planned: Planned) -> Prepared:
    return prepare_apart(planned.request, planned.files)


def test_twenty_minutes_step_down_until_they_fit_8192_tokens_and_the_same_on_a_rerun(
    planned: Planned, prepared: Prepared, tmp_path: Path
) -> None:
    # 256 frames × 24 + 1200 s × 6 = 13,344; 128 × 24 + 640 × 6 = 6,912.
    engine = counting(tmp_path, tokens_a_frame=24, tokens_a_second=6)

    first, again = (climb(engine, planned, prepared) for _ in range(2))

    assert first.answer.outcome is Outcome.OK
    assert first.effective == again.effective
    assert first.effective["rung"] == {"number": 1, "frames": 128, "audio_chunks": 64}
    assert first.effective["tries"] == [
        {"rung": 0, "counted_tokens": 13_344},
        {"rung": 1, "outcome": "ok"},
    ]
    [video], [audio] = first.effective["video"], first.effective["audio"]
    assert (video["frames"], round(audio["seconds"])) == (128, 640)
    assert len(calls(tmp_path / "calls.log")) == 2  # what cannot fit was never asked


def test_without_counting_the_same_rung_is_found_by_asking(
    planned: Planned, prepared: Prepared
) -> None:
    engine = Asked(lambda frames, seconds: frames * 24 + seconds * 6 <= 8192)

    attempt = climb(engine, planned, prepared)

    assert attempt.effective["rung"]["number"] == 1
    assert engine.sizes == [(256, 1200), (128, 640)]


def test_exhausted_memory_steps_down_and_the_last_rungs_failure_is_the_outcome(
    planned: Planned, prepared: Prepared
) -> None:
    engine = Asked(lambda frames, seconds: False, Outcome.OUT_OF_MEMORY)

    attempt = climb(engine, planned, prepared)

    assert attempt.answer.outcome is Outcome.OUT_OF_MEMORY
    assert engine.sizes == [(256, 1200), (128, 640), (64, 320), (32, 160)]
    assert [tried["rung"] for tried in attempt.effective["tries"]] == [0, 1, 2, 3]


def test_where_not_even_the_last_rung_can_fit_the_engine_says_so_once(
    planned: Planned, prepared: Prepared, tmp_path: Path
) -> None:
    engine = counting(tmp_path, tokens_a_frame=1000, tokens_a_second=0)

    attempt = climb(engine, planned, prepared)

    assert attempt.answer.outcome is Outcome.CONTEXT_OVERFLOW
    assert attempt.answer.response.error == "32000 tokens"
    assert attempt.effective["tries"][-1] == {"rung": 3, "outcome": "context_overflow"}


@pytest.mark.parametrize("outcome", [Outcome.REFUSED, Outcome.TIMEOUT, Outcome.TRUNCATED])
def test_other_failures_do_not_step_down(
    outcome: Outcome, planned: Planned, prepared: Prepared
) -> None:
    engine = Asked(lambda frames, seconds: False, outcome)

    attempt = climb(engine, planned, prepared)

    assert len(engine.sizes) == 1
    assert attempt.effective["rung"] == {"number": 0}


def test_rungs_that_leave_a_short_clip_as_it_is_are_passed_over(tmp_path: Path) -> None:
    short = make_clip(tmp_path / "v.mp4", frames=100, rate=25, tone_hz=None)  # 4 s: 8 frames
    planned = plan(tmp_path, short, None, fps=2.0)
    engine = Asked(lambda frames, seconds: False)

    attempt = climb(engine, planned, prepare_apart(planned.request, planned.files))

    assert engine.sizes == [(8, 0)]
    assert attempt.answer.outcome is Outcome.CONTEXT_OVERFLOW


def test_without_a_ladder_an_overflow_is_the_outcome(planned: Planned, prepared: Prepared) -> None:
    import msgspec

    asked = msgspec.structs.replace(planned.request.preprocessing, ladder=())
    request = msgspec.structs.replace(planned.request, preprocessing=asked)
    plain = Planned(key=request.key(), request=request, files=planned.files)
    engine = Asked(lambda frames, seconds: False)

    attempt = climb(engine, plain, prepared)

    assert len(engine.sizes) == 1
    assert "rung" not in attempt.effective


class Asked:
    """Takes what ``fits``; keeps the frames and seconds of sound that it was given."""

    def __init__(self, fits: Any, otherwise: Outcome = Outcome.CONTEXT_OVERFLOW) -> None:
        self._fits, self._otherwise = fits, otherwise
        self.sizes: list[tuple[int, int]] = []

    async def answer(self, request: Request, prepared: Prepared) -> Answer:
        frames = sum(len(part.times_s) for part in prepared.media if isinstance(part, Frames))
        sounds = [part for part in prepared.media if isinstance(part, Sound)]
        size = frames, round(sum(len(part.samples) / part.sample_rate_hz for part in sounds))
        self.sizes.append(size)
        return Answer(Outcome.OK if self._fits(*size) else self._otherwise, Response())

    def close(self) -> None:
        pass


def climb(engine: Any, planned: Planned, prepared: Prepared) -> Attempt:
    return asyncio.run(climb_down(engine, planned, prepared))


def counting(folder: Path, **tokens: int) -> CountingEngine:
    return CountingEngine({"log": str(folder / "calls.log"), "context": 8192, **tokens})


def plan(folder: Path, video: Path, audio: Path | None, *, fps: float) -> Planned:
    asked = Preprocessing(frames=256, fps=fps, shorter_edge_px=32, ladder=LADDER)
    card = ModelCard(
        name="scripted",
        engine="tests.scripted_engine",
        modality="video+audio" if audio else "video",
        tasks=("choice",),
        description="For tests.",
        verified="no weights",  # type: ignore[arg-type]
        preprocessing=asked,
    )
    message = PromptMessage(
        role="user", parts=(Clip(video=video, audio=audio), NamedText("What?", "question"))
    )
    prompt = Prompt(items=("item",), task=TaskType.CHOICE, messages=(message,))
    with Store(folder / "store", create=True) as store:
        [planned] = make_plan([prompt], card, store).requests
    return planned


def make_sound(path: Path, seconds: int) -> Path:
    tone = np.sin(np.arange(16_000) * 0.05) * 8_000
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, 16_000, 0, "NONE", ""))
        file.writeframes(tone.astype("<i2").tobytes() * seconds)
    return path
