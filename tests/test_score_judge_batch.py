"""Judging in batches: what is sent, what is taken up again, and what ends how."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cache.record import Outcome
from cache.store import Store
from score.errors import JudgeUnavailable, ScoreError
from score.judge import batch as batch_module
from score.judge.batches import Batches
from score.judge.grade import Graded, Terms, grade
from score.judge.lookup import verdicts
from score.judge.spec import JudgeSpec, Prices, load_spec
from score.judge.verdict import JudgeFailure, Verdict
from tests.batch_server import BatchServer, Line, answered, unanswered
from tests.builders import chat_judge, judge_pairs
from tests.openai_server import chat, error

IN_BATCH = Terms(in_batch=True)
GOOD = answered('{"score": 7, "justification": "close"}')


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store", create=True) as opened:
        yield opened


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_module, "FIRST_POLL_S", 0.05)


def judged(store: Store, spec: JudgeSpec, n: int = 4, terms: Terms = IN_BATCH) -> Graded:
    return grade(store, spec, judge_pairs(n), terms=terms, environ={})


def number_of(line: Line) -> int:
    return int(line["body"]["messages"][1]["content"].partition("answer ")[2].split()[0])


def test_a_batch_is_sent_waited_for_and_collected(store: Store) -> None:
    def answer(line: Line) -> Line | None:
        return answered(json.dumps({"score": number_of(line)}))

    with BatchServer(answer, polls=2) as server:
        done = judged(store, chat_judge(server.base_url))
    assert (done.called, done.ok, done.stopped) == (4, 4, "")
    found = verdicts(store, chat_judge(), judge_pairs(4))
    assert found == [Verdict(number, "") for number in range(4)]
    assert [line["url"] for line in server.sent] == ["/v1/chat/completions"] * 4
    assert not Batches(store.path).all()
    again = judged(store, chat_judge())
    assert (again.cached, again.called) == (4, 0)


def test_a_batch_costs_what_the_spec_says_it_does(store: Store) -> None:
    prices = Prices(input_usd_per_million=2, output_usd_per_million=10, batch_factor=0.5)
    with BatchServer(lambda line: GOOD) as server:
        done = judged(store, chat_judge(server.base_url, prices=prices))
    # By hand: 4 calls of 100 tokens in and 20 out, at half of 2 and 10 dollars a million.
    assert done.cost_usd == pytest.approx(4 * (100 * 2 + 20 * 10) / 2e6)


def test_what_is_not_waited_for_is_collected_by_the_same_command(store: Store) -> None:
    with BatchServer(lambda line: GOOD, polls=2) as server:
        spec = chat_judge(server.base_url)
        first = judged(store, spec, terms=Terms(in_batch=True, wait=False))
        assert (first.called, first.stopped) == (0, "4 calls are in batches that did not end yet")
        more = judged(store, spec, 6, terms=Terms(in_batch=True, wait=False))
        # The two that are new went in a second batch; the first has ended by now.
        assert (more.called, more.ok, len(server.batches)) == (4, 4, 2)
        last = judged(store, spec, 6)
    assert (last.cached, last.called, last.ok) == (4, 2, 6)
    assert len({line["custom_id"] for line in server.sent}) == len(server.sent) == 6


def test_calls_of_a_batch_are_not_made_again_one_by_one(store: Store) -> None:
    with BatchServer(lambda line: GOOD, polls=9) as server:
        spec = chat_judge(server.base_url)
        judged(store, spec, terms=Terms(in_batch=True, wait=False))
        with pytest.raises(ScoreError, match=r"4 of these calls are in batch batch_0 .*--batch"):
            judged(store, spec, terms=Terms())
    assert not [request for request in server.requests if "chat" in request]


def test_a_batch_that_was_made_and_not_acknowledged_is_found_by_its_tag(store: Store) -> None:
    with BatchServer(lambda line: GOOD, drop_created=1) as server:
        spec = chat_judge(server.base_url, max_retries=0)
        with pytest.raises(JudgeUnavailable, match="cannot be reached"):
            judged(store, spec)
        (left,) = Batches(store.path).all()
        assert (left.id, left.input_file) == ("", "file-0")
        done = judged(store, spec)
    assert (done.ok, len(server.batches), len(server.uploads)) == (4, 1, 1)


@pytest.mark.parametrize(
    ("line", "outcome", "status"),
    [
        (answered(error(400, "filtered", code="content_filter")), Outcome.CONTENT_FILTER, "judge"),
        (answered(error(500, "broken")), Outcome.INFRA_ERROR, "infra"),
        (unanswered("batch_expired"), Outcome.INFRA_ERROR, "infra"),
        (None, Outcome.INFRA_ERROR, "infra"),
        (answered(chat('{"score', finish_reason="length")), Outcome.TRUNCATED, "judge"),
    ],
    ids=["filtered", "broken", "expired", "left out", "cut"],
)
def test_a_line_that_went_wrong_is_one_failure_among_verdicts(
    store: Store, line: Line | None, outcome: Outcome, status: str
) -> None:
    with BatchServer(lambda asked: line if number_of(asked) == 2 else GOOD) as server:
        done = judged(store, chat_judge(server.base_url))
    assert (done.ok, done.judge_failed + done.infra_failed) == (3, 1)
    failed = verdicts(store, chat_judge(), judge_pairs(4))[2]
    assert isinstance(failed, JudgeFailure)
    assert failed.status == f"{status}_failed"
    assert outcome in [record.outcome for record in store.scan()]
    assert not Batches(store.path).all()


def test_an_unreadable_reply_goes_into_another_batch(store: Store) -> None:
    def answer(line: Line) -> Line | None:
        return GOOD if len(server.batches) > 1 else answered("no idea")

    with BatchServer(answer) as server:
        done = judged(store, chat_judge(server.base_url))
    assert (done.called, done.ok, len(server.batches)) == (8, 4, 2)


def test_a_batch_that_the_service_refuses_says_why_and_is_forgotten(store: Store) -> None:
    refused = pytest.raises(JudgeUnavailable, match="batch_0 was refused: a line is too long")
    with BatchServer(lambda line: GOOD, status="failed") as server, refused:
        judged(store, chat_judge(server.base_url))
    assert not Batches(store.path).all()


def test_a_large_batch_is_sent_in_portions(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_module, "MOST_REQUESTS", 3)
    with BatchServer(lambda line: GOOD) as server:
        done = judged(store, chat_judge(server.base_url), 7)
    assert (done.ok, [len(file.splitlines()) for file in server.uploads.values()]) == (7, [3, 3, 1])


def test_a_formula_has_no_batches(store: Store) -> None:
    with pytest.raises(ScoreError, match="lexical is a formula"):
        judged(store, load_spec("lexical"))


def test_a_damaged_file_of_a_batch_is_named(store: Store) -> None:
    with BatchServer(lambda line: GOOD, polls=9) as server:
        judged(store, chat_judge(server.base_url), terms=Terms(in_batch=True, wait=False))
    (file,) = (store.path / "batches").glob("*.json")
    file.write_text("{", encoding="utf-8")
    with pytest.raises(ScoreError, match=f"{file.name} is damaged"):
        judged(store, chat_judge())


_GRADE = """
import sys
from pathlib import Path
from cache.store import Store
from score.judge.grade import Terms, grade
from tests.builders import chat_judge, judge_pairs
with Store(Path(sys.argv[1])) as store:
    grade(store, chat_judge(sys.argv[2]), judge_pairs(4), terms=Terms(in_batch=True), environ={})
"""


@pytest.mark.slow
def test_a_killed_process_leaves_its_batch_to_the_next(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    Store(folder, create=True).close()
    with BatchServer(lambda line: GOOD, polls=10**6) as server:
        arguments: list[Any] = [sys.executable, "-c", _GRADE, folder, server.base_url]
        judge = subprocess.Popen(arguments, cwd=Path(__file__).parent.parent)
        _await(lambda: any(batch.looks for batch in server.batches.values()))
        judge.send_signal(signal.SIGKILL)
        assert judge.wait() == -signal.SIGKILL
        server.polls = 0
        with Store(folder) as store:
            done = judged(store, chat_judge(server.base_url))
    assert (done.called, done.ok, len(server.batches)) == (4, 4, 1)


def _await(holds: Any) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)
