"""A run against an OpenAI-compatible server: what stops it at once, what it asks and keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cache.store import Store
from infer.engine import create_engine
from infer.errors import CardError, FeatureMissing
from tests.openai_server import Call, OpenAIServer, Reply, chat, error
from tests.services import SECRET, bytes_of, infer, make_card, write_card

pytest_plugins = ("tests.service_fixtures",)
pytestmark = pytest.mark.usefixtures("api_key")


def test_a_key_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REJUDGE_TEST_KEY")

    with pytest.raises(FeatureMissing, match="REJUDGE_TEST_KEY"):
        create_engine(make_card("openai", "http://localhost:1/v1"))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"settings": {"vidoe": "images"}}, "vidoe"),
        ({"settings": {"jpeg_quality": 0}}, "jpeg_quality"),
        ({"settings": {"model": "m", "body": {"messages": []}}}, "settings.body.messages"),
        ({"service": {"base_url": ""}}, "service.base_url"),
        ({"service": {"base_url": "ftp://x/v1"}}, "http"),
        ({"service": {"base_url": "https://me:pass@x/v1"}}, "secrets"),
    ],
)
def test_a_card_that_does_not_hold_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(CardError, match=words):
        create_engine(make_card("openai", "http://localhost:1/v1", **changes))


@pytest.mark.slow
def test_a_run_asks_the_server_once_for_everything_and_keeps_no_key(tmp_path: Path) -> None:
    def script(call: Call) -> Reply:
        if call.number == 3:
            return chat("Half", finish_reason="length")
        return chat('{"answer_letter": "A"}', reasoning="Hm.")

    with OpenAIServer(script) as server:
        card = write_card(tmp_path / "card.toml", make_card("openai", server.base_url))
        first = infer(tmp_path / "store", card, "--task", "choice", "--limit", "5", expect=1)
        again = infer(tmp_path / "store", card, "--task", "choice", "--limit", "5", expect=1)
        asked = len(server.calls)

    assert first["outcomes"] == {"ok": 4, "truncated": 1}
    assert asked == 5
    assert (again["called"], again["cached"]) == (0, 5)
    with Store(tmp_path / "store", read_only=True) as store:
        records = list(store.scan())
    assert {record.request.transport.base_url for record in records} == {server.base_url}
    assert all(record.effective["video"][0]["frames"] == 4 for record in records)
    assert {record.usage.input_tokens for record in records} == {100}
    assert SECRET.encode() not in bytes_of(tmp_path)


def test_a_run_whose_key_is_not_set_ends_before_ray_starts(tmp_path: Path) -> None:
    card = write_card(tmp_path / "card.toml", make_card("openai", "http://localhost:1/v1"))

    infer(tmp_path / "store", card, "--task", "choice", "--limit", "5", expect=3, key="")

    assert not (tmp_path / "store" / "attempts").exists()  # the job's ledger


@pytest.mark.slow
def test_a_run_with_a_wrong_key_ends_early_and_leaves_everything_pending(tmp_path: Path) -> None:
    with OpenAIServer(error(401, f"Incorrect API key provided: {SECRET}")) as server:
        card = write_card(tmp_path / "card.toml", make_card("openai", server.base_url))
        infer(tmp_path / "store", card, "--task", "choice", "--limit", "5", expect=3)
    left = infer(tmp_path / "store", card, "--task", "choice", "--limit", "5", "--dry-run")

    assert len(server.calls) == 1
    assert (left["cached"], left["pending"], left["outcomes"]) == (0, 5, {})
    assert SECRET.encode() not in bytes_of(tmp_path)
