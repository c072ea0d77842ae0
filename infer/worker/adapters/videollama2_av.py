"""VideoLLaMA2.1-7B-AV: frames and sound through ``videollama2.mm_infer``.

Written against github.com/DAMO-NLP-SG/VideoLLaMA2, branch audio_visual: ``__init__.py`` of commit
cdb42676bebe, ``serve/gradio_web_server_adhoc_av.py`` of 8cedfbda23e7, and ``mm_utils.py`` as a copy
of the branch has it. Never run with real weights.

What the interface brings with it:

* Its video processor takes frames as an array; its sound reader takes a file and calls ffmpeg, and
  where that fails it goes on with silence. So ffmpeg has to be there before the model is loaded.
* Of sound it takes eight pieces of two seconds, spread evenly: the model never hears the whole.
* It cuts the frames at ``mm_utils.MAX_FRAMES`` (32); here at as many as the request has.
* It returns text alone, so output tokens are counted from the text.
"""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from infer.worker.serve import Ask, Card


class VideoLlama2:
    """The model with its processors."""

    def __init__(self, card: Card) -> None:
        from videollama2 import mm_infer, mm_utils, model_init
        from videollama2.utils import disable_torch_init

        if shutil.which("ffmpeg") is None:
            raise RuntimeError("videollama2 reads sound with ffmpeg, which is not on the PATH")
        disable_torch_init()
        self._infer, self._utils = mm_infer, mm_utils
        self._model, self._processors, self._tokenizer = model_init(card.local())

    def generate(self, asks: list[Ask]) -> list[dict[str, Any]]:
        """Answer one by one; the interface takes no batches."""
        return [self._answer(ask) for ask in asks]

    def _answer(self, ask: Ask) -> dict[str, Any]:
        import torch

        if ask.seed is not None:
            torch.manual_seed(ask.seed)
        sampling = {"do_sample": ask.temperature > 0, "temperature": ask.temperature}
        if ask.top_p is not None:
            sampling["top_p"] = ask.top_p
        media, modal = self._media(ask)
        with self._towers(ask):
            text = self._infer(
                media,
                _question(ask),
                model=self._model,
                tokenizer=self._tokenizer,
                modal=modal,
                max_new_tokens=ask.max_tokens,
                **sampling,
            )
        said = self._tokenizer(text, add_special_tokens=False).input_ids
        return ask.reply(text, output_tokens=len(said))

    def _media(self, ask: Ask) -> tuple[Any, str]:
        if ask.video is None:
            if ask.sound is None:
                return None, "text"
            return self._processors["audio"](ask.sound.wav()), "audio"
        frames = ask.video.pixels
        self._utils.MAX_FRAMES = len(frames)
        pixels = self._processors["video"](frames, num_frames=len(frames), va=False)
        if ask.sound is None:
            return pixels, "video"
        length_s = len(ask.sound.samples) / ask.sound.sample_rate_hz
        sound = self._utils.process_audio_from_video(ask.sound.wav(), length_s)
        return {"video": pixels, "audio": sound}, "video"

    @contextmanager
    def _towers(self, ask: Ask) -> Iterator[None]:
        # As the project's demo does it: what is not given must not be looked for.
        name = "audio_tower" if ask.sound is None else "vision_tower"
        if (ask.video is None) == (ask.sound is None):
            yield
            return
        inner = self._model.model
        tower = getattr(inner, name)
        setattr(inner, name, None)
        try:
            yield
        finally:
            setattr(inner, name, tower)


def load(card: Card) -> VideoLlama2:
    """Load the checkpoint."""
    return VideoLlama2(card)


def _question(ask: Ask) -> Any:
    if not ask.system:
        return ask.question
    # mm_infer puts the media's marker before the first message, so that has to be the user's.
    return f"{ask.system}\n{ask.question}"
