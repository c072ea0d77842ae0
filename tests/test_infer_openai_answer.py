"""What comes back from an OpenAI-compatible server: an answer, a failure, or nothing for anyone."""

from __future__ import annotations

import threading

import pytest

from cache.record import Outcome
from cache.request import Text
from infer.engine import Answer
from infer.errors import ServiceRefused
from infer.media.decode import Prepared
from tests.openai_server import Call, OpenAIServer, Reply, chat, drop, error, faults, streamed
from tests.services import SECRET, ask, ask_each_in_turn, ask_text, make_card, make_request

pytest_plugins = ("tests.service_fixtures",)
pytestmark = pytest.mark.usefixtures("api_key")


# ── what comes back ───────────────────────────────────────────────────────────────────────────


def test_an_answer_comes_back_untouched_with_what_it_cost() -> None:
    reply = chat("  The answer.\n", reasoning="Let me see.")
    assert isinstance(reply.body, dict)
    reply.body["usage"] |= {
        "prompt_tokens_details": {"cached_tokens": 64},
        "completion_tokens_details": {"reasoning_tokens": 7},
    }
    reply.body["system_fingerprint"] = "fp_1"
    with OpenAIServer(reply) as server:
        answer = ask_text(make_card("openai", server.base_url))

    assert answer.outcome is Outcome.OK
    assert (answer.response.text, answer.response.reasoning) == ("  The answer.\n", "Let me see.")
    usage = answer.usage
    assert (usage.input_tokens, usage.output_tokens) == (100, 20)
    assert (usage.cached_tokens, usage.reasoning_tokens) == (64, 7)
    assert (answer.effective["model"], answer.effective["fingerprint"]) == ("scripted-1", "fp_1")
    assert answer.effective["sent"]["jpeg_quality"] == 90


def test_a_streamed_answer_is_put_together() -> None:
    pieces = [{"role": "assistant"}, {"reasoning_content": "Hm. "}, {"reasoning_content": "Yes."}]
    pieces += [{"content": "A man"}, {"content": " waits."}]
    usage = {"prompt_tokens": 900, "completion_tokens": 12, "total_tokens": 912}
    with OpenAIServer(streamed(*pieces, usage=usage)) as server:
        answer = ask_text(make_card("openai", server.base_url, settings={"stream": True}))
        body = server.calls[0].body

    assert answer.outcome is Outcome.OK
    assert answer.response.text == "A man waits."
    assert answer.response.reasoning == "Hm. Yes."
    assert answer.response.finish_reason == "stop"
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (900, 12)
    assert (body["stream"], body["stream_options"]) == (True, {"include_usage": True})


def test_requests_are_in_flight_together_once_the_service_was_heard_to_work() -> None:
    together = threading.Barrier(4, timeout=20)

    def script(call: Call) -> Reply:
        if call.number:
            together.wait()
        return chat("Yes.")

    with OpenAIServer(script) as server:
        card = make_card("openai", server.base_url, concurrency=4)
        asked = [(make_request(card, Text(text=f"{number}?")), Prepared()) for number in range(5)]
        answers = ask(card, *asked)

    assert [answer.outcome for answer in answers] == [Outcome.OK] * 5
    assert server.most_in_flight == 4


# ── how it fails ──────────────────────────────────────────────────────────────────────────────

