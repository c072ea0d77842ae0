"""Answers of other suites become records and runs of ours.

The files are built here after the formats' descriptions: nobody's published files are copied.
"""

from __future__ import annotations

import contextlib
import csv
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cache.conflict import find_surplus
from cache.errors import ImportFault, RunConflict, StoreError
from cache.imports.failure import failure_outcome
from cache.imports.imported import store_answers
from cache.imports.read import read_answers
from cache.order import in_order
from cache.record import Outcome
from cache.run import RunHeader
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


def test_a_task_imported_later_becomes_a_run_beside_the_first(store, tmp_path, caplog):
    """What a run set out to answer is fixed: its expected items are all items of its tasks."""
    summaries = predictions(tmp_path, "task1_summarization", [entry(outputs={"a": 1})])
    choices = predictions(tmp_path, "task2_mcq", [entry(segment=(0, 9), outputs={"a": 2})])
    assert take(store, summaries, "sonic-o1").runs == ["VideoLLaMA2"]
    assert take(store, choices, "sonic-o1").runs == ["VideoLLaMA2@choice"]
    assert "run 'VideoLLaMA2' was made for other tasks" in caplog.text
    assert store.run("VideoLLaMA2").header.tasks == ("summary",)
    assert store.run("VideoLLaMA2@choice").header.tasks == ("choice",)
    assert answers_by_item(store, "VideoLLaMA2@choice") == {"choice/01/001/0-9/0": '{"a":2}'}
    whole = take(store, tmp_path, "sonic-o1")
    assert (whole.runs, whole.already_stored) == (["VideoLLaMA2", "VideoLLaMA2@choice"], 2)


def test_a_run_of_several_tasks_takes_more_of_one_of_them(store, tmp_path):
    predictions(tmp_path, "task1_summarization", [entry(outputs={"a": 1})])
    choices = [entry(segment=(0, 9), outputs={"a": 2})]
    path = predictions(tmp_path, "task2_mcq", choices)
    take(store, tmp_path, "sonic-o1")
    choices.append(entry("002", segment=(0, 9), outputs={"a": 3}))
    predictions(tmp_path, "task2_mcq", choices)
    later = take(store, path, "sonic-o1")
    assert (later.runs, later.answers, later.already_stored) == (["VideoLLaMA2"], 1, 1)
    assert len(answers_by_item(store, "VideoLLaMA2")) == 3


@pytest.mark.parametrize(
    "other",
    [
        {"model": "another"},
        {"benchmark": "omniassist"},
        {"settings": {"frames": 64}},
        {"model": "another", "tasks": ("choice",)},
    ],
)
def test_a_run_that_was_made_otherwise_is_refused_before_anything_is_stored(store, tmp_path, other):
    header = {
        "name": "taken",
        "benchmark": "sonic-o1",
        "model": "VideoLLaMA2",
        "tasks": ("summary",),
        "settings": {"engine": "import"},
    }
    store.write_run(RunHeader(**(header | other)), [])
    predictions(tmp_path, "task1_summarization", [entry(outputs={"a": 1})])
    with pytest.raises(RunConflict, match="Choose another run name"):
        take(store, tmp_path, "sonic-o1", run="taken")
    assert list(store.scan()) == []


def test_a_name_that_cannot_name_a_run_is_refused_before_anything_is_stored(store, tmp_path):
    predictions(tmp_path, "task1_summarization", [entry(outputs={"a": 1})])
    with pytest.raises(StoreError, match="cannot name a run"):
        take(store, tmp_path, "sonic-o1", run=".hidden")
    assert list(store.scan()) == []


@pytest.mark.parametrize(
    "broken",
    [
        {"outputs": "\ud800"},
        {"outputs": {"a": "\ud800"}},
        {"error": "\ud800"},
        {"outputs": {}, "timestamp": "\ud800"},
        {"outputs": {}, "preprocessing": {"a": "\ud800"}},
    ],
)
def test_an_answer_that_cannot_be_stored_is_refused_with_its_place_before_any_is(
    store, tmp_path, broken
):
    entries = [entry("001", outputs={"a": 1}), entry("002", **broken)]
    predictions(tmp_path, "task1_summarization", entries)
    with pytest.raises(ImportFault, match=rf"{TOPIC}\.json entries\[1\]"):
        take(store, tmp_path, "sonic-o1")
    assert list(store.scan()) == []
    assert store.runs() == []


