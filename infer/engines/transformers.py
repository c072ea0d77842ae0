"""Open-weight models through transformers, on a GPU or the CPU.

    [settings]
    model_class = "Qwen2_5OmniThinkerForConditionalGeneration"    a class of transformers
    dtype = "bfloat16"
    max_input_tokens = 32768       a longer prompt overflows
    video = "images"               frames as pictures, for models that know no video
    frame_times = true             then each follows a line of text with its time
    fps_argument = "fps"           name under which the processor is told the frames' true rate
    [settings.processor_kwargs]    what the model's processor takes
    [settings.generation]          what generate() takes beside temperature, top_p, max_new_tokens
    [settings.placeholders]        see infer/chat.py
    [settings.chat]                further arguments of the chat template

One request is generated at a time: batches of unequal media would have to be padded, and padding
changes some models' answers. For throughput use the vLLM engine.
"""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import msgspec

from cache.record import Outcome, Response, Usage
from cache.request import Request, Sampling
from infer.card import ModelCard
from infer.chat import Chat, frame_rate, make_chat
from infer.checkpoint import locate
from infer.engine import Answer
from infer.errors import CardError
from infer.media.decode import Prepared

NEEDS = {"torch": "infer", "transformers": "infer"}


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a card may say under ``[settings]``."""

    model_class: str = "AutoModelForImageTextToText"
    dtype: str = "auto"
    max_input_tokens: int | None = None
    video: Literal["video", "images"] = "video"
    frame_times: bool = False
    fps_argument: str = ""
    processor_kwargs: dict[str, Any] = {}
    generation: dict[str, Any] = {}
    placeholders: dict[str, str] = {}
    chat: dict[str, Any] = {}


class TransformersEngine:
    """Generates with a model and a processor of transformers."""

    def __init__(self, model: Any, processor: Any, card: ModelCard) -> None:
        self._model = model
        self._processor = processor
        self._settings = read_settings(card)
        self._context_tokens = card.context_tokens
        self._turn = asyncio.Lock()
        self.input_limit = self._settings.max_input_tokens

    def close(self) -> None:
        """Nothing outlives the process."""

    async def answer(self, request: Request, prepared: Prepared) -> Answer:
        """Return the generated answer; overflow and exhausted memory are outcomes."""
        async with self._turn:
            return await asyncio.to_thread(self._generate, request, self._chat(request, prepared))

    async def count_tokens(self, request: Request, prepared: Prepared) -> int | None:
        """Count a prompt's tokens, media included."""
        inputs = await asyncio.to_thread(self._inputs, self._chat(request, prepared))
        return int(inputs["input_ids"].shape[1])

    def _chat(self, request: Request, prepared: Prepared) -> Chat:
        chat = make_chat(request, prepared)
        if self._settings.video == "images":
            return chat.with_pictures(timed=self._settings.frame_times)
        return chat

    def _generate(self, request: Request, chat: Chat) -> Answer:
        import torch

        inputs = self._inputs(chat)
        n_input = int(inputs["input_ids"].shape[1])
        if self.input_limit is not None and n_input > self.input_limit:
            text = f"{n_input} input tokens, the limit is {self.input_limit}"
            return Answer(
                Outcome.CONTEXT_OVERFLOW, Response(error=text), Usage(input_tokens=n_input)
            )
        options = self._options(request.sampling, n_input)
        seed = None
        if request.sampling.seed is not None:
            seed = request.sampling.seed + request.sample
            torch.manual_seed(seed)
        try:
            with torch.inference_mode():
                ids = self._model.generate(**inputs.to(self._model.device), **options)
        except torch.cuda.OutOfMemoryError as error:
            torch.cuda.empty_cache()
            return Answer(Outcome.OUT_OF_MEMORY, Response(error=str(error)))
        return self._read(ids[0, n_input:], n_input, options | {"seed": seed})

    def _inputs(self, chat: Chat) -> Any:
        settings = self._settings
        renderer = self._processor.tokenizer if settings.placeholders else self._processor
        prompt = renderer.apply_chat_template(
            chat.messages(settings.placeholders),
            tokenize=False,
            add_generation_prompt=True,
            **settings.chat,
        )
        media = {
            "videos": [frames.pixels for frames in chat.of("video")],
            "images": [frames.pixels[0] for frames in chat.of("image")],
            "audio": [sound.samples for sound in chat.of("audio")],
        }
        given = {name: found for name, found in media.items() if found}
        extra = dict(settings.processor_kwargs)
        if settings.fps_argument and given.get("videos"):
            rate = {settings.fps_argument: frame_rate(chat.of("video")[0])}
            extra["videos_kwargs"] = extra.get("videos_kwargs", {}) | rate
        return self._processor(text=[prompt], return_tensors="pt", **given, **extra)

    def _options(self, asked: Sampling, n_input: int) -> dict[str, Any]:
        """What is unset is left to the weights' own generation_config.json."""
        options = dict(self._settings.generation)
        own = self._model.generation_config.max_new_tokens
        # Without a limit of its own an answer may go on to the end of the context.
        room = max(1, (self._context_tokens or 0) - n_input)
        options["max_new_tokens"] = asked.max_tokens or own or room
        if asked.temperature is not None:
            options["do_sample"] = asked.temperature > 0
        if asked.temperature:
            options["temperature"] = asked.temperature
        if asked.top_p is not None and asked.temperature != 0:
            options["top_p"] = asked.top_p
        return options

    def _read(self, ids: Any, n_input: int, options: dict[str, Any]) -> Answer:
        text = self._processor.batch_decode([ids], skip_special_tokens=True)[0]
        cut = len(ids) >= options["max_new_tokens"] and int(ids[-1]) not in self._ends()
        return Answer(
            Outcome.TRUNCATED if cut else Outcome.OK,
            Response(text=text, finish_reason="length" if cut else "stop"),
            Usage(input_tokens=n_input, output_tokens=len(ids)),
            self._effective(options),
        )

    def _ends(self) -> list[int]:
        ends = self._model.generation_config.eos_token_id
        return ends if isinstance(ends, list) else [ends]

    def _effective(self, options: dict[str, Any]) -> dict[str, Any]:
        own = self._model.generation_config
        names = ("do_sample", "temperature", "top_p", "top_k", "min_p", "repetition_penalty")
        used = {name: options.get(name, getattr(own, name, None)) for name in names}
        used |= {"max_tokens": options["max_new_tokens"], "seed": options["seed"]}
        commit = getattr(self._model.config, "_commit_hash", None)
        return {"sampling": used} | ({"commit": commit} if commit else {})


def create(card: ModelCard) -> TransformersEngine:
    """Load the checkpoint with the class that the card names.

    Raises:
        CardError: transformers has no such class, or nothing says when an answer is cut.
        FeatureMissing: the checkpoint is not there, or is another.
    """
    import torch
    import transformers

    settings, source = read_settings(card), locate(card)
    model_class = getattr(transformers, settings.model_class, None)
    if model_class is None:
        raise CardError(
            f"model card {card.name!r}: transformers has no class {settings.model_class!r}"
        )
    options = {"revision": source.revision, "trust_remote_code": card.trust_remote_code}
    model = model_class.from_pretrained(
        source.place,
        dtype=settings.dtype,
        device_map="auto" if torch.cuda.is_available() else None,
        **options,
    ).eval()
    own = model.generation_config.max_new_tokens
    if not (card.sampling.max_tokens or own or card.context_tokens):
        raise CardError(
            f"model card {card.name!r}: say where an answer is cut: sampling.max_tokens, or "
            "context_tokens for the end of the context"
        )
    processor = transformers.AutoProcessor.from_pretrained(source.place, **options)
    return TransformersEngine(model, processor, card)


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
