"""Signals and kills: what is stored stays, the summary is said, and nothing is left running."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from cache.record import Outcome
from cache.store import Store
from infer.job import session
from infer.journal import unended
from tests.infer_command import child, command, engines, infer, start, wait_for
from tests.scripted_engine import calls, write_card

pytestmark = pytest.mark.slow


def test_a_signal_lets_what_is_in_flight_end_and_the_next_start_goes_on(tmp_path: Path) -> None:
    card, log = write_card(tmp_path, concurrency=2, delay_s=2.0)
    process = start(tmp_path, card)
    wait_for(lambda: len(calls(log)) >= 3, process)

    process.send_signal(signal.SIGUSR1)
    out, err = process.communicate(timeout=120)

    assert process.returncode == 75, err
    stopped = json.loads(out)
    assert stopped["interrupted"] == "SIGUSR1"
    assert stopped["called"] == stopped["outcomes"]["ok"] == len(calls(log)) < 20
    again = infer(tmp_path, write_card(tmp_path, concurrency=16, delay_s=2.0)[0])
    assert again["cached"] == stopped["called"]
    assert again["called"] == again["requested"] - again["cached"]
    assert max(Counter(calls(log)).values()) == 1


@pytest.mark.parametrize(
    ("script", "signalled", "code"),
    [({}, False, 0), ({"delay_s": 1.0}, True, 75), ({"shut_from_call": 1}, False, 3)],
    ids=["all asked", "signal", "service shut"],
)
def test_engines_are_closed_in_order(
    script: dict[str, Any], signalled: bool, code: int, tmp_path: Path
) -> None:
    """What an engine has elsewhere, such as files at a service, is removed only then."""
    closes = tmp_path / "closes.log"
    card, log = write_card(tmp_path, actors=2, concurrency=2, closes=closes, **script)

    process = start(tmp_path, card, "--limit", "12")
    if signalled:
        wait_for(lambda: len(calls(log)) >= 4, process)
        process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=120)

    assert process.returncode == code, err
    assert len(calls(closes)) == 2
    assert not any(unended(path) for path in jobs(tmp_path))


def test_a_second_signal_ends_at_once_and_suspects_nothing(tmp_path: Path) -> None:
    card, log = write_card(tmp_path, concurrency=2, delay_s=600.0)
    process = start(tmp_path, card)
    wait_for(lambda: len(calls(log)) == 2, process)

    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)

    assert process.returncode == 75
    assert json.loads(out)["called"] == 0
    assert not any(unended(path) for path in jobs(tmp_path))


def test_what_does_not_end_within_the_grace_time_is_left_for_the_next_start(tmp_path: Path) -> None:
    card, log = write_card(tmp_path, concurrency=2, delay_s=600.0)
    process = start(tmp_path, card, "--grace", "1")
    wait_for(lambda: len(calls(log)) == 2, process)

    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=90)

    assert process.returncode == 75
    assert json.loads(out)["interrupted"] == "SIGTERM; 2 request(s) were still in flight"
    assert not any(unended(path) for path in jobs(tmp_path))


def test_after_kill_9_nothing_runs_on_and_only_the_missing_requests_are_asked(
    tmp_path: Path,
) -> None:
    pids = tmp_path / "helpers.log"
    card, log = write_card(tmp_path, concurrency=2, delay_s=0.3, helper=pids)
    process = start(tmp_path, card)
    wait_for(lambda: len(calls(log)) >= 6, process)
    driver = child(process)

    process.kill()
    process.wait()
    wait_for(lambda: not engines(driver) and not runs(int(calls(pids)[0])), None, 30.0)
    answered = stored(tmp_path)
    in_flight = len(calls(log)) - answered
    again = infer(tmp_path, card)

    assert 4 <= answered < again["requested"]
    assert in_flight <= 2
    assert again["called"] == again["requested"] - answered
    assert len(calls(log)) == again["requested"] + in_flight


def test_an_actor_or_ray_itself_may_be_killed(tmp_path: Path) -> None:
    """The actor takes its own processes along and is replaced; without Ray the summary is said."""
    pids = tmp_path / "helpers.log"
    card, log = write_card(tmp_path, concurrency=2, delay_s=0.5, helper=pids)
    process = start(tmp_path, card)
    wait_for(lambda: len(calls(log)) >= 4, process)
    driver, first = child(process), int(calls(pids)[0])

    os.kill(parent(first), signal.SIGKILL)
    wait_for(lambda: not runs(first), process)
    wait_for(lambda: len(calls(pids)) == 2 and stored(tmp_path) >= 6, process)
    [raylet] = [pid for pid in session(driver) if "raylet/raylet" in command(pid)]
    os.kill(raylet, signal.SIGKILL)
    out, err = process.communicate(timeout=120)

    assert process.returncode == 75, err
    summary = json.loads(out)
    assert "Ray" in summary["interrupted"]
    assert 6 <= summary["outcomes"]["ok"] < summary["requested"]
    wait_for(lambda: not any(runs(pid) for pid in session(driver)), None, 10.0)


def stored(folder: Path) -> int:
    return sum(record.outcome is Outcome.OK for record in Store(folder / "store").scan())


def parent(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("PPid:")[1].split()[0])


def runs(pid: int) -> bool:
    """Whether a process is there; one that has ended but was not waited for is not."""
    return bool(command(pid))


def jobs(folder: Path) -> list[Path]:
    return list((folder / "store" / "attempts").glob("*/*"))