def test_two_answers_to_one_item_are_refused_with_both_their_places(store, tmp_path):
    path = predictions(
        tmp_path, "task1_summarization", [entry(outputs={"a": 1}), entry(outputs={"a": 2})]
    )
    both = r"entries\[0\] and .*entries\[1\] both answer 'summary/01/001'"
    with pytest.raises(ImportFault, match=both):
        take(store, path, "sonic-o1")
    assert list(store.scan()) == []


def test_two_files_of_one_model_must_not_answer_the_same_items(store, tmp_path):
    for stem in ("20260131_1_samples_a", "20260201_1_samples_a"):
        path = tmp_path / "logs" / "m" / f"{stem}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"doc_id": 0, "resps": [[stem]]}) + "\n")
    with pytest.raises(ImportFault, match=r"20260131.* line 1 and .*20260201.* line 1 both answer"):
        take(store, tmp_path / "logs", "lmms-eval")
    for folder in ("x", "y"):
        (tmp_path / "csv" / folder).mkdir(parents=True)
        (tmp_path / "csv" / folder / "m.csv").write_text("video_name,output_text\na,1\n")
    with pytest.raises(ImportFault, match=r"x/m\.csv line 2 and y/m\.csv line 2 both answer"):
        take(store, tmp_path / "csv", "omniassist")
    assert list(store.scan()) == []


def test_models_that_share_the_end_of_their_name_are_not_made_one_run(store, tmp_path):
    predictions(tmp_path, "task1_summarization", [entry(outputs={"a": 1})], model="x/m")
    predictions(tmp_path, "task2_mcq", [entry(segment=(0, 9), outputs={"a": 1})], model="y/m")
    with pytest.raises(ImportFault, match=r"of model 'x/m' and .* of 'y/m'"):
        take(store, tmp_path, "sonic-o1")


def test_the_same_files_by_another_root_are_already_stored(store, tmp_path, monkeypatch):
    path = predictions(tmp_path, "task1_summarization", [entry(outputs={"a": 1})])
    nested = tmp_path / "predictions" / "frames_64" / path.relative_to(tmp_path / "predictions")
    nested.parent.mkdir(parents=True)
    nested.write_bytes(path.read_bytes())
    take(store, tmp_path / "predictions", "sonic-o1")
    monkeypatch.chdir(tmp_path / "predictions" / "frames_64")
    for root in (path, path.parent.parent, Path("VideoLLaMA2")):
        again = take(store, root, "sonic-o1")
        assert (again.answers, again.already_stored, again.conflicts) == (0, 1, 0)
    store.refresh()
    assert store.index.rows == 2


@pytest.mark.parametrize("timestamp", ["2020-01-01T00:00:00", "20200101_000000", "", None])
def test_what_was_imported_first_stays_whatever_the_files_say_of_their_time(
    store, tmp_path, timestamp
):
    path = predictions(tmp_path, "task1_summarization", [entry(outputs={"a": 1})])
    take(store, path, "sonic-o1")
    predictions(tmp_path, "task1_summarization", [entry(outputs={"a": 2}, timestamp=timestamp)])
    found = take(store, path, "sonic-o1")
    assert (found.answers, found.conflicts) == (0, 1)
    assert answers_by_item(store, "VideoLLaMA2") == {"summary/01/001": '{"a":1}'}


def test_importing_differing_answers_again_says_so_again_and_stores_nothing(store, tmp_path):
    path = predictions(tmp_path, "task1_summarization", [entry(outputs={"a": 1})])
    take(store, path, "sonic-o1")
    predictions(tmp_path, "task1_summarization", [entry(outputs={"a": 2})])
    for _ in range(3):
        found = take(store, path, "sonic-o1")
        assert (found.answers, found.already_stored, found.conflicts) == (0, 0, 1)
        store.refresh()
        assert store.index.rows == 2


def test_the_first_import_stays_when_the_clock_stands_still_or_goes_back(store, tmp_path):
    path = predictions(tmp_path, "task1_summarization", [entry(outputs={"a": 1})])
    moment = datetime(2026, 1, 31, 12, tzinfo=UTC)
    store_answers(store, read_answers(path, "sonic-o1"), now=moment)
    for number, then in enumerate((moment, moment - timedelta(days=1)), 2):
        predictions(tmp_path, "task1_summarization", [entry(outputs={"a": number})])
        store_answers(store, read_answers(path, "sonic-o1"), now=then)
    (found,) = store.find([record.key for record in store.scan()]).values()
    assert [(one.record.created, one.record.response.text) for one in in_order(found)] == [
        ("2026-01-31T12:00:00.000Z", '{"a":1}'),
        ("2026-01-31T12:00:00.001Z", '{"a":2}'),
        ("2026-01-31T12:00:00.002Z", '{"a":3}'),
    ]


