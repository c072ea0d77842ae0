"""Inference end to end on real Ray: what is stored is never asked again, whatever is killed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from cache.record import Outcome
from cache.store import Store
from infer.asked import read_asked
from tests.scripted_engine import calls, write_card

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent


def test_a_run_is_stored_and_asked_only_once(tmp_path: Path) -> None:
    card, log = write_card(tmp_path)

    first = infer(tmp_path, card)
    again = infer(tmp_path, card)

    asked = len(calls(log))
    assert asked == first["called"] == first["requested"] > 20
    assert first["outcomes"] == {"ok": asked}
    assert (again["called"], again["cached"]) == (0, asked)


def test_every_answer_belongs_to_its_own_request_though_they_end_in_reverse(tmp_path: Path) -> None:
    card, _ = write_card(tmp_path, concurrency=16, reverse=True)

    infer(tmp_path, card)

    records = list(Store(tmp_path / "store").scan())
    assert len(records) > 20
    for record in records:
        assert record.response.text == f"echo: {read_asked(record.request).question}"


def test_shards_answer_everything_exactly_once(tmp_path: Path) -> None:
    card, log = write_card(tmp_path)

    parts = [infer(tmp_path, card, "--shard", f"{k}/3") for k in (1, 2, 3)]
    whole = infer(tmp_path, card)

    assert sum(part["called"] for part in parts) == whole["cached"] == len(set(calls(log)))
    assert whole["called"] == 0
    assert max(Counter(calls(log)).values()) == 1


def test_one_failing_request_is_recorded_and_is_the_only_one_asked_again(tmp_path: Path) -> None:
    card, log = write_card(tmp_path, raise_on_call=7)

    failed = infer(tmp_path, card, expect=1)
    repaired = infer(tmp_path, card)

    assert failed["outcomes"]["infra_error"] == 1
    assert "the scripted failure" in failed["first_failure"]
    assert repaired["called"] == 1
    assert len(set(calls(log))) == len(calls(log)) - 1


def test_an_actor_that_dies_is_replaced_and_stored_answers_are_not_asked_again(
    tmp_path: Path,
) -> None:
    card, log = write_card(tmp_path, concurrency=4, die_on_call=7)

    summary = infer(tmp_path, card)

    assert summary["outcomes"] == {"ok": summary["requested"]}
    repeated = [key for key, n in Counter(calls(log)).items() if n > 1]
    assert 1 <= len(repeated) <= 4  # what was in flight
    records = list(Store(tmp_path / "store").scan())
    assert len(records) == len({record.key for record in records}) == summary["requested"]


def test_after_kill_9_only_the_missing_requests_are_asked(tmp_path: Path) -> None:
    card, log = write_card(tmp_path, concurrency=2, delay_s=0.3)
    process = start(tmp_path, card)
    wait_for(lambda: len(calls(log)) >= 6, process)

    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_for(lambda: not alive_after(log), None)
    stored = [r for r in Store(tmp_path / "store").scan() if r.outcome is Outcome.OK]
    in_flight = len(calls(log)) - len(stored)
    again = infer(tmp_path, card)

    assert 4 <= len(stored) < again["requested"]
    assert in_flight <= 2
    assert again["called"] == again["requested"] - len(stored)
    assert len(calls(log)) == again["requested"] + in_flight


def test_a_terminated_run_says_that_it_can_go_on(tmp_path: Path) -> None:
    card, log = write_card(tmp_path, concurrency=2, delay_s=0.3)
    process = start(tmp_path, card)
    wait_for(lambda: len(calls(log)) >= 4, process)

    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=60)

    assert process.returncode == 75
    stopped = json.loads(out)
    assert stopped["interrupted"]
    assert stopped["called"] == stopped["outcomes"]["ok"] >= 2
    again = infer(tmp_path, card)
    assert again["cached"] + again["called"] == again["requested"]
    assert again["cached"] >= 2


def test_a_failure_that_a_repeat_would_not_change_is_told_again_by_the_next_run(
    tmp_path: Path,
) -> None:
    card, _ = write_card(tmp_path, refuse_on_call=3)

    first = infer(tmp_path, card, expect=1)
    again = infer(tmp_path, card, expect=1)

    assert first["outcomes"]["refused"] == again["outcomes"]["refused"] == 1
    assert again["called"] == 0
    assert "the scripted refusal" in again["first_failure"]


@pytest.mark.parametrize("option", ["--dry-run", "--json"])
def test_an_unknown_engine_is_refused_before_anything_is_written(
    option: str, tmp_path: Path
) -> None:
    card, _ = write_card(tmp_path)
    card.write_text(card.read_text().replace("tests.scripted_engine", "nope"))

    process = start(tmp_path, card, option)
    _, err = process.communicate(timeout=60)

    assert process.returncode == 2
    assert "there are: captions, chance" in err
    assert "Traceback" not in err
    assert not (tmp_path / "store").exists()


def test_an_engine_that_does_not_start_is_one_message(tmp_path: Path) -> None:
    card, _ = write_card(tmp_path, broken=True)

    process = start(tmp_path, card)
    _, err = process.communicate(timeout=120)

    assert process.returncode == 3
    assert "the scripted engine does not start" in err


def test_a_dry_run_counts_and_calls_nothing(tmp_path: Path) -> None:
    card, log = write_card(tmp_path)

    summary = infer(tmp_path, card, "--dry-run")

    assert summary["pending"] == summary["requested"] > 20
    assert calls(log) == []
    assert not (tmp_path / "store").exists()


def test_more_actors_than_the_machine_holds_are_refused_with_numbers(tmp_path: Path) -> None:
    card, _ = write_card(tmp_path)
    card.write_text(card.read_text() + "gpus = 4\n")

    process = start(tmp_path, card)
    _, err = process.communicate(timeout=60)

    assert process.returncode == 3
    assert "asks for 4 GPU(s), the cluster has 0" in err


def infer(tmp_path: Path, card: Path, *options: str, expect: int = 0) -> dict[str, Any]:
    process = start(tmp_path, card, *options)
    out, err = process.communicate(timeout=180)
    assert process.returncode == expect, err
    found: dict[str, Any] = json.loads(out)
    return found


def start(tmp_path: Path, card: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "rejudge", "infer", "demo", "--model", str(card)]
    command += ["--store", str(tmp_path / "store"), "--task", "choice", "--json", *options]
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def wait_for(holds: Any, process: subprocess.Popen[str] | None, limit_s: float = 90.0) -> None:
    until = time.monotonic() + limit_s
    while not holds():
        assert process is None or process.poll() is None, "the run ended before it could be stopped"
        assert time.monotonic() < until, "waited too long"
        time.sleep(0.05)


def alive_after(log: Path, quiet_s: float = 1.5) -> bool:
    """Whether calls still come in: the workers of a killed driver must stop by themselves."""
    before = len(calls(log))
    time.sleep(quiet_s)
    return len(calls(log)) != before or log.stat().st_mtime > time.time() - quiet_s
