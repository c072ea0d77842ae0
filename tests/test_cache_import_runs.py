"""Imported answers become runs: under which name, what stays, what is refused.

The files are built here after the formats' descriptions: nobody's published files are copied.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cache.conflict import find_surplus
from cache.errors import ImportFault, RunConflict, StoreError
from cache.imports.imported import store_answers
from cache.imports.read import read_answers
from cache.merge import merge_stores
from cache.order import in_order
from cache.run import RunHeader
from cache.store import Store
from tests.suite_files import TOPIC, answers_by_item, entry, predictions, take


@pytest.fixture
def store(tmp_path: Path):
    with Store(tmp_path / "store", create=True) as store:
        yield store


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


def test_a_run_grows_by_the_tasks_that_are_imported_later(store, tmp_path):
    """Task by task, in any order, or all at once: the same run, and nothing is stored twice."""
    choices = predictions(tmp_path, "task2_mcq", [entry(segment=(0, 9), outputs={"a": 2})])
    summaries = predictions(tmp_path, "task1_summarization", [entry(outputs={"a": 1})])
    assert take(store, summaries, "sonic-o1").runs == ["VideoLLaMA2"]
    assert store.run("VideoLLaMA2").header.tasks == ("summary",)
    assert take(store, choices, "sonic-o1").runs == ["VideoLLaMA2"]
    grown = store.run("VideoLLaMA2")
    assert grown.header.tasks == ("choice", "summary")
    assert answers_by_item(store, "VideoLLaMA2") == {
        "summary/01/001": '{"a":1}',
        "choice/01/001/0-9/0": '{"a":2}',
    }
    whole = take(store, tmp_path, "sonic-o1")
    assert (whole.runs, whole.already_stored) == (["VideoLLaMA2"], 2)
    assert store.run("VideoLLaMA2") == grown
    with Store(tmp_path / "at-once", create=True) as other:
        take(other, tmp_path, "sonic-o1")
        at_once = other.run("VideoLLaMA2")
    assert at_once.header.tasks == grown.header.tasks
    assert set(at_once.lines) == set(grown.lines)


def test_a_task_whose_every_entry_failed_is_still_expected_of_the_run(store, tmp_path):
    """A failed localization entry names no question, so it adds a task and no line."""
    take(store, predictions(tmp_path, "task1_summarization", [entry(outputs={"a": 1})]), "sonic-o1")
    failed = [entry(segment=(0, 9), error="CUDA out of memory")]
    take(store, predictions(tmp_path, "task3_temporal_localization", failed), "sonic-o1")
    assert store.run("VideoLLaMA2").header.tasks == ("localization", "summary")


def test_stores_that_imported_different_tasks_of_a_run_merge_into_one_run(tmp_path):
    for task, entries in (
        ("task1_summarization", [entry(outputs={"a": 1})]),
        ("task2_mcq", [entry(segment=(0, 9), outputs={"a": 2})]),
    ):
        with Store(tmp_path / task, create=True) as one:
            take(one, predictions(tmp_path, task, entries), "sonic-o1")
    folders = [tmp_path / "task1_summarization", tmp_path / "task2_mcq"]
    for name, order in (("forth", folders), ("back", folders[::-1])):
        with Store(tmp_path / name, create=True) as merged:
            merge_stores(merged, order)
            merge_stores(merged, order)
            assert merged.run("VideoLLaMA2").header.tasks == ("choice", "summary")
            assert len(answers_by_item(merged, "VideoLLaMA2")) == 2
    assert len(list(tmp_path.glob("forth/runs/*"))) == 2


def test_a_task_with_another_number_of_samples_is_refused(store, tmp_path):
    """A run says of all its tasks how many answers are expected of an item."""
    one, two = tmp_path / "m" / "1_samples_a.jsonl", tmp_path / "m" / "1_samples_b.jsonl"
    one.parent.mkdir()
    one.write_text('{"doc_id": 0, "resps": [["A"]]}\n')
    two.write_text('{"doc_id": 0, "resps": [["A", "B"]]}\n')
    take(store, one, "lmms-eval", run="r")
    with pytest.raises(RunConflict, match="samples was 1, is 2"):
        take(store, two, "lmms-eval", run="r")
    assert len(list(store.scan())) == 1


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


#: As versions of lmms-eval write them: numbers, or everything as text; each choice, or the chosen.
