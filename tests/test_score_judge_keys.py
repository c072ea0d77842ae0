"""API keys: read from the environment, handed to the client, and found nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cache.store import Store
from score.errors import JudgeUnavailable
from score.judge.grade import grade
from tests.builders import chat_judge, judge_pair, judge_pairs
from tests.judged import GOOD
from tests.openai_server import OpenAIServer, error, faults

SECRET = "sk-test-0123456789abcdef"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store", create=True) as opened:
        yield opened


def test_a_missing_key_is_said_before_any_call(store: Store) -> None:
    with OpenAIServer(GOOD) as server:
        spec = chat_judge(server.base_url, api_key_env="MY_JUDGE_KEY")
        with pytest.raises(JudgeUnavailable, match="MY_JUDGE_KEY"):
            grade(store, spec, [judge_pair()], environ={})
    assert not server.calls


def test_the_key_reaches_the_server_and_nothing_else(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    echo = error(401, f"Incorrect API key provided: {SECRET}, also sk-***cdef")
    with OpenAIServer(faults([GOOD], echo)) as server:
        spec = chat_judge(server.base_url, api_key_env="MY_JUDGE_KEY", concurrency=1)
        with pytest.raises(JudgeUnavailable) as caught:
            grade(store, spec, judge_pairs(5), environ={"MY_JUDGE_KEY": SECRET})
    assert server.calls[0].headers["authorization"] == f"Bearer {SECRET}"
    store.flush()
    kept = b"".join(path.read_bytes() for path in (tmp_path / "store").rglob("*.jsonl"))
    for place in (kept.decode(), str(caught.value), caplog.text):
        assert SECRET not in place
        assert "sk-***" not in place
    assert "[api key]" in kept.decode()
