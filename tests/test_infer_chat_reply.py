"""An answer of an OpenAI-compatible server that was paid for is kept, whatever is beside it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cache.record import Outcome
from infer.chat_reply import Reply as ChatReply
from infer.engine import Answer
from tests.openai_server import OpenAIServer, Reply, chat, streamed
from tests.services import SECRET, ask_text, make_card


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJUDGE_TEST_KEY", SECRET)


def answer_to(reply: Reply, *, stream: bool = False) -> Answer:
    with OpenAIServer(reply) as server:
        return ask_text(make_card("openai", server.base_url, settings={"stream": stream}))


def with_members(**members: Any) -> Reply:
    """A completion that says ``Yes.`` and has other members than usual."""
    reply = chat("Yes.")
    assert isinstance(reply.body, dict)
    return Reply(body=reply.body | members)


def events(*data: str) -> Reply:
    """A stream of these events as they are, after one that says ``Yes.`` and ahead of the end."""
    said = json.dumps({"choices": [{"index": 0, "delta": {"content": "Yes."}}]})
    end = json.dumps({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    lines = [f"data: {one}\n\n" for one in (said, *data, end, "[DONE]")]
    return Reply(body="".join(lines).encode(), content_type="text/event-stream")


ODD_MEMBERS: dict[str, dict[str, Any]] = {
    "float tokens": {"usage": {"prompt_tokens": 5.0, "completion_tokens": 2}},
    "no tokens": {"usage": {"prompt_tokens": "5", "completion_tokens": [2]}},
    "odd details": {"usage": {"prompt_tokens": 5, "prompt_tokens_details": "none"}},
    "listed usage": {"usage": [1, 2]},
    "numbered model": {"model": 5, "system_fingerprint": 7},
}


@pytest.mark.parametrize("members", ODD_MEMBERS.values(), ids=ODD_MEMBERS)
def test_members_that_do_not_matter_cost_no_answer(members: dict[str, Any]) -> None:
    answer = answer_to(with_members(**members))

    assert (answer.outcome, answer.response.text) == (Outcome.OK, "Yes.")


def test_tokens_that_can_be_read_are_kept_and_others_are_unknown() -> None:
    counted = {
        "prompt_tokens": 5.0,
        "completion_tokens": 2**63,
        "prompt_tokens_details": {"cached_tokens": -1},
        "completion_tokens_details": {"reasoning_tokens": 3},
    }
    usage = answer_to(with_members(usage=counted)).usage

    assert (usage.input_tokens, usage.output_tokens) == (5, None)
    assert (usage.cached_tokens, usage.reasoning_tokens) == (None, 3)


def test_a_list_of_text_parts_is_their_text() -> None:
    parts = [{"type": "text", "text": "A man"}, {"type": "thinking"}, " waits."]
    message = {"role": "assistant", "content": parts}

    answer = answer_to(with_members(choices=[{"message": message, "finish_reason": "stop"}]))

    assert (answer.outcome, answer.response.text) == (Outcome.OK, "A man waits.")


@pytest.mark.parametrize(
    "data",
    [
        '{"choices": null}',
        '{"choices": [{"index": 0, "delta": null, "finish_reason": null}]}',
        '{"choices": [], "usage": {"prompt_tokens": 1.5, "completion_tokens": null}}',
    ],
)
def test_pieces_of_a_stream_that_say_nothing_cost_no_answer(data: str) -> None:
    answer = answer_to(events(data), stream=True)

    assert (answer.outcome, answer.response.text) == (Outcome.OK, "Yes.")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("null", "it is None"),
        ("[1, 2]", r"it is \[1, 2\]"),
        ('{"choices": [5]}', r"choices\[0\] is 5"),
        ('{"choices": [{"index": 0, "delta": {"content": 5}}]}', "delta.content is 5"),
    ],
)
def test_a_piece_that_is_none_is_named(data: str, words: str) -> None:
    answer = answer_to(events(data), stream=True)

    assert answer.outcome is Outcome.INFRA_ERROR
    assert answer.response.text == "Yes."
    with pytest.raises(ValueError, match=words):
        ChatReply().take(json.loads(data), piece=True)
    assert answer.response.error.startswith("the server's answer is no chat completion: ")


def test_half_a_surrogate_pair_is_replaced() -> None:
    # The body as JSON escapes it: json.dumps writes every half as \ud83d.
    answer = answer_to(chat("a \ud83d b", reasoning="\ude00", finish_reason="stop"))

    assert answer.outcome is Outcome.OK
    assert (answer.response.text, answer.response.reasoning) == ("a \ufffd b", "\ufffd")


def test_a_pair_that_is_split_over_two_pieces_is_joined() -> None:
    answer = answer_to(streamed({"content": "a\ud83d"}, {"content": "\ude00b"}), stream=True)

    assert (answer.outcome, answer.response.text) == (Outcome.OK, "a\U0001f600b")


def test_half_a_pair_in_a_stream_or_an_error_is_replaced() -> None:
    said = answer_to(streamed({"content": "a\ud83d"}), stream=True)
    refused = answer_to(Reply(status=400, body={"error": {"message": "bad \ud800 image"}}))

    assert (said.outcome, said.response.text) == (Outcome.OK, "a\ufffd")
    assert refused.outcome is Outcome.INFRA_ERROR
    assert "bad \ufffd image" in refused.response.error


def test_bytes_that_are_no_utf_8_are_replaced() -> None:
    body = b'{"choices": [{"message": {"content": "a\xffb"}, "finish_reason": "stop"}]}'

    assert answer_to(Reply(body=body)).response.text == "a\ufffdb"


@pytest.mark.parametrize("reason", ["tool_calls", "function_call"])
def test_a_call_of_a_tool_is_no_answer(reason: str) -> None:
    answer = answer_to(chat(None, finish_reason=reason))

    assert answer.outcome is Outcome.INFRA_ERROR
    assert "called a tool" in answer.response.error


def test_an_answer_beside_a_call_of_a_tool_is_kept() -> None:
    assert answer_to(chat("Yes.", finish_reason="tool_calls")).outcome is Outcome.OK


def test_an_empty_answer_is_the_models_own() -> None:
    assert answer_to(chat("")).outcome is Outcome.OK
