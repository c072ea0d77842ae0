"""Faults of SONIC-O1's entries are named one by one: some stop loading, the others are noted."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.errors import AnnotationError
from bench.sonic_o1 import SonicO1
from tests.trees import MISSING, PERSON, TOPIC, sonic_tree, write_json

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


def test_a_number_too_large_for_a_float_is_reported(tmp_path):
    with pytest.raises(AnnotationError, match="within a float's range"):
        SONIC.load(sonic_tree(tmp_path, choice={"segment": {"start": 0, "end": 10**400}}))


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
