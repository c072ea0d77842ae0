"""Dialogues end to end on real Ray: exact histories, kill -9, failures, one call a turn."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bench import registry
from bench.item import AssistantReference
from cache.record import Record
from cache.store import Store
from tests.echo_engine import calls, digest, write_card
from tests.infer_command import ROOT, child, engines, wait_for

pytestmark = pytest.mark.slow

ITEMS = {item.id: item for item in registry.get("demo-assistant").load(None)}


def start(folder: Path, card: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "rejudge", "infer", "demo-assistant", "--model", str(card)]
    process = subprocess.Popen(
        [*command, "--store", str(folder / "store"), "--json", *options],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ),
    )  # fmt: skip
    (folder / "pid").write_text(str(process.pid))
    return process


def infer(folder: Path, card: Path, *options: str, expect: int = 0) -> dict[str, Any]:
    process = start(folder, card, *options)
    out, err = process.communicate(timeout=240)
    assert process.returncode == expect, err
    found: dict[str, Any] = json.loads(out)
    return found


def records(folder: Path, run: str) -> dict[str, Record]:
    with Store(folder / "store", read_only=True) as store:
        lines = store.run(run).lines
        found = store.get_many([line.key for line in lines])
        return {line.item: found[line.key] for line in lines if line.key in found}


def said(sent: list[dict[str, Any]]) -> list[str]:
    """The earlier answers in what an engine was sent."""
    return ["".join(one["parts"]) for one in sent if one["role"] == "assistant"]


def clips(sent: list[dict[str, Any]]) -> list[str]:
    """The clips in what an engine was sent, by the beginning of their digests."""
    parts = [part for one in sent for part in one["parts"] if isinstance(part, dict)]
    return [part["sha256"] for part in parts if part["media"] == "video"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A run that nothing disturbs; its model has room for 50 tokens, about 25 seconds."""
    folder = tmp_path_factory.mktemp("whole")
    card, _ = write_card(folder, context=50)
    return folder, infer(folder, card)


def test_every_turn_is_asked_once_with_the_answers_that_the_model_gave(whole) -> None:
    folder, summary = whole
    found = records(folder, "demo-assistant-echo")
    assert summary["outcomes"] == {"ok": 13}
    assert (summary["requested"], summary["items"], summary["called"]) == (13, 13, 13)
    assert set(found) == set(ITEMS)
    by_answer = {f": {digest(sent)}": sent for sent in calls(folder / "calls.jsonl")}
    assert len(by_answer) == len(calls(folder / "calls.jsonl")) == 13
    for item, record in found.items():
        [sent] = [one for end, one in by_answer.items() if record.response.text.endswith(end)]
        place = ITEMS[item]
        earlier = [
            found[other.id].response.text
            for other in ITEMS.values()
            if other.cluster == place.cluster and other.turn < place.turn
        ]
        asked = [
            part.text
            for message in record.request.messages
            if message.role == "assistant"
            for part in message.parts
        ]
        dropped = record.effective["context"]["turns_dropped"]
        assert asked == earlier
        assert said(sent) == earlier[dropped:]
        with_example = item.endswith(("sandwich-seg1", "sandwich-seg2"))
        assert len(clips(sent)) == len(earlier) - dropped + 1 + with_example


def test_what_had_no_room_is_dropped_and_the_record_says_it(whole) -> None:
    """Tokens are frames and seconds: sandwich 18 + 16, 14, 13, 12; gate 18, 14, 10, 16."""
    folder, summary = whole
    found = records(folder, "demo-assistant-echo")
    dropped = {
        item.removeprefix("assistant/"): [
            one["clip"].removeprefix("assistant/") for one in record.effective["context"]["dropped"]
        ]
        for item, record in found.items()
    }
    assert {item: names for item, names in dropped.items() if names} == {
        "sandwich-seg3": ["example"],
        "sandwich-seg4": ["example", "sandwich-seg1"],
        "gate-seg4": ["gate-seg1"],
    }
    assert all(record.effective["context"]["input_tokens"] <= 50 for record in found.values())
    assert summary["shortened"] == 3


