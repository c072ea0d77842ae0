"""The responses API: what is asked, what is read, and how it can end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cache.record import Outcome
from cache.store import Store
from score.judge.request import judge_request
from score.judge.verdict import Verdict
from tests.builders import chat_judge, judge_pair
from tests.judged import graded
from tests.openai_server import Reply


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store", create=True) as opened:
        yield opened


def responded(*content: dict[str, Any], **members: Any) -> Reply:
    """A response as OpenAI writes it: a reasoning item, then a message."""
    thought = {"type": "reasoning", "id": "rs_1", "summary": [
        {"type": "summary_text", "text": "it fits"}
    ]}  # fmt: skip
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
               "content": list(content)}  # fmt: skip
    body = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "scripted-1",
        "error": None,
        "incomplete_details": None,
        "output": [thought, message] if content else [thought],
        "usage": {
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 60},
            "output_tokens": 20,
            "output_tokens_details": {"reasoning_tokens": 12},
            "total_tokens": 120,
        },
    }
    return Reply(body=body | members)


def text(said: str) -> dict[str, Any]:
    return {"type": "output_text", "text": said, "annotations": []}


GOOD = responded(text('{"score": 7, "justification": "close"}'))


def test_a_verdict_is_read_with_its_reasoning_and_its_tokens(store: Store) -> None:
    done, server, found = graded(store, GOOD, [judge_pair()], api="responses")
    assert found == [Verdict(7, "close")]
    assert server.calls[0].path == "/v1/responses"
    (record,) = store.scan()
    assert record.response.reasoning == "it fits"
    assert msgspec.to_builtins(record.usage) == {
        "input_tokens": 100,
        "output_tokens": 20,
        "cached_tokens": 60,
        "reasoning_tokens": 12,
    }
    assert (done.input_tokens, done.output_tokens) == (100, 20)


def test_the_settings_of_the_spec_reach_the_server(store: Store) -> None:
    sampling = msgspec.structs.replace(chat_judge().sampling, max_tokens=99, temperature=0.5)
    _, server, _ = graded(
        store,
        GOOD,
        [judge_pair()],
        api="responses",
        sampling=sampling,
        reasoning_effort="low",
        structured_output=True,
        extra_body={"truncation": "auto"},
    )
    body = server.calls[0].body
    assert (body["max_output_tokens"], body["temperature"]) == (99, 0.5)
    assert (body["reasoning"], body["truncation"], body["store"]) == (
        {"effort": "low"}, "auto", False,
    )  # fmt: skip
    assert [message["role"] for message in body["input"]] == ["system", "user"]
    form = body["text"]["format"]
    assert (form["type"], form["strict"], form["name"]) == ("json_schema", True, "verdict")
    assert form["schema"]["required"] == ["score", "justification"]


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (
            responded(status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
            Outcome.TRUNCATED,
        ),
        (
            responded(status="incomplete", incomplete_details={"reason": "content_filter"}),
            Outcome.CONTENT_FILTER,
        ),
        (responded({"type": "refusal", "refusal": "I will not"}), Outcome.REFUSED),
        (
            responded(status="failed", error={"code": "server_error", "message": "broken"}),
            Outcome.INFRA_ERROR,
        ),
        (responded(status="cancelled"), Outcome.INFRA_ERROR),
        (Reply(body={"choices": []}), Outcome.INFRA_ERROR),
    ],
)
def test_each_other_end_has_its_outcome(store: Store, reply: Reply, outcome: Outcome) -> None:
    done, _, _ = graded(store, reply, [judge_pair()], api="responses")
    (record,) = store.scan()
    assert record.outcome is outcome
    assert record.response.error
    assert done.ok == 0


def test_another_api_is_another_judge() -> None:
    keys = {judge_request(chat_judge(api=api), judge_pair()).key() for api in ("chat", "responses")}
    assert len(keys) == 2
