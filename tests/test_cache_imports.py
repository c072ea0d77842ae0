"""Answers of other suites become records and runs of ours.

The files are built here after the formats' descriptions: nobody's published files are copied.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cache.conflict import find_surplus
from cache.errors import ImportFault, RunConflict
from cache.imports.imported import failure_outcome, store_answers
from cache.imports.read import read_answers
from cache.record import Outcome
from cache.store import Store

TOPIC = "01_Patient-Doctor_Consultations"


@pytest.fixture
def store(tmp_path: Path):
    with Store(tmp_path / "store", create=True) as store:
        yield store


def predictions(root: Path, task: str, entries: list[dict], topic: str = TOPIC, **changes) -> Path:
    content = {
        "model": "VideoLLaMA2",
        "topic_name": "Patient-Doctor Consultations",
        "task": task,
        "generated_at": "2025-11-03T12:00:00",
        "num_entries": len(entries),
        "entries": entries,
    }
    path = root / "predictions" / "VideoLLaMA2" / task / f"{topic}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content | changes), encoding="utf-8")
    return path


def entry(video: str = "001", segment: tuple | None = None, **changes) -> dict:
    found = {
        "video_id": "abc",
        "video_number": video,
        "preprocessing": {"max_frames": 128, "max_audio_chunks": None},
        "timestamp": "2025-11-03T12:00:01",
    }
    if segment is not None:
        found["segment"] = {"start": segment[0], "end": segment[1]}
    return found | changes


def take(store: Store, source: Path, form: str, run: str | None = None, model: str | None = None):
    return store_answers(store, read_answers(source, form, model), run=run)


def answers_by_item(store: Store, run: str) -> dict[str, str]:
    lines = store.run(run).lines
    records = store.get_many(line.key for line in lines)
    return {line.item: records[line.key].response.text for line in lines}


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
    assert record.created == "2025-11-03T12:00:01"
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


def test_all_tasks_of_a_model_are_one_run_and_experiments_are_runs_of_their_own(store, tmp_path):
    predictions(tmp_path, "task1_summarization", [entry(outputs={"a": 1})])
    path = predictions(tmp_path, "task2_mcq", [entry(segment=(0, 9), outputs={"a": 2})])
    other = tmp_path / "predictions" / "frames_64" / "VideoLLaMA2" / "task2_mcq" / path.name
    other.parent.mkdir(parents=True)
    other.write_bytes(path.read_bytes())
    assert take(store, tmp_path, "sonic-o1").runs == ["VideoLLaMA2", "VideoLLaMA2-frames_64"]
    assert store.run("VideoLLaMA2").header.tasks == ("choice", "summary")
    assert len(list(store.scan())) == 3


def test_importing_again_finds_everything_stored(store, tmp_path):
    entries = [entry("001", outputs={"a": 1}), entry("002", error="Traceback …")]
    predictions(tmp_path, "task1_summarization", entries)
    take(store, tmp_path, "sonic-o1")
    again = take(store, tmp_path, "sonic-o1")
    assert (again.answers, again.failures, again.already_stored) == (0, 0, 2)
    store.refresh()
    assert store.index.rows == 2


def test_a_changed_file_under_one_run_is_a_conflict_and_under_another_name_a_run(store, tmp_path):
    predictions(tmp_path, "task1_summarization", [entry(outputs={"a": 1})])
    take(store, tmp_path, "sonic-o1")
    late = "2025-12-01T00:00:00"
    predictions(tmp_path, "task1_summarization", [entry(outputs={"a": 2}, timestamp=late)])
    assert take(store, tmp_path, "sonic-o1").conflicts == 1
    assert answers_by_item(store, "VideoLLaMA2") == {"summary/01/001": '{"a":1}'}
    assert len(find_surplus(store)[1]) == 1
    assert take(store, tmp_path, "sonic-o1", run="second").conflicts == 0
    assert answers_by_item(store, "second") == {"summary/01/001": '{"a":2}'}


def test_a_task_added_later_needs_a_run_of_its_own_name(store, tmp_path):
    """What a run set out to answer is fixed: its expected items are all items of its tasks."""
    path = predictions(tmp_path, "task1_summarization", [entry(outputs={"a": 1})])
    take(store, path, "sonic-o1")
    with pytest.raises(RunConflict, match="tasks was"):
        take(
            store,
            predictions(tmp_path, "task2_mcq", [entry(segment=(0, 9), outputs={"a": 2})]),
            "sonic-o1",
        )


@pytest.mark.parametrize(
    ("task", "entries", "message"),
    [
        ("task1_summarization", [entry(video=1)], r"entries\[0\]\.video_number: found 1"),
        ("task2_mcq", [entry(outputs={})], r"entries\[0\]\.segment: found None"),
        ("task2_mcq", [entry(segment=("0:10", 9))], r"entries\[0\]\.segment"),
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


def test_replies_of_a_dialogue_are_its_items(store, tmp_path):
    path = tmp_path / "Qwen3-Omni.csv"
    path.write_text(
        "\ufeffvideo_name,output_text,token_retries\r\n"
        "cooking-seg1,[KEEP QUIET],0\r\n"
        'cooking-seg2,"Now, add\nthe ""salt"".",2\r\n'
        "empty,,\r\n",
        encoding="utf-8",
        newline="",
    )
    found = take(store, path, "omniassist")
    assert (found.runs, found.answers) == (["Qwen3-Omni"], 3)
    assert answers_by_item(store, "Qwen3-Omni") == {
        "assistant/cooking-seg1": "[KEEP QUIET]",
        "assistant/cooking-seg2": 'Now, add\nthe "salt".',
        "assistant/empty": "",
    }
    assert store.run("Qwen3-Omni").header.tasks == ("assistant",)
    take(store, path, "omniassist", run="named", model="qwen3-omni")
    assert store.run("named").header.model == "qwen3-omni"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("video,output_text\na,b\n", "has the columns video, output_text"),
        ("video_name,output_text\n,b\n", "line 2: expected a video_name"),
        ("video_name,output_text\na\n", "line 2: expected a video_name"),
        ("video_name,output_text\na,1\na,2\n", "line 3: 'a' is there twice, first on line 2"),
    ],
)
def test_a_fault_of_a_reply_file_is_named_with_its_line(tmp_path, text, message):
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(ImportFault, match=message):
        read_answers(tmp_path / "x.csv", "omniassist")


def test_sample_logs_become_records_with_their_repeats_as_samples(store, tmp_path):
    log = tmp_path / "llava__onevision" / "20260131_120000_samples_videomme.jsonl"
    log.parent.mkdir()
    samples = [
        {"doc_id": 0, "target": "A", "input": "?", "resps": [["A."]], "filtered_resps": ["A"]},
        {"doc_id": 1, "target": "B", "input": "?", "filtered_resps": ["B"]},
        {"doc_id": 2, "target": "B", "resps": [["B", "C"]], "filtered_resps": ["B"]},
        {"doc_id": 3, "target": "B", "resps": []},
    ]
    log.write_text("\n".join(json.dumps(sample) for sample in samples) + "\n")
    found = take(store, tmp_path, "lmms-eval")
    assert (found.runs, found.answers, found.failures) == (["llava__onevision"], 4, 1)
    run = store.run("llava__onevision")
    assert (run.header.benchmark, run.header.tasks, run.header.samples) == (
        "lmms-eval",
        ("videomme",),
        2,
    )
    texts = {(line.item, line.sample): store.get(line.key).response.text for line in run.lines}
    assert texts == {
        ("videomme/0", 0): "A.",
        ("videomme/1", 0): "B",
        ("videomme/2", 0): "B",
        ("videomme/2", 1): "C",
        ("videomme/3", 0): "",
    }


def test_a_fault_of_a_sample_log_is_named_with_its_line(tmp_path):
    (tmp_path / "x_samples_y.jsonl").write_text('{"doc_id": 1, "resps": ["a"]}\n{"resps": []}\n')
    with pytest.raises(ImportFault, match="line 2: expected an object with doc_id"):
        read_answers(tmp_path, "lmms-eval")


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        ("CUDA out of memory. Tried to allocate 20.00 GiB", Outcome.OUT_OF_MEMORY),
        ("The maximum context length is 32768 tokens", Outcome.CONTEXT_OVERFLOW),
        ("ReadTimeout: HTTPSConnectionPool", Outcome.TIMEOUT),
        ("The response was filtered: content_filter", Outcome.CONTENT_FILTER),
        ("moov atom not found", Outcome.DECODE_ERROR),
        ("JSON parsing failed after 3 attempts", Outcome.INFRA_ERROR),
    ],
)
def test_the_words_of_an_error_tell_its_outcome(error, outcome):
    assert failure_outcome(error) is outcome
