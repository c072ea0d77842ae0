"""Metrics of intervals: temporal IoU, recall at a threshold, absolute errors of the bounds.

        reference   |=========|                 tIoU = |∩| / |hull|
        prediction       |=========|
                    ^start error  ^end error

All take arrays of seconds of shape (n,) and return arrays of shape (n,). A reversed or empty
prediction is no interval and overlaps nothing.

Source: SONIC-O1, Appendix E.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Seconds = npt.NDArray[np.float64]

#: Thresholds at which recall is reported.
RECALLS = (0.3, 0.5, 0.7)


def tiou(
    start_s: Seconds, end_s: Seconds, ref_start_s: Seconds, ref_end_s: Seconds, *, same: float = 1.0
) -> Seconds:
    """Return the temporal intersection over union, in [0, 1].

    Args:
        start_s: Starts of the predictions.
        end_s: Their ends.
        ref_start_s: Starts of the references.
        ref_end_s: Their ends.
        same: The value where all four bounds are equal, so that there is nothing to divide: the
            two intervals are the same, hence 1. The published scorer says 0.
    """
    overlap = np.minimum(end_s, ref_end_s) - np.maximum(start_s, ref_start_s)
    hull = np.maximum(end_s, ref_end_s) - np.minimum(start_s, ref_start_s)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Seconds = np.where(hull > 0, np.maximum(overlap, 0.0) / hull, 0.0)
    equal = (start_s == end_s) & (ref_start_s == ref_end_s) & (start_s == ref_start_s)
    result: Seconds = np.where(equal, same, ratio)
    return result


def recall(overlaps: Seconds, threshold: float) -> Seconds:
    """Return 1 where the tIoU reaches the threshold, else 0."""
    reached: Seconds = (overlaps >= threshold).astype(np.float64)
    return reached


def absolute_errors(
    start_s: Seconds, end_s: Seconds, ref_start_s: Seconds, ref_end_s: Seconds
) -> tuple[Seconds, Seconds, Seconds]:
    """Return the absolute errors in seconds of the start, of the end, and the mean of the two."""
    of_start, of_end = np.abs(ref_start_s - start_s), np.abs(ref_end_s - end_s)
    # Halved first: the sum of two absurd errors could be beyond a float's range.
    return of_start, of_end, of_start / 2 + of_end / 2
