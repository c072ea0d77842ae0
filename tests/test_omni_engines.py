"""vLLM and transformers on tiny checkpoints of the omni models, with the bundled clips.

Run by `make test-vllm`, in an environment of its own: vLLM's build for the CPU is no package extra.
vLLM runs inside this process (tests/vllm_here.py), but for the run through Ray.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from bench import registry
from cache.record import Outcome
from cache.request import Media, Message, Sampling
from cache.store import Store
from infer.card import ModelCard, load_card
from infer.engine import Answer, create_engine
from infer.media.apart import prepare_apart
from infer.media.decode import Prepared
from infer.media.frames import Frames
from infer.media.sound import Sound
from infer.plan import Planned, make_plan
from tests.tiny_minicpm_o import make_tiny_minicpm_o_2_6, make_tiny_minicpm_o_4_5
from tests.tiny_omni import make_tiny_adapter, make_tiny_omni
from tests.tiny_qwen3_omni import make_tiny_qwen3_omni
from tests.vllm_here import vllm_here

pytestmark = pytest.mark.vllm

ROOT = Path(__file__).parent.parent
DATA = Path(__file__).parent / "data"
LIMIT = 4096
Asked = list[tuple[Planned, Prepared]]


@dataclass(frozen=True)
class Tiny:
    """A tiny checkpoint: its cards in tests/data, and who writes it."""

    name: str
    make: Callable[[Path], Path]
    engines: tuple[str, ...] = ("vllm", "transformers")


QWEN2_5 = Tiny("tiny-omni", make_tiny_omni)
QWEN3 = Tiny("tiny-qwen3-omni", make_tiny_qwen3_omni)
TINY = [
    QWEN2_5,
    QWEN3,
    Tiny("tiny-minicpm-o-2.6", make_tiny_minicpm_o_2_6, ("vllm",)),
    Tiny("tiny-minicpm-o-4.5", make_tiny_minicpm_o_4_5, ("vllm",)),
]


@dataclass(frozen=True)
class Tried:
    """A tiny checkpoint, and what each engine said with it."""

    answers: dict[str, list[Answer]]
    counted: dict[str, list[int | None]]
    """Input tokens of each request, as the engine counts them before it is asked."""
    too_long: dict[str, Answer]
    left_open: dict[str, Answer]
    """To a request whose sampling says nothing but where to cut."""


@pytest.fixture(scope="module", autouse=True)
def _small_machine() -> Iterator[None]:
    # vLLM's CPU build takes most of the memory unless it is told how much its cache may have, and
    # it binds the process to a core unless it is told not to.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
        patch.setenv("VLLM_CPU_OMP_THREADS_BIND", "nobind")
        patch.setenv("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
        patch.setenv("HF_HUB_OFFLINE", "1")
        # MiniCPM-o 2.6 asks it, and torch's CPU build has no answer.
        patch.setattr("torch.cuda.is_current_stream_capturing", lambda: False)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("omni")


@pytest.fixture(scope="module")
def asked(folder: Path) -> Asked:
    """A summary, two choices and a localization over real clips, one of them without sound."""
    benchmark = registry.get("demo")
    prompts = benchmark.prompts(benchmark.load(None))
    silent = [prompt for prompt in prompts if "/06/002/" in prompt.items[0]][:1]
    card = write_card(folder, QWEN2_5, "transformers", folder)
    with Store(folder / "plan", create=True) as store:
        plan = make_plan([prompts[0], prompts[10], *silent, prompts[-1]], card, store)
    # Apart, because vLLM does not start in a process that has loaded llvmlite, as librosa does.
    return [(one, whole_hops(prepare_apart(one.request, one.files))) for one in plan.requests]


@pytest.fixture(scope="module", params=TINY, ids=lambda tiny: tiny.name)
def tried(request: pytest.FixtureRequest, folder: Path, asked: Asked) -> Tried:
    tiny: Tiny = request.param
    checkpoint = tiny.make(folder / tiny.name)
    tried = Tried({}, {}, {}, {})
    for name in tiny.engines:
        card = write_card(folder, tiny, name, checkpoint)
        with vllm_here(card) if name == "vllm" else closing(create_engine(card)) as engine:
            asyncio.run(ask_all(engine, name, asked, tried))
    return tried


def test_vllm_answers_a_run_through_ray_and_the_run_is_scored(folder: Path) -> None:
    """First, because vLLM leaves its marks in the environment of a process that it ran in."""
    checkpoint = make_tiny_omni(folder / "through-ray")
    card = write_card(folder, QWEN2_5, "vllm", checkpoint)
    store, scores = str(folder / "store"), str(folder / "scores")
    infer = ["infer", "demo", "--model", str(folder / f"{card.name}-vllm.toml"), "--store", store]
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


def test_greedy_answers_of_both_engines_are_the_same(tried: Tried) -> None:
    if "transformers" not in tried.answers:
        pytest.skip("transformers has no such model")
    ours, theirs = tried.answers["vllm"], tried.answers["transformers"]

    assert [answer.usage for answer in ours] == [answer.usage for answer in theirs]
    assert [answer.outcome for answer in ours] == [answer.outcome for answer in theirs]
    # A character that the last token leaves unfinished is kept by one, dropped by the other.
    said = [[answer.response.text.rstrip("\ufffd") for answer in some] for some in (ours, theirs)]
    assert said[0] == said[1]


def test_answers_depend_on_the_media(tried: Tried) -> None:
    assert len({answer.response.text for answer in tried.answers["vllm"]}) == 4


def test_an_answer_cut_at_the_token_limit_is_truncated(tried: Tried) -> None:
    cut = [answer for answer in tried.answers["vllm"] if answer.usage.output_tokens == 24]

    assert cut
    assert {answer.outcome for answer in cut} == {Outcome.TRUNCATED}


def test_an_engine_counts_a_prompts_tokens_before_it_is_asked(tried: Tried) -> None:
    for name, answers in tried.answers.items():
        assert tried.counted[name] == [answer.usage.input_tokens for answer in answers]


def test_a_prompt_beyond_the_context_is_an_overflow(tried: Tried) -> None:
    for answer in tried.too_long.values():
        assert answer.outcome is Outcome.CONTEXT_OVERFLOW
        assert str(LIMIT) in answer.response.error


def test_what_a_card_leaves_open_is_the_checkpoints_own(tried: Tried) -> None:
    """A record says how tokens were really drawn."""
    for name, answer in tried.left_open.items():
        drawn = answer.effective["sampling"]
        assert [drawn[one] for one in ("temperature", "top_k", "max_tokens")] == [0.5, 7, 3], name
    for answers in tried.answers.values():
        drawn = answers[0].effective["sampling"]
        assert drawn["max_tokens"] == 24
        assert drawn.get("do_sample") is False or drawn["temperature"] == 0.0


def test_frames_go_as_pictures_and_the_adapter_of_their_kind_is_used(
    folder: Path, asked: Asked
) -> None:
    """As Phi-4-multimodal takes them: pictures with their times, LoRA weights by kind of media."""
    checkpoint = make_tiny_omni(folder / "with-adapters")
    make_tiny_adapter(checkpoint / "vision-lora", layers=2, size=64)
    write_card(folder, QWEN2_5, "vllm", checkpoint)
    path = folder / "tiny-omni-vllm.toml"
    path.write_text(
        path.read_text()
        .replace("[settings]\n", '[settings]\nvideo = "images"\nframe_times = true\n')
        .replace(
            "[settings.engine]\n", "[settings.engine]\nenable_lora = true\nmax_lora_rank = 8\n"
        )
        + '\n[settings.adapters]\nimage = "vision-lora"\n'
    )
    request, media = asked[0][0].request, asked[0][1]
    unseen = msgspec.structs.replace(
        request, messages=tuple(without_video(message) for message in request.messages)
    )
    heard = replace(media, media=tuple(p for p in media.media if not isinstance(p, Frames)))

    with vllm_here(load_card(str(path))) as engine:
        seen = asyncio.run(engine.answer(request, media))
        only_heard = asyncio.run(engine.answer(unseen, heard))
        text = engine._prompt(engine._chat(request, media))

    assert seen.effective["adapter"] == "vision-lora"
    assert "adapter" not in only_heard.effective
    assert len(text["multi_modal_data"]["image"]) == 6
    assert text["prompt"].count("Frame at ") == 6


def write_card(folder: Path, tiny: Tiny, engine: str, checkpoint: Path) -> ModelCard:
    text = (DATA / f"{tiny.name}-{engine}.toml").read_text()
    path = folder / f"{tiny.name}-{engine}.toml"
    path.write_text(text.replace("CHECKPOINT", str(checkpoint)).replace("LIMIT", str(LIMIT)))
    return load_card(str(path))


def without_video(message: Message) -> Message:
    parts = [
        part for part in message.parts if not (isinstance(part, Media) and part.kind == "video")
    ]
    return msgspec.structs.replace(message, parts=tuple(parts))


def whole_hops(prepared: Prepared) -> Prepared:
    """Cut sound to whole hops of the spectrogram.

    Of Qwen3-Omni's last hop, where the sound ends within it, vLLM makes a whole one with zeros and
    transformers nothing: the two then see prompts of different lengths.
    """
    media = [
        Sound(part.samples[: len(part.samples) // 160 * 160], part.sample_rate_hz)
        if isinstance(part, Sound)
        else part
        for part in prepared.media
    ]
    return replace(prepared, media=tuple(media))


def longer(prepared: Prepared) -> Prepared:
    """Show every frame a hundred times."""
    media = [
        Frames(np.repeat(part.pixels, 100, axis=0), np.arange(100.0 * len(part.times_s)))
        if isinstance(part, Frames)
        else part
        for part in prepared.media
    ]
    return replace(prepared, media=tuple(media))


async def ask_all(engine: Any, name: str, asked: Asked, tried: Tried) -> None:
    tried.counted[name] = [await engine.count_tokens(one.request, media) for one, media in asked]
    tried.answers[name] = [await engine.answer(one.request, media) for one, media in asked]
    request, media = asked[0][0].request, asked[0][1]
    tried.too_long[name] = await engine.answer(request, longer(media))
    left_open = msgspec.structs.replace(request, sampling=Sampling(max_tokens=3))
    tried.left_open[name] = await engine.answer(left_open, media)


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
