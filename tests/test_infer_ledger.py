"""The ledger: a request that engines die of is found, and is not asked for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from infer.journal import JOB, Journal, unended
from infer.ledger import RESTARTS, Ledger, Turn

A, B, C = "a" * 64, "b" * 64, "c" * 64


class Engine:
    """An engine's process, as the ledger knows it; a new one replaces the dead one of its name."""

    def __init__(self, ledger: Ledger, name: str = "actor") -> None:
        self.ledger, self.name = ledger, name

    async def start(self) -> Engine:
        self.journal = Journal(Path(await self.ledger.starting(self.name)))
        return self

    async def given(self, *keys: str) -> list[Turn]:
        """Be given a row; what may be asked is begun."""
        turns = await self.ledger.turns(self.name, keys)
        for key, turn in zip(keys, turns, strict=True):
            if turn in (Turn.ASK, Turn.AGAIN):
                self.journal.begin(key)
        return turns

    async def alone(self, key: str) -> Turn:
        return await self.ledger.begin_alone(self.name, key)


def run(scene: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(scene)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "job"


def test_what_was_with_a_dead_engine_runs_alone_and_is_given_up_at_the_second_death(
    folder: Path,
) -> None:
    async def scene() -> list[Any]:
        ledger = Ledger(str(folder))
        engine = await Engine(ledger).start()
        first = await engine.given(A, B)
        engine = await Engine(ledger).start()  # it is started anew: it died
        second = [*await engine.given(A, B), await engine.alone(A)]
        await ledger.end(A)
        second.append(await engine.alone(B))
        engine = await Engine(ledger).start()
        return [first, second, await engine.given(B, C)]

    assert run(scene()) == [
        [Turn.ASK, Turn.ASK],
        [Turn.ALONE, Turn.ALONE, Turn.ASK, Turn.ASK],
        [Turn.GIVE_UP, Turn.ASK],
    ]


@pytest.mark.parametrize("restarted_first", [True, False])
def test_a_death_counts_once_whether_its_row_or_its_actor_comes_back_first(
    folder: Path, restarted_first: bool
) -> None:
    async def scene() -> list[Turn]:
        ledger = Ledger(str(folder))
        one, two = await Engine(ledger, "one").start(), await Engine(ledger, "two").start()
        await one.given(A)
        if restarted_first:
            await Engine(ledger, "one").start()
        turns = await two.given(A)
        if not restarted_first:
            await Engine(ledger, "one").start()
        return [*turns, await two.alone(A)]

    assert run(scene()) == [Turn.ALONE, Turn.ASK]
    assert unended(folder) == {A: 2}  # the death, and what is under way now


def test_of_a_dead_engines_rows_only_what_it_was_asking_is_suspect(folder: Path) -> None:
    """What ended is in the store; what was never begun is asked as any other."""

    async def scene() -> list[Turn]:
        ledger = Ledger(str(folder))
        one = await Engine(ledger, "one").start()
        await ledger.turns("one", [A, B, C])
        one.journal.begin(A)
        one.journal.end(A)
        one.journal.begin(B)
        return await (await Engine(ledger, "two").start()).given(A, B, C)

    assert run(scene()) == [Turn.STORED, Turn.ALONE, Turn.AGAIN]


def test_an_actor_that_dies_before_it_made_its_journal_takes_nothing_along(folder: Path) -> None:
    async def scene() -> list[Turn]:
        ledger = Ledger(str(folder))
        await ledger.starting("actor")
        return await (await Engine(ledger).start()).given(A)

    assert run(scene()) == [Turn.ASK]


def test_the_next_job_knows_what_took_the_last_one_down(folder: Path) -> None:
    async def job() -> list[Turn]:
        engine = await Engine(Ledger(str(folder)), f"of {len(list(folder.iterdir()))}").start()
        [turn] = await engine.given(A)
        return [turn, await engine.alone(A)] if turn is Turn.ALONE else [turn]

    folder.mkdir()
    # Somebody may have killed the whole job twice; three times in the same request is no chance.
    assert [run(job()) for _ in range(4)] == [
        [Turn.ASK],
        [Turn.ALONE, Turn.ASK],
        [Turn.ALONE, Turn.ASK],
        [Turn.GIVE_UP],
    ]


def test_a_request_that_was_given_up_is_asked_by_the_job_after(folder: Path) -> None:
    folder.mkdir()
    (folder / JOB).write_text(f"+{A}\n" * 3)

    async def job() -> list[Turn]:
        ledger = Ledger(str(folder))
        turns = await (await Engine(ledger).start()).given(A)
        await ledger.end(A)
        return turns

    assert run(job()) == [Turn.GIVE_UP]
    assert not unended(folder)


def test_a_suspect_that_was_given_up_is_not_asked_again_when_its_row_comes_back(
    folder: Path,
) -> None:
    folder.mkdir()
    (folder / JOB).write_text(f"+{A}\n" * 3)

    async def scene() -> list[Turn]:
        ledger = Ledger(str(folder))
        turns = await (await Engine(ledger, "one").start()).given(A)
        await ledger.end(A)
        return [*turns, *await (await Engine(ledger, "two").start()).given(A)]

    assert run(scene()) == [Turn.GIVE_UP, Turn.STORED]


def test_a_line_that_a_kill_cut_off_is_no_request(folder: Path) -> None:
    folder.mkdir()
    (folder / "actor-1.log").write_text(f"+{A}\n-{A}\n+{B}\n+{'c' * 20}")

    assert unended(folder) == {B: 1}


def test_the_end_of_a_suspect_holds_for_the_engine_that_died_of_it(folder: Path) -> None:
    folder.mkdir()
    (folder / "actor-1.log").write_text(f"+{A}\n+{B}\n")
    (folder / JOB).write_text(f"+{A}\n-{A}\n")

    assert unended(folder) == {B: 1}


def test_draining_waits_for_what_is_in_flight_and_lets_nothing_begin(folder: Path) -> None:
    async def scene() -> list[Any]:
        ledger = Ledger(str(folder))
        engine = await Engine(ledger).start()
        await engine.given(A)
        draining = asyncio.create_task(ledger.drain(60.0))
        assert await ledger.stops(60.0)
        turns = [*await engine.given(B), await engine.alone(C)]
        waited = draining.done()
        engine.journal.end(A)
        await engine.journal.quiet()
        await ledger.quiet("actor")
        return [waited, turns, await draining]

    assert run(scene()) == [False, [Turn.STOP, Turn.STOP], 0]


def test_draining_waits_for_a_suspect_that_is_asked_alone(folder: Path) -> None:
    folder.mkdir()
    (folder / JOB).write_text(f"+{A}\n")

    async def scene() -> list[Any]:
        ledger = Ledger(str(folder))
        engine = await Engine(ledger).start()
        turns = [*await engine.given(A), await engine.alone(A)]
        draining = asyncio.create_task(ledger.drain(60.0))
        await asyncio.sleep(0)
        await ledger.quiet("actor")
        await asyncio.sleep(0)
        waited = draining.done()
        await ledger.end(A)
        return [turns, waited, await draining]

    assert run(scene()) == [[Turn.ALONE, Turn.ASK], False, 0]


def test_what_a_drain_gave_up_waiting_for_is_no_suspect_of_the_next_job(folder: Path) -> None:
    folder.mkdir()
    (folder / JOB).write_text(f"+{B}\n+{C}\n")

    async def scene() -> int:
        ledger = Ledger(str(folder))
        engine = await Engine(ledger).start()
        await engine.given(A, B, C)
        await engine.alone(B)
        return await ledger.drain(0.0)

    assert run(scene()) == 2
    assert unended(folder) == {B: 1, C: 1}  # they are what they were


@pytest.mark.parametrize("answers", [True, False])
def test_an_engine_that_dies_again_and_again_without_an_answer_ends_the_job(
    folder: Path, answers: bool
) -> None:
    async def scene() -> list[Turn]:
        ledger = Ledger(str(folder))
        for number in range(RESTARTS + 2):
            engine = await Engine(ledger).start()
            key = f"{number:064x}"
            await engine.given(key)
            if answers:
                engine.journal.end(key)
        turns = await engine.given(C)
        if turns == [Turn.STOP]:
            assert (await ledger.halted())[0] == "EngineFailed"
        return turns

    assert run(scene()) == [Turn.ASK if answers else Turn.STOP]


def test_engines_count_as_closed_when_the_last_one_is(folder: Path) -> None:
    async def scene() -> list[bool]:
        ledger = Ledger(str(folder))
        await ledger.starting("one")
        await ledger.closed("one")
        await ledger.starting("two")
        waiting = asyncio.create_task(ledger.await_closed(60.0))
        await asyncio.sleep(0)
        early = waiting.done()
        await ledger.closed("two")
        await waiting
        return [early]

    assert run(scene()) == [False]
