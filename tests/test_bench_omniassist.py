"""labels.csv is read strictly: samples, turns, alternatives, classes."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.classes import class_names, sub_task
from bench.errors import AnnotationError, DataMissing, UnknownTask
from bench.item import AssistantReference, TaskType
from bench.labels import SILENCE, alternatives, answers, key_points
from bench.omniassist import OmniAssist
from tests.trees import COLUMNS, assistant_folder, turn

OMNI = OmniAssist("omniassist")

# (rows, entry, field, what the message says)
BLOCKING = [
    ([{"class": "dancing"}], "line 2", "class", "dynamic counting"),
    ([{"turns": "double"}], "line 2", "turns", "expected single or multi"),
    ([{}, {}], "line 3", "video_name", "a second time"),
    ([{"video_name": "../x"}], "line 2", "video_name", "leave the data folder"),
    ([{"video_name": "/etc/x"}], "line 2", "video_name", "leave the data folder"),
    ([{"video_name": "a\\x"}], "line 2", "video_name", "leave the data folder"),
    ([{"video_name": ".."}], "line 2", "video_name", "leave the data folder"),
    ([{"video_name": " "}], "line 2", "video_name", "plain name"),
    ([{"example_video": "../x"}], "line 2", "example_video", "leave the data folder"),
    ([{"turns": "multi"}], "line 2", "video_name", "<sample>-seg<number>"),
    ([turn("s", 10**12)], "line 2", "video_name", "up to 9999"),
    ([turn("s", 1), turn("s", 3)], "line 3", "video_name", "expected s-seg2"),
    ([turn("s", 2), turn("s", 4)], "line 2", "video_name", "expected s-seg1, s-seg3"),
    (
        [turn("s", 1, example_video="a"), turn("s", 2, example_video="b")],
        "line 3",
        "example_video",
        "expected 'a'",
    ),
    ([{"video_name": "s"}, turn("s", 1)], "line 2", "turns", "one or other"),
]

NOTED = [
    ([{"gt_answer": " "}], "gt_answer", "only a real case may lack one"),
    ([{"gt_answer": '["a", b]'}], "gt_answer", "looks like a list"),
    ([{"key_points": '1. ["a", {"b": 1}]'}], "key_points", "looks like a list"),
]


@pytest.mark.parametrize(("rows", "entry", "field", "says"), BLOCKING)
def test_a_fault_of_a_row_names_its_line_and_stops_loading(tmp_path, rows, entry, field, says):
    assistant_folder(tmp_path, *rows)
    with pytest.raises(AnnotationError) as raised:
        OMNI.load(tmp_path)
    matching = [f for f in raised.value.faults if (f.entry, f.field) == (entry, field)]
    assert matching, raised.value
    assert says in matching[0].found


@pytest.mark.parametrize(("rows", "field", "says"), NOTED)
def test_an_odd_answer_is_noted_and_loading_goes_on(tmp_path, rows, field, says):
    assistant_folder(tmp_path, *rows)
    assert OMNI.load(tmp_path)
    (fault,) = OMNI.check(tmp_path)
    assert (fault.field, fault.blocks) == (field, False)
    assert says in fault.found


def test_an_item_holds_what_its_row_says(tmp_path):
    (item,) = OMNI.load(assistant_folder(tmp_path))
    assert item.id == "assistant/count-1"
    assert item.task is TaskType.ASSISTANT
    assert item.cluster == "count-1"
    assert item.turn == 0
    assert item.clip.video == tmp_path / "count-1.mp4"
    assert item.question == "How many cups are there?"
    assert item.reference == AssistantReference(("There are three cups.",), (("three",),))
    attributes = item.attributes
    assert (attributes.sub_task, attributes.major_task, attributes.tier) == (
        "dynamic counting",
        "temporal perception",
        "basic",
    )


def test_turns_are_ordered_by_their_number_not_by_its_text(tmp_path):
    rows = [turn("cake", n) for n in (1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9)]
    items = OMNI.load(assistant_folder(tmp_path, *rows))
    assert [item.turn for item in items] == list(range(1, 12))
    assert [item.id for item in items][9] == "assistant/cake-seg10"
    assert {item.cluster for item in items} == {"cake"}


def test_a_sample_name_may_itself_hold_seg_and_blanks(tmp_path):
    (item,) = OMNI.load(assistant_folder(tmp_path, turn("my cake-seg2 é", 1)))
    assert (item.cluster, item.turn) == ("my cake-seg2 é", 1)


def test_samples_keep_the_order_of_the_file(tmp_path):
    rows = [turn("b", 1), {"video_name": "a"}, turn("b", 2)]
    ids = [item.id for item in OMNI.load(assistant_folder(tmp_path, *rows))]
    assert ids == ["assistant/b-seg1", "assistant/b-seg2", "assistant/a"]


def test_a_question_that_is_not_said_is_the_next_step(tmp_path):
    (item,) = OMNI.load(assistant_folder(tmp_path, {"question": ""}))
    assert item.question == "What is the next step?"


def test_the_example_video_belongs_to_every_turn_of_its_sample(tmp_path):
    rows = [turn("cake", 1, example_video="cake-example"), turn("cake", 2), {"video_name": "x"}]
    first, second, other = OMNI.load(assistant_folder(tmp_path, *rows))
    assert first.example == second.example
    assert first.example.video == tmp_path / "cake-example.mp4"
    assert other.example is None


@pytest.mark.parametrize("answer", ["", " ", "nan"])
def test_a_real_case_without_a_gold_answer_is_not_scored(tmp_path, answer):
    row = turn("meeting", 1, **{"class": "real case", "gt_answer": answer, "key_points": ""})
    (item,) = OMNI.load(assistant_folder(tmp_path, row))
    assert item.reference == AssistantReference((), ())
    assert OMNI.check(tmp_path) == []


@pytest.mark.parametrize(
    ("sample", "name"),
    [("meeting", "meeting"), ("handcraft", "handicraft"), ("blind", "blind"), ("boat", "boat")],
)
def test_the_sub_task_of_a_real_case_is_the_case(sample, name):
    found = sub_task("Real Case", sample)
    assert (found.name, found.major, found.tier) == (name, "real-world cases", "real-world")


def test_there_are_seventeen_classes_and_each_has_its_place():
    # Ten basic and six advanced classes and the real cases: the paper's Tables 5 and 6.
    tiers = [sub_task(name, "blind").tier for name in class_names()]
    assert [tiers.count(tier) for tier in ("basic", "advanced", "real-world")] == [10, 6, 1]


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("Gesture-Based Prompt Following", "gesture-based prompt following"),
        ("ocr based prompt following", "OCR-based prompt following"),
        ("single_event-triggered response", "single event-triggered response"),
        ("Multi Event-triggered Response", "multi events-triggered response"),
        ("Linguistic Reference Perception", "linguistic reference"),
    ],
)
def test_a_class_is_known_however_it_is_spelled(written, name):
    assert sub_task(written, "x").name == name


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        ("It is red.", ("It is red.",)),
        ('["It is red.", "Red"]', ("It is red.", "Red")),
        ("['It\\'s red', \"Red\"]", ("It's red", "Red")),
        ('["a \\n b", 3]', ("a \n b", "3")),
        ("[KEEP QUIET]", (SILENCE,)),
        ("KEEP QUIET", (SILENCE,)),
        ("['KEEP QUIET', 'Nothing yet.']", (SILENCE, "Nothing yet.")),
        ("1. Wash\n2. Dry", ("1. Wash\n2. Dry",)),
        ('1. ["Wash", "Rinse"]\n2. Dry', ("1. Wash\n2. Dry", "1. Rinse\n2. Dry")),
        ("1.5 litres of milk", ("1.5 litres of milk",)),
        ("2. is the second", ("2. is the second",)),
        ("None", ("None",)),
        ("", ()),
    ],
)
def test_a_gold_answer_may_hold_alternatives(text, accepted):
    assert answers(text, pytest.fail) == accepted


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ("three cups", (("three cups",),)),
        ('["three", "3"]', (("three", "3"),)),
        ('1. ["three", "3"]\n2. cups', (("three", "3"), ("cups",))),
        ('1.["a",\n"b"]\r\n2) c', (("a", "b"), ("c",))),
        ("1. a\nmore of a\n\n2. b", (("a\nmore of a\n",), ("b",))),
        ("", ()),
    ],
)
def test_key_points_are_a_numbered_list_or_one_point(text, points):
    found = key_points(text, pytest.fail)
    assert tuple(tuple(one.strip() for one in some) for some in found) == tuple(
        tuple(one.strip() for one in some) for some in points
    )


def test_of_too_many_combinations_the_first_is_an_answer_and_one_names_them_all():
    """2^40 combinations: none but the first is made."""
    text = "\n".join(f'{n}. ["a{n}", "b{n}"]' for n in range(1, 41))
    first, all_of_them = answers(text, pytest.fail)
    assert first.splitlines()[5] == "6. a6"
    assert all_of_them.splitlines()[5] == "6. a6 OR b6"
    assert len(first.splitlines()) == len(all_of_them.splitlines()) == 40


@pytest.mark.parametrize(
    "text",
    [
        "['a','b'",
        "1. ['a'\n2. c",
        "('a','b')",
        "'a','b']",
        "\u201c[\u2018a\u2019]\u201d",
        "[a, b]",
        "[]",
        "[['a']]",
    ],
)
def test_what_is_nearly_a_list_is_noted_wherever_it_stands(text):
    noted: list[str] = []
    answers(text, noted.append)
    key_points(text, noted.append)
    assert len(noted) == 2
    assert all("looks like a list" in one for one in noted)


@pytest.mark.parametrize(
    "text", ["(He waves.) Hello!", "It's [over].", "He said 'no'", "1. [KEEP QUIET]\n2. Go."]
)
def test_brackets_and_quotes_in_a_text_are_no_list(text):
    assert len(answers(text, pytest.fail)) == 1


@pytest.mark.parametrize(
    "text",
    ["keep quiet.", "1. [KEEP QUIET]", "[Keep  Quiet]", "['KEEP QUIET!']", "1. ['[keep quiet]']"],
)
def test_silence_is_read_in_references_as_in_replies(text):
    assert answers(text, pytest.fail) == (SILENCE,)


def test_an_alternative_that_is_empty_is_noted_and_left_out(tmp_path):
    noted: list[str] = []
    assert answers("['', 'a']", noted.append) == ("a",)
    assert answers("['']", noted.append) == ()
    assert answers("1. ['']\n2. b", noted.append) == ("2. b",)
    assert key_points("['']", noted.append) == ()
    assert len(noted) == 4
    root = assistant_folder(tmp_path, {"gt_answer": "['']"})
    assert [fault.field for fault in OMNI.check(root)] == ["gt_answer", "gt_answer"]


@pytest.mark.parametrize("empty", ["nan", "NaN", " nan "])
def test_nan_is_an_empty_field_in_every_column_that_may_be_empty(tmp_path, empty):
    row = dict.fromkeys(("question", "gt_answer", "key_points", "example_video"), empty)
    root = assistant_folder(tmp_path, turn("meeting", 1, **row | {"class": "real case"}))
    (item,) = OMNI.load(root)
    assert item.question == "What is the next step?"
    assert item.reference == AssistantReference((), ())
    assert item.example is None


def test_a_clip_is_named_with_or_without_the_end_of_its_file(tmp_path):
    rows = [{"video_name": "u.mp4"}, {"video_name": "u"}]
    faults = OMNI.check(assistant_folder(tmp_path, *rows), media=False)
    assert ["a second time" in fault.found for fault in faults] == [True]
    sample = [turn("s", n, video_name=f"s-seg{n}.mp4", example_video=name)
              for n, name in ((1, "film.mp4"), (2, "film"))]  # fmt: skip
    items = OMNI.load(assistant_folder(tmp_path / "multi", *sample))
    assert [item.id for item in items] == ["assistant/s-seg1", "assistant/s-seg2"]
    assert {item.clip.video.name for item in items} == {"s-seg1.mp4", "s-seg2.mp4"}
    assert items[0].example is not None
    assert items[0].example.video.name == "film.mp4"


@pytest.mark.parametrize(
    ("sample", "case"), [("Meeting2", "meeting"), ("HandCraft", "handicraft"), ("BLIND-3", "blind")]
)
def test_the_case_of_a_real_case_is_read_in_any_case(sample, case):
    assert sub_task("Real Case", sample).name == case


def test_a_literal_is_parsed_and_never_executed(tmp_path):
    witness = tmp_path / "witness"
    text = f"[open({str(witness)!r}, 'w'), 'a']"
    noted: list[str] = []
    assert alternatives(text, noted.append) == (text,)
    assert noted
    assert not witness.exists()


@pytest.mark.parametrize("text", ["[" * 20_000 + "]" * 20_000, '["a", ["b"]]', "[]", "[“a”, “b”]"])
def test_what_is_no_flat_list_of_texts_stays_a_text(text):
    noted: list[str] = []
    assert alternatives(text, noted.append) == (text,)
    assert len(noted) == 1


@given(st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=4), st.booleans())
def test_every_list_literal_of_texts_comes_back(texts, as_json):
    import json

    literal = json.dumps(texts) if as_json else repr(texts)
    expected = tuple(dict.fromkeys(text.strip() for text in texts))
    assert alternatives(literal, pytest.fail) == expected


@given(st.text(max_size=40))
def test_no_text_is_lost_or_raises(text):
    noted: list[str] = []
    found = answers(text, noted.append)
    assert bool(found) == bool(text.strip()) or "is empty" in "".join(noted)
    key_points(text, noted.append)


def test_a_byte_order_mark_and_crlf_are_fine(tmp_path):
    path = assistant_folder(tmp_path) / "labels.csv"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert OMNI.check(tmp_path) == []


def test_fields_with_line_breaks_keep_the_line_numbers_of_later_rows(tmp_path):
    rows = [{"gt_answer": "1. a\n2. b"}, {"video_name": "x", "class": "dancing"}]
    (fault,) = OMNI.check(assistant_folder(tmp_path, *rows))
    assert fault.entry == "line 4"


def test_further_columns_are_fine(tmp_path):
    path = assistant_folder(tmp_path) / "labels.csv"
    lines = path.read_text().splitlines()
    path.write_text(f"{lines[0]},editor\n{lines[1]},me\n")
    assert OMNI.check(tmp_path) == []


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "found no header"),
        (b"video_name,class\n", "gt_answer: column missing"),
        (",".join([*COLUMNS, "class"]).encode() + b"\n", "found twice"),
        (",".join(COLUMNS).encode() + b"\n", "found no rows"),
        (",".join(COLUMNS).encode() + b"\na,b\n", "line 2: found 2 fields; expected 7"),
        (",".join(COLUMNS).encode() + b'\n"a"b,c\n', "line 2: found broken CSV"),
        (",".join(COLUMNS).encode() + b'\n"a,c\n', "found broken CSV"),
        (b"\xff\xfe", "no UTF-8 at 0"),
    ],
)
def test_a_file_that_is_no_proper_csv_is_reported_with_its_place(tmp_path, data, says):
    (tmp_path / "labels.csv").write_bytes(data)
    with pytest.raises(AnnotationError, match=says):
        OMNI.load(tmp_path)


def test_loading_needs_no_clips_and_check_names_those_that_are_missing(tmp_path):
    rows = [turn("cake", 1, example_video="cake-example")]
    assistant_folder(tmp_path, *rows, media=False)
    assert len(OMNI.load(tmp_path)) == 1
    files = [fault.file for fault in OMNI.check(tmp_path)]
    assert files == ["cake-seg1.mp4", "cake-example.mp4"]
    assert OMNI.check(tmp_path, media=False) == []


def test_another_task_type_is_answered_with_the_known_one(tmp_path):
    with pytest.raises(UnknownTask, match="assistant"):
        OMNI.load(assistant_folder(tmp_path), [TaskType.SUMMARY])


def test_a_folder_without_labels_says_what_is_needed(tmp_path):
    with pytest.raises(DataMissing, match=r"labels\.csv"):
        OMNI.load(tmp_path)
    with pytest.raises(DataMissing, match="--data"):
        OMNI.check(None)


@given(name=st.text(min_size=1, max_size=12))
def test_no_video_name_leads_out_of_the_data_folder(tmp_path_factory, name):
    root: Path = tmp_path_factory.mktemp("labels")
    with (root / "labels.csv").open("w", newline="", encoding="utf-8", errors="ignore") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerow([name, "dynamic counting", "single", "", "a", "", name])
    try:
        items = OMNI.load(root)
    except AnnotationError:
        return
    for item in items:
        assert item.clip.video.resolve().parent == root.resolve()


def test_a_number_of_thousands_of_digits_is_part_of_the_text():
    long = f"{'1' * 5000}. a"
    assert answers(long, print) == (long,)