def test_a_stored_run_makes_no_calls_and_a_dry_run_counts_turns(whole, tmp_path) -> None:
    folder, _ = whole
    before = len(calls(folder / "calls.jsonl"))
    killed = folder / "store" / "attempts" / "demo-assistant-echo.1of1" / f"elsewhere-1-{'0' * 32}"
    killed.mkdir(parents=True)
    past = time.time() - 600
    os.utime(killed, (past, past))
    again = infer(folder, folder / "echo.toml")
    planned = infer(tmp_path, folder / "echo.toml", "--dry-run")
    assert (again["cached"], again["pending"], again["called"]) == (13, 0, 0)
    assert not killed.exists()
    assert (planned["requested"], planned["pending"]) == (13, 13)
    assert planned["estimate"]["requests"] == 13
    assert len(calls(folder / "calls.jsonl")) == before
    shards = [
        infer(tmp_path, folder / "echo.toml", "--dry-run", "--shard", f"{k}/2") for k in (1, 2)
    ]
    assert sum(part["requested"] for part in shards) == 13


def test_killed_and_failing_dialogues_end_as_if_nothing_had_happened(whole, tmp_path) -> None:
    """Kill -9 amid a turn, then a turn that fails for now: the answers, and so the histories, are
    the same as those of the run that nothing disturbed."""
    pid = str(tmp_path / "pid")
    killed = start(tmp_path, write_card(tmp_path, context=50, kill_on_call=7, pid=pid)[0])
    driver = child(killed)
    killed.communicate(timeout=240)
    # What the engine was answering is still written down.
    wait_for(lambda: not engines(driver), None, 30.0)
    stopped = len({one.key for one in Store(tmp_path / "store").scan()})
    card, log = write_card(tmp_path, context=50, fail_on_call=9)
    failed = infer(tmp_path, card, expect=1)
    ended = infer(tmp_path, write_card(tmp_path, context=50)[0])

    assert killed.returncode == -9
    assert 0 < stopped < 13
    assert failed["outcomes"]["infra_error"] == 1
    assert failed["cached"] == stopped
    assert ended["outcomes"] == {"ok": 13}
    here, there = (records(folder, "demo-assistant-echo") for folder in (tmp_path, whole[0]))
    texts = [{item: one.response.text for item, one in found.items()} for found in (here, there)]
    assert texts[0] == texts[1]
    assert max(Counter(map(digest, calls(log))).values()) <= 3
    assert len(calls(log)) <= 13 + 4 + 1  # in flight when it was killed, and the one that failed


def test_with_teacher_forcing_each_turn_sees_the_accepted_answers(tmp_path) -> None:
    card, log = write_card(tmp_path, filter_on_call=1)
    summary = infer(tmp_path, card, "--teacher-forcing", "--limit", "4", expect=1)
    assert summary["run"] == "demo-assistant-echo-teacher-forcing"
    assert summary["outcomes"] == {"ok": 3, "content_filter": 1}
    accepted = []
    for item in list(ITEMS.values())[:4]:
        assert isinstance(item.reference, AssistantReference)
        accepted.append(item.reference.answers[0])
    assert [said(sent) for sent in calls(log)] == [accepted[:n] for n in range(4)]


def test_what_another_job_answers_meanwhile_is_found_and_not_asked(whole, tmp_path) -> None:
    """Four turns are with the engine when another job stores all thirteen."""
    folder, _ = whole
    script = folder / "script.json"
    usual = script.read_text()
    others = records(folder, "demo-assistant-echo").values()
    log = tmp_path / "calls.jsonl"
    script.write_text(json.dumps(json.loads(usual) | {"log": str(log), "delay_s": 5.0}))
    try:
        process = start(tmp_path, folder / "echo.toml")
        deadline = time.monotonic() + 200
        while len(calls(log)) < 4 and time.monotonic() < deadline:
            time.sleep(0.1)
        with Store(tmp_path / "store") as store:
            for one in others:
                store.put(replace(one, created="2999-01-01T00:00:00.000Z"))
        out, err = process.communicate(timeout=240)
    finally:
        script.write_text(usual)
    assert process.returncode == 0, err
    summary = json.loads(out)
    assert len(calls(log)) == 4
    assert (summary["requested"], summary["cached"], summary["pending"]) == (13, 9, 4)
    assert (summary["called"], summary["outcomes"]) == (4, {"ok": 13})
