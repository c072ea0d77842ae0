"""The adapter of Uni-MoE-2.0-Omni against stand-ins for its package, with real tensors."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from infer.worker.adapters import uni_moe_2_omni
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
def uni_moe(monkeypatch: pytest.MonkeyPatch, calls: Calls) -> Any:
    class Inputs(dict[str, Any]):
        def to(self, device: Any) -> Inputs:
            return self

    class Processor:
        tokenizer = Words()
        data_args: Any = None

        @classmethod
        def from_pretrained(cls, path: str) -> Processor:
            return cls()

        def apply_chat_template(
            self, messages: list[Any], tokenize: bool, add_generation_prompt: bool
        ) -> str:
            calls["messages"] = messages
            [text] = [part["text"] for part in messages[-1]["content"] if part["type"] == "text"]
            return f"<|im_start|>user\n{text}<|im_end|>"

        def __call__(
            self,
            *,
            text: str,
            images: Any,
            videos: Any,
            audios: Any,
            padding: bool,
            return_tensors: str,
        ) -> Inputs:
            calls["processor"] = {"text": text, "videos": videos, "audios": audios}
            inputs = Inputs(input_ids=torch.arange(9))
            if videos is not None:
                assert len(videos[0]) <= self.data_args.frames_upbound
                # As the published processor derives it from the files' names.
                names = [int(Path(path).name.split(".")[0]) for path in videos[0]]
                calls["fps"] = float(np.mean(np.diff(names)))
                inputs["pixel_values_videos"] = torch.zeros(5, 3, 384, 384)
                inputs["second_grid_ts"] = torch.tensor([1 / calls["fps"]])
            if audios is not None:
                inputs["audio_features"] = torch.zeros(1, 128, 3000)
            return inputs

        def batch_decode(self, ids: Any, skip_special_tokens: bool) -> list[str]:
            return [" ".join(map(str, ids[0].tolist()))]

    class Model:
        device = torch.device("cpu")
        config = SimpleNamespace(frames_upbound=2, max_position_embeddings=32_768)

        @classmethod
        def from_pretrained(
            cls, path: str, *, torch_dtype: Any, attn_implementation: str, device_map: str
        ) -> Model:
            calls["load"] = Path(path).name, torch_dtype, attn_implementation
            return cls()

        def eval(self) -> Model:
            return self

        def generate(self, **options: Any) -> Any:
            calls["generate"] = options
            return torch.cat([options["input_ids"], torch.tensor([[5, 6]])], dim=1)

    def process_mm_info(messages: list[Any]) -> Any:
        found: dict[str, list[Any]] = {"image": [], "video": [], "audio": []}
        for part in (part for message in messages for part in message["content"]):
            if isinstance(part, dict) and part["type"] in found:
                value = part[part["type"]]
                found[part["type"]].append(read_wav(value) if part["type"] == "audio" else value)
        return found["image"] or None, found["video"] or None, found["audio"] or None

    modules(
        monkeypatch,
        {
            "uni_moe.model.deepspeed_moe_inference_utils": {},
            "uni_moe.model.modeling_out": {"GrinQwen2VLOutForConditionalGeneration": Model},
            "uni_moe.model.processing_qwen2_vl": {"Qwen2VLProcessor": Processor},
            "uni_moe.qwen_vl_utils": {"process_mm_info": process_mm_info},
        },
    )
    package = sys.modules["uni_moe.model"]
    package.deepspeed_moe_inference_utils = ModuleType("utils")  # type: ignore[attr-defined]
    return Model


@pytest.mark.usefixtures("uni_moe")
def test_uni_moe_is_given_the_frames_their_rate_and_the_sound(
    ask: AskFor, card: Callable[[str], Card], calls: Calls
) -> None:
    model = uni_moe_2_omni.load(card("uni-moe-2.0-omni"))
    [reply] = model.generate([ask(temperature=0.7, top_p=0.95, system="Be brief.")])

    assert calls["load"] == ("Uni-MoE-2.0-Omni", torch.bfloat16, "flash_attention_2")
    system, user = calls["messages"]
    assert system == {"role": "system", "content": "Be brief."}
    assert [part["type"] for part in user["content"]] == ["audio", "video", "text"]
    given = calls["processor"]
    # The question's own words stay as they are.
    assert given["text"] == (
        "<|im_start|>user\n<|vision_start|><|video_pad|><|vision_end|>\n"
        f"<|audio_start|><|audio_pad|><|audio_end|>\n{QUESTION}<|im_end|>"
    )
    [pictures] = given["videos"]
    assert all(np.array_equal(Image.open(path), PIXELS[i]) for i, path in enumerate(pictures))
    assert calls["fps"] == pytest.approx(0.4, abs=0.13)  # whole numbers over four steps
    assert np.abs(given["audios"][0] - SAMPLES).max() < 1 / 32767
    options = calls["generate"]
    assert options["input_ids"].shape == (1, 9)
    assert options["pixel_values_videos"].dtype is torch.bfloat16
    assert options["audio_features"].dtype is torch.bfloat16
    assert "second_per_grid_ts" in options
    assert "second_grid_ts" not in options
    assert (options["do_sample"], options["temperature"], options["top_p"]) == (True, 0.7, 0.95)
    assert options["max_new_tokens"] == 50
    assert (reply["text"], reply["input_tokens"], reply["output_tokens"]) == ("5 6", 9, 2)


@pytest.mark.usefixtures("uni_moe")
def test_uni_moe_is_told_of_nothing_that_it_is_not_given(
    ask: AskFor, card: Callable[[str], Card], calls: Calls
) -> None:
    model = uni_moe_2_omni.load(card("uni-moe-2.0-omni"))
    model.generate([ask(video=False)])

    given = calls["processor"]
    assert given["videos"] is None
    assert given["text"].count("<|audio_pad|>") == 1
    assert QUESTION in given["text"]


def test_uni_moe_refuses_a_prompt_beyond_the_context(
    ask: AskFor, card: Callable[[str], Card], uni_moe: Any
) -> None:
    uni_moe.config = SimpleNamespace(frames_upbound=2, max_position_embeddings=8)

    [reply] = uni_moe_2_omni.load(card("uni-moe-2.0-omni")).generate([ask()])

    assert reply == {"outcome": "context_overflow", "error": "9 input tokens, the limit is 8"}


@pytest.mark.parametrize("apart_s", [0.5, 0.7, 1.0, 2.8])
def test_frames_are_numbered_by_their_true_rate(apart_s: float) -> None:
    numbers = uni_moe_2_omni.numbers([300 + apart_s * place for place in range(256)])

    assert np.mean(np.diff(numbers)) == pytest.approx(1 / apart_s, rel=0.01)
    assert uni_moe_2_omni.numbers([4.0]) == [0]
