"""The adapter of VideoLLaMA2.1-7B-AV against stand-ins for its package, with real tensors."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from infer.worker.adapters import videollama2_av
from infer.worker.serve import Card
from tests.adapter_stand_ins import (
    PIXELS,
    QUESTION,
    SAMPLES,
    AskFor,
    Calls,
    Words,
    modules,
    read_wav,
)

pytest_plugins = ("tests.adapter_fixtures",)


@pytest.fixture
def videollama2(monkeypatch: pytest.MonkeyPatch, calls: Calls, tmp_path: Path) -> Any:
    model = SimpleNamespace(model=SimpleNamespace(vision_tower="eyes", audio_tower="ears"))

    def process_video(frames: Any, num_frames: int = 8, va: bool = False) -> Any:
        assert isinstance(frames, np.ndarray)
        assert not va  # sound of an array cannot be read
        calls["frames"] = np.array(frames)[: utils["MAX_FRAMES"]]
        assert len(calls["frames"]) == num_frames  # else it is filled up with black
        return torch.from_numpy(calls["frames"]).permute(0, 3, 1, 2)

    def process_audio_from_video(audio_path: str, clip_duration: float) -> Any:
        calls["wav"], calls["length_s"] = read_wav(audio_path), clip_duration
        return torch.zeros(1, 2998, 128)

    def process_audio_file(path: str) -> Any:
        calls["wav"] = read_wav(path)
        return torch.zeros(1, 2998, 128)

    def model_init(model_path: str | None = None) -> Any:
        calls["model_init"] = model_path
        return model, {"video": process_video, "audio": process_audio_file}, Words()

    def mm_infer(
        image_or_video: Any, instruct: str, model: Any, tokenizer: Any, modal: str, **options: Any
    ) -> str:
        assert set(options) <= {"do_sample", "temperature", "top_p", "max_new_tokens"}
        towers = model.model.vision_tower, model.model.audio_tower
        calls["mm_infer"] = image_or_video, instruct, modal, options, towers
        return "two words"

    utils = {"MAX_FRAMES": 4, "process_audio_from_video": process_audio_from_video}
    modules(
        monkeypatch,
        {
            "videollama2": {"model_init": model_init, "mm_infer": mm_infer},
            "videollama2.mm_utils": utils,
            "videollama2.utils": {"disable_torch_init": lambda: None},
        },
    )
    module = sys.modules["videollama2.mm_utils"]
    utils = vars(module)
    sys.modules["videollama2"].mm_utils = module  # type: ignore[attr-defined]
    program = tmp_path / "ffmpeg"
    program.touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    return model


@pytest.mark.usefixtures("videollama2")
def test_videollama2_is_given_all_frames_and_the_sound(
    ask: AskFor, card: Callable[[str], Card], calls: Calls, tmp_path: Path
) -> None:
    model = videollama2_av.load(card("videollama2.1-7b-av"))
    [reply] = model.generate([ask(temperature=0.7, top_p=0.95, seed=3, system="Be brief.")])

    assert calls["model_init"] == str(tmp_path / "VideoLLaMA2.1-7B-AV")
    media, instruct, modal, options, towers = calls["mm_infer"]
    assert np.array_equal(calls["frames"], PIXELS)
    assert set(media) == {"video", "audio"}
    assert media["video"].shape == (5, 3, 12, 20)
    assert np.abs(calls["wav"] - SAMPLES).max() < 1 / 32767
    assert calls["length_s"] == 2.5
    assert instruct == f"Be brief.\n{QUESTION}"
    assert modal == "video"
    assert options == {
        "do_sample": True,
        "temperature": 0.7,
        "top_p": 0.95,
        "max_new_tokens": 50,
    }
    assert towers == ("eyes", "ears")
    assert (reply["outcome"], reply["text"], reply["output_tokens"]) == ("ok", "two words", 2)


def test_videollama2_leaves_out_the_tower_of_what_it_is_not_given(
    ask: AskFor, card: Callable[[str], Card], calls: Calls, videollama2: Any
) -> None:
    model = videollama2_av.load(card("videollama2.1-7b-av"))
    seen = []
    for given in (ask(sound=False), ask(video=False)):
        model.generate([given])
        seen.append((calls["mm_infer"][2], calls["mm_infer"][4]))

    assert seen == [("video", ("eyes", None)), ("audio", (None, "ears"))]
    assert vars(videollama2.model) == {"vision_tower": "eyes", "audio_tower": "ears"}


@pytest.mark.usefixtures("videollama2")
def test_videollama2_without_ffmpeg_does_not_go_on_with_silence(
    card: Callable[[str], Card], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(RuntimeError, match="ffmpeg"):
        videollama2_av.load(card("videollama2.1-7b-av"))
