"""The adapter of VITA-1.5 against stand-ins for its package, with real tensors."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from infer.worker.adapters import vita_1_5
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
def vita(monkeypatch: pytest.MonkeyPatch, calls: Calls) -> Any:
    class Chat:
        sep, sep2, sep_style = "<|im_end|>", "</s>", "qwen"
        roles = ("user", "bot")

        def __init__(self) -> None:
            self.messages: list[Any] = []

        def copy(self) -> Chat:
            return Chat()

        def append_message(self, role: str, message: str | None) -> None:
            self.messages.append((role, message))

        def get_prompt(self, modality: str) -> str:
            assert modality in ("video", "lang")
            calls["modality"], calls["messages"] = modality, self.messages
            return f"<|im_start|>{self.messages[0][1]}<|im_end|><|im_start|>"

    class Pictures:
        image_mean = (0.5, 0.25, 0.75)

        def preprocess(self, picture: Any, return_tensors: str) -> Any:
            assert picture.mode == "RGB"
            calls.setdefault("pictures", []).append(np.asarray(picture))
            return {"pixel_values": torch.zeros(1, 3, 448, 448)}

    class Sounds:
        def process(self, wav_path: str) -> Any:
            calls["wav"] = read_wav(wav_path)
            return torch.ones(248, 80), 31

    def tokenize(name: str) -> Any:
        def tokenizer(prompt: str, tokenizer: Any, index: int, return_tensors: str) -> Any:
            calls["tokenizer"] = name
            marks = re.findall(r"<image>|<sound>|\S+?(?=<|$)|\S+", prompt)
            ids = [{"<image>": index, "<sound>": -500}.get(mark, 7) for mark in marks]
            return torch.tensor(ids)

        return tokenizer

    class Model:
        device, dtype = torch.device("cpu"), torch.float16
        config = SimpleNamespace(image_aspect_ratio="pad", max_position_embeddings=32_768)

        def resize_token_embeddings(self, size: int) -> None:
            assert size == 152_000

        def get_vision_tower(self) -> Any:
            tower = SimpleNamespace(is_loaded=False, image_processor=Pictures())
            tower.load_model = lambda: calls.update(loaded=True)
            return tower

        def get_audio_encoder(self) -> Any:
            encoder = SimpleNamespace(audio_processor=Sounds())
            encoder.to = lambda dtype: None
            return encoder

        def eval(self) -> None: ...

        def generate(
            self,
            inputs: Any,
            *,
            images: Any,
            audios: Any,
            shared_v_pid_stride: None,
            do_sample: bool,
            num_beams: int,
            return_dict_in_generate: bool,
            max_new_tokens: int,
            use_cache: bool,
            stopping_criteria: list[Any],
            temperature: float | None = None,
            top_p: float | None = None,
        ) -> Any:
            calls["generate"] = {k: v for k, v in locals().items() if k != "self"}
            said = torch.tensor([[40, 41, 42]])
            repeated = torch.cat([inputs, said], dim=1)
            return SimpleNamespace(sequences=repeated if calls.get("repeats") else said)

    class Tokenizer(Words):
        def batch_decode(self, ids: Any, skip_special_tokens: bool) -> list[str]:
            assert [one.tolist() for one in ids] == [[40, 41, 42]]
            return [' ☞{"answer": 1}<|im_end|>']

    def load_pretrained_model(path: str, base: None, name: str, model_type: str) -> Any:
        calls["load"] = name, model_type
        return Tokenizer(), Model(), None, 32_768

    modules(
        monkeypatch,
        {
            "vita.constants": {
                "DEFAULT_AUDIO_TOKEN": "<sound>",
                "DEFAULT_IMAGE_TOKEN": "<image>",
                "IMAGE_TOKEN_INDEX": -200,
            },
            "vita.conversation": {
                "SeparatorStyle": SimpleNamespace(TWO="two"),
                "conv_templates": {"qwen2p5_instruct": Chat()},
            },
            "vita.model.builder": {"load_pretrained_model": load_pretrained_model},
            "vita.util.mm_utils": {
                "get_model_name_from_path": lambda path: path.strip("/").split("/")[-1],
                "tokenizer_image_token": tokenize("pictures"),
                "tokenizer_image_audio_token": tokenize("pictures and sound"),
                "KeywordsStoppingCriteria": lambda words, tokenizer, ids: tuple(words),
            },
            "vita.util.utils": {"disable_torch_init": lambda: None},
        },
    )
    return Model


@pytest.mark.usefixtures("vita")
@pytest.mark.parametrize("repeats", [False, True])
def test_vita_is_given_frames_as_square_pictures_and_the_sound(
    repeats: bool, ask: AskFor, card: Callable[[str], Card], calls: Calls
) -> None:
    calls["repeats"] = repeats
    [reply] = vita_1_5.load(card("vita-1.5")).generate([ask(temperature=0.7, top_p=0.95)])

    assert calls["load"] == ("VITA-1.5", "qwen2p5_instruct")
    assert calls["loaded"]
    assert [picture.shape for picture in calls["pictures"]] == [(20, 20, 3)] * 5
    assert np.array_equal(calls["pictures"][1][4:16], PIXELS[1])
    assert calls["pictures"][0][0, 0].tolist() == [127, 63, 191]
    assert calls["messages"] == [("user", "<image>" * 5 + f"\n{QUESTION}<sound>"), ("bot", None)]
    assert (calls["modality"], calls["tokenizer"]) == ("video", "pictures and sound")
    given = calls["generate"]
    assert given["inputs"].shape[0] == 1
    assert given["inputs"].tolist()[0].count(-200) == 5
    assert given["images"].shape == (5, 3, 448, 448)
    assert given["images"].dtype is torch.float16
    assert given["audios"]["audios"].shape == (1, 248, 80)
    assert given["audios"]["lengths"].tolist() == [248.0]
    assert given["audios"]["lengths_for_llm"].tolist() == [31]
    assert (given["do_sample"], given["temperature"], given["top_p"]) == (True, 0.7, 0.95)
    assert given["max_new_tokens"] == 50
    assert given["stopping_criteria"] == [("<|im_end|>",)]
    assert np.abs(calls["wav"] - SAMPLES).max() < 1 / 32767
    assert (reply["text"], reply["output_tokens"]) == ('☞{"answer": 1}', 3)
    words = given["inputs"].shape[1] - 6
    assert reply["input_tokens"] == words + 5 * 256 + 31


@pytest.mark.usefixtures("vita")
def test_vita_without_video_or_sound_gets_the_stand_ins_of_its_demo(
    ask: AskFor, card: Callable[[str], Card], calls: Calls
) -> None:
    model = vita_1_5.load(card("vita-1.5"))

    model.generate([ask(sound=False)])
    silent = calls["generate"], calls["tokenizer"], calls["modality"]
    model.generate([ask(video=False)])
    blind = calls["generate"], calls["tokenizer"], calls["modality"]

    assert silent[1:] == ("pictures", "video")
    assert silent[0]["audios"]["audios"].shape == (1, 400, 80)
    assert silent[0]["audios"]["lengths_for_llm"].tolist() == [60]
    assert blind[1:] == ("pictures and sound", "lang")
    assert blind[0]["images"].shape == (1, 3, 448, 448)
    assert not silent[0]["do_sample"]
    assert silent[0]["temperature"] is None


@pytest.mark.usefixtures("vita")
def test_vita_is_given_a_dialogue_turn_by_turn(
    dialogue: Ask, card: Callable[[str], Card], calls: Calls
) -> None:
    [reply] = vita_1_5.load(card("vita-1.5")).generate([dialogue])

    assert calls["messages"] == [
        ("user", f"Watch.\nAn example:{'<image>' * 2}\nNow:{'<image>' * 5}\n<sound>"),
        ("bot", "Cut it here."),
        ("user", "<image>\n<sound>"),
        ("bot", None),
    ]
    given = calls["generate"]
    assert given["images"].shape == (8, 3, 448, 448)
    assert given["audios"]["audios"].shape == (2, 248, 80)
    assert given["audios"]["lengths_for_llm"].tolist() == [31, 31]
    assert reply["outcome"] == "ok"


def test_vita_refuses_a_prompt_that_its_code_would_cut(
    ask: AskFor, card: Callable[[str], Card], vita: Any, calls: Calls
) -> None:
    vita.config = SimpleNamespace(tokenizer_model_max_length=1200)

    [reply] = vita_1_5.load(card("vita-1.5")).generate([ask()])

    assert reply["outcome"] == "context_overflow"
    assert "the limit is 1200" in reply["error"]
    assert "generate" not in calls
