"""The ledger: a request that engines die of is found, and is not asked for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from infer.ledger import RESTARTS, Ledger, Turn, unended

T = TypeVar("T")
A, B, C = "a" * 64, "b" * 64, "c" * 64


def do(*calls: Coroutine[Any, Any, T]) -> list[T]:
    async def one_after_the_other() -> list[T]:
        return [await call for call in calls]

    return asyncio.run(one_after_the_other())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.log"


def test_what_was_with_a_dead_engine_runs_alone_and_is_given_up_at_the_second_death(
    path: Path,
) -> None:
    ledger = Ledger(str(path))

    turns = do(
        ledger.begin(A, "actor"),
        ledger.begin(B, "actor"),
        ledger.starting("actor"),  # it is started anew: it died
        ledger.begin(A, "actor"),
        ledger.begin(A, "actor", alone=True),
        ledger.end(A),
        ledger.begin(B, "actor", alone=True),
        ledger.starting("actor"),
        ledger.begin(B, "actor"),
        ledger.begin(C, "actor"),
    )

    assert [turn for turn in turns if turn] == [
        *(Turn.ASK, Turn.ASK),
        *(Turn.ALONE, Turn.ASK),
        *(Turn.ASK, Turn.GIVE_UP),
        Turn.ASK,
    ]


def test_a_request_that_is_begun_again_before_it_ended_was_with_an_engine_that_died(
    path: Path,
) -> None:
    ledger = Ledger(str(path))

    assert do(ledger.begin(A, "one"), ledger.begin(A, "two")) == [Turn.ASK, Turn.ALONE]


def test_an_answer_that_its_actor_could_not_report_is_not_asked_again(path: Path) -> None:
    ledger = Ledger(str(path))

    assert do(ledger.begin(A, "one"), ledger.end(A), ledger.begin(A, "two"))[2] is Turn.STORED


def test_the_next_job_knows_what_took_the_last_one_down(path: Path) -> None:
    do(Ledger(str(path)).begin(A, "actor"))
    second = do(
        *(lambda job: (job.begin(A, "x"), job.begin(A, "x", alone=True)))(Ledger(str(path)))
    )

    third = do(*(lambda job: (job.begin(A, "x"), job.begin(A, "x", alone=True)))(Ledger(str(path))))
    fourth = do(Ledger(str(path)).begin(A, "actor"))

    # Somebody may have killed the whole job twice; three times in the same request is no chance.
    assert second == third == [Turn.ALONE, Turn.ASK]
    assert fourth == [Turn.GIVE_UP]


def test_a_request_that_was_given_up_is_asked_by_the_job_after(path: Path) -> None:
    path.write_text(f"+{A}\n" * 3)
    ledger = Ledger(str(path))

    assert do(ledger.begin(A, "actor"), ledger.end(A)) == [Turn.GIVE_UP, None]
    assert do(Ledger(str(path)).begin(A, "actor")) == [Turn.ASK]


def test_a_line_that_a_kill_cut_off_is_no_request(path: Path) -> None:
    path.write_text(f"+{A}\n-{A}\n+{B}\n+{'c' * 20}")

    assert unended(path) == {B: 1}


def test_draining_waits_for_what_is_in_flight_and_lets_nothing_begin(path: Path) -> None:
    async def scene() -> tuple[int, Turn]:
        ledger = Ledger(str(path))
        await ledger.begin(A, "actor")
        draining = asyncio.create_task(ledger.drain(60.0))
        await asyncio.sleep(0)
        turn = await ledger.begin(B, "actor")
        await ledger.end(A)
        return await draining, turn

    assert asyncio.run(scene()) == (0, Turn.STOP)


def test_what_a_drain_gave_up_waiting_for_is_no_suspect_of_the_next_job(path: Path) -> None:
    ledger = Ledger(str(path))

    left = do(ledger.begin(A, "actor"), ledger.drain(0.0))[1]

    assert left == 1
    assert not unended(path)


def test_an_engine_that_dies_again_and_again_without_an_answer_ends_the_job(path: Path) -> None:
    async def scene(answers: bool) -> tuple[Turn, bool]:
        ledger = Ledger(str(path))
        for number in range(RESTARTS + 2):
            await ledger.starting("actor")
            key = f"{number:064x}"
            await ledger.begin(key, "actor")
            if answers:
                await ledger.end(key)
        turn = await ledger.begin(C, "actor", alone=True)
        return turn, turn is Turn.STOP and (await ledger.halted())[0] == "EngineFailed"

    assert asyncio.run(scene(answers=False)) == (Turn.STOP, True)
    assert asyncio.run(scene(answers=True))[0] is Turn.ASK
