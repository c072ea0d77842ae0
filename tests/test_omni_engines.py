"""vLLM and transformers on a tiny Qwen2.5-Omni checkpoint, with the bundled clips.

Run by `make test-vllm`, in an environment of its own: vLLM's build for the CPU is no package extra.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench import registry
from cache.record import Outcome
from cache.store import Store
from infer.card import ModelCard, load_card
from infer.engine import Answer, create_engine
from infer.media.decode import Prepared, prepare
from infer.plan import Planned, make_plan
from tests.tiny_omni import make_tiny_omni

pytestmark = pytest.mark.vllm

ROOT = Path(__file__).parent.parent
DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="module", autouse=True)
def _small_machine() -> Iterator[None]:
    # vLLM's CPU build takes most of the memory unless it is told how much its cache may have.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
        patch.setenv("HF_HUB_OFFLINE", "1")
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("omni")


@pytest.fixture(scope="module")
def checkpoint(folder: Path) -> Path:
    return make_tiny_omni(folder / "checkpoint")


@pytest.fixture(scope="module")
def asked(folder: Path, checkpoint: Path) -> list[tuple[Planned, Prepared]]:
    """A summary, two choices and a localization over real clips, one of them without sound."""
    benchmark = registry.get("demo")
    prompts = benchmark.prompts(benchmark.load(None))
    silent = [prompt for prompt in prompts if "/06/002/" in prompt.items[0]][:1]
    card = write_card(folder, checkpoint, "transformers")
    with Store(folder / "plan", create=True) as store:
        plan = make_plan([prompts[0], prompts[10], *silent, prompts[-1]], card, store)
    return [(planned, prepare(planned.request, planned.files)) for planned in plan.requests]


@pytest.fixture(scope="module")
def answers(
    folder: Path, checkpoint: Path, asked: list[tuple[Planned, Prepared]]
) -> dict[str, list[Answer]]:
    return {
        engine: answer_all(write_card(folder, checkpoint, engine), asked)
        for engine in ("transformers", "vllm")
    }


def test_greedy_answers_of_both_engines_are_the_same(answers: dict[str, list[Answer]]) -> None:
    ours, theirs = answers["vllm"], answers["transformers"]

    assert [answer.usage for answer in ours] == [answer.usage for answer in theirs]
    assert [answer.outcome for answer in ours] == [answer.outcome for answer in theirs]
    # A character that the last token leaves unfinished is kept by one, dropped by the other.
    said = [[answer.response.text.rstrip("\ufffd") for answer in some] for some in (ours, theirs)]
    assert said[0] == said[1]


def test_answers_depend_on_the_media(answers: dict[str, list[Answer]]) -> None:
    assert len({answer.response.text for answer in answers["vllm"]}) == 4


def test_an_answer_cut_at_the_token_limit_is_truncated(answers: dict[str, list[Answer]]) -> None:
    cut = [answer for answer in answers["vllm"] if answer.usage.output_tokens == 24]

    assert cut
    assert {answer.outcome for answer in cut} == {Outcome.TRUNCATED}


@pytest.mark.parametrize("engine", ["transformers", "vllm"])
def test_a_prompt_beyond_the_context_is_an_overflow(
    engine: str, folder: Path, checkpoint: Path, asked: list[tuple[Planned, Prepared]]
) -> None:
    [answer] = answer_all(write_card(folder, checkpoint, engine, limit=256), asked[:1])

    assert answer.outcome is Outcome.CONTEXT_OVERFLOW
    assert "256" in answer.response.error


def test_vllm_answers_a_run_through_ray_and_the_run_is_scored(
    folder: Path, checkpoint: Path
) -> None:
    write_card(folder, checkpoint, "vllm")
    store, scores = str(folder / "store"), str(folder / "scores")
    infer = ["infer", "demo", "--model", str(folder / "vllm-4096.toml"), "--store", store]
    score = ["score", "demo", "--store", store, "--out", scores, "--no-similarity"]

    first = rejudge(*infer, "--task", "choice", "--limit", "6", expect=1)  # 1: some were cut off
    again = rejudge(*infer, "--task", "choice", "--limit", "6", expect=1)  # and they stand
    scored = rejudge(*score)

    assert first["called"] == sum(first["outcomes"].values()) == 6
    assert set(first["outcomes"]) <= {"ok", "truncated"}
    assert (again["called"], again["cached"]) == (0, 6)
    [accuracy] = [row for row in scored["metrics"] if row["metric"] == "accuracy"]
    assert (accuracy["n_scored"], accuracy["unparsed"]) == (0, 6)
    assert accuracy["missing"] == accuracy["n_expected"] - 6


def write_card(folder: Path, checkpoint: Path, engine: str, *, limit: int = 4096) -> ModelCard:
    text = (DATA / f"tiny-omni-{engine}.toml").read_text()
    path = folder / f"{engine}-{limit}.toml"
    path.write_text(text.replace("CHECKPOINT", str(checkpoint)).replace("LIMIT", str(limit)))
    return load_card(str(path))


def answer_all(card: ModelCard, asked: list[tuple[Planned, Prepared]]) -> list[Answer]:
    async def ask() -> list[Answer]:
        engine = create_engine(card)
        try:
            return await asyncio.gather(*(engine.answer(p.request, media) for p, media in asked))
        finally:
            engine.close()

    return asyncio.run(ask())


def rejudge(*arguments: str, expect: int = 0) -> dict[str, Any]:
    ran = subprocess.run(
        [sys.executable, "-m", "rejudge", *arguments, "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == expect, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found
