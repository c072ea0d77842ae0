"""Error types of temporal predictions: each has one, by the first rule that holds.

    1 relative_absolute       shifted by the segment's start, both bounds are within 10 s of the
                              reference, and unshifted they are not
    2 hallucination           no interval (unreadable times, end ≤ start), or outside the segment,
                              or beyond the video's end
    3 too_early               tIoU < 0.1, and it ends over 5 s before the reference starts
    4 too_late                tIoU < 0.1, and it starts over 5 s after the reference ends
    5 wrong_event_right_time  tIoU > 0.5, but the judge gives the rationale less than 5 of 10
    6 other                   all else, right predictions included

The paper's first rule says "close" and its second one speaks of "teleports" without a measure. Here
close means both bounds, and takes an interval: a reversed prediction is a hallucination wherever it
lies. A teleport is a prediction whose gap to the segment is longer than the segment itself. It is
outside the segment in any case, so the definition changes the explanation, never the type. The
video's length is used where the annotations have it; they have whole seconds, so 1 s is allowed.

Source: SONIC-O1, Appendix H.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from score.interval import tiou

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

#: The error types, in the order of their rules. Codes are positions in this tuple.
ERROR_TYPES = (
    "relative_absolute",
    "hallucination",
    "too_early",
    "too_late",
    "wrong_event_right_time",
    "other",
)

REFERENCE_FRAME_TOLERANCE_S = 10.0
SHIFT_TOLERANCE_S = 5.0
VIDEO_END_TOLERANCE_S = 1.0
NEGLIGIBLE_TIOU = 0.1
HIGH_TIOU = 0.5
POOR_RATIONALE = 5.0
#: Why a prediction is of the last type.
NO_RULE = "no rule holds"


@dataclass(frozen=True, slots=True)
class Predicted:
    """Predictions beside their references and segments; arrays of seconds of shape (n,)."""

    start_s: Floats
    """NaN where no time could be read."""
    end_s: Floats
    ref_start_s: Floats
    ref_end_s: Floats
    segment_start_s: Floats
    """NaN where the whole file was given, so that there are no bounds to leave."""
    segment_end_s: Floats
    rationale_score: Floats
    """The judge's score of the rationale on a scale from 0 to 10; NaN without a verdict."""
    video_end_s: Floats
    """NaN where the video's length is not known."""


def error_types(predicted: Predicted) -> npt.NDArray[np.int8]:
    """Return the code of each prediction's error type, shape (n,)."""
    overlap = tiou(predicted.start_s, predicted.end_s, predicted.ref_start_s, predicted.ref_end_s)
    # Comparisons with NaN are false, so an unreadable time is no interval and a missing verdict
    # is not poor.
    is_interval = predicted.end_s > predicted.start_s
    negligible = overlap < NEGLIGIBLE_TIOU
    rules = [
        is_interval & _is_relative(predicted),
        ~is_interval | _is_outside(predicted) | _is_past_the_end(predicted),
        negligible & (predicted.end_s < predicted.ref_start_s - SHIFT_TOLERANCE_S),
        negligible & (predicted.start_s > predicted.ref_end_s + SHIFT_TOLERANCE_S),
        (overlap > HIGH_TIOU) & (predicted.rationale_score < POOR_RATIONALE),
    ]
    codes: npt.NDArray[np.int8] = np.select(rules, range(len(rules)), len(rules)).astype(np.int8)
    return codes


def reasons(predicted: Predicted, codes: npt.NDArray[np.int8]) -> list[str]:
    """Return in words why each prediction has its error type."""
    found = [NO_RULE] * len(codes)
    at = np.flatnonzero(codes != len(ERROR_TYPES) - 1)
    columns = (getattr(predicted, name)[at].tolist() for name in Predicted.__slots__)
    for index, code, *one in zip(at.tolist(), codes[at].tolist(), *columns, strict=True):
        found[index] = _reason(Predicted(*one), ERROR_TYPES[code])
    return found


def is_teleport(predicted: Predicted) -> npt.NDArray[np.bool_]:
    """Return where the gap between prediction and segment is longer than the segment."""
    length = predicted.segment_end_s - predicted.segment_start_s
    before = predicted.segment_start_s - predicted.end_s
    after = predicted.start_s - predicted.segment_end_s
    far: npt.NDArray[np.bool_] = np.maximum(before, after) > length
    return far


def _is_relative(predicted: Predicted) -> npt.NDArray[np.bool_]:
    shift = np.nan_to_num(predicted.segment_start_s)
    result: npt.NDArray[np.bool_] = _is_close(predicted, shift) & ~_is_close(predicted, shift * 0)
    return result


def _is_close(predicted: Predicted, shift: Floats) -> npt.NDArray[np.bool_]:
    start_off = np.abs(predicted.start_s + shift - predicted.ref_start_s)
    end_off = np.abs(predicted.end_s + shift - predicted.ref_end_s)
    close: npt.NDArray[np.bool_] = np.maximum(start_off, end_off) <= REFERENCE_FRAME_TOLERANCE_S
    return close


def _is_outside(predicted: Predicted) -> npt.NDArray[np.bool_]:
    outside: npt.NDArray[np.bool_] = (predicted.start_s < predicted.segment_start_s) | (
        predicted.end_s > predicted.segment_end_s
    )
    return outside


def _is_past_the_end(predicted: Predicted) -> npt.NDArray[np.bool_]:
    past: npt.NDArray[np.bool_] = predicted.end_s > predicted.video_end_s + VIDEO_END_TOLERANCE_S
    return past


def _reason(one: Predicted, error_type: str) -> str:
    start_s, end_s = one.start_s, one.end_s
    match error_type:
        case "relative_absolute":
            return (
                f"plus the segment's start it is [{start_s + one.segment_start_s:g}, "
                f"{end_s + one.segment_start_s:g}] s, within "
                f"{REFERENCE_FRAME_TOLERANCE_S:g} s of [{one.ref_start_s:g}, {one.ref_end_s:g}] s"
            )
        case "hallucination" if np.isnan(start_s) or np.isnan(end_s):
            return "a time is missing or unreadable"
        case "hallucination" if not end_s > start_s:
            return f"the end, {end_s:g} s, is not after the start, {start_s:g} s"
        case "hallucination" if not _is_outside(one):
            return f"beyond the video's end, {one.video_end_s:g} s"
        case "hallucination":
            segment = f"[{one.segment_start_s:g}, {one.segment_end_s:g}] s"
            more = ", by more than its length" if is_teleport(one) else ""
            return f"outside the segment {segment}{more}"
        case "too_early":
            return f"ends {one.ref_start_s - end_s:g} s before the reference starts"
        case "too_late":
            return f"starts {start_s - one.ref_end_s:g} s after the reference ends"
        case _:
            return f"right time, but the judge gives the rationale {one.rationale_score:g} of 10"
