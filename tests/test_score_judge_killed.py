"""A judge's process that dies loses the calls in flight and nothing else."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from cache.store import Store
from score.judge.grade import grade
from score.judge.spec import load_spec, moved
from tests.builders import judge_pairs
from tests.openai_server import Call, OpenAIServer, Reply, chat

SPEC = """
name = "mine"
engine = "openai"
model = "some-model"
base_url = "{base_url}"
rubric = "sonic-o1.jinja"
concurrency = {concurrency}
[scale]
min = 0
max = 10
"""
GRADE = """
import sys
from pathlib import Path
from cache.store import Store
from score.judge.grade import grade
from score.judge.spec import load_spec
from tests.builders import judge_pairs
with Store(Path(sys.argv[1])) as store:
    grade(store, load_spec(sys.argv[2]), judge_pairs(10))
"""
GOOD = chat('{"score": 7, "justification": "close"}')


@pytest.mark.slow
@pytest.mark.parametrize("concurrency", [1, 3])
def test_what_was_answered_before_a_kill_is_not_asked_again(
    tmp_path: Path, concurrency: int
) -> None:
    folder, spec_file = tmp_path / "store", tmp_path / "mine.toml"
    Store(folder, create=True).close()
    held, all_held, let_go = [], threading.Event(), threading.Event()

    def script(call: Call) -> Reply:
        # Five answers, then every call hangs until the judge is dead.
        if call.number >= 5 and not let_go.is_set():
            held.append(call.number)
            if len(held) == concurrency:
                all_held.set()
            let_go.wait(60)
        return GOOD

    with OpenAIServer(script) as server:
        text = SPEC.format(base_url=server.base_url, concurrency=concurrency)
        spec_file.write_text(text, encoding="utf-8")
        judge = subprocess.Popen(
            [sys.executable, "-c", GRADE, str(folder), str(spec_file)],
            cwd=Path(__file__).parent.parent,
        )
        assert all_held.wait(60)
        judge.send_signal(signal.SIGKILL)
        assert judge.wait() == -signal.SIGKILL
        let_go.set()
        called_before = len(server.calls)
        with Store(folder) as store:
            assert len(list(store.scan())) == 5
            spec = moved(load_spec(spec_file), server.base_url)
            done = grade(store, spec, judge_pairs(10))
        assert (done.cached, done.called, done.ok) == (5, 5, 10)
        assert len(server.calls) == called_before + 5
