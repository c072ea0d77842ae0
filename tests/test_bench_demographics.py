"""Old spellings of a demographic value belong to the same slice as the canonical word."""

from __future__ import annotations

import pytest

from bench.demographics import canonical
from bench.item import Demographic, TaskType
from bench.sonic_o1 import SonicO1
from tests.trees import MISSING, PERSON, sonic_tree

SONIC = SonicO1("sonic-o1")


@pytest.mark.parametrize(
    ("field", "value", "word"),
    [
        ("age", "Young (18-24)", "18-24"),
        ("age", "Middle (25-39)", "25-39"),
        ("age", "Older adults (40+)", "40+"),
        ("age", "Older adults (+40)", "40+"),
        ("age", "Older adults (25-39)", "25-39"),
        ("age", "18–24", "18-24"),
        ("age", "middle-aged", "25-39"),
        ("age", "118-245", None),
        ("race", "South Asian", "Asian"),
        ("race", " asian ", "Asian"),
        ("race", "Middle Eastern", "Arab"),
        ("race", "WHITE", "White"),
        ("race", "Martian", None),
        ("gender", "female", "Female"),
        ("gender", "man", "Male"),
        ("gender", "Nonbinary", None),
        ("language", "english (British accent)", "English"),
        ("language", "Swahili", "Swahili"),
        ("race", "Unknown", "unknown"),
        ("gender", "", "unknown"),
        ("language", "unknown", "unknown"),
    ],
)
def test_a_variant_becomes_its_canonical_word(field, value, word):
    assert canonical(field, value) == word


def people(root, **override):
    (item,) = SONIC.load(sonic_tree(root, **override), [TaskType.CHOICE])
    return item.attributes.demographics


def test_an_entrys_people_carry_their_counts(tmp_path):
    found = people(
        tmp_path, choice={"demographics": [{**PERSON, "age": "Young (18-24)", "count": 3}]}
    )
    assert found == (Demographic("White", "Female", "18-24", "English", 3),)


def test_a_missing_field_of_a_person_is_unknown(tmp_path):
    found = people(
        tmp_path, choice={"demographics": [{"count": 1, "race": None, "age": "Unknown"}]}
    )
    assert found == (Demographic("unknown", "unknown", "unknown", "unknown", 1),)


def test_an_unmapped_value_stays_as_it_is(tmp_path):
    assert (
        people(tmp_path, choice={"demographics": [{**PERSON, "race": "Martian"}]})[0].race
        == "Martian"
    )


@pytest.mark.parametrize("demographics", [[], None, MISSING])
def test_where_an_entry_names_nobody_the_videos_tags_stand_in(tmp_path, demographics):
    # Each tag is present, and no combination claims an attribute that is not tagged.
    assert people(tmp_path, choice={"demographics": demographics}) == (
        Demographic("Black", "Male", "40+", "English", 1),
        Demographic("Asian", "Male", "40+", "English", 1),
    )


@pytest.mark.parametrize("tags", [{}, {"race": [], "gender": []}, None, MISSING])
def test_without_tags_nobody_is_named(tmp_path, tags):
    video = {"demographics_detailed_reviewed": tags}
    assert people(tmp_path, choice={"demographics": []}, video=video) == ()


def test_a_count_of_zero_is_noted_and_the_person_left_out(tmp_path):
    sonic_tree(tmp_path, choice={"demographics": [{**PERSON, "count": 0}, PERSON]})
    (fault,) = SONIC.check(tmp_path)
    assert fault.field == "count"
    assert len(people(tmp_path, choice={"demographics": [{**PERSON, "count": 0}, PERSON]})) == 1
