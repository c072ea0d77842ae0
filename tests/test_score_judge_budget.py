"""What may be spent, and how fast: budgets that stop cleanly, and the pace of calls."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cache.record import Usage
from cache.store import Store
from score.errors import ScoreError
from score.judge.cost import cost_usd
from score.judge.estimate import plan
from score.judge.grade import Terms, grade
from score.judge.pace import Pace
from score.judge.spec import Limits, Prices, load_spec
from tests.builders import chat_judge, judge_pairs
from tests.judged import GOOD, graded
from tests.openai_server import Call, OpenAIServer, Reply

#: A call of the scripted server, 100 tokens in and 20 out, costs 1.20 dollars.
PRICES = Prices(input_usd_per_million=10_000, output_usd_per_million=10_000)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store", create=True) as opened:
        yield opened


def test_a_budget_of_calls_is_not_overrun_and_the_next_command_goes_on(store: Store) -> None:
    done, server, _ = graded(store, GOOD, judge_pairs(10), Terms(max_calls=4), concurrency=8)
    assert (len(server.calls), done.called, done.ok) == (4, 4, 4)
    assert done.stopped == "the budget is used up: 6 calls were not made"
    again, server, _ = graded(store, GOOD, judge_pairs(10), Terms(max_calls=20))
    assert (again.cached, len(server.calls), again.stopped) == (4, 6, "")


def test_a_budget_of_nothing_calls_nothing(store: Store) -> None:
    done, server, _ = graded(store, GOOD, judge_pairs(3), Terms(max_calls=0))
    assert (len(server.calls), done.missing) == (0, 3)
    assert done.stopped


def test_a_budget_of_less_than_one_call_says_so(store: Store) -> None:
    graded(store, GOOD, judge_pairs(1))  # so that what a call takes is known
    done, server, _ = graded(store, GOOD, judge_pairs(3), Terms(max_cost_usd=0.5), prices=PRICES)
    assert not server.calls
    assert done.stopped == (
        "a call is expected to cost 1.2 USD, and the budget is 0.5 USD: 2 calls were not made"
    )
    assert not done.interrupted


def test_a_budget_in_dollars_stops_before_it_is_overrun(store: Store) -> None:
    graded(store, GOOD, judge_pairs(1))  # so that what a call takes is known
    done, server, _ = graded(
        store, GOOD, judge_pairs(20), Terms(max_cost_usd=6.5), concurrency=8, prices=PRICES
    )
    assert len(server.calls) == 5
    assert done.cost_usd == pytest.approx(6.0)
    assert done.stopped == "the budget is used up: 14 calls were not made"


def test_money_set_aside_for_calls_in_flight_is_used_when_they_cost_less(store: Store) -> None:
    # Expected are 2,000 tokens out and so 20 dollars a call; each turns out to cost 1.20.
    done, server, _ = graded(
        store,
        GOOD,
        judge_pairs(8),
        Terms(max_cost_usd=70.0),
        concurrency=8,
        prices=PRICES,
        expected_output_tokens=2000,
    )
    assert (done.ok, len(server.calls), done.stopped) == (8, 8, "")
    assert server.most_in_flight <= 2


def test_an_unreadable_reply_counts_against_the_budget(store: Store) -> None:
    unreadable = Reply(body=GOOD.body | {"choices": [{"message": {"content": "no"}}]})  # type: ignore[operator]
    done, server, _ = graded(store, unreadable, judge_pairs(3), Terms(max_calls=5), attempts=9)
    assert len(server.calls) == 5
    assert done.stopped == "the budget is used up: 1 calls were not made"


def test_dollars_cannot_be_limited_where_prices_are_unknown(store: Store) -> None:
    with pytest.raises(ScoreError, match=r"no prices in its spec.*--max-calls"):
        grade(store, chat_judge(), judge_pairs(1), terms=Terms(max_cost_usd=1.0), environ={})


def test_a_formula_costs_nothing_and_needs_no_budget(store: Store) -> None:
    done = grade(store, load_spec("lexical"), judge_pairs(3), terms=Terms(max_cost_usd=0.0))
    assert (done.ok, done.cost_usd) == (3, 0.0)


def test_tokens_that_the_service_had_kept_cost_their_own_price() -> None:
    spec = chat_judge(
        prices=Prices(
            input_usd_per_million=10, cached_input_usd_per_million=1, output_usd_per_million=100
        )
    )
    usage = Usage(input_tokens=1000, cached_tokens=400, output_tokens=50)
    # By hand: 600 at 10, 400 at 1, 50 at 100.
    assert cost_usd(spec, usage) == pytest.approx((6000 + 400 + 5000) / 1e6)


# Pace


def starts(limits: Limits, tokens: list[int]) -> list[float]:
    pace = Pace(limits)
    return [pace.start(0.0, some) for some in tokens]


def test_requests_are_spread_evenly_over_the_minute() -> None:
    assert starts(Limits(requests_per_minute=30), [1] * 4) == [0, 2, 4, 6]


def test_tokens_hold_up_what_comes_after_them() -> None:
    # 600 a minute are 10 a second: 50 take 5 seconds, 20 take 2.
    assert starts(Limits(tokens_per_minute=600), [50, 20, 1]) == [0, 5, 7]


def test_the_tighter_of_two_limits_holds() -> None:
    limits = Limits(requests_per_minute=60, tokens_per_minute=600)
    assert starts(limits, [5, 50, 5, 5]) == [0, 1, 6, 7]


def test_without_limits_nothing_waits() -> None:
    assert starts(Limits(), [10**9] * 3) == [0, 0, 0]


def test_what_a_call_took_beyond_its_estimate_moves_the_next() -> None:
    pace = Pace(Limits(tokens_per_minute=600))
    pace.start(0.0, 50)
    pace.correct(50, 80)
    assert pace.start(0.0, 1) == pytest.approx(8)


@given(
    st.integers(1, 500),
    st.lists(st.floats(0, 5), min_size=1, max_size=200),
)
def test_no_minute_has_more_requests_than_its_share(limit: int, waits: list[float]) -> None:
    pace, now, begun = Pace(Limits(requests_per_minute=limit)), 0.0, []
    for wait in waits:
        now += wait
        begun.append(pace.start(now, 1))
    assert all(later - earlier >= 60 / limit * 0.999 for earlier, later in pairwise(begun))


def test_calls_keep_to_the_pace_of_the_spec(store: Store) -> None:
    times: list[float] = []
    lock = threading.Lock()

    def script(call: Call) -> Reply:
        with lock:
            times.append(time.monotonic())
        return GOOD

    limits = Limits(requests_per_minute=600)
    done, _, _ = graded(store, script, judge_pairs(6), concurrency=6, limits=limits)
    assert done.ok == 6
    # A tenth of a second each: five of them between the first and the last, give or take.
    assert times[-1] - times[0] > 0.4


def test_a_dry_run_knows_how_long_it_will_take(store: Store) -> None:
    assert plan(store, chat_judge(), judge_pairs(5)).seconds is None
    slow = chat_judge(limits=Limits(requests_per_minute=6))
    assert plan(store, slow, judge_pairs(5)).seconds == pytest.approx(50)
    with OpenAIServer(GOOD) as server:
        grade(store, chat_judge(server.base_url), judge_pairs(2), environ={})
    learned = plan(store, chat_judge(concurrency=1), judge_pairs(5)).seconds
    assert learned is not None
    assert 0 < learned < 50
