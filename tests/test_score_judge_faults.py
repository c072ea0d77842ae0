"""Judges that do not answer, or not with a verdict: each case ends one way, with its reason."""

from __future__ import annotations

import gc
import random
import socketserver
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from cache.record import Outcome
from cache.store import Store
from score.errors import JudgeUnavailable
from score.judge.grade import grade
from score.judge.lookup import verdicts
from score.judge.verdict import JudgeFailure, Verdict
from tests.builders import chat_judge, judge_pair, judge_pairs
from tests.judged import BUSY, GOOD, graded, outcomes
from tests.openai_server import Call, OpenAIServer, Reply, chat, drop, error, faults


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store", create=True) as opened:
        yield opened


# Replies that are no verdict


def test_an_unreadable_reply_is_asked_again_under_another_key(store: Store) -> None:
    script = faults([chat("I cannot grade this"), chat("")], GOOD)
    done, _, found = graded(store, script, [judge_pair()])
    assert found == [Verdict(7, "close")]
    assert (done.requests, done.called, done.ok) == (1, 3, 1)
    assert sorted(record.request.sample for record in store.scan()) == [0, 1, 2]


def test_after_its_attempts_an_unreadable_judge_has_failed_for_good(store: Store) -> None:
    done, server, found = graded(store, chat("[[90]]"), [judge_pair()], attempts=2)
    assert len(server.calls) == 2
    assert isinstance(found[0], JudgeFailure)
    assert found[0].status == "judge_failed"
    assert "outside the scale 0–10 (last of 2 attempts)" in found[0].reason
    assert (done.judge_failed, done.complete) == (1, False)
    _, server, _ = graded(store, GOOD, [judge_pair()], attempts=2)
    assert not server.calls


def test_more_attempts_go_on_where_fewer_stopped(store: Store) -> None:
    graded(store, chat("no"), [judge_pair()], attempts=1)
    done, server, _ = graded(store, GOOD, [judge_pair()], attempts=3)
    assert (len(server.calls), done.ok) == (1, 1)


def test_several_samples_are_averaged(store: Store) -> None:
    script = faults([chat('{"score": 4}'), chat("no"), chat('{"score": 5}')], chat('{"score": 9}'))
    done, _, found = graded(store, script, [judge_pair()], samples=3, concurrency=1)
    assert done.called == 4
    assert found == [Verdict(6, "", samples=(4, 5, 9))]
    assert isinstance(found[0], Verdict)
    assert found[0].spread == pytest.approx(7**0.5)  # by hand: (4 + 1 + 9) / 2


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (chat(None, finish_reason="length", reasoning="let me see"), Outcome.TRUNCATED),
        (chat('{"score": 1', finish_reason="length"), Outcome.TRUNCATED),
        (chat(None, finish_reason="content_filter"), Outcome.CONTENT_FILTER),
        (error(400, "filtered", code="content_filter"), Outcome.CONTENT_FILTER),
        (chat(None, refusal="I will not"), Outcome.REFUSED),
        (error(400, "too long", code="context_length_exceeded"), Outcome.CONTEXT_OVERFLOW),
    ],
)
def test_an_end_that_a_repeat_would_not_change_is_stored_and_not_asked_again(
    store: Store, reply: Reply, outcome: Outcome
) -> None:
    done, server, found = graded(store, reply, [judge_pair()])
    assert outcomes(store) == [outcome]
    assert len(server.calls) == 1
    assert isinstance(found[0], JudgeFailure)
    assert found[0].status == "judge_failed"
    assert found[0].reason.startswith(outcome.value)
    assert done.judge_failed == 1
    _, server, _ = graded(store, GOOD, [judge_pair()])
    assert not server.calls


def test_reasoning_and_token_counts_are_kept(store: Store) -> None:
    graded(store, chat('{"score": 7}', reasoning="it fits"), [judge_pair()])
    (record,) = store.scan()
    assert record.response.reasoning == "it fits"
    assert (record.usage.input_tokens, record.usage.output_tokens) == (100, 20)
    assert record.effective == {"model": "scripted-1"}
    assert record.times.answer_s is not None


# A server in trouble


