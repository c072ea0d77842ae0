"""What becomes of each expected item: its status, its reason, and never a silent gap."""

import json

import pytest

from cache.record import Outcome
from score.answers import run_answers
from score.errors import ScoreError
from score.scoring import score
from tests.scored_runs import (
    choice_answer,
    choice_item,
    interval_item,
    run_store,
    summary_item,
)


def answers_of(tmp_path, items, asked, **more):
    store = run_store(tmp_path / "store", asked, **more)
    return run_answers(store, "run-a", items)[1]


@pytest.mark.parametrize(
    ("answer", "status", "reason"),
    [
        (choice_answer("B"), "scored", ""),
        ("no idea", "unparsed", "no option in 'no idea'"),
        (Outcome.CONTENT_FILTER, "unparsed", "content_filter"),
        (Outcome.REFUSED, "unparsed", "refused"),
        (Outcome.CONTEXT_OVERFLOW, "unparsed", "context_overflow"),
        (Outcome.TRUNCATED, "unparsed", "truncated: the response is empty"),
        (Outcome.TIMEOUT, "infra_failed", "timeout"),
        (Outcome.OUT_OF_MEMORY, "infra_failed", "out_of_memory"),
        (Outcome.INFRA_ERROR, "infra_failed", "infra_error"),
        (Outcome.DECODE_ERROR, "infra_failed", "decode_error"),
    ],
)
def test_an_outcome_ends_in_one_status_and_stays_in_the_reason(tmp_path, answer, status, reason):
    item = choice_item()
    [found] = answers_of(tmp_path, [item], [([item], answer)])
    assert (found.status, found.reason) == (status, reason)


def test_an_item_that_the_run_does_not_ask_is_missing(tmp_path):
    items = [choice_item(1), choice_item(2)]
    found = answers_of(tmp_path, items, [([items[0]], choice_answer("A"))])
    assert [(one.status, one.reason) for one in found] == [
        ("scored", ""),
        ("missing", "the run does not ask it"),
    ]


def test_only_items_of_the_runs_tasks_are_expected(tmp_path):
    items = [choice_item(), summary_item()]
    found = answers_of(tmp_path, items, [([items[0]], choice_answer("A"))])
    assert [one.item.id for one in found] == [items[0].id]


def test_every_sample_is_expected(tmp_path):
    item = choice_item()
    found = answers_of(tmp_path, [item], [([item], choice_answer("A"))], samples=3)
    assert [(one.sample, one.status) for one in found] == [
        (0, "scored"),
        (1, "missing"),
        (2, "missing"),
    ]


def test_of_three_questions_two_are_answered_and_one_of_them_twice(tmp_path):
    items = [interval_item(name) for name in ("001", "002", "003")]
    text = json.dumps(
        {
            "questions": [
                {"question_id": "001", "start_s": 83, "end_s": 100},
                {"question_id": "002", "start_s": 10, "end_s": 20},
                {"question_id": "001", "start_s": 1, "end_s": 2},
            ]
        }
    )
    found = answers_of(tmp_path, items, [(items, text)], tasks=("localization",))
    assert [one.status for one in found] == ["scored", "scored", "missing"]
    first = found[0]
    assert (first.prediction.start_s, first.prediction.end_s) == (83.0, 100.0)
    assert first.flags == ("answered twice",)
    assert found[1].flags == ()


def test_a_truncated_answer_counts_as_far_as_it_is_certain(tmp_path):
    item = choice_item()
    store = run_store(tmp_path / "store", [])
    from cache.run import RunHeader, RunLine
    from tests.scored_runs import said

    record = said('{"answer_letter": "A", "rationale": "He wav', Outcome.TRUNCATED)
    store.put(record)
    header = RunHeader(name="cut", benchmark="sonic-o1", model="m", tasks=("choice",))
    store.write_run(header, [RunLine(item=item.id, key=record.key)])
    _, [found] = run_answers(store, "cut", [item])
    assert found.status == "scored"
    assert found.prediction.index == 0
    assert found.prediction.rationale == ""
    assert "truncated" in found.flags


def test_a_run_of_other_data_is_refused(tmp_path):
    item = choice_item(7)
    store = run_store(tmp_path / "store", [([item], choice_answer("A"))])
    with pytest.raises(ScoreError, match=r"choice/01/007/0-180/0; score it against the data"):
        run_answers(store, "run-a", [choice_item(1)])


def test_an_interval_without_times_is_unparsed_and_its_rationale_is_scored(tmp_path):
    item = interval_item()
    text = json.dumps(
        {"questions": [{"question_id": "001", "rationale_model": "He waves after he sat down."}]}
    )
    store = run_store(tmp_path / "store", [([item], text)], tasks=("localization",))
    found = score(store, [item], ["run-a"])
    cells = {
        metric: (status, reason)
        for metric, status, reason in found.scores.select("metric", "status", "reason").iter_rows()
    }
    assert cells["tiou"] == ("unparsed", "no times")
    assert cells["mae"] == ("unparsed", "no times")
    assert cells["rationale_rouge_l"] == ("scored", "")
    assert found.errors["error_type"].to_list() == ["hallucination"]
