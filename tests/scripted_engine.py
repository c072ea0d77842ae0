"""An engine whose behaviour a test writes into the model card: slow, failing, crashing, echoing.

It stands in for real models where a test is about the flow of requests, not about answers. Every
call is appended to a log file, so that calls can be counted across processes.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path
from typing import Any

from cache.record import Outcome, Response, Usage
from cache.request import Request
from infer.asked import read_asked
from infer.card import ModelCard
from infer.engine import Answer
from infer.errors import EngineDied, ServiceRefused
from infer.media.decode import Prepared
from infer.media.frames import Frames
from infer.media.sound import Sound


class ScriptedEngine:
    """Answers with the question it was asked."""

    def __init__(self, script: dict[str, Any]) -> None:
        self._script = script
        self._log = Path(script["log"])

    async def answer(self, request: Request, prepared: Prepared) -> Answer:
        call = _log_call(self._log, request.key())
        await asyncio.sleep(self._script.get("delay_s", 0.0))
        if self._script.get("reverse"):  # the later it came, the sooner it ends
            await asyncio.sleep(max(0.0, 0.4 - 0.02 * call))
        question = read_asked(request).question
        if call <= self._script.get("raise_up_to_call", 0):
            raise RuntimeError("the scripted failure")
        if call == self._script.get("die_on_call") or question == self._script.get("die_on"):
            os._exit(1)
        if question == self._script.get("lose_on"):  # as if a process of the engine's had died
            raise EngineDied("the scripted loss")
        if call == self._script.get("refuse_on_call"):
            return Answer(Outcome.REFUSED, Response(error="the scripted refusal"))
        if question == self._script.get("too_long"):
            return Answer(Outcome.CONTEXT_OVERFLOW, Response(error="the scripted overflow"))
        if call == self._script.get("raise_on_call"):
            raise RuntimeError("the scripted failure")
        if call >= self._script.get("shut_from_call", call + 1):
            raise ServiceRefused("the scripted service is shut")
        if question == self._script.get("unstorable"):
            answer = Answer(Outcome.OK, Response(text="x"))
            answer.effective["said"] = "\ud83d"  # past what an Answer cleans
            return answer
        said = Response(text=f"echo: {question}", finish_reason="stop")
        return Answer(Outcome.OK, said, Usage(input_tokens=100, output_tokens=10))

    def close(self) -> None:
        if closes := self._script.get("closes"):
            _log_call(Path(closes), "close")


class CountingEngine(ScriptedEngine):
    """One with a context that media fill up."""

    def __init__(self, script: dict[str, Any]) -> None:
        super().__init__(script)
        self.input_limit: int = script["context"]

    async def count_tokens(self, request: Request, prepared: Prepared) -> int:
        return sum(
            len(part.times_s) * self._script["tokens_a_frame"]
            if isinstance(part, Frames)
            else round(len(part.samples) / part.sample_rate_hz * self._script["tokens_a_second"])
            for part in prepared.media
            if isinstance(part, Frames | Sound)
        )

    async def answer(self, request: Request, prepared: Prepared) -> Answer:
        tokens = await self.count_tokens(request, prepared)
        if tokens > self.input_limit:
            return Answer(Outcome.CONTEXT_OVERFLOW, Response(error=f"{tokens} tokens"))
        return await super().answer(request, prepared)


def create(card: ModelCard) -> ScriptedEngine:
    if card.settings.get("broken"):
        raise RuntimeError("the scripted engine does not start")
    if starts := card.settings.get("starts"):
        _log_call(Path(starts), "start")
        os._exit(1)
    if pids := card.settings.get("helper"):  # a process of the engine's own, like vLLM's EngineCore
        helper = subprocess.Popen(["sleep", "300"])
        _log_call(Path(pids), str(helper.pid))
    return (CountingEngine if "context" in card.settings else ScriptedEngine)(card.settings)


def calls(log: Path) -> list[str]:
    """Keys of the calls so far, oldest first."""
    return log.read_text().split() if log.exists() else []


def write_card(
    folder: Path, *, concurrency: int = 4, actors: int = 1, **script: Any
) -> tuple[Path, Path]:
    """Write a card for this engine; return its path and the path of its call log."""
    log = folder / "calls.log"
    lines = [f'log = "{log}"', *(f"{name} = {_toml(value)}" for name, value in script.items())]
    card = folder / "scripted.toml"
    card.write_text(
        'name = "scripted"\nengine = "tests.scripted_engine"\ncheckpoint = ""\n'
        'modality = "audio+captions"\ntasks = ["summary", "choice", "localization"]\n'
        'description = "For tests."\nverified = "no weights"\n'
        f"[settings]\n{chr(10).join(lines)}\n"
        f"[resources]\ncpus = {0.5 / actors}\nactors = {actors}\nconcurrency = {concurrency}\n"
    )
    return card, log


def _log_call(log: Path, key: str) -> int:
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(descriptor, f"{key}\n".encode())
    os.close(descriptor)
    return len(calls(log))


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str | Path) else str(value)
