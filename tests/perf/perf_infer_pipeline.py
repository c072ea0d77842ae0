"""The pipeline's throughput beside the bare engine's and beside a loop of one request at a time.

256 requests about one stretch of a bundled clip, video and sound, 256 tokens an answer, to the tiny
Qwen2.5-Omni checkpoint on vLLM. One stretch, because on a small machine a model this small is
faster than decoding:

* bare: media prepared before, all requests handed to vLLM (AsyncLLM) as fast as it takes them
* loop: decode, then generate, one request after the other, as the benchmark's reference does
* pipeline: ``run_pipeline`` on Ray, with storing; its decoding shares media between requests

Rates are answers a second from the moment on when as many were answered as are asked at a time, so
starting, loading and warming up count nowhere; what is under way then counts by its share of the
time after. Needs vLLM: it is run in its environment.

vLLM's core and its worker are one process here, as they are on one GPU. On CPUs vLLM makes two of
them by default, which wait for each other in loops that never sleep and fill two cores; then every
ratio is one of how the kernel shares them out (``VLLM_ENABLE_V1_MULTIPROCESSING=1`` shows it).

Run: python -m tests.perf.perf_infer_pipeline [requests]
"""

import asyncio
import importlib.util
import os
import sys
import tempfile
import time
from pathlib import Path

from bench import registry
from bench.item import TaskType
from cache.store import Store
from infer.card import ModelCard, load_card
from infer.engine import create_engine
from infer.media.decode import Prepared, prepare
from infer.plan import Planned, make_plan

CONCURRENCY = 32
TOKENS = 256
LOOP = 16
#: Questions; samples make more requests of them.
PROMPTS = 1
DATA = Path(__file__).parent.parent / "data"


def write_card(folder: Path) -> ModelCard:
    from tests.tiny_omni import make_tiny_omni

    text = (DATA / "tiny-omni-vllm.toml").read_text()
    text = text.replace("CHECKPOINT", str(make_tiny_omni(folder / "checkpoint")))
    text = text.replace("LIMIT", "4096").replace("max_tokens = 24", f"max_tokens = {TOKENS}")
    text = text.replace("concurrency = 4", f"concurrency = {CONCURRENCY}")
    # Random weights would end an answer after some tokens, each after another number.
    text += "\n[settings.generation]\nignore_eos = true\n"
    path = folder / "card.toml"
    path.write_text(text)
    return load_card(str(path))


def plan(folder: Path, card: ModelCard, requests: int) -> list[Planned]:
    benchmark = registry.get("demo")
    prompts = benchmark.prompts(benchmark.load(None, (TaskType.CHOICE,)))[:PROMPTS]
    with Store(folder / "plan", create=True) as store:
        samples = -(-requests // len(prompts))
        return list(make_plan(prompts, card, store, samples=samples).requests[:requests])


def rate(spans: list[tuple[float, float]]) -> float:
    """Answers a second, from when each was asked and when it was answered."""
    ends = sorted(end for _, end in spans)
    since, until = ends[CONCURRENCY - 1], ends[-1]
    shares = ((end - max(start, since)) / (end - start) for start, end in spans if end > since)
    return sum(shares) / (until - since)


async def bare(engine, planned: list[Planned]) -> float:
    known: dict[str, Prepared] = {}
    ready = []
    for one in planned:
        digest = repr(one.request.messages[0].parts[:-1])
        if digest not in known:
            known[digest] = prepare(one.request, one.files)
        ready.append((one.request, known[digest]))
    spans = []
    free = asyncio.Semaphore(CONCURRENCY)

    async def ask(request, prepared) -> None:
        async with free:
            start = time.perf_counter()
            await engine.answer(request, prepared)
            spans.append((start, time.perf_counter()))

    await asyncio.gather(*(ask(*one) for one in ready))
    return rate(spans)


async def loop(engine, planned: list[Planned]) -> float:
    began = time.perf_counter()
    for one in planned:
        await engine.answer(one.request, prepare(one.request, one.files))
    return len(planned) / (time.perf_counter() - began)


def engine_rates(card: ModelCard, planned: list[Planned]) -> tuple[float, float]:
    async def both() -> tuple[float, float]:
        engine = create_engine(card)
        try:
            await engine.answer(planned[0].request, prepare(planned[0].request, planned[0].files))
            return await bare(engine, planned), await loop(engine, planned[:: len(planned) // LOOP])
        finally:
            engine.close()

    return asyncio.run(both())


def pipeline_rate(folder: Path, card: ModelCard, planned: list[Planned]) -> float:
    from infer.driver import Header
    from infer.job import Job, Signals

    Store(folder / "store", create=True).close()
    header = Header(
        card=card, store=str(folder / "store"), journals=str(folder / "journals"), grace_s=1.0
    )
    with Signals() as signals:
        answers = list(Job(header, planned, signals).answers())
    assert len(answers) == len(planned)
    return rate([(done.at_s - done.answer_s, done.at_s) for done in answers])


def main() -> None:
    if importlib.util.find_spec("vllm") is None:
        print("pipeline: not measured, this environment has no vLLM (make test-vllm makes one)")
        return
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    requests = int(sys.argv[1]) if len(sys.argv) > 1 else 256
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        card = write_card(folder)
        planned = plan(folder, card, requests + CONCURRENCY)
        engine, one_by_one = engine_rates(card, planned)
        ours = pipeline_rate(folder, card, planned)
        again, _ = engine_rates(card, planned)
    print(f"{requests} requests, {CONCURRENCY} at a time, on {os.cpu_count()} cores")
    print(f"bare engine  {engine:6.2f}/s before, {again:6.2f}/s after")
    print(f"loop         {one_by_one:6.2f}/s")
    print(
        f"pipeline     {ours:6.2f}/s: {ours / max(engine, again):.2f} of the faster bare", end=", "
    )
    print(f"{ours / one_by_one:.1f} times the loop's")


if __name__ == "__main__":
    main()
