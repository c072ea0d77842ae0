"""The worker engine against real processes of a bare interpreter: answers, crashes, hangs, ends."""

from __future__ import annotations

import ast
import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import infer.worker.serve
from cache.record import Outcome, Record
from cache.request import Media, Message, Request, Sampling, Text
from infer.card import ModelCard, Verified
from infer.engine import Answer, create_engine
from infer.engines.worker import WorkerEngine
from infer.errors import CardError, EngineFailed, FeatureMissing
from infer.media.decode import Prepared
from infer.media.frames import Frames
from infer.media.sound import Sound
from infer.worker.environment import Environment
from tests.bare_python import make_bare_python

ROOT = Path(__file__).parent.parent
ADAPTER = Path(__file__).parent / "worker_adapter.py"
WORKER = Path(infer.worker.serve.__file__).parent
PIXELS = np.arange(2 * 4 * 6 * 3, dtype=np.uint8).reshape(2, 4, 6, 3)


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_bare_python(tmp_path_factory.mktemp("bare"))


Start = Callable[..., WorkerEngine]


@pytest.fixture
def start(bare: str, tmp_path: Path) -> Iterator[Start]:
    """Start an engine; it is closed at the end of the test."""
    engines: list[WorkerEngine] = []

    def started(**changes: Any) -> WorkerEngine:
        engine = create_engine(make_card(bare, tmp_path / "log", **changes))
        assert isinstance(engine, WorkerEngine)
        engines.append(engine)
        return engine

    yield started
    for engine in engines:
        engine.close()


