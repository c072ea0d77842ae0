"""SONIC-O1's items hold what the annotations say, in one order and under ids of their own."""

from __future__ import annotations

import pytest

from bench.errors import AnnotationError, DataMissing, UnknownTask
from bench.item import (
    ChoiceReference,
    IntervalReference,
    Segment,
    SummaryReference,
    TaskType,
)
from bench.sonic_o1 import SonicO1
from tests.trees import MISSING, TOPIC, sonic_tree

SONIC = SonicO1("sonic-o1")


def test_a_valid_tree_has_no_faults(tmp_path):
    assert SONIC.check(sonic_tree(tmp_path)) == []


def test_items_hold_what_the_files_say(tmp_path):
    summary, choice, localization = SONIC.load(sonic_tree(tmp_path))
    assert summary.id == "summary/01/001"
    assert summary.topic == TOPIC
    assert summary.cluster == "01/001"
    assert summary.clip.segment is None
    assert summary.reference == SummaryReference(
        "A nurse asks a patient how the night was.", ("A nurse asks.", "A patient answers.")
    )
    assert choice.id == "choice/01/001/120-300/0"
    assert choice.options == ("A cup", "A pen", "A map", "A key", "Not enough evidence")
    assert choice.reference == ChoiceReference(1, "She writes with it.")
    assert choice.clip.segment == Segment(120.0, 300.0)
    assert choice.attributes.requires_audio is False
    assert localization.id == "localization/01/001/120-300/0/001"
    assert localization.question_id == "001"
    assert localization.reference == IntervalReference(130.5, 140.0, "He rises from the chair.")
    assert localization.attributes.relation == "after"
    assert localization.attributes.requires_audio is True
    for item in (summary, choice, localization):
        assert item.benchmark == "sonic-o1"
        assert item.attributes.duration == "medium"
        assert item.attributes.duration_s == 400


def test_entries_on_the_same_video_and_segment_stay_distinct(tmp_path):
    items = SONIC.load(sonic_tree(tmp_path, copies=3))
    ids = [item.id for item in items]
    assert len(set(ids)) == 7
    assert "choice/01/001/120-300/2" in ids
    assert "localization/01/001/120-300/2/001" in ids


def test_a_segment_with_fractions_keeps_them_in_the_id(tmp_path):
    sonic_tree(tmp_path, choice={"segment": {"start": 0.5, "end": 12.125}})
    assert SONIC.load(tmp_path, [TaskType.CHOICE])[0].id == "choice/01/001/0.5-12.125/0"


def test_a_part_of_the_tasks_is_enough(tmp_path):
    sonic_tree(tmp_path, tasks=("choice",))
    assert {item.task for item in SONIC.load(tmp_path)} == {TaskType.CHOICE}
    assert SONIC.check(tmp_path) == []


def test_a_task_asked_for_by_name_must_be_there(tmp_path):
    sonic_tree(tmp_path, tasks=("choice",))
    with pytest.raises(DataMissing, match="task1_summarization"):
        SONIC.load(tmp_path, [TaskType.SUMMARY])


def test_a_task_of_another_benchmark_is_answered_with_the_known_ones(tmp_path):
    with pytest.raises(UnknownTask, match="summary, empathic, choice, localization"):
        SONIC.load(sonic_tree(tmp_path), [TaskType.ASSISTANT])


def test_empathic_items_come_on_request_only_and_have_no_reference(tmp_path):
    sonic_tree(tmp_path)
    assert all(item.task is not TaskType.EMPATHIC for item in SONIC.load(tmp_path))
    (item,) = SONIC.load(tmp_path, [TaskType.EMPATHIC])
    assert item.id == "empathic/01/001"
    assert item.reference is None


def test_the_order_is_tasks_then_topics_then_entries_however_tasks_are_asked(tmp_path):
    sonic_tree(tmp_path, topic="10_Restaurant_Service_Encounters")
    sonic_tree(tmp_path, topic="02_Job_Interviews")
    ids = [item.id for item in SONIC.load(tmp_path, [TaskType.CHOICE, TaskType.SUMMARY])]
    assert ids == [
        "summary/02/001",
        "summary/10/001",
        "choice/02/001/120-300/0",
        "choice/10/001/120-300/0",
    ]


@pytest.mark.parametrize(
    ("video", "bucket"),
    [
        ({"duration_category": "Long"}, "long"),
        ({"duration_category": MISSING, "duration_seconds": 299.9}, "short"),
        ({"duration_category": MISSING, "duration_seconds": 300}, "medium"),
        ({"duration_category": None, "duration_seconds": 1199}, "medium"),
        ({"duration_category": MISSING, "duration_seconds": 1200}, "long"),
        ({"duration_category": "tiny", "duration_seconds": 1200}, "long"),
    ],
)
def test_the_duration_bucket_is_the_stated_one_or_follows_from_the_seconds(tmp_path, video, bucket):
    items = SONIC.load(sonic_tree(tmp_path, video=video))
    assert {item.attributes.duration for item in items} == {bucket}


def test_a_video_without_any_duration_is_a_fault(tmp_path):
    video = {"duration_category": MISSING, "duration_seconds": MISSING}
    with pytest.raises(AnnotationError, match="and so is duration_seconds"):
        SONIC.load(sonic_tree(tmp_path, video=video))
