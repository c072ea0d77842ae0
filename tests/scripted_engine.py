"""An engine whose behaviour a test writes into the model card: slow, failing, crashing, echoing.

It stands in for real models where a test is about the flow of requests, not about answers. Every
call is appended to a log file, so that calls can be counted across processes.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from cache.record import Outcome, Response
from cache.request import Request
from infer.asked import read_asked
from infer.card import ModelCard
from infer.engine import Answer
from infer.media.decode import Prepared


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
        fatal = self._script.get("die_on_call")
        if call == fatal:
            os._exit(1)
        if call == self._script.get("refuse_on_call"):
            return Answer(Outcome.REFUSED, Response(error="the scripted refusal"))
        if call == self._script.get("raise_on_call"):
            raise RuntimeError("the scripted failure")
        return Answer(Outcome.OK, Response(text=f"echo: {question}", finish_reason="stop"))

    def close(self) -> None:
        pass


def create(card: ModelCard) -> ScriptedEngine:
    if card.settings.get("broken"):
        raise RuntimeError("the scripted engine does not start")
    return ScriptedEngine(card.settings)


def calls(log: Path) -> list[str]:
    """Keys of the calls so far, oldest first."""
    return log.read_text().split() if log.exists() else []


def write_card(folder: Path, *, concurrency: int = 4, **script: Any) -> tuple[Path, Path]:
    """Write a card for this engine; return its path and the path of its call log."""
    log = folder / "calls.log"
    lines = [f'log = "{log}"', *(f"{name} = {_toml(value)}" for name, value in script.items())]
    card = folder / "scripted.toml"
    card.write_text(
        'name = "scripted"\nengine = "tests.scripted_engine"\ncheckpoint = ""\n'
        'modality = "captions"\ntasks = ["summary", "choice", "localization"]\n'
        'description = "For tests."\nverified = "no weights"\n'
        f"[settings]\n{chr(10).join(lines)}\n"
        f"[resources]\ncpus = 0.5\nconcurrency = {concurrency}\n"
    )
    return card, log


def _log_call(log: Path, key: str) -> int:
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(descriptor, f"{key}\n".encode())
    os.close(descriptor)
    return len(calls(log))


def _toml(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
