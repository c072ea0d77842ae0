"""Uni-MoE-2.0-Omni: frames as picture files, and sound, through the uni_moe package.

Written against github.com/HITsz-TMG/Uni-MoE, folder Uni-MoE-2 (``examples/cookbook_video.py``,
``qwen_vl_utils/mm_process.py`` and ``model/processing_qwen2_vl.py``, as the copy
ishine/UMOE-Scaling-Unified-Multimodal-LLMs has them at commit c70fd354cce4). Never run with real
weights.

What the interface brings with it:

* A video file that comes with sound is cut down to 32 frames; a list of pictures is not. It keeps
  ``frames_upbound`` of them; here that is as many as the request has.
* How far frames are apart, the processor reads from the numbers that their names start with: their
  mean step is taken for frames a second. The names here are chosen so that it comes out right.
* Sound is heard in windows of 30 s, ``whisper_audio_time`` of them at most.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from infer.worker.serve import Ask, Card

_VIDEO = "<|vision_start|><|video_pad|><|vision_end|>"
_SOUND = "<|audio_start|><|audio_pad|><|audio_end|>"
_FLOATS = ("pixel_values_videos", "audio_features")


class UniMoe:
    """The model with its processor."""

    def __init__(self, card: Card) -> None:
        import torch
        from uni_moe.model import deepspeed_moe_inference_utils  # noqa: F401 - it patches deepspeed
        from uni_moe.model.modeling_out import GrinQwen2VLOutForConditionalGeneration
        from uni_moe.model.processing_qwen2_vl import Qwen2VLProcessor

        place = card.local()
        self._processor = Qwen2VLProcessor.from_pretrained(place)
        self._model = GrinQwen2VLOutForConditionalGeneration.from_pretrained(
            place,
            torch_dtype=torch.bfloat16,
            attn_implementation=card.settings.get("attn_implementation", "flash_attention_2"),
            device_map="auto",
        ).eval()
        self._processor.data_args = self._model.config

    def generate(self, asks: list[Ask]) -> list[dict[str, Any]]:
        """Answer one by one; the processor takes no batches."""
        return [self._answer(ask) for ask in asks]

    def _answer(self, ask: Ask) -> dict[str, Any]:
        import torch

        inputs = self._inputs(ask)
        n_input = int(inputs["input_ids"].shape[-1])
        limit = getattr(self._model.config, "max_position_embeddings", None)
        if limit is not None and n_input > limit:
            return ask.failed("context_overflow", f"{n_input} input tokens, the limit is {limit}")
        if ask.seed is not None:
            torch.manual_seed(ask.seed)
        drawn = {"temperature": ask.temperature, "top_p": ask.top_p} if ask.temperature else {}
        with torch.inference_mode():
            ids = self._model.generate(
                **inputs,
                use_cache=True,
                pad_token_id=self._processor.tokenizer.eos_token_id,
                do_sample=ask.temperature > 0,
                num_beams=1,
                max_new_tokens=ask.max_tokens,
                **drawn,
            )
        said = ids[:, n_input:]
        text = self._processor.batch_decode(said, skip_special_tokens=True)[0]
        return ask.reply(text, input_tokens=n_input, output_tokens=int(said.shape[-1]))

    def _inputs(self, ask: Ask) -> Any:
        import torch
        from uni_moe.qwen_vl_utils import process_mm_info

        messages = self._messages(ask)
        text = self._processor.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True
        )
        # Once each: the question may speak of <video> as well.
        text = text.replace("<video>", _VIDEO, ask.video is not None)
        text = text.replace("<audio>", _SOUND, ask.sound is not None)
        pictures, videos, sounds = process_mm_info(messages)
        inputs = self._processor(
            text=text,
            images=pictures,
            videos=videos,
            audios=sounds,
            padding=True,
            return_tensors="pt",
        )
        if "second_grid_ts" in inputs:  # the processor's name for what the model calls otherwise
            inputs["second_per_grid_ts"] = inputs.pop("second_grid_ts")
        inputs["input_ids"] = inputs["input_ids"].unsqueeze(0)
        inputs = inputs.to(device=self._model.device)
        for name in _FLOATS:
            if name in inputs:
                inputs[name] = inputs[name].to(dtype=torch.bfloat16)
        return inputs

    def _messages(self, ask: Ask) -> list[dict[str, Any]]:
        content: list[dict[str, Any]] = []
        marks = ""
        if ask.sound is not None:
            content.append({"type": "audio", "audio": ask.sound.wav()})
        if ask.video is not None:
            self._processor.data_args.frames_upbound = len(ask.video.pixels)
            content.append({"type": "video", "video": _pictures(ask)})
            marks += "<video>\n"
        if ask.sound is not None:
            marks += "<audio>\n"
        content.append({"type": "text", "text": marks + ask.question})
        system = [{"role": "system", "content": ask.system}] if ask.system else []
        return [*system, {"role": "user", "content": content}]


def load(card: Card) -> UniMoe:
    """Load the checkpoint."""
    return UniMoe(card)


def numbers(times_s: Sequence[float]) -> list[int]:
    """Number frames so that the mean step between them is their frames a second."""
    if len(times_s) < 2:
        return [0 for _ in times_s]
    apart_s = (times_s[-1] - times_s[0]) / (len(times_s) - 1)
    return [round(place / apart_s) for place in range(len(times_s))]


def _pictures(ask: Ask) -> list[str]:
    from PIL import Image

    paths = []
    for place, number in enumerate(numbers(ask.video.times_s)):
        path = Path(ask.folder) / f"{number}.{place:05d}.png"
        Image.fromarray(ask.video.pixels[place]).save(path)
        paths.append(str(path))
    return paths
