"""The bundled benchmark's questions: their answers are true by construction, none is lopsided."""

import re
from collections import Counter

from tests.demo_files import entries, happenings, questions

CANONICAL = {
    "race": {"White", "Black", "Asian", "Indigenous", "Arab", "Hispanic"},
    "gender": {"Male", "Female"},
    "age": {"18-24", "25-39", "40+"},
}


def demographic_entries():
    tasks = ("task1_summarization", "task2_mcq", "task3_temporal_localization")
    return [entry for task in tasks for _, entry in entries(task)]


def test_every_answer_is_the_interval_of_the_event_that_it_names():
    for topic, entry, question in questions():
        events = happenings()[topic, entry["video_number"]]["events"]
        target = [e for e in events if e["what"] == question["target_event"]]
        assert len(target) == 1
        assert question["answer"] == {key: target[0][key] for key in ("start_s", "end_s")}


def test_every_answer_lies_inside_its_segment_and_video():
    for topic, entry, question in questions():
        segment, answer = entry["segment"], question["answer"]
        length = happenings()[topic, entry["video_number"]]["duration_s"]
        assert 0 <= segment["start"] <= answer["start_s"]
        assert answer["start_s"] < answer["end_s"] <= segment["end"] <= length


def test_every_temporal_relation_holds_between_the_two_events():
    for topic, entry, question in questions():
        events = {e["what"]: e for e in happenings()[topic, entry["video_number"]]["events"]}
        anchor, target = events[question["anchor_event"]], events[question["target_event"]]
        gap = target["start_s"] - anchor["end_s"]
        overlaps = gap < 0 and target["end_s"] > anchor["start_s"]
        assert {
            "before": target["end_s"] <= anchor["start_s"],
            "after": gap >= 0,
            "immediately after": 0 <= gap <= 2.5,
            "during": overlaps,
        }[question["temporal_relation"]]


def test_all_four_temporal_relations_occur_often():
    counts = Counter(question["temporal_relation"] for _, _, question in questions())
    assert set(counts) == {"before", "after", "during", "immediately after"}
    assert min(counts.values()) >= 5


def test_entries_hold_one_to_three_questions_numbered_from_one():
    sizes = Counter()
    for _, entry in entries("task3_temporal_localization"):
        ids = [question["question_id"] for question in entry["questions"]]
        assert ids == [f"{n:03d}" for n in range(1, len(ids) + 1)]
        sizes[len(ids)] += 1
    assert set(sizes) == {1, 2, 3}


def test_some_segments_overlap_and_do_not_start_at_zero():
    segments = {}
    for topic, entry in entries("task3_temporal_localization"):
        key = topic, entry["video_number"]
        segments.setdefault(key, set()).add(tuple(entry["segment"].values()))
    overlapping = [s for s in map(sorted, segments.values()) if len(s) > 1 and s[1][0] < s[0][1]]
    assert len(overlapping) >= 6
    assert all(second[0] > 0 for _, second in overlapping)


def test_several_choice_questions_share_a_video_and_segment():
    keys = Counter(
        (topic, entry["video_number"], *entry["segment"].values())
        for topic, entry in entries("task2_mcq")
    )
    assert max(keys.values()) >= 3


def test_options_are_five_different_texts_with_letters():
    for _, entry in entries("task2_mcq"):
        assert [option[:4] for option in entry["options"]] == [f"({c}) " for c in "ABCDE"]
        assert entry["options"][4] == "(E) Not enough evidence"
        assert len({option[4:] for option in entry["options"]}) == 5
        assert entry["answer_letter"] == "ABCDE"[entry["answer_index"]]


def test_right_letters_are_balanced_and_e_is_sometimes_right():
    counts = Counter(entry["answer_letter"] for _, entry in entries("task2_mcq"))
    assert max(counts[c] for c in "ABCD") - min(counts[c] for c in "ABCD") <= 2
    assert 1 <= counts["E"] <= 4


def test_questions_with_and_without_need_of_sound_occur():
    choice = Counter(entry["requires_audio"] for _, entry in entries("task2_mcq"))
    localization = Counter(question["requires_audio"] for _, _, question in questions())
    assert min(choice.values()) >= 10
    assert min(localization.values()) >= 10


def test_nothing_about_the_silent_video_needs_sound():
    about = [e for topic, e in entries("task2_mcq") if topic[:2] == "06"]
    asked = [q for topic, e, q in questions() if topic[:2] == "06" and e["video_number"] == "002"]
    assert not any(e["requires_audio"] for e in about if e["video_number"] == "002")
    assert not any(q["requires_audio"] for q in asked)


def test_summaries_have_the_length_and_parts_that_are_asked_for():
    for _, entry in entries("task1_summarization"):
        assert 80 <= len(entry["summary_detailed"].split()) <= 250
        assert 3 <= len(entry["summary_short"]) <= 5
        assert entry["glossary"]
        for line in entry["timeline"]:
            assert re.fullmatch(r"\d\d:\d\d:\d\d", line["start"])
            assert line["start"] <= line["end"]
            assert line["title"]
            assert line["note"]


def test_demographics_are_canonical_and_add_up():
    for entry in demographic_entries():
        groups = entry["demographics"]
        assert groups
        assert sum(group["count"] for group in groups) == entry["demographics_total_individuals"]
        assert entry["demographics_explanation"]
        for group in groups:
            assert all(group[name] in values for name, values in CANONICAL.items())
            assert group["language"] in {"English", "Spanish"}
