"""Answers and runs of the Gemini engine, by Google's own client, against a real server."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from cache.record import Outcome
from cache.request import Text
from cache.store import Store
from infer.engine import create_engine
from infer.errors import CardError, FeatureMissing, ServiceRefused
from infer.media.decode import Prepared
from tests.gemini_server import SAID, GeminiServer, blocked, candidate, error, gemini
from tests.openai_server import Call, Reply, drop, faults
from tests.services import (
    SECRET,
    ask,
    ask_each_in_turn,
    ask_text,
    bytes_of,
    infer,
    make_card,
    make_request,
    write_card,
)

pytest_plugins = ("tests.service_fixtures",)
pytestmark = pytest.mark.usefixtures("api_key")


# ── what comes back ───────────────────────────────────────────────────────────────────────────


def test_an_answer_comes_back_with_its_thoughts_and_what_it_cost() -> None:
    usage = {
        "promptTokenCount": 900,
        "candidatesTokenCount": 12,
        "thoughtsTokenCount": 30,
        "cachedContentTokenCount": 64,
    }
    parts = [{"text": "Hm.", "thought": True}, {"text": "A man"}, {"text": " waits."}]
    with GeminiServer(candidate(*parts, usage=usage)) as server:
        answer = ask_text(gemini(server))

    assert (answer.outcome, answer.response.text) == (Outcome.OK, "A man waits.")
    assert (answer.response.reasoning, answer.response.finish_reason) == ("Hm.", "STOP")
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (900, 42)
    assert (answer.usage.cached_tokens, answer.usage.reasoning_tokens) == (64, 30)
    assert answer.effective == {"model": "scripted-1"}


def test_requests_are_in_flight_together_once_the_service_was_heard_to_work() -> None:
    together = threading.Barrier(4, timeout=20)

    def script(call: Call) -> Reply:
        if call.number:
            together.wait()
        return SAID

    with GeminiServer(script) as server:
        card = gemini(server, concurrency=4)
        asked = [(make_request(card, Text(text=f"{number}?")), Prepared()) for number in range(5)]
        answers = ask(card, *asked)

    assert [answer.outcome for answer in answers] == [Outcome.OK] * 5


# ── how it fails ──────────────────────────────────────────────────────────────────────────────

_LONG = "The input token count (2097152) exceeds the maximum number of tokens allowed (1048576)."
FAILURES: dict[str, tuple[Reply, Outcome, str]] = {
    "500": (error(500, name="INTERNAL"), Outcome.INFRA_ERROR, "HTTP 500: scripted fault"),
    "429 for ever": (error(429, name="RESOURCE_EXHAUSTED"), Outcome.INFRA_ERROR, "HTTP 429"),
    "deadline": (error(504, name="DEADLINE_EXCEEDED"), Outcome.TIMEOUT, "HTTP 504"),
    "dropped": (drop(), Outcome.INFRA_ERROR, "disconnected"),
    "no JSON": (Reply(body=b"<html>"), Outcome.INFRA_ERROR, "not of its protocol"),
    "other JSON": (Reply(body={"candidates": 3}), Outcome.INFRA_ERROR, "not of its protocol"),
    "no candidates": (Reply(body={}), Outcome.INFRA_ERROR, "no candidates"),
    "too long": (error(400, _LONG, name="INVALID_ARGUMENT"), Outcome.CONTEXT_OVERFLOW, "2097152"),
    "blocked": (blocked("PROHIBITED_CONTENT"), Outcome.CONTENT_FILTER, "PROHIBITED_CONTENT"),
    "safety": (candidate(finish_reason="SAFETY"), Outcome.CONTENT_FILTER, "SAFETY"),
    "recitation": (candidate(finish_reason="RECITATION"), Outcome.CONTENT_FILTER, "RECITATION"),
    "cut": (candidate({"text": "Half"}, finish_reason="MAX_TOKENS"), Outcome.TRUNCATED, "limit"),
    "other": (candidate(finish_reason="OTHER"), Outcome.INFRA_ERROR, "OTHER"),
    "no end": (candidate({"text": "Half"}, finish_reason=None), Outcome.INFRA_ERROR, "no reason"),
    "bad request": (error(400, "bad", name="INVALID_ARGUMENT"), Outcome.INFRA_ERROR, "bad"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_is_an_answer_with_its_outcome(name: str) -> None:
    reply, outcome, words = FAILURES[name]
    with GeminiServer(reply) as server:
        answer = ask_text(gemini(server))

    assert answer.outcome is outcome
    assert words in answer.response.error


def test_what_came_before_the_cut_is_kept() -> None:
    with GeminiServer(candidate({"text": "Half"}, finish_reason="MAX_TOKENS")) as server:
        answer = ask_text(gemini(server))

    assert (answer.response.text, answer.response.finish_reason) == ("Half", "MAX_TOKENS")


def test_a_service_that_says_nothing_is_a_timeout() -> None:
    asked = threading.Event()

    def script(call: Call) -> Reply:
        asked.wait(20)
        return SAID

    with GeminiServer(script) as server:
        answer = ask_text(gemini(server, service={"timeout_s": 0.2}))
        asked.set()

    assert answer.outcome is Outcome.TIMEOUT


def test_a_busy_service_is_asked_again() -> None:
    with GeminiServer(faults([error(429, name="RESOURCE_EXHAUSTED")], SAID)) as server:
        answer = ask_text(gemini(server, service={"max_retries": 1}))

    assert answer.outcome is Outcome.OK
    assert len(server.calls) == 2


# ── when nobody would be answered ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize("reply", [
    error(400, "API key not valid. Please pass a valid API key.", name="INVALID_ARGUMENT"),
    error(400, "no", name="INVALID_ARGUMENT", reason="API_KEY_INVALID"),
    error(400, "User location is not supported for the API use.", name="FAILED_PRECONDITION"),
    error(401), error(403, name="PERMISSION_DENIED"), error(404, name="NOT_FOUND"),
])  # fmt: skip
def test_a_service_that_refuses_ends_the_run_after_one_call(reply: Reply) -> None:
    with GeminiServer(reply) as server:
        card = gemini(server)
        asked = [(make_request(card, Text(text=f"{number}?")), Prepared()) for number in range(8)]
        with pytest.raises(ServiceRefused, match="refuses every request"):
            ask(card, *asked)

    assert len(server.calls) == 1


def test_a_service_that_answers_nobody_ends_the_run() -> None:
    with GeminiServer(error(503)) as server:
        found = ask_each_in_turn(gemini(server, concurrency=2), 12)

    assert [isinstance(one, ServiceRefused) for one in found] == [False] * 9 + [True] * 3


# ── the card ──────────────────────────────────────────────────────────────────────────────────


def test_a_key_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REJUDGE_TEST_KEY")

    with pytest.raises(FeatureMissing, match="REJUDGE_TEST_KEY"):
        create_engine(make_card("gemini", ""))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"modle": "x"}, "modle"),
        ({"media_resolution": "huge"}, "huge"),
        ({"thinking": {"depth": 3}}, "depth"),
        ({"config": {"temprature": 1.0}}, "temprature"),
    ],
)
def test_a_setting_that_does_not_hold_is_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(CardError, match=words):
        create_engine(make_card("gemini", "", settings=settings))


# ── the whole run ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
def test_a_run_uploads_each_video_once_asks_once_and_keeps_no_key(tmp_path: Path) -> None:
    with GeminiServer(candidate({"text": '{"answer_letter": "A"}'})) as server:
        card = write_card(tmp_path / "card.toml", gemini(server))
        first = infer(tmp_path / "store", card, "--task", "choice", "--limit", "6")
        again = infer(tmp_path / "store", card, "--task", "choice", "--limit", "6")
        asked = len(server.calls)

    assert first["outcomes"] == {"ok": 6}
    assert asked == 6
    assert (again["called"], again["cached"]) == (0, 6)
    with Store(tmp_path / "store", read_only=True) as store:
        records = list(store.scan())
    videos = {record.request.messages[-1].parts[0].sha256 for record in records}  # type: ignore[union-attr]
    assert len(server.files) == len(videos) < 6
    assert sorted(server.deleted) == sorted(server.files)
    assert {record.effective["video"][0]["file"] for record in records} == {"with its sound"}
    assert SECRET.encode() not in bytes_of(tmp_path)
