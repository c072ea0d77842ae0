"""Inference end to end on real Ray: every request is asked once, and failures are records."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from cache.record import Outcome
from cache.store import Store
from infer.asked import read_asked
from tests.infer_command import infer, start
from tests.scripted_engine import calls, write_card

pytestmark = pytest.mark.slow


def test_a_run_is_stored_and_asked_once_and_each_answer_belongs_to_its_own_request(
    tmp_path: Path,
) -> None:
    """Answers end in the reverse order of their calls; Ray's folder is too long for its sockets."""
    card, log = write_card(tmp_path, concurrency=16, reverse=True)
    long = tmp_path / ("long" * 25)
    long.mkdir()

    first = infer(tmp_path, card, TMPDIR=str(long))
    again = infer(tmp_path, card)

    asked = len(calls(log))
    assert asked == first["called"] == first["requested"] > 20
    assert first["outcomes"] == {"ok": asked}
    assert (first["input_tokens"], first["output_tokens"]) == (100 * asked, 10 * asked)
    assert (again["called"], again["cached"]) == (0, asked)
    records = list(Store(tmp_path / "store").scan())
    assert len(records) == asked
    for record in records:
        assert record.response.text == f"echo: {read_asked(record.request).question}"


def test_shards_and_actors_answer_everything_exactly_once(tmp_path: Path) -> None:
    parts = []
    for k, actors in ((1, 3), (2, 4)):
        card, log = write_card(tmp_path, actors=actors)
        parts.append(infer(tmp_path, card, "--limit", "22", "--shard", f"{k}/2"))
    whole = infer(tmp_path, card, "--limit", "22")

    assert sum(part["called"] for part in parts) == whole["cached"] == 22
    assert whole["called"] == 0
    assert max(Counter(calls(log)).values()) == 1
    assert len(list(Store(tmp_path / "store").scan())) == 22


def test_each_sample_of_an_item_is_a_request_of_its_own(tmp_path: Path) -> None:
    card, _ = write_card(tmp_path)

    summary = infer(tmp_path, card, "--limit", "4", "--samples", "3")

    assert (summary["items"], summary["requested"], summary["called"]) == (4, 12, 12)
    assert summary["run"] == "demo-scripted-samples3"
    samples = Counter(record.request.sample for record in Store(tmp_path / "store").scan())
    assert samples == {0: 4, 1: 4, 2: 4}


def test_failures_are_records_and_only_what_a_repeat_can_change_is_asked_again(
    tmp_path: Path,
) -> None:
    questions = choices()
    card, log = write_card(
        tmp_path, concurrency=8, raise_on_call=3, refuse_on_call=5, too_long=questions[6]
    )

    failed = infer(tmp_path, card, "--limit", "8", expect=1)
    repaired = infer(tmp_path, card, "--limit", "8", expect=1)

    assert failed["outcomes"].pop("infra_error") == 1
    assert failed["outcomes"] == {"ok": 5, "refused": 1, "context_overflow": 1}
    assert repaired["called"] == 1
    assert repaired["outcomes"] == {"ok": 6, "refused": 1, "context_overflow": 1}
    assert "the scripted" in repaired["first_failure"]
    assert Counter(Counter(calls(log)).values()) == {1: 7, 2: 1}


def test_an_answer_that_cannot_be_stored_is_one_requests_failure(tmp_path: Path) -> None:
    card, log = write_card(tmp_path, unstorable=choices()[1])

    summary = infer(tmp_path, card, "--limit", "3", expect=1)

    assert summary["outcomes"] == {"ok": 2, "infra_error": 1}
    assert "the answer cannot be stored: " in summary["first_failure"]
    assert len(calls(log)) == 3


def test_requests_that_engines_die_of_fail_and_the_job_goes_on(tmp_path: Path) -> None:
    """One ends the actor's process; with another the engine says that it is gone."""
    questions = choices()
    card, log = write_card(tmp_path, concurrency=4, die_on=questions[6], lose_on=questions[13])

    summary = infer(tmp_path, card, "--limit", "20", expect=1)

    assert summary["outcomes"] == {"ok": 18, "infra_error": 2}
    records = list(Store(tmp_path / "store").scan())
    assert len(records) == len({record.key for record in records}) == 20
    failed = {read_asked(r.request).question for r in records if r.outcome is Outcome.INFRA_ERROR}
    assert failed == {questions[6], questions[13]}
    assert "again and again" in summary["first_failure"]
    asked = Counter(calls(log))
    assert max(asked.values()) == 2
    assert sum(n > 1 for n in asked.values()) <= 16  # asked or being written down, twice
    assert list((tmp_path / "store" / "attempts").iterdir()) == []


def test_what_failed_in_an_earlier_run_is_asked_though_an_engine_dies_before_its_turn(
    tmp_path: Path,
) -> None:
    card, _ = write_card(tmp_path, concurrency=1, raise_up_to_call=8, die_on=choices()[1])

    failed = infer(tmp_path, card, "--limit", "8", expect=1)
    again = infer(tmp_path, card, "--limit", "8", expect=1)

    assert failed["outcomes"] == {"infra_error": 8}
    assert again["outcomes"] == {"ok": 7, "infra_error": 1}


def test_a_service_that_turns_everything_down_ends_the_run_with_nothing_recorded_for_it(
    tmp_path: Path,
) -> None:
    card, log = write_card(tmp_path, concurrency=2, shut_from_call=5)

    process = start(tmp_path, card)
    _, err = process.communicate(timeout=120)

    assert process.returncode == 3
    assert "rejudge: the scripted service is shut" in err
    assert "Traceback" not in err
    assert len(list(Store(tmp_path / "store").scan())) == 4
    assert len(calls(log)) <= 6


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


def test_an_engine_whose_process_dies_at_its_start_is_not_started_for_ever(tmp_path: Path) -> None:
    starts = tmp_path / "starts.log"
    card, log = write_card(tmp_path, starts=starts)

    process = start(tmp_path, card)
    _, err = process.communicate(timeout=180)

    assert process.returncode == 3
    assert "ended 6 times in a row" in err
    assert len(calls(starts)) <= 8
    assert calls(log) == []


def test_a_dry_run_counts_estimates_and_calls_nothing(tmp_path: Path) -> None:
    card, log = write_card(tmp_path)

    summary = infer(tmp_path, card, "--dry-run")

    assert summary["pending"] == summary["requested"] > 20
    assert summary["estimate"]["requests"] == summary["pending"]
    assert calls(log) == []
    assert not (tmp_path / "store").exists()


def test_more_gpus_than_the_machine_holds_are_refused_with_numbers(tmp_path: Path) -> None:
    card, _ = write_card(tmp_path)
    card.write_text(card.read_text() + "gpus = 4\n")

    process = start(tmp_path, card)
    _, err = process.communicate(timeout=60)

    assert process.returncode == 3
    assert "asks for 4 GPU(s), the cluster has 0" in err


def choices() -> list[str]:
    """The bundled benchmark's questions, in the order in which they are asked."""
    from bench import registry
    from bench.item import TaskType

    benchmark = registry.get("demo")
    prompts = benchmark.prompts(benchmark.load(None, (TaskType.CHOICE,)))
    parts = [part for prompt in prompts for message in prompt.messages for part in message.parts]
    return [part.text for part in parts if getattr(part, "name", "") == "question"]
