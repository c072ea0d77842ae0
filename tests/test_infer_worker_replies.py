"""A reply of an adapter that is none fails its request; no reply ends the worker or the run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cache.record import Outcome
from infer.engine import create_engine
from infer.engines.worker import WorkerEngine
from tests.bare_python import make_bare_python
from tests.test_infer_worker import ask, gather, loads, make_card, make_request


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_bare_python(tmp_path_factory.mktemp("bare"))


@pytest.fixture
def engine(bare: str, tmp_path: Path) -> Iterator[WorkerEngine]:
    started = create_engine(make_card(bare, tmp_path / "log", timeout_s=20.0))
    assert isinstance(started, WorkerEngine)
    yield started
    started.close()


@pytest.mark.parametrize(
    ("code", "tokens"),
    [
        ("ask.reply('x', 4.0, 5.0)", (4, 5)),
        ("ask.reply('x', np.int64(4), np.int32(5))", (4, 5)),
        ("ask.reply('x', np.float32(4), np.float64(5))", (4, 5)),
        ("ask.reply('x', 2**63)", (None, None)),
        ("dict(ask.reply('x'), tensors={1: object()})", (None, None)),
    ],
)
def test_numbers_of_other_libraries_are_taken(
    code: str, tokens: tuple[int | None, int | None], engine: WorkerEngine
) -> None:
    [answer] = ask(engine, f"as {code}")

    assert (answer.outcome, answer.response.text) == (Outcome.OK, "x")
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == tokens


def test_a_reply_that_is_none_fails_its_request_and_says_why(
    engine: WorkerEngine, tmp_path: Path
) -> None:
    odd = {
        "ask.reply(None)": "text is None, not a string",
        "ask.reply(5)": "text is 5, not a string",
        "ask.reply('x', 4, 5.5)": "output_tokens is 5.5, not a number of tokens",
        "dict(ask.reply('x'), output_tokens='5')": "output_tokens is '5'",
        "dict(ask.reply('x'), input_tokens=float('nan'))": "input_tokens is nan",
        "dict(ask.reply('x'), input_tokens=-1)": "input_tokens is -1",
        "dict(ask.reply('x'), finish_reason=None)": "finish_reason is None",
        "{'outcome': 'banana', 'text': 'x'}": "outcome is 'banana'",
        "{'outcome': np.zeros(2)}": "reply does not hold",
        "{'text': 'x'}": "outcome is None",
        "'text'": "'text' is not what ask.reply or ask.failed returns",
    }
    answers = ask(engine, *(f"as {code}" for code in odd), "say on")

    assert {answer.outcome for answer in answers[:-1]} == {Outcome.INFRA_ERROR}
    for answer, words in zip(answers, odd.values(), strict=False):
        assert words in answer.response.error
    assert answers[-1].response.text == "on"
    assert len(loads(tmp_path)) == 1


@pytest.mark.parametrize(
    "reply", [{"outcome": "banana"}, {"text": "x"}, {"outcome": "ok", "text": None}, "text", None]
)
def test_a_worker_that_speaks_otherwise_fails_its_request_and_not_the_engine(
    reply: Any, engine: WorkerEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one of another version would: what ``serve.py`` checks is checked here again."""
    worker = engine._worker
    assert worker is not None
    with monkeypatch.context() as patched:
        patched.setattr(worker, "ask", lambda asks, timeout_s: [reply for _ in asks])
        [odd] = ask(engine, "say 1")
    [sound] = ask(engine, "say 2")

    assert odd.outcome is Outcome.INFRA_ERROR
    assert "the worker's reply does not hold" in odd.response.error
    assert sound.response.text == "2"


@pytest.mark.parametrize("error", [KeyError("no such thing"), SystemExit("no such thing")])
def test_what_goes_wrong_in_the_engines_thread_is_raised_to_whoever_waits(
    error: BaseException, engine: WorkerEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise error

    async def bounded(*questions: str) -> list[Any]:
        requests = [make_request(question) for question in questions]
        return await asyncio.wait_for(gather(engine, requests, raised=True), 60)

    with monkeypatch.context() as patched:
        patched.setattr(engine, "_read", broken)
        failed = asyncio.run(bounded("say 1", "say 2"))
    [answer] = asyncio.run(bounded("say 3"))

    assert ["no such thing" in repr(one) for one in failed] == [True, True]
    assert answer.response.text == "3"
    assert len(loads(tmp_path)) > 1  # nobody knows what the first worker would have said next
