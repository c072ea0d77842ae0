"""What intervals and tests promise, held against made-up scores whose truth is known.

The whole study, with its figures, is tests/perf/perf_score_coverage.py.
"""

import numpy as np
import pytest

from score.statistics.estimate import bca_estimate, percentile_estimate
from score.statistics.pvalue import bootstrap_p, permutation_p
from score.statistics.ratio import Cells
from score.statistics.resample import resample
from score.statistics.study import studies
from tests.clustered import TRUTH, clustered, one_topic

SETS, BLOCKS = 60, 8  # 480 sets of scores a case: a share of 5% is known to 1 point

pytestmark = pytest.mark.slow


def shares(kind, n_clusters, icc, *, by_item=False, seed=0):
    """Shares of sets in which intervals cover the truth and tests reject it, over many draws."""
    rng = np.random.default_rng([seed, n_clusters, int(10 * icc)])
    mean, difference, rejected, swapped = [], [], [], []
    for block in range(BLOCKS):
        sets = clustered(rng, n_clusters, icc, SETS, kind)
        n = len(sets.cluster) if by_item else n_clusters
        resamples = resample(one_topic(n), block, 1000)
        cells = sets.item_cells if by_item else sets.cells
        for study in studies(resamples, [(1.0, cells(sets.candidate))]):
            found = bca_estimate(study, n)
            mean.append(found.low <= TRUTH[kind] <= found.high)
        off = cells(sets.candidate - sets.baseline)
        for study in studies(resamples, [(1.0, off)]):
            found = percentile_estimate(study, n)
            difference.append(found.low <= 0 <= found.high)
            rejected.append(bootstrap_p(study.valid, study.value, study.df) <= 0.05)
        swapped += (permutation_p(resamples.signs, off.numerators) <= 0.05).tolist()
    return tuple(float(np.mean(found)) for found in (mean, difference, rejected, swapped))


@pytest.mark.parametrize("n_clusters", [20, 60])
@pytest.mark.parametrize("icc", [0.0, 0.5])
@pytest.mark.parametrize("kind", ["accuracy", "judge"])
def test_intervals_cover_and_tests_reject_as_often_as_they_say(kind, n_clusters, icc):
    mean, difference, rejected, swapped = shares(kind, n_clusters, icc)
    assert 0.92 <= mean <= 0.98
    assert 0.92 <= difference <= 0.98
    assert 0.02 <= rejected <= 0.08
    assert 0.01 <= swapped <= 0.08


def test_resampling_questions_as_if_they_were_independent_fails_on_the_same_scores():
    mean, difference, rejected, _ = shares("judge", 20, 0.5, by_item=True)
    assert mean < 0.80
    assert difference < 0.80
    assert rejected > 0.20


def test_of_400_uniform_values_a_paired_test_rejects_five_in_a_hundred():
    rng = np.random.default_rng(1)
    rejected = []
    for block in range(4):
        off = rng.random((40, 100)) - rng.random((40, 100))
        resamples = resample(one_topic(40), block, 1000)
        rejected += [
            bootstrap_p(study.valid, study.value, study.df) <= 0.05
            for study in studies(resamples, [(1.0, Cells(off, np.ones_like(off)))])
        ]
    assert len(rejected) == 400
    assert 0.03 <= np.mean(rejected) <= 0.07
