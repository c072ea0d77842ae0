"""Open-weight models through vLLM: continuous batching inside the engine actor.

    [settings]
    dtype = "bfloat16"
    [settings.engine]                what AsyncEngineArgs takes (max_model_len …)
    [settings.mm_processor_kwargs]   what the model's processor takes

The actor hands every request of its batch to vLLM at once; vLLM schedules them.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from cache.record import Outcome, Response, Usage
from cache.request import Request
from infer.card import ModelCard
from infer.chat import Chat, make_chat
from infer.checkpoint import resolve
from infer.engine import Answer
from infer.media.decode import Prepared
from infer.media.frames import Frames

NEEDS = {"vllm": "vllm"}


class VllmEngine:
    """Generates with vLLM's asynchronous engine."""

    def __init__(self, engine: Any, renderer: Any, card: ModelCard) -> None:
        self._engine = engine
        self._renderer = renderer
        self._settings = card.settings
        self._numbers = itertools.count()

    async def answer(self, request: Request, prepared: Prepared) -> Answer:
        """Return the generated answer; a prompt that does not fit is an overflow."""
        from vllm.exceptions import VLLMValidationError

        prompt = self._prompt(make_chat(request, prepared))
        number = f"{next(self._numbers)}-{request.key()[:12]}"
        final: Any = None
        try:
            async for output in self._engine.generate(prompt, _sampling(request), number):
                final = output
        except (VLLMValidationError, ValueError) as error:
            if not _is_overflow(str(error)):
                raise
            return Answer(Outcome.CONTEXT_OVERFLOW, Response(error=str(error)))
        return _read(final)

    def close(self) -> None:
        """End vLLM's own processes."""
        self._engine.shutdown()

    def _prompt(self, chat: Chat) -> dict[str, Any]:
        text = self._renderer.apply_chat_template(
            chat.messages(self._settings.get("placeholders", {})),
            tokenize=False,
            add_generation_prompt=True,
        )
        media: dict[str, Any] = {
            "video": [(frames.pixels, _metadata(frames)) for frames in chat.of("video")],
            "image": [frames.pixels[0] for frames in chat.of("image")],
            "audio": [(sound.samples, sound.sample_rate_hz) for sound in chat.of("audio")],
        }
        return {
            "prompt": text,
            "multi_modal_data": {kind: given for kind, given in media.items() if given},
            "mm_processor_kwargs": self._settings.get("mm_processor_kwargs", {}),
        }


def create(card: ModelCard) -> VllmEngine:
    """Start vLLM with the card's checkpoint."""
    from transformers import AutoProcessor
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.v1.engine.async_llm import AsyncLLM

    where = resolve(card.checkpoint)
    revision = card.revision if card.revision and where == card.checkpoint else None
    kinds = {"video": 1, "audio": 1, "image": 1}
    options: dict[str, Any] = {
        "limit_mm_per_prompt": kinds,
        "max_num_seqs": card.resources.concurrency,
        **card.settings.get("engine", {}),
    }
    engine = AsyncLLM.from_engine_args(
        AsyncEngineArgs(
            model=where,
            revision=revision,
            dtype=card.settings.get("dtype", "auto"),
            **options,
        )
    )
    return VllmEngine(engine, AutoProcessor.from_pretrained(where, revision=revision), card)


def _sampling(request: Request) -> Any:
    from vllm import SamplingParams

    asked = request.sampling
    seed = None if asked.seed is None else asked.seed + request.sample
    return SamplingParams(
        temperature=asked.temperature or 0.0,
        top_p=1.0 if asked.top_p is None else asked.top_p,
        max_tokens=asked.max_tokens or 1024,
        seed=seed,
    )


def _metadata(frames: Frames) -> dict[str, Any]:
    # What a reader of the whole file would say of these frames, so that their times are kept.
    count = len(frames.times_s)
    length_s = float(frames.times_s[-1] - frames.times_s[0]) if count > 1 else 0.0
    fps = (count - 1) / length_s if length_s else 1.0
    return {
        "fps": fps,
        "duration": count / fps,
        "total_num_frames": count,
        "frames_indices": np.arange(count).tolist(),
        "video_backend": "decord",
        "do_sample_frames": False,
    }


def _read(final: Any) -> Answer:
    said = final.outputs[0]
    cut = said.finish_reason == "length"
    return Answer(
        Outcome.TRUNCATED if cut else Outcome.OK,
        Response(text=said.text, finish_reason=said.finish_reason or ""),
        Usage(input_tokens=len(final.prompt_token_ids), output_tokens=len(said.token_ids)),
    )


def _is_overflow(message: str) -> bool:
    return any(hint in message for hint in ("maximum context length", "maximum model length"))
