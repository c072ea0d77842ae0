"""Builders for tests: valid by default, with one thing overridden."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from bench import registry
from cache.record import Outcome, Record, Response
from cache.request import Media, Message, Request, Sampling, Text
from cache.run import RunHeader
from cache.store import Store
from infer.card import load_card
from infer.engine import create_engine
from infer.media.decode import Prepared
from infer.plan import make_plan
from score.judge.request import judge_request
from score.judge.rubric import RUBRICS, load_rubric
from score.judge.spec import JudgeSpec, Scale
from score.pair import Pair


def judge_pair(answer: str = "A man goes in and buys bread.", **changes: Any) -> Pair:
    """A pair of a summary; another answer makes another case."""
    fields: dict[str, Any] = {
        "item": "summary/01/001",
        "aspect": "detailed",
        "question": "What happens in the video?",
        "reference": "A man enters the shop and buys bread.",
        "answer": answer,
    }
    return Pair(**(fields | changes))


def judge_pairs(count: int) -> list[Pair]:
    """Pairs that are distinct cases."""
    return [judge_pair(f"answer {number}", item=f"item/{number}") for number in range(count)]


def chat_judge(base_url: str = "http://127.0.0.1:9/v1", **changes: Any) -> JudgeSpec:
    """A judge behind an OpenAI-compatible server that asks for no key, 0–10."""
    fields: dict[str, Any] = {
        "name": "scripted",
        "engine": "openai",
        "model": "scripted-1",
        "base_url": base_url,
        "scale": Scale(min=0, max=10, integer=True),
        "rubric": load_rubric("sonic-o1.jinja", RUBRICS),
        "concurrency": 4,
        "timeout_s": 10.0,
        "max_retries": 2,
    }
    return JudgeSpec(**(fields | changes))


def judge_record(spec: JudgeSpec, pair: Pair, text: str, sample: int = 0, **changes: Any) -> Record:
    """The record of a judge call that was answered with ``text``."""
    request = judge_request(spec, pair, sample)
    fields: dict[str, Any] = {
        "key": request.key(),
        "request": request,
        "outcome": Outcome.OK,
        "response": Response(text=text, finish_reason="stop"),
        "created": "2026-01-31T12:00:00.000Z",
    }
    return Record(**(fields | changes))


def store_request(question: str = "What happens?", **changes: Any) -> Request:
    """A request about one video; another question makes another key."""
    fields: dict[str, Any] = {
        "engine": "scripted",
        "model": "model-a",
        "messages": (
            Message(
                role="user",
                parts=(
                    Media(kind="video", sha256="0" * 64, start_s=1.5, end_s=30.0),
                    Text(text=question, name="question"),
                ),
            ),
        ),
        "sampling": Sampling(temperature=0.7, top_p=0.95, max_tokens=8192, seed=0),
    }
    return Request(**(fields | changes))


def store_record(question: str = "What happens?", answer: str = "A man.", **changes: Any) -> Record:
    """An answered request, created at one fixed time."""
    request = changes.pop("request", None) or store_request(question)
    fields: dict[str, Any] = {
        "key": request.key(),
        "request": request,
        "outcome": Outcome.OK,
        "response": Response(text=answer, finish_reason="stop"),
        "created": "2026-01-31T12:00:00.000Z",
    }
    return Record(**(fields | changes))


def store_records(count: int, *, start: int = 0) -> list[Record]:
    """Records with distinct keys."""
    return [
        store_record(f"question {number}", f"answer {number}")
        for number in range(start, start + count)
    ]


def answered_demo_store(path: Path, model: str = "chance") -> Path:
    """A store in which the bundled benchmark is answered, made without Ray and decoding."""
    benchmark = registry.get("demo")
    items = benchmark.load(None)
    card = load_card(model)
    engine = create_engine(card)
    prepared = Prepared((), {"video": [{"end_s": 40.0}]})
    with Store(path, create=True) as store:
        plan = make_plan(benchmark.prompts(items), card, store)
        header = RunHeader(
            name=f"demo-{model}",
            benchmark="demo",
            model=model,
            tasks=tuple(dict.fromkeys(item.task for item in items)),
        )
        store.write_run(header, plan.lines)
        for planned in plan.requests:
            answer = asyncio.run(engine.answer(planned.request, prepared))
            record = Record(
                key=planned.key,
                request=planned.request,
                outcome=answer.outcome,
                response=answer.response,
            )
            store.put(record, sync=False)
    return path
