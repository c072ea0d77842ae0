"""Slices: membership by presence and by count, unknown kept, small ones marked."""

import polars as pl
import pytest

from bench.item import Attributes, Demographic
from score.errors import ScoreError
from score.frames import items_frame
from score.scoring import score
from score.slices import membership, slice_means
from tests.scored_runs import choice_answer, choice_item, run_store

WOMEN = Demographic("White", "Female", "25-39", "English", 3)
MAN = Demographic("Black", "Male", "40+", "English", 1)
NOBODY = ()


@pytest.fixture
def scored(tmp_path):
    """Three items: women and a man (right), a man (wrong), no one annotated (right)."""
    people = [(WOMEN, MAN), (MAN,), NOBODY]
    items = [
        choice_item(number, attributes=Attributes(duration=duration, demographics=groups))
        for number, (groups, duration) in enumerate(
            zip(people, ["short", "long", "unknown"], strict=True)
        )
    ]
    letters = "ABA"  # A is right
    store = run_store(
        tmp_path / "store",
        [([item], choice_answer(letter)) for item, letter in zip(items, letters, strict=True)],
    )
    return score(store, items, ["run-a"])


def means(scored, attribute, **more):
    found = slice_means(scored.scores, scored.items, attribute, **more).filter(metric="accuracy")
    return dict(found.select("slice", "mean").iter_rows())


def test_an_item_counts_in_every_group_that_is_present(scored):
    assert means(scored, "gender") == {"Female": 1.0, "Male": 0.5, "unknown": 1.0}


def test_by_count_a_group_weighs_as_many_as_its_people(scored):
    found = slice_means(scored.scores, scored.items, "language", weighting="count")
    [row] = found.filter(metric="accuracy", slice="English").to_dicts()
    # Four people saw the right answer, one the wrong one.
    assert row["mean"] == pytest.approx(4 / 5)
    assert row["n_expected"] == 2


def test_what_is_not_annotated_is_a_slice(scored):
    assert means(scored, "duration") == {"long": 0.0, "short": 1.0, "unknown": 1.0}
    assert means(scored, "requires_audio") == {"unknown": pytest.approx(2 / 3)}


def test_a_slice_below_the_minimum_says_so(scored):
    found = slice_means(scored.scores, scored.items, "gender", minimum=2).filter(metric="accuracy")
    assert dict(found.select("slice", "is_enough").iter_rows()) == {
        "Female": False,
        "Male": True,
        "unknown": False,
    }


def test_an_item_that_the_table_lacks_is_unknown(scored):
    found = slice_means(scored.scores, scored.items.head(1), "duration").filter(metric="accuracy")
    assert found["slice"].to_list() == ["short", "unknown"]
    assert found["n_expected"].sum() == 3


def test_audio_is_yes_or_no():
    items = [
        choice_item(number, attributes=Attributes(requires_audio=value))
        for number, value in enumerate([True, False, None])
    ]
    assert membership(items_frame(items), "requires_audio")["slice"].to_list() == [
        "yes",
        "no",
        "unknown",
    ]


def test_the_items_table_lists_each_group_once():
    twice = Demographic("White", "Male", "18-24", "English", 2)
    item = choice_item(attributes=Attributes(demographics=(WOMEN, MAN, twice)))
    [row] = items_frame([item]).to_dicts()
    assert row["race"] == ["Black", "White"]
    assert row["gender"] == ["Female", "Male"]
    assert [people["count"] for people in row["demographics"]] == [3, 1, 2]
    assert items_frame([choice_item()])["race"].to_list() == [["unknown"]]


def test_an_unknown_attribute_is_answered_with_the_known_ones(scored):
    with pytest.raises(ScoreError, match="no slices by 'colour'; there are: topic, duration"):
        slice_means(scored.scores, scored.items, "colour")


def test_slices_do_not_depend_on_the_order_of_the_rows(scored):
    shuffled = scored.scores.sample(fraction=1.0, shuffle=True, seed=3)
    assert slice_means(shuffled, scored.items, "gender").equals(
        slice_means(scored.scores, scored.items, "gender")
    )


def test_samples_of_one_item_do_not_make_a_slice_big_enough(tmp_path):
    item = choice_item(attributes=Attributes(duration="short"))
    store = run_store(tmp_path / "store", [([item], choice_answer("A"))])
    found = score(store, [item], ["run-a"])
    twice = pl.concat([found.scores, found.scores.with_columns(sample=pl.lit(1, pl.Int64))])
    [row] = (
        slice_means(twice, found.items, "duration", minimum=2)
        .filter(metric="accuracy")
        .rows(named=True)
    )
    assert (row["n_scored"], row["is_enough"]) == (2, False)


def test_a_group_keeps_its_name_whatever_signs_are_in_it():
    odd = Demographic("A\x1fB", "", "", "", count=1)
    item = choice_item(attributes=Attributes(demographics=(odd,)))
    assert items_frame([item])["race"].to_list() == [["A\x1fB"]]
