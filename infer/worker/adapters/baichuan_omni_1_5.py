"""Baichuan-Omni-1.5: one string with media as JSON between tags, through the model's own processor.

Written against github.com/baichuan-inc/Baichuan-Omni-1.5 (``model/processor_omni.py`` and
``web_demo/`` of commit a2932572d8c3, ``web_demo/video_s2s_gradio_demo_cosy_singleturn.py`` of
68e33d01bf22). Never run with real weights. The checkpoint brings its own code.

What the interface brings with it:

* A video may be a run of pictures, each between ``<videoframe_start_omni>`` tags: so the model sees
  the very frames of the request. The processor keeps ``video_config.max_frame_num`` of them; here
  that is as many as the longest of the request has. It drops what is written between pictures, and
  so their times.
* Sound is cut into windows of 30 s, or at 30 s where ``split_overlap`` is negative; here never.
* The processor prints what fails and then fails an assertion: the reason is in the last lines that
  the worker printed.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from infer.worker.serve import Ask, Card

_ROLES = {"user": "<C_Q>", "assistant": "<C_A>"}
_STOPS = ["<audiogen_start_baichuan>", "<|endoftext|>"]


class BaichuanOmni:
    """The model with its processor."""

    def __init__(self, card: Card) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        if not card.trust_remote_code:
            raise RuntimeError("the checkpoint brings its own code: the card must trust it")
        place = card.local()
        self._extra = card.settings.get("generation", {})
        self._tokenizer = AutoTokenizer.from_pretrained(place, trust_remote_code=True)
        self._model = AutoModelForCausalLM.from_pretrained(
            place, trust_remote_code=True, torch_dtype=torch.bfloat16, device_map="auto"
        )
        self._model.eval()
        self._model.bind_processor(self._tokenizer, training=False, relative_path="/")
        sound = self._model.config.audio_config
        sound.split_overlap = max(0, sound.split_overlap)

    def generate(self, asks: list[Ask]) -> list[dict[str, Any]]:
        """Answer one by one; batches would be padded."""
        return [self._answer(ask) for ask in asks]

    def _answer(self, ask: Ask) -> dict[str, Any]:
        import torch

        given = self._model.processor([self._prompt(ask)])
        n_input = int(given.input_ids.shape[1])
        limit = getattr(self._model.config, "max_position_embeddings", None)
        if limit is not None and n_input > limit:
            return ask.failed("context_overflow", f"{n_input} input tokens, the limit is {limit}")
        if ask.seed is not None:
            torch.manual_seed(ask.seed)
        drawn = {"temperature": ask.temperature, "top_p": ask.top_p} if ask.temperature else {}
        with torch.inference_mode():
            output = self._model.generate(
                **self._inputs(given),
                tokenizer=self._tokenizer,
                stop_strings=_STOPS,
                max_new_tokens=ask.max_tokens,
                do_sample=ask.temperature > 0,
                return_dict_in_generate=True,
                use_cache=True,
                **drawn,
                **self._extra,
            )
        said = output.sequences[0, n_input:]
        text = self._tokenizer.decode(said, skip_special_tokens=True)
        return ask.reply(text, input_tokens=n_input, output_tokens=len(said))

    def _inputs(self, given: Any) -> dict[str, Any]:
        import torch

        device = self._model.device
        names = ("input_ids", "attention_mask", "audios", "encoder_length", "bridge_length")
        found = {name: getattr(given, name) for name in names}
        moved = {name: None if value is None else value.to(device) for name, value in found.items()}
        for name in ("images", "videos"):
            some = getattr(given, name)
            moved[name] = (
                None
                if some is None
                else [torch.as_tensor(one, dtype=torch.float32).to(device) for one in some]
            )
        for name in ("patch_nums", "images_grid", "videos_patch_nums", "videos_grid"):
            moved[name] = getattr(given, name)
        return moved

    def _prompt(self, ask: Ask) -> str:
        self._model.config.video_config.max_frame_num = max(
            (len(video.pixels) for video in ask.videos), default=1
        )
        files = itertools.count()
        parts = [f"<B_SYS>{ask.system}" if ask.system else ""]
        for role, pieces in ask.dialogue:
            parts.append(_ROLES[role])
            for piece in pieces:
                parts += [piece] if isinstance(piece, str) else _media(piece, ask.folder, files)
        return "".join([*parts, _ROLES["assistant"]])


def load(card: Card) -> BaichuanOmni:
    """Load the checkpoint."""
    return BaichuanOmni(card)


def _media(piece: Any, folder: str, files: Iterator[int]) -> list[str]:
    from PIL import Image

    if hasattr(piece, "wav"):
        sound = json.dumps({"path": piece.wav()})
        return [f"<audio_start_baichuan>{sound}<audio_end_baichuan>"]
    tags = []
    for frame in piece.pixels:
        path = Path(folder) / f"{next(files)}.png"
        Image.fromarray(frame).save(path)
        local = json.dumps({"local": str(path)})
        tags.append(f"<videoframe_start_omni>{local}<videoframe_end_omni>")
    return ["<video_start_baichuan>", *tags, "<video_end_baichuan>"]
