"""Open-weight models through vLLM: continuous batching inside the engine actor.

    [settings]
    dtype = "bfloat16"
    video = "images"                 frames as pictures, for models that know no video
    frame_times = true               then each follows a line of text with its time
    fps_argument = "fps"             name under which the processor is told the frames' true rate
    [settings.engine]                what AsyncEngineArgs takes (max_model_len …)
    [settings.mm_processor_kwargs]   what the model's processor takes
    [settings.generation]            what SamplingParams takes beside temperature, top_p, max_tokens
    [settings.placeholders]          see infer/chat.py
    [settings.chat]                  further arguments of the chat template
    [settings.adapters]              LoRA folders of the checkpoint by kind of media; first hit wins

The actor hands every request of its batch to vLLM at once; vLLM schedules them. A model that does
not fit on one GPU is sharded over those of its actor (``resources.gpus``). What sampling leaves
unset is what the weights' own generation_config.json says, as in ``vllm serve``.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from cache.record import Outcome, Response, Usage
from cache.request import Request
from infer.card import ModelCard
from infer.chat import Chat, frame_rate, make_chat
from infer.checkpoint import Source, locate
from infer.engine import Answer
from infer.errors import CardError, EngineDied
from infer.media.decode import Prepared
from infer.media.frames import Frames

NEEDS = {"vllm": "vllm"}


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a card may say under ``[settings]``."""

    dtype: str = "auto"
    video: Literal["video", "images"] = "video"
    frame_times: bool = False
    fps_argument: str = ""
    engine: dict[str, Any] = {}
    mm_processor_kwargs: dict[str, Any] = {}
    generation: dict[str, Any] = {}
    placeholders: dict[str, str] = {}
    chat: dict[str, Any] = {}
    adapters: dict[str, str] = {}


class VllmEngine:
    """Generates with vLLM's asynchronous engine."""

    def __init__(self, engine: Any, template: Any, card: ModelCard) -> None:
        self._engine = engine
        self._template = template
        self._settings = read_settings(card)
        self._adapters = _adapters(card, self._settings)
        self._numbers = itertools.count()
        config = engine.model_config
        # What the weights' own generation_config.json says, for what the card leaves unset.
        self._defaults: dict[str, Any] = config.get_diff_sampling_param()
        self._commit = getattr(config.hf_config, "_commit_hash", None)
        room = config.max_model_len - (card.sampling.max_tokens or 0)
        self.input_limit: int | None = room if room > 0 else config.max_model_len - 1

    async def answer(self, request: Request, prepared: Prepared) -> Answer:
        """Return the generated answer; a prompt that does not fit is an overflow."""
        from vllm.exceptions import VLLMValidationError
        from vllm.v1.engine.exceptions import EngineDeadError

        chat = self._chat(request, prepared)
        sampling = _sampling(request, self._defaults | self._settings.generation)
        number = f"{next(self._numbers)}-{request.key()[:12]}"
        adapter = self._adapter(chat)
        effective = _effective(sampling, self._commit, adapter)
        final: Any = None
        try:
            prompt = await self._render(chat)
            outputs = self._engine.generate(prompt, sampling, number, lora_request=adapter)
            async for output in outputs:  # the final one alone
                final = output
        except (VLLMValidationError, ValueError) as error:
            if not _is_overflow(str(error)):
                raise
            return Answer(Outcome.CONTEXT_OVERFLOW, Response(error=str(error)))
        except EngineDeadError as error:
            raise EngineDied(str(error)) from error
        return _read(final, effective)

    async def count_tokens(self, request: Request, prepared: Prepared) -> int | None:
        """Count a prompt's tokens, media included; None where it is far too long to be counted."""
        try:
            prompt = await self._render(self._chat(request, prepared), remember=False)
        except ValueError as error:
            if not _is_overflow(str(error)):
                raise
            return None
        return len(prompt["prompt_token_ids"])

    def close(self) -> None:
        """End vLLM's own processes."""
        self._engine.shutdown()

    def _chat(self, request: Request, prepared: Prepared) -> Chat:
        chat = make_chat(request, prepared)
        if self._settings.video == "images":
            return chat.with_pictures(timed=self._settings.frame_times)
        return chat

    async def _render(self, chat: Chat, *, remember: bool = True) -> Any:
        """Return the prompt as tokens and processed media.

        Media that are remembered are believed to be known to vLLM's other process from then on.
        """
        from vllm.renderers.inputs.preprocess import parse_model_prompt

        parsed = parse_model_prompt(self._engine.model_config, self._prompt(chat))
        [prompt] = await self._engine.renderer.render_cmpl_async(
            [parsed], skip_mm_cache=not remember
        )
        return prompt

    def _prompt(self, chat: Chat) -> dict[str, Any]:
        videos = chat.of("video")
        media: dict[str, Any] = {
            "video": [(frames.pixels, _metadata(frames)) for frames in videos],
            "image": [frames.pixels[0] for frames in chat.of("image")],
            "audio": [(sound.samples, sound.sample_rate_hz) for sound in chat.of("audio")],
        }
        text = self._template.apply_chat_template(
            chat.messages(self._settings.placeholders),
            tokenize=False,
            add_generation_prompt=True,
            **self._settings.chat,
        )
        told = self._settings.fps_argument
        rate = {told: frame_rate(videos[0])} if videos and told else {}
        return {
            "prompt": text,
            "multi_modal_data": {kind: given for kind, given in media.items() if given},
            "mm_processor_kwargs": self._settings.mm_processor_kwargs | rate,
        }

    def _adapter(self, chat: Chat) -> Any:
        return next((lora for kind, lora in self._adapters.items() if chat.of(kind)), None)


