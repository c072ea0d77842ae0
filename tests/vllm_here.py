"""vLLM inside this process, behind the face of its asynchronous engine.

The asynchronous engine starts two processes that import everything again, half a minute each time.
What an architecture does with a request is the same here, and a new one is there in seconds.
"""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

from infer.card import ModelCard
from infer.engines.vllm import VllmEngine, chat_template, engine_arguments


class _Here:
    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.renderer = engine.renderer
        self.model_config = engine.model_config

    async def generate(
        self, prompt: Any, sampling: Any, number: str, *, lora_request: Any = None
    ) -> AsyncIterator[Any]:
        self._engine.add_request(number, prompt, sampling, lora_request=lora_request)
        while self._engine.has_unfinished_requests():
            for output in self._engine.step():
                yield output


@contextmanager
def vllm_here(card: ModelCard) -> Iterator[VllmEngine]:
    """Load a card's checkpoint into this process; VLLM_ENABLE_V1_MULTIPROCESSING must be 0."""
    from vllm import LLM
    from vllm.distributed import cleanup_dist_env_and_memory

    llm = LLM(**engine_arguments(card), disable_log_stats=True)
    try:
        yield VllmEngine(_Here(llm.llm_engine), chat_template(card), card)
    finally:
        llm.llm_engine.engine_core.shutdown()
        del llm
        gc.collect()
        cleanup_dist_env_and_memory()
