"""Open-weight models through transformers, on a GPU or the CPU.

    [settings]
    model_class = "Qwen2_5OmniThinkerForConditionalGeneration"    a class of transformers
    dtype = "bfloat16"
    max_input_tokens = 32768       a longer prompt overflows

One request is generated at a time: batches of unequal media would have to be padded, and padding
changes some models' answers. For throughput use the vLLM engine.
"""

from __future__ import annotations

import asyncio
from typing import Any

from cache.record import Outcome, Response, Usage
from cache.request import Request, Sampling
from infer.card import ModelCard
from infer.chat import Chat, make_chat
from infer.checkpoint import resolve
from infer.engine import Answer
from infer.errors import CardError
from infer.media.decode import Prepared

NEEDS = {"torch": "infer", "transformers": "infer"}


class TransformersEngine:
    """Generates with a model and a processor of transformers."""

    def __init__(self, model: Any, processor: Any, card: ModelCard) -> None:
        self._model = model
        self._processor = processor
        self._settings = card.settings
        self._turn = asyncio.Lock()

    def close(self) -> None:
        """Nothing outlives the process."""

    async def answer(self, request: Request, prepared: Prepared) -> Answer:
        """Return the generated answer; overflow and exhausted memory are outcomes."""
        async with self._turn:
            return await asyncio.to_thread(self._generate, request, make_chat(request, prepared))

    def _generate(self, request: Request, chat: Chat) -> Answer:
        import torch

        inputs = self._inputs(chat)
        n_input = int(inputs["input_ids"].shape[1])
        limit = self._settings.get("max_input_tokens")
        if limit is not None and n_input > limit:
            text = f"{n_input} input tokens, the limit is {limit}"
            return Answer(
                Outcome.CONTEXT_OVERFLOW, Response(error=text), Usage(input_tokens=n_input)
            )
        options = _generation(request.sampling)
        if request.sampling.seed is not None:
            torch.manual_seed(request.sampling.seed + request.sample)
        try:
            with torch.inference_mode():
                ids = self._model.generate(**inputs.to(self._model.device), **options)
        except torch.cuda.OutOfMemoryError as error:
            torch.cuda.empty_cache()
            return Answer(Outcome.OUT_OF_MEMORY, Response(error=str(error)))
        return self._read(ids[0, n_input:], n_input, options["max_new_tokens"])

    def _inputs(self, chat: Chat) -> Any:
        prompt = self._processor.apply_chat_template(
            chat.messages(self._settings.get("placeholders", {})),
            tokenize=False,
            add_generation_prompt=True,
        )
        given = {
            name: [getattr(content, field) for content in found]
            for kind, name, field in (
                ("video", "videos", "pixels"),
                ("image", "images", "pixels"),
                ("audio", "audio", "samples"),
            )
            if (found := chat.of(kind))
        }
        extra = self._settings.get("processor_kwargs", {})
        return self._processor(text=[prompt], return_tensors="pt", **given, **extra)

    def _read(self, ids: Any, n_input: int, most: int) -> Answer:
        text = self._processor.batch_decode([ids], skip_special_tokens=True)[0]
        cut = len(ids) >= most
        return Answer(
            Outcome.TRUNCATED if cut else Outcome.OK,
            Response(text=text, finish_reason="length" if cut else "stop"),
            Usage(input_tokens=n_input, output_tokens=len(ids)),
        )


def create(card: ModelCard) -> TransformersEngine:
    """Load the checkpoint with the class that the card names.

    Raises:
        CardError: transformers has no such class.
    """
    import torch
    import transformers

    name = card.settings.get("model_class", "AutoModelForImageTextToText")
    model_class = getattr(transformers, name, None)
    if model_class is None:
        raise CardError(f"model card {card.name!r}: transformers has no class {name!r}")
    where = resolve(card.checkpoint)
    options = {"revision": card.revision} if card.revision and where == card.checkpoint else {}
    model = model_class.from_pretrained(
        where,
        dtype=card.settings.get("dtype", "auto"),
        device_map="auto" if torch.cuda.is_available() else None,
        **options,
    ).eval()
    processor = transformers.AutoProcessor.from_pretrained(where, **options)
    return TransformersEngine(model, processor, card)


def _generation(sampling: Sampling) -> dict[str, Any]:
    greedy = not sampling.temperature
    options: dict[str, Any] = {
        "do_sample": not greedy,
        "max_new_tokens": sampling.max_tokens or 1024,
    }
    if not greedy:
        options["temperature"] = sampling.temperature
        options["top_p"] = 1.0 if sampling.top_p is None else sampling.top_p
    return options
