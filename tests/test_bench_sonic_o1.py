"""SONIC-O1's tree is read strictly: every fault is named, every legal variant accepted."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.demo import SONIC_O1
from bench.errors import AnnotationError, DataMissing, UnknownTask
from bench.item import (
    ChoiceReference,
    IntervalReference,
    Segment,
    SummaryReference,
    TaskType,
)
from bench.sonic_o1 import SonicO1
from tests.trees import MISSING, PERSON, TOPIC, choice_file, sonic_tree, write_json

SONIC = SonicO1("sonic-o1")
OPTIONS = ["(A) a", "(B) b", "(C) c", "(D) d", "(E) e"]

# (what is overridden, a piece of the file's name, entry, field, what the message says)
BLOCKING: list[tuple[dict[str, Any], str, str, str, str]] = [
    (
        {"choice": {"demographics": [{**PERSON, "count": 10**30}]}},
        "task2",
        "entries[0].demographics[0]",
        "count",
        "from 0 to 10000",
    ),
    (
        {"choice": {"segment": {"start": 0, "end": 1e308}}},
        "task2",
        "entries[0].segment",
        "end",
        "expected seconds, at most 1000000",
    ),
    (
        {"question": {"answer": {"start_s": -1e308, "end_s": 140}}},
        "task3",
        "entries[0].questions[0].answer",
        "start_s",
        "expected seconds, at most 1000000",
    ),
    (
        {"video": {"duration_seconds": 1e308}},
        "metadata",
        "[0]",
        "duration_seconds",
        "expected seconds, at most 1000000",
    ),
    ({"header": {"num_entries": 7}}, "task2", "", "num_entries", "found 7; expected 1"),
    ({"header": {"num_entries": "1"}}, "task2", "", "num_entries", 'found "1"'),
    ({"header": {"num_entries": True}}, "task2", "", "num_entries", "found true"),
    ({"header": {"entries": MISSING}}, "task2", "", "entries", "missing"),
    ({"header": {"entries": {}}}, "task2", "", "entries", "found {}; expected a list"),
    ({"header": {"task": "task1_summarization"}}, "task2", "", "task", "expected task2_mcq"),
    ({"choice": {"question": MISSING}}, "task2", "entries[0]", "question", "missing"),
    ({"choice": {"question": "  "}}, "task2", "entries[0]", "question", "not empty"),
    ({"choice": {"question": 5}}, "task2", "entries[0]", "question", "found 5; expected text"),
    (
        {"choice": {"answer_index": 2}},
        "task2",
        "entries[0]",
        "answer_letter",
        "with answer_index 2",
    ),
    ({"choice": {"answer_index": 5}}, "task2", "entries[0]", "answer_index", "from 0 to 4"),
    ({"choice": {"answer_index": 1.0}}, "task2", "entries[0]", "answer_index", "found 1.0"),
    ({"choice": {"answer_index": True}}, "task2", "entries[0]", "answer_index", "found true"),
    ({"choice": {"answer_letter": "AB"}}, "task2", "entries[0]", "answer_letter", "A to E"),
    ({"choice": {"answer_letter": "b"}}, "task2", "entries[0]", "answer_letter", "A to E"),
    ({"choice": {"answer_letter": None}}, "task2", "entries[0]", "answer_letter", "found null"),
    ({"choice": {"options": OPTIONS[:4]}}, "task2", "entries[0]", "options", "found 4; expected 5"),
    ({"choice": {"options": [*OPTIONS, "(F) f"]}}, "task2", "entries[0]", "options", "found 6"),
    ({"choice": {"options": OPTIONS[::-1]}}, "task2", "entries[0]", "options[0]", "(A) and a text"),
    ({"choice": {"options": ["a", *OPTIONS[1:]]}}, "task2", "entries[0]", "options[0]", '"a"'),
    ({"choice": {"options": ["(A)", *OPTIONS[1:]]}}, "task2", "entries[0]", "options[0]", "(A)"),
    ({"choice": {"options": [1, *OPTIONS[1:]]}}, "task2", "entries[0]", "options[0]", "found 1"),
    ({"choice": {"options": "A"}}, "task2", "entries[0]", "options", "a list of texts"),
    ({"choice": {"requires_audio": "yes"}}, "task2", "entries[0]", "requires_audio", '"yes"'),
    ({"choice": {"segment": MISSING}}, "task2", "entries[0]", "segment", "missing"),
    ({"choice": {"segment": [1, 2]}}, "task2", "entries[0]", "segment", "an object"),
    ({"choice": {"segment": {"start": 1}}}, "task2", "entries[0].segment", "end", "missing"),
    (
        {"choice": {"segment": {"start": "1", "end": 2}}},
        "task2",
        "entries[0].segment",
        "start",
        '"1"',
    ),
    ({"choice": {"segment": {"start": 9, "end": 3}}}, "task2", "entries[0]", "segment", "9 to 3"),
    (
        {"choice": {"segment": {"start": 3, "end": 3}}},
        "task2",
        "entries[0]",
        "segment",
        "start < end",
    ),
    ({"choice": {"segment": {"start": -1, "end": 3}}}, "task2", "entries[0]", "segment", "-1 to 3"),
    ({"choice": {"video_number": "077"}}, "task2", "entries[0]", "video_number", "001"),
    ({"choice": {"video_number": 1}}, "task2", "entries[0]", "video_number", "found 1"),
    ({"choice": {"video_number": "../../x"}}, "task2", "entries[0]", "video_number", "data folder"),
    ({"choice": {"video_id": "xyz"}}, "task2", "entries[0]", "video_id", 'expected "abc"'),
    (
        {"choice": {"demographics": "none"}},
        "task2",
        "entries[0]",
        "demographics",
        "list of objects",
    ),
    ({"choice": {"demographics": [1]}}, "task2", "entries[0].demographics[0]", "", "found 1"),
    (
        {"choice": {"demographics": [{**PERSON, "count": "2"}]}},
        "task2",
        "entries[0].demographics[0]",
        "count",
        'found "2"',
    ),
    (
        {"choice": {"demographics": [{**PERSON, "race": ["White"]}]}},
        "task2",
        "entries[0].demographics[0]",
        "race",
        "expected text",
    ),
    ({"summary": {"summary_short": []}}, "task1", "entries[0]", "summary_short", "empty list"),
    ({"summary": {"summary_short": "a"}}, "task1", "entries[0]", "summary_short", "list of texts"),
    ({"summary": {"summary_short": [""]}}, "task1", "entries[0]", "summary_short[0]", "not empty"),
    (
        {"summary": {"summary_detailed": MISSING}},
        "task1",
        "entries[0]",
        "summary_detailed",
        "missing",
    ),
    (
        {"question": {"answer": {"start_s": 150, "end_s": 140}}},
        "task3",
        "entries[0].questions[0]",
        "answer",
        "found 150 to 140 s",
    ),
    (
        {"question": {"answer": {"start_s": "2:10", "end_s": 140}}},
        "task3",
        "entries[0].questions[0].answer",
        "start_s",
        '"2:10"',
    ),
    ({"question": {"answer": MISSING}}, "task3", "entries[0].questions[0]", "answer", "missing"),
    (
        {"question": {"question_id": 1}},
        "task3",
        "entries[0].questions[0]",
        "question_id",
        "found 1",
    ),
    (
        {"question": {"question_id": "a/b"}},
        "task3",
        "entries[0].questions[0]",
        "question_id",
        "name",
    ),
    ({"localization": {"questions": MISSING}}, "task3", "entries[0]", "questions", "missing"),
    ({"video": {"video_number": "../x"}}, "metadata", "[0]", "video_number", "data folder"),
    ({"video": {"duration_seconds": "400"}}, "metadata", "[0]", "duration_seconds", '"400"'),
    ({"video": {"duration_seconds": -3}}, "metadata", "[0]", "duration_seconds", "more than 0"),
    (
        {"video": {"demographics_detailed_reviewed": []}},
        "metadata",
        "[0]",
        "demographics_detailed_reviewed",
        "an object",
    ),
    ({"videos": {}}, "metadata", "", "", "expected a list of objects"),
    ({"videos": [3]}, "metadata", "[0]", "", "found 3; expected an object"),
]

NOTED: list[tuple[dict[str, Any], str, str, str, str]] = [
    (
        {"choice": {"demographics": [{**PERSON, "race": "Martian"}]}},
        "task2",
        "entries[0].demographics[0]",
        "race",
        "White, Black",
    ),
    (
        {"choice": {"segment": {"start": 300, "end": 402}}},
        "task2",
        "entries[0]",
        "segment",
        "400 s",
    ),
    ({"choice": {"requires_audio": MISSING}}, "task2", "entries[0]", "requires_audio", "missing"),
    (
        {"question": {"answer": {"start_s": 10, "end_s": 20}}},
        "task3",
        "entries[0].questions[0]",
        "answer",
        "120 to 300 s",
    ),
    (
        {"question": {"answer": {"start_s": 150, "end_s": 150}}},
        "task3",
        "entries[0].questions[0]",
        "answer",
        "empty",
    ),
    ({"localization": {"questions": []}}, "task3", "entries[0]", "questions", "found 0"),
    ({"header": {"topic_name": "Job Interviews"}}, "task2", "", "topic_name", "Patient-Doctor"),
    ({"header": {"topic_id": 2}}, "task2", "", "topic_id", "found 2; expected 1"),
    ({"video": {"duration_category": "tiny"}}, "metadata", "[0]", "duration_category", '"tiny"'),
    (
        {"summary": {"timeline": [{"start": "00:02:00", "end": "00:01:00"}]}},
        "task1",
        "entries[0]",
        "timeline[0]",
        "start before end",
    ),
]


@pytest.mark.parametrize(("override", "file", "entry", "field", "says"), BLOCKING)
def test_a_fault_that_leaves_an_item_without_certain_meaning_stops_loading(
    tmp_path, override, file, entry, field, says
):
    sonic_tree(tmp_path, **override)
    with pytest.raises(AnnotationError) as raised:
        SONIC.load(tmp_path)
    matching = [
        fault
        for fault in raised.value.faults
        if (fault.entry, fault.field) == (entry, field) and file in fault.file
    ]
    assert matching, raised.value
    assert says in matching[0].found
    assert set(raised.value.faults) <= set(SONIC.check(tmp_path))


@pytest.mark.parametrize(("override", "file", "entry", "field", "says"), NOTED)
def test_a_fault_that_leaves_every_item_well_defined_is_noted_and_loading_goes_on(
    tmp_path, override, file, entry, field, says
):
    sonic_tree(tmp_path, **override)
    assert SONIC.load(tmp_path)
    (fault,) = SONIC.check(tmp_path)
    assert (fault.entry, fault.field, fault.blocks) == (entry, field, False)
    assert file in fault.file
    assert says in fault.found


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


def test_one_check_lists_the_faults_of_all_files_at_once(tmp_path):
    sonic_tree(
        tmp_path,
        summary={"summary_short": 3},
        choice={"answer_index": 9, "question": None, "video_number": "002"},
        question={"answer": {"start_s": 9, "end_s": 8}},
        video={"duration_seconds": 0},
    )
    faults = SONIC.check(tmp_path)
    assert len(faults) == 6
    assert len({fault.file for fault in faults}) == 4


def test_a_second_question_of_the_same_name_in_an_entry_is_a_fault(tmp_path):
    entry = json.loads(_text(sonic_tree(tmp_path), "task3_temporal_localization"))["entries"][0]
    sonic_tree(tmp_path, localization={"questions": entry["questions"] * 2})
    with pytest.raises(AnnotationError, match=r"questions\[1\] question_id: found '001' twice"):
        SONIC.load(tmp_path)


def test_a_second_summary_of_the_same_video_is_a_fault(tmp_path):
    sonic_tree(tmp_path)
    path = tmp_path / "vqa" / "task1_summarization" / f"{TOPIC}.json"
    value = json.loads(path.read_text())
    write_json(path, {**value, "entries": value["entries"] * 2, "num_entries": 2})
    with pytest.raises(AnnotationError, match="in two entries"):
        SONIC.load(tmp_path)


def test_a_video_described_twice_is_a_fault(tmp_path):
    one = {"video_id": "abc", "video_number": "001", "duration_category": "short"}
    with pytest.raises(AnnotationError, match=r"\[1\] video_number: found '001' a second time"):
        SONIC.load(sonic_tree(tmp_path, videos=[one, one]))


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


def test_a_number_too_large_for_a_float_is_reported(tmp_path):
    with pytest.raises(AnnotationError, match="within a float's range"):
        SONIC.load(sonic_tree(tmp_path, choice={"segment": {"start": 0, "end": 10**400}}))


def test_loading_needs_no_media(tmp_path):
    items = SONIC.load(sonic_tree(tmp_path, media=False))
    clip = items[0].clip
    assert clip.video == tmp_path / "dataset" / "videos" / TOPIC / "video_001.mp4"
    assert (clip.audio, clip.captions) == (None, None)


def test_sound_and_captions_are_found_where_they_are(tmp_path):
    sonic_tree(tmp_path)
    audio = tmp_path / "dataset" / "audios" / TOPIC / "audio_001.m4a"
    captions = tmp_path / "dataset" / "captions" / TOPIC / "caption_001.srt"
    for path in (audio, captions):
        path.parent.mkdir(parents=True)
        path.write_bytes(b"x")
    for item in SONIC.load(tmp_path):
        assert (item.clip.audio, item.clip.captions) == (audio, captions)


def test_check_names_a_missing_video_once_unless_media_are_left_out(tmp_path):
    sonic_tree(tmp_path, media=False)
    (fault,) = SONIC.check(tmp_path)
    assert fault.file == f"dataset/videos/{TOPIC}/video_001.mp4"
    assert not fault.blocks
    assert SONIC.check(tmp_path, media=False) == []


def test_check_names_an_empty_video(tmp_path):
    sonic_tree(tmp_path)
    (tmp_path / "dataset" / "videos" / TOPIC / "video_001.mp4").write_bytes(b"")
    assert "empty" in SONIC.check(tmp_path)[0].found


def box(name: bytes, content: bytes = b"", length: int | None = None) -> bytes:
    """A box of an MP4 file."""
    return (len(content) + 8 if length is None else length).to_bytes(4) + name + content


HEAD = box(b"ftyp", b"isom") + box(b"moov", b"m" * 20)
LARGE = (1).to_bytes(4) + b"mdat" + (16 + 30).to_bytes(8)


@pytest.mark.parametrize(
    ("film", "says"),
    [
        (HEAD + box(b"mdat", b"d" * 30), None),
        (HEAD + box(b"mdat", b"d" * 30, length=0), None),
        (HEAD + LARGE + b"d" * 30, None),
        (HEAD + box(b"mdat", b"d" * 30) + bytes(20), None),
        (b"\x1a\x45\xdf\xa3 a Matroska file", None),
        (HEAD + box(b"mdat", b"d" * 10, length=38), "found 58 bytes; expected 78 or more"),
        (HEAD + LARGE + b"d" * 10, "found 66 bytes; expected 86 or more"),
        (HEAD[:30], "found 30 bytes; expected 40 or more"),
        (box(b"ftyp", b"isom") + box(b"mdat", b"d" * 30), "found 50 bytes without a moov box"),
    ],
)
def test_check_notes_an_mp4_file_that_is_cut_off(tmp_path, film, says):
    sonic_tree(tmp_path)
    (tmp_path / "dataset" / "videos" / TOPIC / "video_001.mp4").write_bytes(film)
    faults = SONIC.check(tmp_path)
    assert [(fault.file.endswith("video_001.mp4"), fault.blocks) for fault in faults] == (
        [] if says is None else [(True, False)]
    )
    assert says is None or says in faults[0].found


def test_a_real_film_is_whole_and_half_of_it_is_not(tmp_path):
    film = next(SONIC_O1.glob("dataset/videos/*/*.mp4")).read_bytes()
    sonic_tree(tmp_path)
    path = tmp_path / "dataset" / "videos" / TOPIC / "video_001.mp4"
    path.write_bytes(film)
    assert SONIC.check(tmp_path) == []
    path.write_bytes(film[: len(film) // 2])
    (fault,) = SONIC.check(tmp_path)
    assert f"found {len(film) // 2} bytes; expected" in fault.found


def test_check_notes_a_folder_in_the_place_of_a_video(tmp_path):
    sonic_tree(tmp_path, media=False)
    (tmp_path / "dataset" / "videos" / TOPIC / "video_001.mp4").mkdir()
    (fault,) = SONIC.check(tmp_path)
    assert "found a folder; expected a file" in fault.found


def test_a_linked_media_folder_is_the_users_own_choice(tmp_path):
    tree, disk = sonic_tree(tmp_path / "tree"), tmp_path / "disk.mp4"
    disk.write_bytes(b"film")
    video = tree / "dataset" / "videos" / TOPIC / "video_001.mp4"
    video.unlink()
    video.symlink_to(disk)
    assert SONIC.check(tree) == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(number=st.text(min_size=1, max_size=12))
def test_no_video_number_leads_out_of_the_data_folder(tmp_path_factory, number):
    root = tmp_path_factory.mktemp("tree")
    sonic_tree(root, video={"video_number": number}, choice={"video_number": number}, media=False)
    try:
        items = SONIC.load(root, [TaskType.CHOICE])
    except AnnotationError:
        return
    folder = root / "dataset" / "videos" / TOPIC
    assert items[0].clip.video.resolve().parent == folder.resolve()


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


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    field=st.sampled_from(["question", "options", "segment", "answer_index", "demographics"]),
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just(math.inf),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
        max_leaves=5,
    ),
)
def test_whatever_stands_in_a_field_it_is_an_item_or_a_fault(tmp_path_factory, field, value):
    root = sonic_tree(tmp_path_factory.mktemp("tree"), choice={field: value}, tasks=("choice",))
    blocking = [fault for fault in SONIC.check(root) if fault.blocks]
    if not blocking:
        assert len(SONIC.load(root)) == 1
        return
    with pytest.raises(AnnotationError) as raised:
        SONIC.load(root)
    assert raised.value.faults == blocking


def _text(root: Path, folder: str) -> str:
    return (root / "vqa" / folder / f"{TOPIC}.json").read_text()