def test_a_busy_server_is_asked_again_when_it_says(store: Store) -> None:
    done, server, _ = graded(store, faults([BUSY, BUSY], GOOD), [judge_pair()])
    assert (len(server.calls), done.called, done.ok) == (3, 1, 1)


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (BUSY, Outcome.INFRA_ERROR),
        (error(500, "broken", retry_after_ms="5"), Outcome.INFRA_ERROR),
        (error(503, "overloaded", retry_after_ms="5"), Outcome.INFRA_ERROR),
        (Reply(body=b"<html>please log in</html>"), Outcome.INFRA_ERROR),
        (Reply(body=b'{"id": "no choices"}'), Outcome.INFRA_ERROR),
        (Reply(body={"choices": []}), Outcome.INFRA_ERROR),
        (Reply(body=b'{"choices": [{"mess'), Outcome.INFRA_ERROR),
    ],
)
def test_a_failure_that_may_pass_is_tried_again_by_the_next_run(
    store: Store, reply: Reply, outcome: Outcome
) -> None:
    done, _, found = graded(store, reply, [judge_pair()])
    assert outcomes(store) == [outcome]
    assert isinstance(found[0], JudgeFailure)
    assert found[0].status == "infra_failed"
    assert (done.infra_failed, done.ok, done.complete) == (1, 0, False)
    done, _, found = graded(store, GOOD, [judge_pair()])
    assert (done.called, found) == (1, [Verdict(7, "close")])


def test_a_lost_connection_is_taken_up_again(store: Store) -> None:
    done, server, _ = graded(store, faults([drop()], GOOD), [judge_pair()])
    assert (len(server.calls), done.ok) == (2, 1)


def test_a_server_that_does_not_answer_is_a_timeout(store: Store) -> None:
    hold = threading.Event()

    def script(call: Call) -> Reply:
        hold.wait(10)
        return GOOD

    with OpenAIServer(script) as server:
        spec = chat_judge(server.base_url, timeout_s=0.2, max_retries=0)
        done = grade(store, spec, [judge_pair()], environ={})
        hold.set()
    assert outcomes(store) == [Outcome.TIMEOUT]
    assert done.infra_failed == 1


def test_one_failure_does_not_hold_up_the_others(store: Store) -> None:
    def script(call: Call) -> Reply:
        return error(500, retry_after_ms="5") if "answer 3\n" in call.text("user") else GOOD

    done, _, found = graded(store, script, judge_pairs(6))
    assert (done.ok, done.infra_failed) == (5, 1)
    assert isinstance(found[3], JudgeFailure)


@pytest.mark.parametrize(
    "reply",
    [
        error(401, "no such key"),
        error(402, "pay first"),
        error(403, "not yours"),
        error(404, "no such model"),
        error(400, "unknown parameter"),
        error(429, "out of credit", code="insufficient_quota", retry_after_ms="1"),
    ],
    ids=lambda reply: str(reply.status),
)
def test_a_service_that_refuses_everything_is_left_alone_soon(store: Store, reply: Reply) -> None:
    with OpenAIServer(reply) as server:
        spec = chat_judge(server.base_url, max_retries=0)
        with pytest.raises(JudgeUnavailable) as caught:
            grade(store, spec, judge_pairs(50), environ={})
    assert len(server.calls) == 3
    assert f"HTTP {reply.status}" in str(caught.value)
    assert "0 of 50 verdicts in the store" in str(caught.value)
    assert caught.value.exit_code == 3
    found = verdicts(store, spec, judge_pairs(50))
    assert {failure.status for failure in found if isinstance(failure, JudgeFailure)} == {
        "infra_failed",
        "missing",
    }


def test_a_refusal_is_an_error_even_where_there_was_only_one_request(store: Store) -> None:
    with OpenAIServer(error(402, "pay first")) as server:
        spec = chat_judge(server.base_url)
        with pytest.raises(JudgeUnavailable, match="pay first"):
            grade(store, spec, [judge_pair()], environ={})
    assert outcomes(store) == [Outcome.INFRA_ERROR]
    done, _, _ = graded(store, GOOD, [judge_pair()])
    assert (done.called, done.ok) == (1, 1)


def test_one_refusal_among_answers_stops_nothing(store: Store) -> None:
    def script(call: Call) -> Reply:
        return error(403, "moderated") if "answer 3\n" in call.text("user") else GOOD

    done, _, _ = graded(store, script, judge_pairs(6))
    assert (done.ok, done.infra_failed) == (5, 1)


def test_money_that_runs_out_on_the_way_stops_the_calls_and_keeps_the_verdicts(
    store: Store,
) -> None:
    script = faults([GOOD] * 10, error(402, "pay first"))
    with OpenAIServer(script) as server:
        spec = chat_judge(server.base_url, concurrency=4)
        with pytest.raises(JudgeUnavailable, match="10 of 50 verdicts in the store"):
            grade(store, spec, judge_pairs(50), environ={})
    assert len(server.calls) <= 10 + 3 + 4
    done, _, _ = graded(store, GOOD, judge_pairs(50))
    assert (done.cached, done.called, done.ok) == (10, 40, 50)


