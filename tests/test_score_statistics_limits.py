"""Limits, p-values and corrections beside scipy's, statsmodels' and hand calculations."""

import math
from itertools import product

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from score.statistics.correction import benjamini_hochberg, holm
from score.statistics.limits import acceleration, bca, percentile, wilson
from score.statistics.pvalue import bootstrap_p, detectable, fewest_clusters, permutation_p


@pytest.fixture(scope="module")
def skewed():
    return np.random.default_rng(2).exponential(size=60)


def scipys(values, method):
    return scipy.stats.bootstrap(
        (values,), np.mean, n_resamples=4000, method=method, rng=np.random.default_rng(3)
    )


def test_on_scipys_replicates_the_percentile_limits_are_scipys(skewed):
    found = scipys(skewed, "percentile")
    limits = percentile(found.bootstrap_distribution, 0.95)
    assert limits == pytest.approx(tuple(found.confidence_interval), rel=1e-12)


def test_on_scipys_replicates_the_bca_limits_are_scipys(skewed):
    found = scipys(skewed, "BCa")
    left = np.array([np.delete(skewed, at).mean() for at in range(len(skewed))])
    off = (left - left.mean())[:, None]
    [speed] = acceleration(off, np.full(len(skewed), len(skewed)))
    limits = bca(found.bootstrap_distribution, skewed.mean(), speed, 0.95)
    assert limits == pytest.approx(tuple(found.confidence_interval), rel=1e-10)


def test_with_few_clusters_the_tails_are_those_of_t():
    replicates = np.random.default_rng(0).normal(size=200_000)
    low, high = percentile(replicates, 0.95, df=9)
    assert (-low, high) == pytest.approx((2.262, 2.262), abs=0.03)  # t table, 9 degrees
    low, high = percentile(replicates, 0.95)
    assert (-low, high) == pytest.approx((1.960, 1.960), abs=0.03)


@pytest.mark.parametrize(("successes", "n"), [(0, 5), (5, 5), (3, 11), (96, 100)])
def test_wilsons_interval_is_that_of_statsmodels(successes, n):
    expected = proportion_confint(successes, n, alpha=0.05, method="wilson")
    assert wilson(successes, n, 0.95) == pytest.approx(expected, abs=1e-12)


def test_holm_leaves_out_what_was_not_tested():
    # By hand: 2 × 0.01, 1 × 0.03.
    assert holm([0.01, None, 0.03]) == [0.02, None, 0.03]
    assert holm([0.01, math.nan, 0.03]) == [0.02, None, 0.03]
    assert holm([]) == benjamini_hochberg([]) == []
    assert holm([None]) == benjamini_hochberg([None]) == [None]


@settings(deadline=None, max_examples=10)  # statsmodels takes 0.3 s for Holm's
@given(st.lists(st.none() | st.floats(0, 1), max_size=30))
def test_corrections_are_those_of_statsmodels_over_the_tests_that_were_made(p_values):
    made = [p for p in p_values if p is not None]
    for correct, name in ((holm, "holm"), (benjamini_hochberg, "fdr_bh")):
        found = correct(p_values)
        assert [p is None for p in found] == [p is None for p in p_values]
        if made:
            expected = multipletests(made, method=name)[1]
            assert [p for p in found if p is not None] == pytest.approx(expected.tolist())


def test_a_p_value_counts_what_was_found_as_one_more_replicate():
    assert bootstrap_p(np.full(99, 1.0) + np.linspace(-0.1, 0.1, 99), 1.0) == 0.01
    # Half of the replicates are as far from the difference as it is from 0; ties count.
    assert bootstrap_p(np.array([0.0, 1.0, 2.0, 1.0]), 1.0) == 3 / 5


def test_with_few_clusters_a_p_value_is_larger():
    replicates = np.random.default_rng(0).normal(2.0, 1.0, size=9_999)
    plain, few = bootstrap_p(replicates, 2.0), bootstrap_p(replicates, 2.0, df=9)
    assert plain == pytest.approx(2 * scipy.stats.norm.sf(2), abs=0.006)
    assert few == pytest.approx(2 * scipy.stats.t.sf(2, 9), abs=0.006)


def test_swapping_runs_in_all_ways_gives_the_exact_p():
    parts = np.array([0.3, 0.1, -0.2, 0.4, 0.05, 0.6, 0.2])
    every = np.array(list(product((-1.0, 1.0), repeat=len(parts)))).T
    expected = scipy.stats.permutation_test(
        (parts,), np.sum, permutation_type="samples", n_resamples=np.inf
    ).pvalue
    [p] = permutation_p(every, parts[:, None])
    n = every.shape[1]
    assert (p * (n + 1) - 1) / n == pytest.approx(expected)


def test_five_clusters_cannot_show_a_difference_at_five_per_cent():
    assert [fewest_clusters(alpha) for alpha in (0.05, 0.01, 0.5)] == [6, 8, 2]


def test_the_detectable_difference_is_found_four_times_in_five():
    # Two-sided z test: 1.960 + 0.842 standard errors.
    assert detectable(1.0, 0.95, 1e9) == pytest.approx(2.802, abs=0.001)
    # t with 19 degrees: 2.093 + 0.861.
    assert detectable(0.5, 0.95, 19) == pytest.approx(0.5 * 2.954, abs=0.001)


@given(
    st.integers(0, 2**32),
    st.sampled_from([1, 2, 5, 399, 400, 1000, 10_000]),
    st.sampled_from(["normal", "few values", "in order", "heavy tails"]),
    st.sampled_from([0.5, 0.9, 0.95, 0.99, 0.999]),
)
@settings(max_examples=60, deadline=None)
def test_the_limits_are_numpys_quantiles_though_only_the_tails_are_put_in_order(
    seed, n, kind, level
):
    rng = np.random.default_rng(seed)
    values = {
        "normal": rng.normal(size=n),
        "few values": rng.integers(0, 4, n).astype(float),
        "in order": np.sort(rng.normal(size=n)),
        "heavy tails": rng.standard_cauchy(n),
    }[kind]
    tails = (1 - level) / 2, (1 + level) / 2
    assert percentile(values, level) == pytest.approx(np.quantile(values, tails), rel=1e-9)
