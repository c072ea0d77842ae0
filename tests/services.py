"""Cards, requests and calls for tests of the engines that ask a service."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from cache.request import Media, MediaKind, Message, Request, Role, Sampling, Text
from infer.card import ModelCard
from infer.engine import Answer, create_engine
from infer.media.decode import Prepared, prepare

ROOT = Path(__file__).parent.parent
SECRET = "sk-test-0123456789abcdef"
"""The API key of these tests: it must turn up in no file and no message."""


def make_card(
    engine: str,
    base_url: str,
    *,
    settings: Mapping[str, Any] | None = None,
    service: Mapping[str, Any] | None = None,
    concurrency: int = 8,
    **members: Any,
) -> ModelCard:
    """Return a card for a server on this machine; each call is tried once unless it says more."""
    found: dict[str, Any] = {
        "name": "served",
        "engine": engine,
        "modality": "video+audio",
        "tasks": ["summary", "choice", "localization"],
        "description": "For tests.",
        "verified": "protocol only",
        "preprocessing": {"frames": 4, "shorter_edge_px": 96},
        "settings": {"model": "scripted-1", **(settings or {})},
        "service": {
            "base_url": base_url,
            "api_key_env": "REJUDGE_TEST_KEY",
            "timeout_s": 20.0,
            "max_retries": 0,
            **(service or {}),
        },
        "resources": {"cpus": 0.5, "concurrency": concurrency},
        **members,
    }
    return msgspec.convert(found, ModelCard)


def make_request(
    card: ModelCard, *parts: Text | Media, sample: int = 0, system: str = "", **sampling: Any
) -> Request:
    """Return a request of one user's message."""
    messages: tuple[Message, ...] = (_message("user", *parts),)
    if system:
        messages = (_message("system", Text(text=system)), *messages)
    return Request(
        engine=card.engine,
        model=card.name,
        messages=messages,
        preprocessing=msgspec.structs.replace(card.preprocessing, modality=card.modality),
        sampling=Sampling(**sampling) if sampling else card.sampling,
        settings=card.settings,
        sample=sample,
    )


def clip(path: Path, kind: MediaKind = "video", *bounds: float) -> Media:
    """Return a media part for a file, or for a stretch of it."""
    start_s, end_s = bounds or (None, None)
    return Media(kind=kind, sha256=digest(path), start_s=start_s, end_s=end_s)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def prepare_from(request: Request, *paths: Path) -> Prepared:
    """Decode a request's media as the pipeline does."""
    return prepare(request, {digest(path): str(path) for path in paths})


def ask(card: ModelCard, *asked: tuple[Request, Prepared]) -> list[Answer]:
    """Ask all at once; what an engine raises is raised."""

    async def run() -> list[Answer]:
        engine = create_engine(card)
        try:
            return list(await asyncio.gather(*(engine.answer(*one) for one in asked)))
        finally:
            engine.close()

    return asyncio.run(run())


def ask_text(card: ModelCard, text: str = "Say something.", **options: Any) -> Answer:
    """Ask for an answer to a text alone."""
    [answer] = ask(card, (make_request(card, Text(text=text), **options), Prepared()))
    return answer


def ask_each_in_turn(card: ModelCard, count: int) -> list[Answer | Exception]:
    """Ask one after the other with one engine; what is raised stands for the answer."""

    async def run() -> list[Answer | Exception]:
        engine = create_engine(card)
        found: list[Answer | Exception] = []
        for number in range(count):
            request = make_request(card, Text(text=f"Question {number}"))
            try:
                found.append(await engine.answer(request, Prepared()))
            except Exception as error:
                found.append(error)
        engine.close()
        return found

    return asyncio.run(run())


def write_card(path: Path, card: ModelCard) -> Path:
    """Write a card as TOML."""
    members = msgspec.to_builtins(card)
    path.write_text(
        "".join(
            f"{name} = {_toml(value)}\n" for name, value in members.items() if value is not None
        )
    )
    return path


def infer(store: Path, card: Path, *options: str, expect: int = 0, key: str = SECRET) -> Any:
    """Run ``rejudge infer demo``; return its JSON, or what it said where it has none."""
    environ = {**os.environ, "REJUDGE_TEST_KEY": key}
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "rejudge", "infer", "demo", "--model", str(card)),
            *("--store", str(store), "--json", *options),
        ],
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == expect, ran.stderr
    assert SECRET not in ran.stdout + ran.stderr
    return json.loads(ran.stdout) if ran.stdout.strip() else ran.stderr


def bytes_of(folder: Path) -> bytes:
    """Everything that a folder's files hold."""
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def _message(role: Role, *parts: Text | Media) -> Message:
    return Message(role=role, parts=parts)


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        # TOML has no null: what is not set is left out.
        kept = {name: inner for name, inner in value.items() if inner is not None}
        return "{" + ", ".join(f"{name} = {_toml(inner)}" for name, inner in kept.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)
