"""Remembered verdicts are those of the store, and hold no longer than it does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cache.store import Store
from score.judge import memory
from score.judge.lookup import verdicts
from score.judge.rubric import RUBRICS, load_rubric
from score.judge.spec import JudgeSpec, Scale
from score.judge.verdict import JudgeFailure, Verdict
from score.pair import Pair
from tests.builders import chat_judge, judge_pair, judge_pairs, judge_record

SPEC = chat_judge(attempts=1)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store", create=True) as opened:
        yield opened


@pytest.fixture(autouse=True)
def _every_case_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "WORTH", 1)


def put(store: Store, spec: JudgeSpec, *replies: str) -> list[Pair]:
    pairs = judge_pairs(len(replies))
    for pair, reply in zip(pairs, replies, strict=True):
        store.put(judge_record(spec, pair, reply))
    return pairs


def folders(store: Store) -> list[Path]:
    return list((store.path / "index").glob("verdicts-*"))


def test_the_second_look_reads_no_record_and_finds_the_same(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = put(store, SPEC, '{"score": 3, "justification": "so so"}', "no idea", '{"score": 9}')
    first = verdicts(store, SPEC, [*pairs, pairs[0]])
    looked: list[int] = []
    find = store.get_many
    monkeypatch.setattr(store, "get_many", lambda keys: looked.append(len(keys)) or find(keys))
    assert verdicts(store, SPEC, [*pairs, pairs[0]]) == first
    assert not sum(looked)
    assert [type(one) for one in first] == [Verdict, JudgeFailure, Verdict, Verdict]


def test_aspects_are_remembered_too(store: Store) -> None:
    omni = load_rubric("omniassist.jinja", RUBRICS)
    spec = chat_judge(rubric=omni, scale=Scale(min=0, max=5))
    said = '{"redundancy": "partly", "silence_protocol": "not applicable", "score": 4}'
    pairs = put(store, spec, said)
    for _ in range(2):
        (found,) = verdicts(store, spec, pairs)
        assert isinstance(found, Verdict)
        assert found.aspects == {"redundancy": 1, "silence_protocol": None}


def test_what_the_store_lost_is_remembered_no_more(store: Store) -> None:
    pairs = put(store, SPEC, '{"score": 3}', '{"score": 4}', '{"score": 5}')
    verdicts(store, SPEC, pairs)
    store.close()
    (file,) = store.path.glob("packs/*/*.jsonl")
    lines = file.read_bytes().splitlines(keepends=True)
    lines[1] = lines[1][:100] + b"\n"
    file.chmod(0o644)
    file.write_bytes(b"".join(lines))
    with Store(store.path) as again:
        found = verdicts(again, SPEC, pairs)
    assert [type(one) for one in found] == [Verdict, JudgeFailure, Verdict]
    assert isinstance(found[1], JudgeFailure)
    assert found[1].status == "missing"


@pytest.mark.parametrize("changes", [{"model": "other"}, {"scale": Scale(min=0, max=2)}])
def test_another_judge_remembers_nothing_of_this_one(store: Store, changes: Any) -> None:
    pairs = put(store, SPEC, '{"score": 3}')
    verdicts(store, SPEC, pairs)
    other = chat_judge(**({"attempts": 1} | changes))
    put(store, other, '{"score": 1}')
    assert verdicts(store, other, pairs) == [Verdict(1, "")]
    assert verdicts(store, SPEC, pairs) == [Verdict(3, "")]
    assert len(folders(store)) == 2


def test_what_waits_or_took_several_replies_is_not_remembered(store: Store) -> None:
    spec = chat_judge(attempts=2)
    (pair,) = put(store, spec, "no idea")
    verdicts(store, spec, [pair])
    store.put(judge_record(spec, pair, '{"score": 3}', 1))
    assert verdicts(store, spec, [pair]) == [Verdict(3, "")]
    assert not folders(store)


def test_a_damaged_memory_is_passed_over(store: Store) -> None:
    pairs = put(store, SPEC, '{"score": 3}')
    verdicts(store, SPEC, pairs)
    (file,) = folders(store)[0].iterdir()
    file.chmod(0o644)
    file.write_bytes(b"PAR1")
    assert verdicts(store, SPEC, pairs) == [Verdict(3, "")]


def test_a_few_verdicts_are_not_worth_a_file(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "WORTH", 1000)
    verdicts(store, SPEC, put(store, SPEC, '{"score": 3}'))
    assert not folders(store)


def test_what_a_judge_sees_alike_has_one_digest() -> None:
    cut, shown = judge_pair("cut \ud83d"), judge_pair("cut \ufffd")
    assert memory.digest_of(cut) == memory.digest_of(shown)
    either, written = judge_pair(key_points=(("a", "b"),)), judge_pair(key_points=(("a OR b",),))
    assert memory.digest_of(either) == memory.digest_of(written)
    others = [judge_pair(), judge_pair("other"), judge_pair(alternatives=("other",)), cut, either]
    assert len({memory.digest_of(one) for one in others}) == len(others)