def test_a_server_that_is_down_is_given_up_after_a_while(store: Store) -> None:
    with OpenAIServer(error(500)) as server:
        spec = chat_judge(server.base_url, max_retries=0, concurrency=2)
        with pytest.raises(JudgeUnavailable, match=r"failed 1\d requests in a row"):
            grade(store, spec, judge_pairs(50), environ={})
    assert len(server.calls) <= 12


def test_a_server_that_is_not_there_is_named(store: Store) -> None:
    spec = chat_judge("http://127.0.0.1:9/v1", max_retries=0)
    done = grade(store, spec, [judge_pair()], environ={})
    assert done.infra_failed == 1
    assert "onnection" in next(iter(done.reasons))


# All of it at once


@pytest.mark.parametrize("seed", [0, 1])
def test_with_a_fault_at_every_fifth_call_each_text_ends_judged_or_failed_with_a_reason(
    store: Store, seed: int
) -> None:
    kinds = [
        chat(""),
        chat("I cannot grade this"),
        chat("[[90]]"),
        chat("NaN"),
        chat("3.5"),
        chat(None, finish_reason="length", reasoning="let me see"),
        chat(None, refusal="I will not"),
        error(400, "filtered", code="content_filter"),
        error(400, "too long", code="context_length_exceeded"),
        error(500, retry_after_ms="1"),
        BUSY,
        drop(),
        Reply(body=b"<html>please log in</html>"),
    ]
    draw = random.Random(seed)
    plan = [draw.choice(kinds) if draw.random() < 0.2 else GOOD for _ in range(2000)]
    done, _, found = graded(store, lambda call: plan[call.number], judge_pairs(120), concurrency=8)
    ends = Counter(type(one).__name__ for one in found)
    assert ends["Verdict"] == done.ok > 100
    assert done.ok + done.judge_failed + done.infra_failed == 120
    assert done.missing == 0
    for one in found:
        if isinstance(one, Verdict):
            assert one.score == 7
        else:
            assert one.reason
    # The next run asks what may pass, and nothing else.
    again, server, _ = graded(store, GOOD, judge_pairs(120), concurrency=8)
    assert (again.called, len(server.calls)) == (done.infra_failed, done.infra_failed)
    assert (again.ok, again.infra_failed) == (done.ok + done.infra_failed, 0)


class _Garbled(socketserver.StreamRequestHandler):
    """Answers each connection with a status line that is none."""

    def handle(self) -> None:
        while self.rfile.readline().strip():
            pass
        self.wfile.write(b"HTTP/1.1 11\r\n\r\n")


def test_a_reply_that_is_no_http_fails_its_call_and_not_the_command(store: Store) -> None:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Garbled) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        spec = chat_judge(f"http://127.0.0.1:{server.server_address[1]}/v1", max_retries=0)
        done = grade(store, spec, judge_pairs(3), environ={})
        server.shutdown()
    assert (done.infra_failed, done.called) == (3, 3)
    assert outcomes(store) == [Outcome.INFRA_ERROR] * 3


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (error(429, "come back later", retry_after="3600"), "come back later .it asks to wait 3,6"),
        (error(429, "out of credit", code="insufficient_quota"), "out of credit"),
    ],
)
def test_a_service_that_has_nothing_to_give_for_long_is_not_asked_again(
    store: Store, reply: Reply, says: str
) -> None:
    with OpenAIServer(reply) as server:
        spec = chat_judge(server.base_url, max_retries=5)
        with pytest.raises(JudgeUnavailable, match=says):
            grade(store, spec, judge_pairs(50), environ={})
    assert len(server.calls) == 3


@pytest.mark.parametrize("key", ["se cret", "secret\n", "secret\u00e9"])
def test_a_key_that_no_header_can_hold_is_refused_unseen(store: Store, key: str) -> None:
    with OpenAIServer(GOOD) as server:
        spec = chat_judge(server.base_url, api_key_env="MY_KEY")
        with pytest.raises(JudgeUnavailable, match="MY_KEY holds no API key") as caught:
            grade(store, spec, [judge_pair()], environ={"MY_KEY": key})
    assert "cret" not in str(caught.value)
    assert not server.calls


def test_connections_are_closed_where_the_service_refuses(
    store: Store, recwarn: pytest.WarningsRecorder
) -> None:
    gc.collect()  # what other tests left behind
    recwarn.clear()
    with OpenAIServer(error(402, "pay first")) as server:
        with pytest.raises(JudgeUnavailable):
            grade(store, chat_judge(server.base_url), judge_pairs(5), environ={})
        gc.collect()
    assert not [one for one in recwarn if "nclosed" in str(one.message)]
