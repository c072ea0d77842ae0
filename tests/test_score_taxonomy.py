"""Error types: each rule, their order, and that every prediction has exactly one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from score.taxonomy import ERROR_TYPES, Predicted, error_types, is_teleport, reasons

NAN = float("nan")


def predicted(start_s, end_s, *, ref=(550.0, 560.0), segment=(500.0, 680.0), judge=NAN, video=NAN):
    fields = (start_s, end_s, *ref, *segment, judge, video)
    return Predicted(*(np.array([value], dtype=float) for value in fields))


def error_type(*args, **more):
    one = predicted(*args, **more)
    codes = error_types(one)
    return ERROR_TYPES[codes[0]], reasons(one, codes)[0]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((50.0, 60.0), "relative_absolute"),  # 500 s short: the segment's start
        ((41.0, 69.0), "relative_absolute"),  # 9 s off at both ends, once shifted
        ((39.0, 60.0), "hallucination"),  # 11 s off at the start: outside the segment
        ((555.0, 550.0), "hallucination"),  # reversed
        ((555.0, 555.0), "hallucination"),  # empty
        ((NAN, 555.0), "hallucination"),  # unreadable
        ((670.0, 681.0), "hallucination"),  # over the segment's end
        ((9000.0, 9010.0), "hallucination"),
        ((520.0, 544.0), "too_early"),  # ends 6 s before
        ((520.0, 545.0), "other"),  # ends 5 s before: not more than the tolerance
        ((566.0, 570.0), "too_late"),
        ((565.0, 570.0), "other"),
        ((550.0, 560.0), "other"),  # right
    ],
)
def test_a_prediction_has_the_type_of_the_first_rule_that_holds(given, expected):
    assert error_type(*given)[0] == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((665.0, 672.0), "hallucination"),
        ((660.0, 671.0), "too_late"),  # whole seconds: 1 s over is not beyond the end
        ((50.0, 60.0), "relative_absolute"),
    ],
)
def test_a_time_beyond_the_videos_end_is_a_hallucination(given, expected):
    assert error_type(*given, video=670.0)[0] == expected
    assert error_type(*given, video=NAN)[0] != "hallucination"


def test_a_reversed_interval_is_a_hallucination_even_where_its_shift_is_close():
    assert error_type(60.0, 50.0)[0] == "hallucination"


def test_a_prediction_close_to_the_reference_is_not_relative():
    # The segment starts at 4 s: both the interval and the shifted one are within 10 s.
    assert error_type(50.0, 60.0, ref=(52.0, 62.0), segment=(4.0, 180.0))[0] == "other"


def test_right_time_with_a_poor_rationale_is_the_wrong_event():
    assert error_type(550.0, 560.0, judge=4.0)[0] == "wrong_event_right_time"
    assert error_type(550.0, 560.0, judge=5.0)[0] == "other"
    assert error_type(550.0, 560.0, judge=NAN)[0] == "other"
    assert error_type(550.0, 555.0, judge=0.0)[0] == "other"  # tIoU 0.5 is not over 0.5


def test_without_a_segment_there_are_no_bounds_to_leave():
    assert error_type(9000.0, 9010.0, segment=(NAN, NAN))[0] == "too_late"


def test_a_teleport_is_farther_from_the_segment_than_the_segment_is_long():
    assert is_teleport(predicted(861.0, 870.0))[0]  # 181 s after a segment of 180 s
    assert not is_teleport(predicted(859.0, 870.0))[0]
    assert "by more than its length" in error_type(9000.0, 9010.0)[1]


def test_the_reason_names_the_numbers():
    assert error_type(50.0, 60.0)[1].startswith("plus the segment's start it is [550, 560] s")
    assert error_type(520.0, 544.0)[1] == "ends 6 s before the reference starts"


times = st.one_of(st.just(NAN), st.floats(-1000, 10_000, width=32))


@given(times, times, st.floats(0, 1000), st.floats(0.1, 60), st.floats(0, 1000), times)
@settings(max_examples=300)
def test_every_prediction_has_exactly_one_type(start, end, ref_start, length, segment, judge):
    found = predicted(
        start,
        end,
        ref=(ref_start, ref_start + length),
        segment=(segment, segment + 180),
        judge=judge,
    )
    codes = error_types(found)
    assert codes.shape == (1,)
    assert 0 <= codes[0] < len(ERROR_TYPES)
    assert reasons(found, codes)[0]
