"""The examples of docs/engines.md, run as they stand there; its table names every engine."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import infer.engines
from cache.record import Outcome
from cache.request import Media, Message, Request, Text
from infer.card import load_card
from infer.engine import create_engine, require_engine
from infer.media.decode import Prepared
from tests.bare_python import make_bare_python
from tests.test_infer_worker import PREPARED

GUIDE = (Path(__file__).parent.parent / "docs" / "engines.md").read_text()


def test_the_worker_adapter_of_the_guide_works(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "loudness.py").write_text(example("python", "def load(card)"))
    (tmp_path / "loudness.toml").write_text(example("toml", 'name = "loudness"'))
    monkeypatch.setenv("WORKER_PYTHON", make_bare_python(tmp_path / "environment"))

    said = answer(tmp_path / "loudness.toml", PREPARED)

    assert said == {"answer_letter": "B", "rationale": "2 frames unseen"}


def test_the_engine_of_the_guide_works(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "first_option.py").write_text(example("python", "def create(card"))
    (tmp_path / "first-option.toml").write_text(example("toml", 'name = "first-option"'))
    monkeypatch.syspath_prepend(tmp_path)

    said = answer(tmp_path / "first-option.toml", Prepared(()))

    assert said["answer_letter"] == "A"


def test_the_table_of_the_guide_names_every_engine() -> None:
    named = re.findall(r"^\| `(\w+)` \|", GUIDE, re.MULTILINE)

    folder = Path(infer.engines.__file__).parent
    assert sorted(named) == sorted(path.stem for path in folder.glob("[!_]*.py"))


def answer(card_path: Path, prepared: Prepared) -> dict[str, Any]:
    """The answer of a card's engine to a choice of two."""
    card = load_card(str(card_path))
    media = tuple(Media(kind=kind, sha256="a" * 64) for kind in ("video", "audio"))
    options = (Text(text="(B) end", name="option:B"), Text(text="(A) start", name="option:A"))
    parts = (*media[: len(prepared.media)], Text(text="Which?", name="question"), *options)
    request = Request(
        engine=card.engine, model=card.name, messages=(Message(role="user", parts=parts),)
    )
    require_engine(card)
    engine = create_engine(card)
    try:
        found = asyncio.run(engine.answer(request, prepared))
    finally:
        engine.close()
    assert found.outcome is Outcome.OK
    said: dict[str, Any] = json.loads(found.response.text)
    return said


def example(language: str, marker: str) -> str:
    """The block of the guide in a language that has a marker in it."""
    blocks = re.findall(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)
    [found] = [block for block in blocks if marker in block]
    return str(found)