def test_answers_belong_to_their_requests_and_come_from_another_environment(
    start: Start, bare: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # as Ray's workers have it

    answers = ask(start(), *(f"say {number}" for number in range(5)), "where")

    assert [answer.response.text for answer in answers[:5]] == ["0", "1", "2", "3", "4"]
    assert answers[0].outcome is Outcome.OK
    assert (answers[0].usage.input_tokens, answers[0].usage.output_tokens) == (11, 2)
    assert answers[5].response.text == f"{bare} numpy None"
    assert answers[5].effective["worker"]["python"]


def test_media_and_settings_arrive_as_they_were_prepared(start: Start) -> None:
    engine = start()
    request = Request(
        engine="worker",
        model="scripted",
        messages=(
            Message(role="system", parts=(Text(text="Be brief."),)),
            make_request("media").messages[0],
        ),
        sampling=Sampling(temperature=0.7, top_p=0.95, max_tokens=77, seed=5),
        sample=2,
    )

    [answer] = asyncio.run(gather(engine, [request]))

    assert ast.literal_eval(answer.response.text) == {
        "pixels": PIXELS.tolist(),
        "times_s": [1.25, 2.5],
        "samples": [0.0, 0.5, -1.0],
        "wav": (16000, 1, 1600),
        "sampling": (0.7, 0.95, 77, 7),
        "system": "Be brief.",
    }


def test_what_a_library_prints_or_reads_does_not_get_between_the_messages(start: Start) -> None:
    answers = ask(start(), "noise", "read stdin", "noise")

    assert [answer.response.text for answer in answers] == ["done: noise", "''", "done: noise"]


def test_a_request_that_kills_its_worker_fails_and_the_others_are_answered(
    start: Start, tmp_path: Path
) -> None:
    engine = start()
    answers = ask(engine, "say 1", "say 2", "die", "say 4", "die by signal", "say 6")
    ask(engine, "say 7")

    assert [answer.outcome for answer in answers].count(Outcome.OK) == 4
    assert answers[2].outcome is answers[4].outcome is Outcome.INFRA_ERROR
    assert "exit code 7" in answers[2].response.error
    assert "about to die" in answers[2].response.error
    assert "SIGSEGV" in answers[4].response.error
    assert len(loads(tmp_path)) == 3


def test_a_worker_that_hangs_is_killed_and_its_request_timed_out(start: Start) -> None:
    answers = ask(start(timeout_s=2.0), "say 1", "hang", "say 3")

    assert [answer.outcome for answer in answers] == [Outcome.OK, Outcome.TIMEOUT, Outcome.OK]
    assert "did not answer in time" in answers[1].response.error


def test_failures_are_typed_and_say_what_happened(start: Start) -> None:
    questions = ("raise", "exit", "too long", "nonsense outcome", "too many", "long")
    answers = ask(start(max_batch=1), *questions)

    assert [answer.outcome.value for answer in answers] == [
        "infra_error",
        "infra_error",
        "context_overflow",
        "infra_error",
        "ok",
        "truncated",
    ]
    assert answers[0].response.error.startswith("KeyError: 'no such tensor\\nat all' (worker_ada")
    assert "the library has had enough" in answers[1].response.error
    assert answers[2].response.error == "9999 tokens"
    assert "expected one of ok" in answers[3].response.error
    assert answers[5].response.finish_reason == "length"


def test_what_is_no_message_ends_the_worker_and_not_the_run(start: Start) -> None:
    answers = ask(start(), "garbage", "say 2", "another's answer", "say 4")

    assert [answer.outcome for answer in answers[::2]] == [Outcome.INFRA_ERROR] * 2
    assert r"b'\x00\xff\xfe{garbage}'" in answers[0].response.error
    assert "was not asked" in answers[2].response.error
    assert [answer.response.text for answer in answers[1::2]] == ["2", "4"]


def test_long_and_broken_texts_arrive_and_can_be_stored(start: Start) -> None:
    much, odd, foreign = ask(start(), "say much", "say half a pair", "say 日本語 ☞ \u2028 \\u0041")

    assert much.response.text == "\u00e9" * 2_000_000
    assert odd.response.text == "a\U0001f600b\ufffdc"
    assert foreign.response.text == "日本語 ☞ \u2028 \\u0041"
    request = make_request("say half a pair")
    Record(
        key=request.key(), outcome=odd.outcome, request=request, response=odd.response
    ).to_sound_line()


def test_a_batch_goes_into_one_call(start: Start, tmp_path: Path) -> None:
    answers = ask_at_once(start(max_batch=4), tmp_path, *(f"say {number}" for number in range(10)))

    assert [answer.response.text for answer in answers] == [str(number) for number in range(10)]
    assert [int(line.split()[0]) for line in calls(tmp_path)] == [1, 4, 4, 2]


def test_a_batch_that_fails_is_asked_again_one_by_one(start: Start, tmp_path: Path) -> None:
    engine = start(max_batch=3)
    answers = ask_at_once(engine, tmp_path, "say 1", "too many", "say 3", "say 4", "die", "say 6")

    assert [answer.outcome.value for answer in answers] == ["ok"] * 4 + ["infra_error", "ok"]
    assert [int(line.split()[0]) for line in calls(tmp_path)] == [1, 3, 1, 1, 1, 3, 1, 1, 1]
    # With the others it killed one worker, alone another.
    assert len(loads(tmp_path)) == 3


def test_a_worker_that_dies_while_it_starts_is_tried_three_times(
    start: Start, tmp_path: Path
) -> None:
    with pytest.raises(EngineFailed, match=r"exit code 9.*sort of.*\(3 starts\)"):
        start(die_at_load="always")

    assert len(loads(tmp_path)) == 3


def test_a_model_that_does_not_load_is_tried_once_and_named(start: Start, tmp_path: Path) -> None:
    with pytest.raises(EngineFailed, match=r"OSError: the weights are not there"):
        start(fail_at_load=True)

    assert len(loads(tmp_path)) == 1


def test_a_model_that_takes_too_long_to_load_is_given_up(start: Start) -> None:
    with pytest.raises(EngineFailed, match="in time"):
        start(hang_at_load=True, load_timeout_s=0.5)


def test_a_worker_that_cannot_be_replaced_ends_the_run_instead_of_failing_every_request(
    start: Start,
) -> None:
    engine = start(die_at_load="later")

    [died] = ask(engine, "die")
    others = ask(engine, "say 2", "say 3", raised=True)

    assert died.outcome is Outcome.INFRA_ERROR
    assert [type(other) for other in others] == [EngineFailed, EngineFailed]
    assert "3 starts" in str(others[0])


def test_closing_ends_the_worker_and_removes_its_media(start: Start, tmp_path: Path) -> None:
    engine = start()
    ask(engine, "say 1")
    [worker] = loads(tmp_path)
    folder = engine._folder
    assert folder.stat().st_mode & 0o777 == 0o700
    assert list(folder.iterdir()) == []

    engine.close()

    assert not folder.exists()
    wait_for(lambda: not group(worker))


def test_closing_does_not_wait_for_a_worker_that_hangs(start: Start, tmp_path: Path) -> None:
    engine = start()

    async def leave() -> None:
        task = asyncio.create_task(engine.answer(make_request("sleep in C"), PREPARED))
        while not (tmp_path / "log.hung").exists():
            await asyncio.sleep(0.02)
        await asyncio.to_thread(engine.close)
        assert (await task).outcome is Outcome.INFRA_ERROR

    asyncio.run(leave())

    wait_for(lambda: not group(loads(tmp_path)[0]))


def test_a_signal_to_the_whole_job_does_not_end_what_is_in_flight(
    start: Start, tmp_path: Path
) -> None:
    engine = start()
    os.killpg(loads(tmp_path)[0], signal.SIGTERM)
    os.killpg(loads(tmp_path)[0], signal.SIGUSR1)

    assert [answer.response.text for answer in ask(engine, "say 1")] == ["1"]
    assert len(loads(tmp_path)) == 1


def test_kill_9_of_the_driver_leaves_no_process_and_no_media(bare: str, tmp_path: Path) -> None:
    """Not even where the worker hangs in C code and has children of its own."""
    card = msgspec.json.encode(make_card(bare, tmp_path / "log")).decode()
    media = tmp_path / "media"
    media.mkdir()
    driver = subprocess.Popen(
        [sys.executable, "-m", "tests.test_infer_worker", card],
        cwd=ROOT,
        env={**os.environ, "SLURM_TMPDIR": str(media)},
    )
    wait_for((tmp_path / "log.hung").exists)
    [worker] = loads(tmp_path)
    assert len(group(worker)) == 3  # the worker, its guard, its child
    assert list(media.glob("*/*/*.npy"))

    driver.kill()
    driver.wait()

    wait_for(lambda: not group(worker))
    assert list(media.iterdir()) == []


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"worker": Environment()}, CardError, "needs worker.python"),
        ({"worker": Environment(python="/no/such/python")}, FeatureMissing, "/no/such/python"),
        ({"worker": Environment(python="$NO_SUCH_NAME/bin/python")}, FeatureMissing, "set NO_SUCH"),
        (
            {"worker": Environment(python=sys.executable, import_paths=("/no/such/code",))},
            FeatureMissing,
            "imports from /no/such/code",
        ),
        ({"settings": {"adapter": "vita"}}, CardError, "there are: baichuan_omni_1_5, uni_moe"),
    ],
)
def test_a_card_that_cannot_work_is_refused_with_the_reason(
    changes: dict[str, Any], error: type[Exception], message: str, tmp_path: Path
) -> None:
    card = msgspec.structs.replace(make_card(sys.executable, tmp_path / "log"), **changes)

    with pytest.raises(error, match=message):
        create_engine(card)