def create(card: ModelCard) -> VllmEngine:
    """Start vLLM with the card's checkpoint.

    Raises:
        CardError: a setting does not hold.
        FeatureMissing: the checkpoint is not there, or is another.
    """
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.v1.engine.async_llm import AsyncLLM

    engine = AsyncLLM.from_engine_args(AsyncEngineArgs(**engine_arguments(card)))
    return VllmEngine(engine, chat_template(card), card)


def read_settings(card: ModelCard) -> Settings:
    """Return the card's settings.

    Raises:
        CardError: one that this engine does not know, or a value that is none.
    """
    if card.preprocessing.as_files:
        raise CardError(
            f"model card {card.name!r}: preprocessing.as_files is for services; this engine takes "
            "decoded frames"
        )
    try:
        return msgspec.convert(card.settings, Settings)
    except msgspec.ValidationError as error:
        raise CardError(f"model card {card.name!r}: settings: {error}") from error


def engine_arguments(card: ModelCard) -> dict[str, Any]:
    """Return what vLLM is started with."""
    source, settings = locate(card), read_settings(card)
    pictures = (card.preprocessing.frames or 1) if settings.video == "images" else 1
    return {
        "model": source.place,
        "revision": source.revision,
        "dtype": settings.dtype,
        "trust_remote_code": card.trust_remote_code,
        "tensor_parallel_size": max(1, int(card.resources.gpus)),
        "max_num_seqs": card.resources.concurrency,
        "limit_mm_per_prompt": {"video": 1, "audio": 1, "image": pictures},
        **settings.engine,
    }


def chat_template(card: ModelCard) -> Any:
    """Return what renders messages: the processor; with placeholders, the tokenizer alone."""
    from transformers import AutoProcessor, AutoTokenizer

    loader = AutoTokenizer if read_settings(card).placeholders else AutoProcessor
    source = locate(card)
    return loader.from_pretrained(
        source.place, revision=source.revision, trust_remote_code=card.trust_remote_code
    )


def _adapters(card: ModelCard, settings: Settings) -> dict[str, Any]:
    if not settings.adapters:
        return {}
    from vllm.lora.request import LoRARequest

    root = _snapshot(locate(card), list(settings.adapters.values()))
    return {
        kind: LoRARequest(name, number, str(root / name))
        for number, (kind, name) in enumerate(settings.adapters.items(), start=1)
    }


def _snapshot(source: Source, folders: list[str]) -> Path:
    """Return the folder of a checkpoint; from a hub, only what is asked for is fetched."""
    if Path(source.place).is_dir():
        return Path(source.place)
    from huggingface_hub import snapshot_download

    patterns = [f"{folder}/*" for folder in folders]
    return Path(snapshot_download(source.place, revision=source.revision, allow_patterns=patterns))


def _sampling(request: Request, defaults: dict[str, Any]) -> Any:
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    asked = request.sampling
    given = {
        "temperature": asked.temperature,
        "top_p": asked.top_p,
        "max_tokens": asked.max_tokens,
        "seed": None if asked.seed is None else asked.seed + request.sample,
    }
    # vLLM's own default for max_tokens is 16; None lets an answer go on to the context's end.
    return SamplingParams(
        **{"max_tokens": None}
        | defaults
        | {name: value for name, value in given.items() if value is not None},
        output_kind=RequestOutputKind.FINAL_ONLY,
    )


def _effective(sampling: Any, commit: str | None, adapter: Any) -> dict[str, Any]:
    names = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "max_tokens", "seed")
    facts: dict[str, Any] = {"sampling": {name: getattr(sampling, name) for name in names}}
    if commit:
        facts["commit"] = commit
    if adapter is not None:
        facts["adapter"] = adapter.lora_name
    return facts


def _metadata(frames: Frames) -> dict[str, Any]:
    # What a reader of the whole file would say of these frames, so that their times are kept.
    count, fps = len(frames.times_s), frame_rate(frames)
    return {
        "fps": fps,
        "duration": count / fps,
        "total_num_frames": count,
        "frames_indices": np.arange(count).tolist(),
        "video_backend": "decord",
        "do_sample_frames": False,
    }


def _read(final: Any, effective: dict[str, Any]) -> Answer:
    said = final.outputs[0]
    cut = said.finish_reason == "length"
    return Answer(
        Outcome.TRUNCATED if cut else Outcome.OK,
        Response(text=said.text, finish_reason=said.finish_reason or ""),
        Usage(input_tokens=len(final.prompt_token_ids), output_tokens=len(said.token_ids)),
        effective,
    )


def _is_overflow(message: str) -> bool:
    return any(hint in message for hint in ("maximum context length", "maximum model length"))