_LONG = "This model's maximum context length is 8192 tokens."
FAILURES: dict[str, tuple[Reply, Outcome, str]] = {
    "500": (error(500), Outcome.INFRA_ERROR, "HTTP 500: scripted fault"),
    "429 for ever": (error(429, retry_after_ms="1"), Outcome.INFRA_ERROR, "HTTP 429"),
    "dropped": (drop(), Outcome.INFRA_ERROR, "Connection error"),
    "no JSON": (Reply(body=b"<html>"), Outcome.INFRA_ERROR, "no chat completion"),
    "other JSON": (Reply(body={"choices": 3}), Outcome.INFRA_ERROR, "no chat completion"),
    "no choices": (Reply(body={"choices": []}), Outcome.INFRA_ERROR, "no choices"),
    "filtered": (chat("Up to", finish_reason="content_filter"), Outcome.CONTENT_FILTER, "filter"),
    "filtered input": (error(400, code="content_filter"), Outcome.CONTENT_FILTER, "HTTP 400"),
    "filtered by DashScope": (
        error(400, code="data_inspection_failed"), Outcome.CONTENT_FILTER, "HTTP 400"
    ),
    "refused": (chat(None, refusal="I will not."), Outcome.REFUSED, "I will not."),
    "cut": (chat("Half an", finish_reason="length"), Outcome.TRUNCATED, "token limit"),
    "only reasoning": (
        chat(None, reasoning="Hm", finish_reason="length"), Outcome.TRUNCATED, "only reasoning"
    ),
    "too long": (error(400, _LONG), Outcome.CONTEXT_OVERFLOW, "8192 tokens"),
    "too large": (error(413), Outcome.CONTEXT_OVERFLOW, "HTTP 413"),
    "gateway": (error(504), Outcome.TIMEOUT, "HTTP 504"),
    "bad request": (error(400, "bad image"), Outcome.INFRA_ERROR, "bad image"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_is_an_answer_with_its_outcome(name: str) -> None:
    reply, outcome, words = FAILURES[name]
    with OpenAIServer(reply) as server:
        answer = ask_text(make_card("openai", server.base_url))

    assert answer.outcome is outcome
    assert words in answer.response.error


def test_what_came_before_the_cut_is_kept() -> None:
    with OpenAIServer(chat("Half an", finish_reason="length")) as server:
        answer = ask_text(make_card("openai", server.base_url))

    assert (answer.response.text, answer.response.finish_reason) == ("Half an", "length")


def test_the_words_of_a_refusal_are_what_was_said() -> None:
    """So they stand in the history of a dialogue."""
    with OpenAIServer(chat(None, refusal="I will not.")) as server:
        answer = ask_text(make_card("openai", server.base_url))

    assert (answer.outcome, answer.response.text) == (Outcome.REFUSED, "I will not.")


_ERROR_EVENT = Reply(
    body=b'data: {"error": {"message": "no", "code": "data_inspection_failed"}}\n\n',
    content_type="text/event-stream",
)
STREAM_FAILURES: dict[str, tuple[Reply, Outcome, str]] = {
    "cut": (streamed({"content": "Half"}, cut=True), Outcome.INFRA_ERROR, ""),
    "no end": (streamed({"content": "Half"}, finish_reason=None), Outcome.INFRA_ERROR, "ended"),
    "length": (streamed({"content": "a"}, finish_reason="length"), Outcome.TRUNCATED, "limit"),
    "no JSON": (
        Reply(body=b"data: {\n\n", content_type="text/event-stream"), Outcome.INFRA_ERROR, "no chat"
    ),
    "filter": (_ERROR_EVENT, Outcome.CONTENT_FILTER, "no"),
}  # fmt: skip


@pytest.mark.parametrize("name", STREAM_FAILURES)
def test_a_stream_that_fails_is_an_answer_with_its_outcome(name: str) -> None:
    reply, outcome, words = STREAM_FAILURES[name]
    with OpenAIServer(reply) as server:
        answer = ask_text(make_card("openai", server.base_url, settings={"stream": True}))

    assert answer.outcome is outcome
    assert answer.response.error
    assert words in answer.response.error


@pytest.mark.parametrize("stream", [False, True])
def test_a_server_that_says_nothing_is_a_timeout(stream: bool) -> None:
    asked = threading.Event()

    def script(call: Call) -> Reply:
        asked.wait(20)
        return chat("Too late.")

    with OpenAIServer(script) as server:
        card = make_card(
            "openai", server.base_url, settings={"stream": stream}, service={"timeout_s": 0.2}
        )
        answer = ask_text(card)
        asked.set()

    assert answer.outcome is Outcome.TIMEOUT


def test_a_busy_server_is_asked_again_when_it_says() -> None:
    soon = {"retry_after_ms": "10"}
    busy = [drop(), error(429, retry_after="0.01"), error(429, **soon), error(500, **soon)]
    with OpenAIServer(faults(busy, chat("At last."))) as server:
        answer = ask_text(make_card("openai", server.base_url, service={"max_retries": 4}))

    assert (answer.outcome, answer.response.text) == (Outcome.OK, "At last.")
    assert len(server.calls) == 5


def test_a_key_that_the_server_repeats_is_not_kept() -> None:
    with OpenAIServer(error(500, f"cannot serve {SECRET} and sk-other-key-123")) as server:
        answer = ask_text(make_card("openai", server.base_url))

    assert "key-" not in answer.response.error
    assert "cannot serve [api key] and [api key]" in answer.response.error


# ── when nobody would be answered ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize("reply", [
    error(401), error(402), error(403), error(404),
    error(429, code="insufficient_quota"), error(400, "Arrearage: the account is overdue"),
])  # fmt: skip
def test_a_service_that_refuses_ends_the_run_after_one_call(reply: Reply) -> None:
    with OpenAIServer(reply) as server:
        card = make_card("openai", server.base_url)
        asked = [(make_request(card, Text(text=f"{number}?")), Prepared()) for number in range(8)]
        with pytest.raises(ServiceRefused, match=rf"'served' at {server.base_url} refuses"):
            ask(card, *asked)

    assert len(server.calls) == 1


def test_one_refusal_among_answers_is_that_requests_failure() -> None:
    replies = [chat("1"), error(403, "not this one"), chat("3"), error(403), error(403), error(403)]
    with OpenAIServer(faults(replies, chat("never"))) as server:
        found = ask_each_in_turn(make_card("openai", server.base_url), 8)

    assert [type(one) for one in found[:5]] == [Answer] * 5
    outcomes = [one.outcome for one in found[:5] if isinstance(one, Answer)]
    assert outcomes == ["ok", "infra_error", "ok", "infra_error", "infra_error"]
    assert [type(one) for one in found[5:]] == [ServiceRefused] * 3
    assert len(server.calls) == 6


def test_a_service_that_answers_nobody_ends_the_run() -> None:
    with OpenAIServer(drop()) as server:
        found = ask_each_in_turn(make_card("openai", server.base_url, concurrency=2), 12)

    assert [type(one) for one in found] == [Answer] * 9 + [ServiceRefused] * 3
    assert len(server.calls) == 10


def test_failures_of_single_requests_never_end_the_run() -> None:
    with OpenAIServer(chat("Up to", finish_reason="content_filter")) as server:
        found = ask_each_in_turn(make_card("openai", server.base_url, concurrency=2), 25)

    assert {one.outcome for one in found if isinstance(one, Answer)} == {Outcome.CONTENT_FILTER}
    assert len(found) == len(server.calls) == 25
