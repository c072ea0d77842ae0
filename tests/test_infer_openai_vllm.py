"""The engine for OpenAI-compatible servers against a real one: `vllm serve` of a tiny checkpoint.

Run by `make test-vllm`, like the other tests that need vLLM's build for the CPU.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench import registry
from cache.record import Outcome
from cache.request import Text
from cache.store import Store
from infer.card import ModelCard
from infer.engine import Answer
from infer.errors import ServiceRefused
from infer.media.decode import Prepared, prepare
from infer.plan import make_plan
from tests.services import SECRET, ask, make_card, make_request
from tests.vllm_server import Served, vllm_server

pytestmark = pytest.mark.vllm


@pytest.fixture(scope="module")
def served() -> Served:
    """`vllm serve` on a free port of this machine, which takes one key and no other."""
    return vllm_server()


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJUDGE_TEST_KEY", SECRET)


def ask_demo(served: Served, folder: Path, **members: Any) -> list[Answer]:
    """Ask two questions of the demo benchmark, with their real frames and sound."""
    card = tiny(served, **members)
    benchmark = registry.get("demo")
    prompts = benchmark.prompts(benchmark.load(None))
    with Store(folder / "plan", create=True) as store:
        plan = make_plan([prompts[10], prompts[-1]], card, store)
    asked = [(one.request, prepare(one.request, one.files)) for one in plan.requests]
    assert not [prepared.error for _, prepared in asked if prepared.error]
    return ask(card, *asked)


def tiny(served: Served, *, settings: dict[str, Any] | None = None, **members: Any) -> ModelCard:
    found: dict[str, Any] = {
        "preprocessing": {"frames": 4, "shorter_edge_px": 84, "sample_rate_hz": 16_000},
        "sampling": {"temperature": 0.0, "max_tokens": 16},
        "service": {"timeout_s": 120.0},
    }
    return make_card(
        "openai",
        served.base_url,
        settings={"model": "tiny", **(settings or {})},
        **(found | members),
    )


@pytest.mark.parametrize(
    "settings",
    [
        {"frame_times": True},
        {"video": "video_url", "audio": "audio_url"},
        {"stream": True},
    ],
    ids=["pictures", "video", "streamed"],
)
def test_the_server_answers_real_frames_and_sound(
    settings: dict[str, Any], served: Served, tmp_path: Path
) -> None:
    heard = ask_demo(served, tmp_path, settings=settings)
    unheard = ask_demo(served, tmp_path, settings=settings, modality="video")

    answers = heard + unheard
    assert {answer.outcome for answer in answers} <= {Outcome.OK, Outcome.TRUNCATED}
    assert all(answer.response.text for answer in answers)
    assert all(0 < (answer.usage.output_tokens or 0) <= 16 for answer in answers)
    assert {answer.effective["model"] for answer in answers} == {"tiny"}
    # Sound is more tokens: it arrived, and was not passed over.
    for with_sound, without in zip(heard, unheard, strict=True):
        assert (with_sound.usage.input_tokens or 0) > (without.usage.input_tokens or 0) + 100


def test_a_streamed_answer_is_the_same_as_a_whole_one(served: Served, tmp_path: Path) -> None:
    whole = ask_demo(served, tmp_path)
    streamed = ask_demo(served, tmp_path, settings={"stream": True})

    assert [one.response for one in streamed] == [one.response for one in whole]
    assert [one.usage for one in streamed] == [one.usage for one in whole]


def test_a_prompt_beyond_the_context_is_an_overflow(served: Served) -> None:
    prompt = Text(text="Say something about this. " * 1000)
    card = tiny(served)
    answers = ask(card, (make_request(card, prompt), Prepared()))

    assert [answer.outcome for answer in answers] == [Outcome.CONTEXT_OVERFLOW]
    assert "4096" in answers[0].response.error


def test_a_wrong_key_is_refused(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REJUDGE_TEST_KEY", "another")

    with pytest.raises(ServiceRefused, match="HTTP 401"):
        ask_demo(served, tmp_path)


def test_an_unknown_model_is_refused(served: Served, tmp_path: Path) -> None:
    with pytest.raises(ServiceRefused, match="HTTP 404"):
        ask_demo(served, tmp_path, settings={"model": "other"})
