"""The adapter of Baichuan-Omni-1.5 against stand-ins for its package, with real tensors."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from infer.worker.adapters import baichuan_omni_1_5
from infer.worker.serve import Ask, Card
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
def baichuan(monkeypatch: pytest.MonkeyPatch, calls: Calls) -> Any:
    class Model:
        device = torch.device("cpu")

        def __init__(self) -> None:
            self.config = SimpleNamespace(
                audio_config=SimpleNamespace(split_overlap=-1.0),
                video_config=SimpleNamespace(max_frame_num=2),
                max_position_embeddings=32_768,
            )

        @classmethod
        def from_pretrained(cls, path: str, *, trust_remote_code: bool, **options: Any) -> Model:
            assert trust_remote_code
            assert options == {"torch_dtype": torch.bfloat16, "device_map": "auto"}
            calls["model"] = cls()
            return calls["model"]

        def eval(self) -> None: ...

        def bind_processor(self, tokenizer: Any, training: bool, relative_path: str) -> None:
            assert (training, relative_path) == (False, "/")

        def processor(self, prompts: list[str]) -> Any:
            [prompt] = prompts
            calls["prompt"] = prompt
            shown = re.findall(r"<videoframe_start_omni>(.*?)<videoframe_end_omni>", prompt)
            heard = re.findall(r"<audio_start_baichuan>(.*?)<audio_end_baichuan>", prompt)
            calls["shown"] = [
                np.asarray(Image.open(json.loads(one)["local"]))
                for one in shown[: self.config.video_config.max_frame_num]
            ]
            calls["heard"] = [read_wav(json.loads(one)["path"]) for one in heard]
            videos = [np.zeros((16, 1176)) for _ in calls["shown"]] or None
            return SimpleNamespace(
                input_ids=torch.zeros(1, 12, dtype=torch.long),
                attention_mask=torch.ones(1, 12),
                audios=torch.zeros(1, 128, 250) if heard else None,
                encoder_length=torch.tensor([125]) if heard else None,
                bridge_length=torch.tensor([31]) if heard else None,
                images=None,
                patch_nums=None,
                images_grid=None,
                videos=videos,
                videos_patch_nums=torch.tensor([4] * len(shown)) if shown else None,
                videos_grid=[(1, 4, 4)] * len(shown) if shown else None,
            )

        def generate(
            self,
            *,
            input_ids: Any,
            attention_mask: Any,
            audios: Any,
            encoder_length: Any,
            bridge_length: Any,
            images: Any,
            patch_nums: Any,
            images_grid: Any,
            videos: Any,
            videos_patch_nums: Any,
            videos_grid: Any,
            tokenizer: Any,
            stop_strings: list[str],
            max_new_tokens: int,
            do_sample: bool,
            return_dict_in_generate: bool,
            use_cache: bool,
            temperature: float | None = None,
            top_p: float | None = None,
            top_k: int | None = None,
            repetition_penalty: float | None = None,
        ) -> Any:
            calls["generate"] = {k: v for k, v in locals().items() if k != "self"}
            said = torch.full((1, max_new_tokens), 8)
            return SimpleNamespace(sequences=torch.cat([input_ids, said], dim=1))

    class Tokenizer(Words):
        @classmethod
        def from_pretrained(cls, path: str, *, trust_remote_code: bool) -> Tokenizer:
            return cls()

        def decode(self, ids: Any, skip_special_tokens: bool) -> str:
            return f"{len(ids)} tokens"

    modules(
        monkeypatch,
        {"transformers": {"AutoModelForCausalLM": Model, "AutoTokenizer": Tokenizer}},
    )
    return Model


@pytest.mark.usefixtures("baichuan")
def test_baichuan_is_given_the_very_frames_and_the_sound_between_its_tags(
    ask: AskFor, card: Callable[[str], Card], calls: Calls
) -> None:
    model = baichuan_omni_1_5.load(card("baichuan-omni-1.5"))
    [reply] = model.generate([ask(temperature=0.3, top_p=0.85, system="Be brief.")])

    assert re.sub(r"\{.*?\}", "{}", calls["prompt"]) == (
        "<B_SYS>Be brief.<C_Q><video_start_baichuan>"
        + "<videoframe_start_omni>{}<videoframe_end_omni>" * 5
        + "<video_end_baichuan><audio_start_baichuan>{}<audio_end_baichuan>"
        + f"{QUESTION}<C_A>"
    )
    assert np.array_equal(np.stack(calls["shown"]), PIXELS)
    assert np.abs(calls["heard"][0] - SAMPLES).max() < 1 / 32767
    assert calls["model"].config.audio_config.split_overlap == 0  # else cut at 30 s
    given = calls["generate"]
    assert [one.shape for one in given["videos"]] == [(16, 1176)] * 5
    assert given["videos"][0].dtype is torch.float32
    assert given["audios"].shape == (1, 128, 250)
    assert given["encoder_length"].tolist() == [125]
    assert given["stop_strings"] == ["<audiogen_start_baichuan>", "<|endoftext|>"]
    drawn = {name: given[name] for name in ("do_sample", "temperature", "top_p", "top_k")}
    assert drawn == {"do_sample": True, "temperature": 0.3, "top_p": 0.85, "top_k": 20}
    assert given["repetition_penalty"] == 1.05
    assert (reply["text"], reply["outcome"]) == ("50 tokens", "truncated")
    assert (reply["input_tokens"], reply["output_tokens"]) == (12, 50)


@pytest.mark.usefixtures("baichuan")
def test_baichuan_is_given_a_dialogue_turn_by_turn(
    dialogue: Ask, card: Callable[[str], Card], calls: Calls
) -> None:
    baichuan_omni_1_5.load(card("baichuan-omni-1.5")).generate([dialogue])

    said = re.sub(r"<video_start_baichuan>.*?<video_end_baichuan>", "V", calls["prompt"])
    said = re.sub(r"<audio_start_baichuan>.*?<audio_end_baichuan>", "A", said)
    assert said == "<B_SYS>Watch.<C_Q>An example:VNow:VA<C_A>Cut it here.<C_Q>VA<C_A>"
    shown = [PIXELS[:2], PIXELS, PIXELS[:1]]
    assert calls["model"].config.video_config.max_frame_num == 5
    assert np.array_equal(calls["shown"][:5], np.concatenate(shown)[:5])
    assert [len(one) for one in calls["heard"]] == [40_000, 16_000]


@pytest.mark.usefixtures("baichuan")
def test_baichuan_without_media_is_asked_in_words(
    ask: AskFor, card: Callable[[str], Card], calls: Calls
) -> None:
    baichuan_omni_1_5.load(card("baichuan-omni-1.5")).generate([ask(video=False, sound=False)])

    assert calls["prompt"] == f"<C_Q>{QUESTION}<C_A>"
    assert calls["generate"]["videos"] is calls["generate"]["audios"] is None


@pytest.mark.usefixtures("baichuan")
def test_baichuan_runs_no_code_of_the_checkpoint_that_the_card_does_not_trust(
    card: Callable[[str], Card],
) -> None:
    untrusted = card("baichuan-omni-1.5")
    untrusted.trust_remote_code = False

    with pytest.raises(RuntimeError, match="trust"):
        baichuan_omni_1_5.load(untrusted)