def test_an_answer_replaces_a_failure_that_asks_for_another_try(store, tmp_path):
    path = predictions(tmp_path, "task1_summarization", [entry(error="timed out")])
    take(store, path, "sonic-o1")
    predictions(tmp_path, "task1_summarization", [entry(outputs={"a": 1})])
    found = take(store, path, "sonic-o1")
    assert (found.answers, found.conflicts) == (1, 0)
    assert answers_by_item(store, "VideoLLaMA2") == {"summary/01/001": '{"a":1}'}


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
        ("video_name,output_text\nv1,Yes, he opened\n", r"x\.csv line 2: .* found 3"),
        ("video_name,output_text,token_retries\nv1,Yes, he opened\n", "line 2: token_retries is"),
        ("video_name,output_text,token_retries\nv1,Yes\n", "line 2: .* found 2"),
        ("video_name,output_text,output_text\nv1,a,b\n", "each once"),
        ('video_name,output_text\nv1,a\nv2,"b\nv3,c\n', r"x\.csv line 3: the row that begins"),
        ('video_name,output_text\nv1,"a\nb" c\nv2,"d"\n', r"x\.csv line 2: the row that begins"),
        ("", "has the columns none"),
    ],
)
def test_a_fault_of_a_reply_file_is_named_with_its_line(tmp_path, text, message):
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(ImportFault, match=message):
        read_answers(tmp_path / "x.csv", "omniassist")


def test_a_long_reply_is_taken_whole_and_csv_is_left_as_it_was(store, tmp_path):
    limit = csv.field_size_limit()
    (tmp_path / "m.csv").write_text(f"video_name,output_text\na,{'x' * 200_000}\n")
    take(store, tmp_path, "omniassist")
    assert len(answers_by_item(store, "m")["assistant/a"]) == 200_000
    assert csv.field_size_limit() == limit


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


def test_a_missing_repeat_is_a_failure_in_its_place(store, tmp_path):
    log = tmp_path / "x_samples_y.jsonl"
    log.write_text('{"doc_id": 1, "resps": [["a", null, "c"]]}\n')
    found = take(store, log, "lmms-eval", model="m")
    assert (found.answers, found.failures) == (2, 1)
    texts = {line.sample: store.get(line.key).response.text for line in store.run("m").lines}
    assert texts == {0: "a", 1: "", 2: "c"}


#: As versions of lmms-eval write them: numbers, or everything as text; each choice, or the chosen.
LIKELIHOODS = [
    {"doc_id": 0, "resps": [[[-1.5, False]], [[-0.5, True]]], "filtered_resps": [[-1.5, False]]},
    {"doc_id": 0, "resps": [[["-1.5", "False"]], [["-5e-05", "True"]], [["-inf", "False"]]]},
    {"doc_id": 0, "filtered_resps": [["-1.5", "False"], ["-0.5", "True"]]},
    {"doc_id": 0, "resps": [[-123.5]]},
]


@pytest.mark.parametrize("sample", LIKELIHOODS)
def test_a_log_of_likelihoods_is_no_log_of_answers(store, tmp_path, caplog, sample):
    log = tmp_path / "m" / "1_samples_mmlu.jsonl"
    log.parent.mkdir()
    log.write_text(json.dumps(sample) + "\n")
    with pytest.raises(ImportFault, match="holds no generations: task 'mmlu'"):
        take(store, log, "lmms-eval")
    (tmp_path / "m" / "1_samples_video.jsonl").write_text('{"doc_id": 0, "resps": [["A"]]}\n')
    found = take(store, tmp_path, "lmms-eval")
    assert (found.answers, found.failures) == (1, 0)
    assert store.run("m").header.tasks == ("video",)
    assert "skipped: scored by log-likelihood" in caplog.text
    assert "task 'mmlu'" in caplog.text


def test_a_response_that_is_no_text_is_a_fault_with_its_line(tmp_path):
    log = tmp_path / "x_samples_y.jsonl"
    log.write_text('{"doc_id": 1, "resps": ["a"]}\n{"doc_id": 2, "resps": [{"text": "b"}]}\n')
    with pytest.raises(ImportFault, match=r"line 2: a response is .* expected a text"):
        read_answers(log, "lmms-eval")


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
