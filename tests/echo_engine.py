"""An engine that says what it was sent: every message, with the media in it, in a log of its own.

    system: … | user: [video 0-4 s: 8 frames] [audio 4 s] … | assistant: said 1

What it answers names the turn and the history, so that another history is another answer.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.labels import SILENCE
from cache.record import Outcome, Response, Usage
from cache.request import Media, Request
from infer.card import ModelCard
from infer.engine import Answer
from infer.media.decode import Prepared
from infer.media.frames import Frames
from infer.media.sound import Sound


class EchoEngine:
    """Answers with a digest of what it was sent."""

    def __init__(self, script: dict[str, Any]) -> None:
        self._script = script
        self._log = Path(script["log"])

    async def answer(self, request: Request, prepared: Prepared) -> Answer:
        sent = as_sent(request, prepared)
        turn = sum(message["role"] == "user" for message in sent)
        call = _append(self._log, sent)
        await asyncio.sleep(self._script.get("delay_s", 0.0))
        if most := self._script.get("takes"):  # a service that only says that it is too much
            tokens = count(prepared)
            if tokens > most:
                return Answer(Outcome.CONTEXT_OVERFLOW, Response(error=f"{tokens} tokens"))
        if call == self._script.get("kill_on_call"):
            os.kill(int(Path(self._script["pid"]).read_text()), signal.SIGKILL)
            await asyncio.sleep(600)
        if call == self._script.get("fail_on_call"):
            raise RuntimeError("the scripted failure")
        if call == self._script.get("filter_on_call"):
            return Answer(Outcome.CONTENT_FILTER, Response(error="the scripted filter"))
        if call == self._script.get("quiet_on_call"):
            return Answer(Outcome.OK, Response(text=SILENCE, finish_reason="stop"))
        said = f"said {turn}: {digest(sent)}"
        return Answer(Outcome.OK, Response(text=said), Usage(input_tokens=9, output_tokens=3))

    def close(self) -> None:
        pass


class CountingEcho(EchoEngine):
    """One that counts what it is sent."""

    def __init__(self, script: dict[str, Any]) -> None:
        super().__init__(script)
        self.input_limit: int | None = script["context"]

    async def count_tokens(self, request: Request, prepared: Prepared) -> int | None:
        return count(prepared)


def create(card: ModelCard) -> EchoEngine:
    script = json.loads(Path(card.settings["script"]).read_text())
    return (CountingEcho if "context" in script else EchoEngine)(script)


def as_sent(request: Request, prepared: Prepared) -> list[dict[str, Any]]:
    """Return the messages with, in place of the media, what is in them."""
    decoded = iter(prepared.media)
    return [
        {"role": message.role, "parts": list(_parts(message.parts, decoded))}
        for message in request.messages
    ]


def digest(sent: list[dict[str, Any]]) -> str:
    return hashlib.sha256(json.dumps(sent).encode()).hexdigest()[:12]


def count(prepared: Prepared) -> int:
    """One token a frame, and one for each second of sound."""
    frames = sum(len(one.times_s) for one in prepared.media if isinstance(one, Frames))
    sounds = [one for one in prepared.media if isinstance(one, Sound)]
    return frames + round(sum(len(one.samples) / one.sample_rate_hz for one in sounds))


def calls(log: Path) -> list[list[dict[str, Any]]]:
    """Return what was sent so far, oldest first."""
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def write_card(folder: Path, *, concurrency: int = 4, **script: Any) -> tuple[Path, Path]:
    """Write a card for this engine; return its path and the path of its log.

    The script is in a file beside it: settings are part of the key, what goes wrong is not.
    """
    log = folder / "calls.jsonl"
    card = folder / "echo.toml"
    script_file = folder / "script.json"
    script_file.write_text(json.dumps({"log": str(log)} | script))
    card.write_text(
        'name = "echo"\nengine = "tests.echo_engine"\nmodality = "video+audio"\n'
        'tasks = ["assistant"]\ndescription = "For tests."\nverified = "no weights"\n'
        "[preprocessing]\nfps = 1.0\nshorter_edge_px = 36\nsample_rate_hz = 8000\n"
        f'[settings]\nscript = "{script_file}"\n'
        f"[resources]\ncpus = 0.5\nconcurrency = {concurrency}\n"
    )
    return card, log


def _parts(parts: Any, decoded: Iterator[Any]) -> Iterator[Any]:
    for part in parts:
        if not isinstance(part, Media):
            yield part.text
            continue
        media = next(decoded)
        inside: dict[str, Any] = {"media": part.kind, "sha256": part.sha256[:12]}
        if isinstance(media, Frames):
            inside["times_s"] = [round(float(at), 2) for at in media.times_s]
        elif isinstance(media, Sound):
            inside["seconds"] = round(len(media.samples) / media.sample_rate_hz, 2)
        yield inside


def _append(log: Path, sent: list[dict[str, Any]]) -> int:
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(descriptor, json.dumps(sent).encode() + b"\n")
    os.close(descriptor)
    return len(calls(log))