@pytest.mark.parametrize(
    "path", [WORKER / "serve.py", *sorted((WORKER / "adapters").glob("[!_]*.py"))], ids=str
)
def test_what_runs_in_foreign_environments_needs_only_an_old_python(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 8))

    roots = {
        alias.name.partition(".")[0]
        for node in tree.body
        if isinstance(node, ast.Import)
        for alias in node.names
    } | {
        (node.module or "").partition(".")[0]
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
    }
    assert roots <= sys.stdlib_module_names
    # Annotations are never evaluated, so that they may say what Python 3.8 could not.
    assert "from __future__ import annotations" in path.read_text()


def make_card(python: str, log: Path, **changes: Any) -> ModelCard:
    times = {name: changes.pop(name) for name in ("timeout_s", "load_timeout_s") if name in changes}
    return ModelCard(
        name="scripted",
        engine="worker",
        checkpoint="example/scripted",
        modality="video+audio",
        tasks=("choice",),
        description="For tests.",
        verified=Verified.NO_WEIGHTS,
        settings={"adapter": str(ADAPTER), "log": str(log), **changes},
        worker=Environment(python=python, **times),
    )


PREPARED = Prepared(
    (
        Frames(PIXELS, np.array([1.25, 2.5])),
        Sound(np.resize(np.array([0.0, 0.5, -1.0], np.float32), 1600), 16_000),
    )
)


def make_request(question: str) -> Request:
    parts = (
        Media(kind="video", sha256="a" * 64),
        Media(kind="audio", sha256="a" * 64),
        Text(text=question),
    )
    return Request(engine="worker", model="scripted", messages=(Message(role="user", parts=parts),))


def ask(engine: WorkerEngine, *questions: str, raised: bool = False) -> list[Any]:
    requests = [make_request(question) for question in questions]
    return asyncio.run(gather(engine, requests, raised=raised))


async def gather(
    engine: WorkerEngine, requests: list[Request], *, raised: bool = False
) -> list[Any]:
    answers = (engine.answer(request, PREPARED) for request in requests)
    return list(await asyncio.gather(*answers, return_exceptions=raised))


def ask_at_once(engine: WorkerEngine, folder: Path, *questions: str) -> list[Answer]:
    """Ask while the worker is busy with something else, so that all wait, in this order."""

    async def asked() -> list[Answer]:
        busy = asyncio.create_task(engine.answer(make_request("wait"), PREPARED))
        while not (folder / "log.waits").exists():
            await asyncio.sleep(0.01)
        tasks = []
        for question in questions:
            waiting = engine._jobs.qsize()
            tasks.append(asyncio.create_task(engine.answer(make_request(question), PREPARED)))
            while engine._jobs.qsize() == waiting:
                await asyncio.sleep(0.01)
        (folder / "log.go").touch()
        await busy
        return await asyncio.gather(*tasks)

    return asyncio.run(asked())


def loads(folder: Path) -> list[int]:
    """Process ids of the workers that began to load, oldest first."""
    lines = (folder / "log").read_text().splitlines()
    return [int(line.split()[1]) for line in lines if line.startswith("load ")]


def calls(folder: Path) -> list[str]:
    lines = (folder / "log").read_text().splitlines()
    return [line for line in lines if not line.startswith("load ")]


def group(leader: int) -> list[int]:
    """Live processes of a process group."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[2]) == leader and fields[0] != "Z":
                found.append(int(entry.name))
    return found


def wait_for(holds: Callable[[], Any], limit_s: float = 60.0) -> None:
    until = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < until, "waited too long"
        time.sleep(0.02)


if __name__ == "__main__":
    ask(
        create_engine(msgspec.json.decode(sys.argv[1], type=ModelCard)),  # type: ignore[arg-type]
        "sleep in C",
    )
