"""A judge that is asked to end, and one that works beside another of its kind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from cache.store import Store
from score.judge import work
from score.judge.grade import grade
from tests.builders import chat_judge, judge_pairs
from tests.judged import GOOD
from tests.openai_server import Call, OpenAIServer, Reply, chat
from tests.test_score_judge_cli import SPEC, with_run

ROOT = Path(__file__).parent.parent


def started(folder: Path, base_url: str) -> subprocess.Popen[str]:
    spec = folder / "mine.toml"
    spec.write_text(SPEC.replace("http://127.0.0.1:9/v1", base_url).replace(
        "[scale]", "concurrency = 2\n[scale]"), encoding="utf-8")  # fmt: skip
    return subprocess.Popen(
        [sys.executable, "-m", "rejudge", "judge", "demo", "--store", str(folder / "store"),
         "--judge", str(spec), "--json"],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONWARNINGS": "default"},
    )  # fmt: skip


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_lets_calls_in_flight_end_and_begins_no_other(
    tmp_path: Path, number: signal.Signals
) -> None:
    items = with_run(tmp_path / "store")
    held, let_go = threading.Barrier(3), threading.Event()

    def script(call: Call) -> Reply:
        if call.number in (1, 2):  # the first goes alone; these are in flight together
            held.wait(60)
            let_go.wait(60)
        return GOOD

    with OpenAIServer(script) as server:
        judge = started(tmp_path, server.base_url)
        held.wait(60)
        judge.send_signal(number)
        assert judge.stderr is not None
        told = ""
        while "a second signal ends at once" not in told:
            told += judge.stderr.readline()
        threading.Timer(1, let_go.set).start()  # so that the command has looked at its signals
        out, err = judge.communicate(timeout=60)
        assert judge.returncode == 75, err
        done = json.loads(out)
        assert len(server.calls) == done["called"] == done["ok"] == 3
        assert done["missing"] == 2 * items - 3
        assert done["stopped"] == f"interrupted by a signal ({number.name})"
        assert "nclosed" not in err
        assert "Traceback" not in err


def test_a_second_signal_ends_at_once_with_the_summary(tmp_path: Path) -> None:
    with_run(tmp_path / "store")
    held, let_go = threading.Barrier(3), threading.Event()

    def script(call: Call) -> Reply:
        if call.number in (1, 2):
            held.wait(60)
            let_go.wait(60)
        return GOOD

    with OpenAIServer(script) as server:
        judge = started(tmp_path, server.base_url)
        held.wait(60)
        assert judge.stderr is not None
        judge.send_signal(signal.SIGINT)
        while "a second signal" not in judge.stderr.readline():
            pass
        judge.send_signal(signal.SIGINT)
        out, err = judge.communicate(timeout=60)
        let_go.set()
    assert (judge.returncode, json.loads(out)["ok"]) == (75, 1), err
    assert "nclosed" not in err


def test_what_another_process_got_meanwhile_is_not_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "LOOK_EVERY_S", 0.0)
    folder = tmp_path / "store"
    Store(folder, create=True).close()
    pairs = judge_pairs(6)

    def script(call: Call) -> Reply:
        if call.number == 0:  # while the first call waits, another process judges four
            with Store(folder) as other, OpenAIServer(GOOD) as theirs:
                grade(other, chat_judge(theirs.base_url), pairs[2:], environ={})
        return chat('{"score": 3}')

    with Store(folder) as store, OpenAIServer(script) as server:
        spec = chat_judge(server.base_url, concurrency=1)
        done = grade(store, spec, pairs, environ={})
    assert (done.called, done.elsewhere, done.ok) == (2, 4, 6)
    assert len(server.calls) == 2
