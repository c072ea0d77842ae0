"""A million temporal predictions: metrics and error types.

Run: python tests/perf/perf_score_temporal.py
"""

import resource
import time

import numpy as np

from score.interval import RECALLS, absolute_errors, recall, tiou
from score.taxonomy import Predicted, error_types

N = 1_000_000


def main():
    rng = np.random.default_rng(0)
    segment = rng.integers(0, 20, N) * 150.0
    start = segment + rng.uniform(0, 150, N)
    said = start + rng.normal(0, 40, N)
    predicted = Predicted(
        said, said + rng.normal(8, 5, N), start, start + 8, segment, segment + 180,
        rng.integers(0, 11, N).astype(float), np.full(N, np.nan),
    )  # fmt: skip
    times = predicted.start_s, predicted.end_s, predicted.ref_start_s, predicted.ref_end_s
    started = time.perf_counter()
    overlap = tiou(*times)
    for threshold in RECALLS:
        recall(overlap, threshold)
    absolute_errors(*times)
    codes = error_types(predicted)
    took = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{N:,} predictions scored and classed in {took:.2f} s; peak memory {peak:.0f} MB")
    print("error types", np.bincount(codes).tolist())


if __name__ == "__main__":
    main()
