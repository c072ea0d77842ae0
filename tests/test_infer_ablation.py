"""Settings that a run changes: each has its effect on the request, and a run name of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from bench.item import Clip
from cache.request import Rung
from cache.store import Store
from infer.ablation import AS_IN_CARD, Ablation
from infer.card import ModelCard, load_card
from infer.errors import CardError
from infer.plan import make_plan
from infer.run import Choice
from tests.test_infer_plan import media, prompt

MODALITIES = ("video+audio", "video", "audio", "video+captions", "captions")


def test_what_is_not_changed_stays_as_the_card_has_it() -> None:
    card = load_card("captions")

    assert AS_IN_CARD.apply(card) == card


def test_each_change_is_in_the_request_and_none_alike(tmp_path: Path) -> None:
    changes = [
        Ablation(frames=32),
        Ablation(fps=1.0),
        Ablation(shorter_edge_px=224),
        *(Ablation(modality=modality) for modality in MODALITIES),
    ]
    with Store(tmp_path / "store", create=True) as store:
        asked = prompt(whole_clip(tmp_path))
        plans = [make_plan([asked], change.apply(model()), store) for change in changes]

    requests = [plan.requests[0].request for plan in plans]
    assert len({request.key() for request in requests}) == len(changes)
    assert requests[0].preprocessing.frames == 32
    assert requests[1].preprocessing.fps == 1.0
    assert requests[2].preprocessing.shorter_edge_px == 224
    assert [request.preprocessing.modality for request in requests[3:]] == list(MODALITIES)


@pytest.mark.parametrize("modality", MODALITIES)
def test_a_modality_gives_the_model_these_media_and_no_others(
    modality: str, tmp_path: Path
) -> None:
    with Store(tmp_path / "store", create=True) as store:
        card = Ablation(modality=modality).apply(model())
        [planned] = make_plan([prompt(whole_clip(tmp_path))], card, store).requests

    kinds = [part.kind for part in planned.request.messages[0].parts[:-1]]
    assert "+".join(kinds) == modality


def test_fewer_frames_are_not_exceeded_on_the_ladder_while_sound_steps_down() -> None:
    rungs = (Rung(frames=128, audio_chunks=64), Rung(frames=16, audio_chunks=32))
    card = model()
    card = replace(card, preprocessing=replace(card.preprocessing, ladder=rungs))

    changed = Ablation(frames=32).apply(card).preprocessing

    assert changed.ladder == (Rung(frames=32, audio_chunks=64), Rung(frames=16, audio_chunks=32))


def test_runs_with_other_settings_have_other_default_names() -> None:
    choices = [
        Choice("demo"),
        Choice("demo", samples=3),
        Choice("demo", ablation=Ablation(frames=32)),
        Choice("demo", ablation=Ablation(fps=0.5)),
        Choice("demo", ablation=Ablation(frames=32, shorter_edge_px=224)),
        Choice("demo", ablation=Ablation(modality="audio+video")),
        Choice("demo", ablation=Ablation(frames=20_000_000, fps=29.97002997)),
    ]

    assert [choice.run_name("m") for choice in choices] == [
        "demo-m",
        "demo-m-samples3",
        "demo-m-frames32",
        "demo-m-fps0.5",
        "demo-m-frames32-size224",
        "demo-m-video+audio",
        "demo-m-frames20000000-fps29.97002997",
    ]


def test_a_modality_that_is_none_is_an_error() -> None:
    with pytest.raises(CardError, match="smell"):
        Ablation(modality="video+smell").apply(model())


@pytest.mark.parametrize("fps", [float("nan"), float("inf")])
def test_frames_a_second_that_are_no_number_are_an_error(fps: float) -> None:
    with pytest.raises(CardError, match=r"--fps (nan|inf)"):
        Ablation(fps=fps).apply(model())


def model() -> ModelCard:
    return load_card("chance")


def whole_clip(folder: Path) -> Clip:
    return Clip(
        video=media(folder / "v.mp4", b"v"),
        audio=media(folder / "a.m4a", b"a"),
        captions=media(folder / "c.srt", b"c"),
    )
