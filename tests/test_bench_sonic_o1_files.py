"""The annotation files of SONIC-O1: which belong to the tree, which lack, which cannot be read."""

from __future__ import annotations

import os

import pytest

from bench.errors import AnnotationError, DataMissing
from bench.sonic_o1 import SonicO1
from tests.trees import TOPIC, choice_file, sonic_tree, write_json

SONIC = SonicO1("sonic-o1")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b'{"entries": [', "line 1 column"),
        (b"", "broken JSON"),
        (b'{"entries": "\xff"}', "no UTF-8 at 13"),
        (b"[1]", "expected an object"),
        (b"null", "found null; expected an object"),
        (b'{"entries": [NaN]}', r"entries\[0\]: found nan; expected a finite number"),
        (b'{"entries": [{"x": 1e999}]}', r"entries\[0\].x: found inf"),
        (b'{"entries": [{"x": "\\ud800"}]}', "surrogate"),
        (b'{"entries": [{"x": 1, "x": 2}]}', "x: found twice in one object"),
        (b"[" * 100_000, "nested too deep"),
        (b'{"entries": ' + b"1" * 5000 + b"}", "number that cannot be read"),
    ],
)
def test_a_file_that_is_no_proper_json_is_reported_with_its_place(tmp_path, data, says):
    choice_file(sonic_tree(tmp_path)).write_bytes(data)
    with pytest.raises(AnnotationError, match=says):
        SONIC.load(tmp_path)


@pytest.mark.parametrize(("data", "says"), [(b"null", "found null"), (b"{}", "found {}")])
def test_metadata_that_are_no_list_stop_loading(tmp_path, data, says):
    sonic_tree(tmp_path)
    (tmp_path / "dataset" / "videos" / TOPIC / "metadata_enhanced.json").write_bytes(data)
    with pytest.raises(AnnotationError, match=f"{says}; expected a list of objects"):
        SONIC.load(tmp_path)


def test_a_pipe_among_the_annotations_is_refused_and_not_waited_for(tmp_path):
    path = choice_file(sonic_tree(tmp_path))
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(AnnotationError, match="found a pipe, socket or device; expected a file"):
        SONIC.load(tmp_path)


def test_a_byte_order_mark_is_reported_and_tolerated(tmp_path):
    path = choice_file(sonic_tree(tmp_path))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert len(SONIC.load(tmp_path)) == 3
    (fault,) = SONIC.check(tmp_path)
    assert "byte order mark" in fault.found


def test_two_topics_of_one_number_would_share_ids_and_are_a_fault(tmp_path):
    sonic_tree(tmp_path, topic="01_Job_Interviews")
    sonic_tree(tmp_path)
    with pytest.raises(AnnotationError, match="second topic 01"):
        SONIC.load(tmp_path)


def test_a_file_that_is_named_unlike_a_topic_is_a_fault(tmp_path):
    write_json(sonic_tree(tmp_path) / "vqa" / "task2_mcq" / "notes.json", {})
    (fault,) = SONIC.check(tmp_path)
    assert "01_Topic_Name.json" in fault.found


def test_files_that_file_managers_leave_behind_are_no_topics(tmp_path):
    folder = choice_file(sonic_tree(tmp_path)).parent
    (folder / f"._{TOPIC}.json").write_bytes(b"\x00")
    assert SONIC.check(tmp_path) == []


def test_an_unknown_task_folder_is_reported(tmp_path):
    (sonic_tree(tmp_path) / "vqa" / "task4_more").mkdir()
    (fault,) = SONIC.check(tmp_path)
    assert fault.file == "vqa/task4_more"


def test_the_short_task_name_of_the_published_files_is_fine(tmp_path):
    assert SONIC.check(sonic_tree(tmp_path, header={"task": "mcq"})) == []


def test_missing_metadata_name_the_file(tmp_path):
    sonic_tree(tmp_path)
    (tmp_path / "dataset" / "videos" / TOPIC / "metadata_enhanced.json").unlink()
    with pytest.raises(DataMissing, match=r"metadata_enhanced\.json"):
        SONIC.load(tmp_path)
    (fault,) = SONIC.check(tmp_path)
    assert "cannot be read" in fault.found


@pytest.mark.parametrize("method", ["load", "check"])
def test_a_folder_without_annotations_says_what_is_needed(tmp_path, method):
    ask = getattr(SONIC, method)
    with pytest.raises(DataMissing, match="--data"):
        ask(None)
    with pytest.raises(DataMissing, match="is not a folder"):
        ask(tmp_path / "none")
    with pytest.raises(DataMissing, match="no vqa folder"):
        ask(tmp_path)
    (tmp_path / "vqa").mkdir()
    with pytest.raises(DataMissing, match="no annotation files"):
        ask(tmp_path)
