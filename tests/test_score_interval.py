"""Metrics of intervals: hand calculations and properties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from score.interval import absolute_errors, recall, tiou

seconds = st.integers(0, 20_000).map(lambda tick: tick / 4)  # exact in binary: sums do not round
intervals = st.tuples(seconds, seconds).map(sorted)


def overlap(first, second, **more):
    return float(tiou(*(np.array([bound]) for bound in (*first, *second)), **more)[0])


@given(intervals, intervals)
def test_tiou_is_a_fraction_and_the_same_both_ways(first, second):
    value = overlap(first, second)
    assert 0.0 <= value <= 1.0
    assert value == overlap(second, first)


@given(intervals, intervals, seconds, st.sampled_from([0.25, 0.5, 2.0, 8.0]))
def test_tiou_depends_neither_on_the_clocks_zero_nor_on_its_unit(first, second, shift, scale):
    moved = [[bound * scale + shift for bound in one] for one in (first, second)]
    assert overlap(*moved) == pytest.approx(overlap(first, second), abs=1e-12)


@given(intervals)
def test_an_interval_overlaps_itself_fully(one):
    assert overlap(one, one) == 1.0


@given(seconds, seconds, intervals)
def test_a_reversed_prediction_overlaps_nothing(start, end, reference):
    if end < start and reference[0] < reference[1]:
        assert overlap((start, end), reference) == 0.0


def test_tiou_of_known_intervals():
    assert overlap((0, 10), (5, 15)) == pytest.approx(5 / 15)
    assert overlap((0, 10), (10, 20)) == 0.0
    assert overlap((2, 4), (0, 8)) == pytest.approx(2 / 8)


def test_two_equal_intervals_without_length_are_the_profiles_choice():
    assert overlap((5, 5), (5, 5)) == 1.0
    assert overlap((5, 5), (5, 5), same=0.0) == 0.0


def test_recall_counts_what_reaches_the_threshold():
    assert recall(np.array([0.29, 0.3, 0.9]), 0.3).tolist() == [0.0, 1.0, 1.0]


def test_absolute_errors_are_in_seconds():
    start, end, both = absolute_errors(*map(np.array, ([8.0], [25.0], [10.0], [20.0])))
    assert (start[0], end[0], both[0]) == (2.0, 5.0, 3.5)


@pytest.mark.filterwarnings("error")
def test_an_answer_of_1e308_seconds_has_errors_and_overlaps_nothing_to_speak_of():
    times = (np.array([1e308]), np.array([1.7e308]), np.array([1.0]), np.array([2.0]))
    assert [error[0] for error in absolute_errors(*times)] == [1e308, 1.7e308, 1.35e308]
    assert tiou(*times)[0] == 0.0
