"""Prediction files of SONIC-O1 become records of ours.

The files are built here after the formats' descriptions: nobody's published files are copied.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from cache.errors import ImportFault
from cache.imports.read import read_answers
from cache.record import Outcome
from cache.store import Store
from tests.suite_files import TOPIC, answers_by_item, entry, predictions, take


@pytest.fixture
def store(tmp_path: Path):
    with Store(tmp_path / "store", create=True) as store:
        yield store


def test_a_summary_is_the_canonical_json_of_its_outputs(store, tmp_path):
    outputs = {"summary_short": ["a", "é"], "summary_detailed": "Two talk.", "confidence": 0.9}
    predictions(tmp_path, "task1_summarization", [entry("001", outputs=outputs)])
    found = take(store, tmp_path / "predictions", "sonic-o1")
    assert (found.runs, found.answers, found.failures) == (["VideoLLaMA2"], 1, 0)
    assert answers_by_item(store, "VideoLLaMA2") == {
        "summary/01/001": '{"confidence":0.9,"summary_detailed":"Two talk.",'
        '"summary_short":["a","é"]}'
    }
    header = store.run("VideoLLaMA2").header
    assert (header.benchmark, header.model, header.tasks) == (
        "sonic-o1",
        "VideoLLaMA2",
        ("summary",),
    )
    (record,) = store.scan()
    assert (record.request.engine, record.request.model) == ("import", "VideoLLaMA2")
    assert record.effective["timestamp"] == "2025-11-03T12:00:01"
    assert record.effective["preprocessing"]["max_frames"] == 128
    assert record.effective["origin"].endswith(f"{TOPIC}.json entries[0]")


def test_entries_on_one_segment_stay_distinct_by_their_order(store, tmp_path):
    entries = [
        entry("003", (120, 300.0), outputs={"answer_letter": "A"}),
        entry("003", (0, 120.5), outputs={"answer_letter": "B"}),
        entry("003", (120, 300), error="CUDA out of memory"),
        entry("003", (120, 300), outputs={"answer_letter": "D"}),
    ]
    predictions(tmp_path, "task2_mcq", entries)
    found = take(store, tmp_path, "sonic-o1")
    assert (found.answers, found.failures) == (3, 1)
    assert answers_by_item(store, "VideoLLaMA2") == {
        "choice/01/003/120-300/0": '{"answer_letter":"A"}',
        "choice/01/003/0-120.5/0": '{"answer_letter":"B"}',
        "choice/01/003/120-300/1": "",
        "choice/01/003/120-300/2": '{"answer_letter":"D"}',
    }


def test_the_questions_of_a_segment_share_one_answer(store, tmp_path):
    questions = [{"question_id": name, "start_s": 1, "end_s": 2} for name in ("001", "002")]
    entries = [
        entry("002", (0, 60), outputs={"questions": questions}),
        entry("002", (60, 120), error="timed out"),
    ]
    predictions(tmp_path, "task3_temporal_localization", entries)
    found = take(store, tmp_path, "sonic-o1")
    assert found.without_items == 1
    lines = store.run("VideoLLaMA2").lines
    assert [line.item for line in lines] == [
        "localization/01/002/0-60/0/001",
        "localization/01/002/0-60/0/002",
    ]
    assert lines[0].key == lines[1].key
    assert {record.outcome for record in store.scan()} == {Outcome.OK, Outcome.TIMEOUT}


def test_answers_that_name_no_question_are_counted_apart_from_failed_entries(
    store, tmp_path, caplog
):
    entries = [
        entry("001", (0, 60), outputs={"questions": []}),
        entry("001", (60, 90), outputs="no JSON"),
        entry("002", (0, 60), error="timed out"),
    ]
    predictions(tmp_path, "task3_temporal_localization", entries)
    found = take(store, tmp_path, "sonic-o1")
    assert (found.without_items, found.naming_no_question) == (1, 2)
    assert "2 answer(s) name no question" in caplog.text
    again = take(store, tmp_path, "sonic-o1")
    assert (again.without_items, again.naming_no_question) == (1, 2)


def nested(root: Path, form: str, depth: int) -> Path:
    deep = "[" * depth + '"a"' + "]" * depth
    if form == "sonic-o1":
        path = predictions(root, "task1_summarization", [entry(outputs={}, preprocessing={})])
        path.write_text(path.read_text().replace("{}", f'{{"a": {deep}}}'))
    else:
        path = root / "x_samples_y.jsonl"
        path.write_text(f'{{"doc_id": 1, "resps": {deep}}}\n')
    return path


@pytest.mark.parametrize("form", ["sonic-o1", "lmms-eval"])
def test_json_that_is_nested_too_deeply_is_a_fault_of_its_file(store, tmp_path, form):
    path = nested(tmp_path, form, 100_000)
    with pytest.raises(ImportFault, match=f"{path.name} cannot be read: .* nested too deeply"):
        take(store, path, form)
    # Where it begins to be too deep depends on Python and the caller; there is no other error.
    for depth in (300, 900, 990):
        with contextlib.suppress(ImportFault):
            take(store, nested(tmp_path, form, depth), form)


@pytest.mark.parametrize(
    ("task", "entries", "message"),
    [
        ("task1_summarization", [entry(video=1)], r"entries\[0\]\.video_number: found 1"),
        ("task2_mcq", [entry(outputs={})], r"entries\[0\]\.segment: found None"),
        ("task2_mcq", [entry(segment=("0:10", 9))], r"entries\[0\]\.segment"),
        ("task2_mcq", [entry(segment=(10**400, 9))], r"entries\[0\]\.segment"),
        ("task2_mcq", [entry(segment=(float("nan"), 9))], r"entries\[0\]\.segment"),
        ("task1_summarization", ["x"], r"entries\[0\]: expected an object"),
        ("task9", [entry(outputs={})], "expected task1_summarization"),
    ],
)
def test_a_fault_is_named_with_file_entry_and_field(tmp_path, task, entries, message):
    predictions(tmp_path, task, entries)
    with pytest.raises(ImportFault, match=rf"{TOPIC}\.json.*{message}|{message}"):
        read_answers(tmp_path, "sonic-o1")


def test_a_folder_without_predictions_is_answered_with_what_was_expected(tmp_path):
    with pytest.raises(ImportFault, match="TT_Topic_Name"):
        read_answers(tmp_path, "sonic-o1")
    with pytest.raises(ImportFault, match="video_name and output_text"):
        read_answers(tmp_path, "omniassist")
    with pytest.raises(ImportFault, match="samples_"):
        read_answers(tmp_path, "lmms-eval")
