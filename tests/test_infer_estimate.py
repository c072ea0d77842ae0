"""What a dry run says: sums over the pending requests, and "unknown" where nothing is known."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from bench.item import Clip, Segment
from cache.record import Outcome, Record, Response, Times, Usage
from cache.request import Preprocessing, Sampling
from cache.store import Store
from infer.card import MediaTokens, ModelCard, Price, load_card
from infer.errors import DecodeError
from infer.estimate import estimate
from infer.media.probe import probe
from infer.plan import Planned, make_plan
from tests.clips import make_clip
from tests.test_infer_plan import media, prompt

#: 8 frames of 258 tokens, 45 s of sound at 32, and 13 characters of text: 2064 + 1440 + 3.25.
TOKENS = 3507


def test_input_is_counted_from_media_and_text_and_cost_from_the_price(tmp_path: Path) -> None:
    todo = plan(tmp_path, priced())

    found = estimate(todo, priced(), [])

    assert len(todo) == 2
    assert found.frames == 16
    assert found.media_hours == pytest.approx(2 * 45 / 3600)  # the same picture and sound for both
    assert (found.input_tokens, found.output_tokens) == (2 * TOKENS, 2 * 500)
    # By hand: 7,014 × 2 USD and 1,000 × 12 USD, a million tokens each.
    assert found.cost_usd == pytest.approx(0.026028)
    assert found.seconds is None


@pytest.mark.parametrize(
    "change",
    [
        {"media_tokens": MediaTokens(per_frame=258)},
        {"media_tokens": MediaTokens(per_audio_s=32)},
        {"price": None},
        {"sampling": Sampling()},
    ],
)
def test_what_is_not_known_makes_the_cost_unknown_and_never_nothing(
    change: dict, tmp_path: Path
) -> None:
    card = replace(priced(), **change)

    assert estimate(plan(tmp_path, card), card, []).cost_usd is None


def test_answers_of_the_run_are_a_better_guide(tmp_path: Path) -> None:
    card = priced()
    todo = plan(tmp_path, card)
    answered = [record(todo[0], 4000, 100, 6.0), record(todo[0], 5000, 200, 8.0)]

    found = estimate(todo, card, answered)

    assert (found.input_tokens, found.output_tokens) == (9000, 300)
    assert "2 answers" in found.basis
    # 7 s an answer, 2 pending, 8 at a time.
    assert found.seconds == pytest.approx(7.0 * 2 / 8)


def test_a_whole_file_is_as_long_as_its_container_says(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "v.mp4", frames=100, rate=25, tone_hz=None)
    card = replace(priced(), modality="video", preprocessing=Preprocessing(fps=1.0))

    found = estimate(plan(tmp_path, card, Clip(video=clip)), card, [])

    assert found.frames == 2 * 4
    assert found.media_hours == pytest.approx(4 / 3600)


def test_a_file_that_cannot_be_read_makes_the_sums_unknown(tmp_path: Path) -> None:
    broken = media(tmp_path / "v.mp4", b"no media")
    card = replace(priced(), modality="video", preprocessing=Preprocessing(fps=1.0))
    with pytest.raises(DecodeError):
        probe(broken)

    found = estimate(plan(tmp_path, card, Clip(video=broken)), card, [])

    assert (found.frames, found.media_hours, found.input_tokens) == (None, None, None)


def priced() -> ModelCard:
    return replace(
        load_card("chance"),
        price=Price(input_usd=2.0, output_usd=12.0),
        media_tokens=MediaTokens(per_frame=258, per_audio_s=32),
        sampling=Sampling(max_tokens=500),
    )


def plan(folder: Path, card: ModelCard, clip: Clip | None = None) -> list[Planned]:
    clip = clip or Clip(
        video=media(folder / "v.mp4", b"v"),
        audio=media(folder / "a.m4a", b"a"),
        segment=Segment(30.0, 75.0),
    )
    prompts = [prompt(clip, text=text) for text in ("What happens?", "What is heard")]
    with Store(folder / "store", create=True) as store:
        return list(make_plan(prompts, card, store).requests)


def record(planned: Planned, given: int, said: int, answer_s: float) -> Record:
    return Record(
        key=planned.key,
        request=planned.request,
        outcome=Outcome.OK,
        response=Response(text="{}"),
        usage=Usage(input_tokens=given, output_tokens=said),
        times=Times(answer_s=answer_s),
    )
