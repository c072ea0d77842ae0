"""An answer of Gemini that was paid for is kept; what goes wrong with an upload is named."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from cache.record import Outcome
from cache.request import Text
from infer.engine import Answer
from tests.clips import make_clip
from tests.gemini_server import GeminiServer, candidate, error
from tests.openai_server import Call, Reply
from tests.services import (
    SECRET,
    ask,
    ask_text,
    clip,
    make_card,
    make_request,
    prepare_from,
)

QUESTION = Text(text="What happens?", name="question")
SAID = candidate({"text": "Yes."})


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJUDGE_TEST_KEY", SECRET)


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_clip(tmp_path_factory.mktemp("film") / "film.mp4", frames=50)


def answer_to(reply: Reply) -> Answer:
    with GeminiServer(reply) as server:
        return ask_text(make_card("gemini", server.base_url))


def ask_about(film: Path, server: GeminiServer, **service: Any) -> Answer:
    """Ask about a file that has to be uploaded."""
    whole = {"fps": 1.0, "as_files": True}
    card = make_card("gemini", server.base_url, preprocessing=whole, service=service)
    request = make_request(card, clip(film), QUESTION)
    [answer] = ask(card, (request, prepare_from(request, film)))
    return answer


def with_members(**members: Any) -> Reply:
    assert isinstance(SAID.body, dict)
    return Reply(body=SAID.body | members)


@pytest.mark.parametrize(
    "members",
    [
        {"usageMetadata": {"promptTokenCount": 5.5, "candidatesTokenCount": "x"}},
        {"usageMetadata": [5]},
        {"modelVersion": 5},
        {"responseId": {"odd": True}},
    ],
)
def test_members_that_do_not_matter_cost_no_answer(members: dict[str, Any]) -> None:
    answer = answer_to(with_members(**members))

    assert (answer.outcome, answer.response.text) == (Outcome.OK, "Yes.")
    assert answer.usage.input_tokens is answer.usage.output_tokens is None


def test_half_a_surrogate_pair_is_replaced_and_a_split_one_joined() -> None:
    answer = answer_to(candidate({"text": "a\ud83d"}, {"text": "\ude00 \ud800"}))
    refused = answer_to(error(400, "bad \ud83d image", name="INVALID_ARGUMENT"))

    assert (answer.outcome, answer.response.text) == (Outcome.OK, "a\U0001f600 \ufffd")
    assert "bad \ufffd image" in refused.response.error


def test_a_call_of_a_function_is_no_answer() -> None:
    answer = answer_to(candidate({"functionCall": {"name": "f"}}))

    assert answer.outcome is Outcome.INFRA_ERROR
    assert "called a function" in answer.response.error


def test_an_answer_in_several_generations_is_put_together_and_their_tokens_added() -> None:
    token = base64.b64encode(b"where it stopped").decode()

    def script(call: Call) -> Reply:
        usage = {"promptTokenCount": 10, "candidatesTokenCount": 3}
        if call.number:
            return candidate({"text": " waits."}, usage=usage)
        first = candidate({"text": "A man"}, finish_reason="CONTINUATION", usage=usage)
        assert isinstance(first.body, dict)
        first.body["candidates"][0]["continuationToken"] = token
        return first

    with GeminiServer(script) as server:
        answer = ask_text(make_card("gemini", server.base_url))
        sent = server.calls[1].body

    assert (answer.outcome, answer.response.text) == (Outcome.OK, "A man waits.")
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (20, 6)
    assert token in str(sent)


def test_a_file_that_the_service_does_not_get_done_is_named_and_deleted(film: Path) -> None:
    with GeminiServer(SAID, states=["PROCESSING"]) as server:
        answer = ask_about(film, server, timeout_s=0.5)

    assert answer.outcome is Outcome.TIMEOUT
    assert "not done with the file 0.5 s after the upload" in answer.response.error
    assert server.deleted == ["files/f0"]


@pytest.mark.parametrize("step", ["start", "take_bytes"])
def test_an_upload_that_is_turned_down_says_how(
    step: str, film: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with GeminiServer(SAID) as server:
        monkeypatch.setattr(server, step, lambda *_, **__: error(500, "no room"))
        answer = ask_about(film, server)

    assert answer.outcome is Outcome.INFRA_ERROR
    assert answer.response.error.startswith("HTTP 500: no room")


def test_an_upload_that_gets_no_address_says_what_the_client_missed(
    film: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with GeminiServer(SAID) as server:
        monkeypatch.setattr(server, "start", lambda body: Reply(body={}))
        answer = ask_about(film, server)

    assert answer.outcome is Outcome.INFRA_ERROR
    assert answer.response.error.startswith("the service did not take the file: ")
