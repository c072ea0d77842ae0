"""Reply files of OmniAssistBench and sample logs of lmms-eval become records of ours.

The files are built here after the formats' descriptions: nobody's published files are copied.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from cache.errors import ImportFault
from cache.imports.failure import failure_outcome
from cache.imports.read import read_answers
from cache.record import Outcome
from cache.store import Store
from tests.suite_files import answers_by_item, take


@pytest.fixture
def store(tmp_path: Path):
    with Store(tmp_path / "store", create=True) as store:
        yield store


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


@pytest.mark.parametrize("retries", ["-1", "nan", "1.0", "0", ""])
def test_any_number_of_retries_is_taken_as_it_stands(tmp_path, retries):
    (tmp_path / "m.csv").write_text(f"video_name,output_text,token_retries\na,hi,{retries}\n")
    [one] = read_answers(tmp_path / "m.csv", "omniassist")
    assert one.effective.get("token_retries", "") == retries


def test_columns_that_are_not_taken_in_are_named(tmp_path, caplog):
    (tmp_path / "m.csv").write_text(",video_name,output_text,error\n0,a,hi,boom\n")
    [one] = read_answers(tmp_path / "m.csv", "omniassist")
    assert one.text == "hi"
    [said] = [record.message for record in caplog.records]
    assert said.endswith("not taken in are the columns '', 'error'")


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
