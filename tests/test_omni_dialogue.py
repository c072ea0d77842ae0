"""A dialogue before vLLM: the tiny omni checkpoint, real clips, a context that fills up.

vLLM runs inside this process (tests/vllm_here.py), as in test_omni_engines.py.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bench import registry
from cache.record import Outcome
from cache.request import Message, Text
from cache.store import Store
from infer.card import load_card
from infer.dialogue import Cut, Dialogue, make_dialogues
from infer.history import History, Shown, ask_within, clips_of
from infer.ladder import Attempt
from infer.media.apart import prepare_apart
from tests.tiny_omni import make_tiny_omni
from tests.vllm_here import vllm_here

pytestmark = pytest.mark.vllm

DATA = Path(__file__).parent / "data"
LIMIT = 4096


@pytest.fixture(autouse=True)
def _small_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
    monkeypatch.setenv("VLLM_CPU_OMP_THREADS_BIND", "nobind")
    monkeypatch.setenv("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def test_turns_see_the_earlier_clips_and_answers_until_there_is_no_room(tmp_path: Path) -> None:
    """Four turns and an example; then the last turn again with room for half of its history."""
    checkpoint = make_tiny_omni(tmp_path / "tiny")
    text = (DATA / "tiny-omni-vllm.toml").read_text().replace("LIMIT", str(LIMIT))
    card_path = tmp_path / "tiny.toml"
    card_path.write_text(
        text.replace("CHECKPOINT", str(checkpoint)).replace(
            "[settings.engine]\n",
            "[settings.engine]\nlimit_mm_per_prompt = { video = 8, audio = 8 }\n",
        )
    )
    card = load_card(str(card_path)).in_dialogues()
    benchmark = registry.get("demo-assistant")
    items = benchmark.load(None)
    with Store(tmp_path / "store", create=True) as store:
        sandwich = make_dialogues(benchmark.prompts(items), items, card, store).dialogues[0]
    shown = [decoded(sandwich, *clip) for clip in clips_of(sandwich)]

    with vllm_here(card) as engine:
        attempts = asyncio.run(converse(engine, sandwich, shown))
        tokens = [attempt.answer.usage.input_tokens for attempt in attempts]
        half = replace(sandwich.base.preprocessing, context_tokens=tokens[-1] // 2)
        tight = replace(sandwich, base=replace(sandwich.base, preprocessing=half))
        said = [answer(attempt) for attempt in attempts[:-1]]
        cut = asyncio.run(ask_within(engine, History(tight, 3, said, shown, Cut())))

    assert {attempt.answer.outcome for attempt in attempts} <= {Outcome.OK, Outcome.TRUNCATED}
    assert tokens == sorted(tokens)
    facts = [attempt.effective["context"] for attempt in attempts]
    assert [one["input_tokens"] for one in facts] == tokens
    assert not any(one["dropped"] for one in facts)
    dropped = cut.effective["context"]
    assert cut.answer.usage.input_tokens == dropped["input_tokens"] <= tokens[-1] // 2
    assert dropped["dropped"][0] == {"clip": "example", "whole": True}
    assert dropped["turns_dropped"] >= 1


async def converse(engine: Any, dialogue: Dialogue, shown: list[Shown]) -> list[Attempt]:
    attempts: list[Attempt] = []
    for number in range(len(dialogue.steps)):
        said = [answer(attempt) for attempt in attempts]
        clips = [one for one in shown if one.step <= number]
        attempts.append(await ask_within(engine, History(dialogue, number, said, clips, Cut())))
    return attempts


def answer(attempt: Attempt) -> Text:
    return Text(text=attempt.answer.response.text, name="answer")


def decoded(dialogue: Dialogue, step: int, item: str, parts: Any) -> Shown:
    # Apart, because vLLM does not start in a process that has loaded llvmlite, as librosa does.
    request = replace(dialogue.base, messages=(Message(role="user", parts=parts),))
    return Shown(step, item, parts, prepare_apart(request, dialogue.files))
