"""Measures of agreement against scipy, scikit-learn and the krippendorff package."""

from __future__ import annotations

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from score.agreement.measures import (
    MEASURES,
    alpha_interval,
    alpha_ordinal,
    kendall,
    mean_difference,
    pearson,
    spearman,
    weighted_kappa,
)

SCORES = np.random.default_rng(7).integers(0, 11, (60, 2)).astype(float)
SCORES[:, 1] = np.clip(SCORES[:, 0] + np.random.default_rng(8).integers(-2, 3, 60), 0, 10)
ONE = np.ones((60, 1))
#: Three raters who each left some units out; a unit of one rater alone, and one of none.
HOLED = np.where(
    np.random.default_rng(9).random((40, 3)) < 0.3,
    np.nan,
    np.random.default_rng(10).integers(0, 6, (40, 1))
    + np.random.default_rng(11).integers(0, 2, (40, 3)),
)


def test_pearson_is_scipys() -> None:
    expected = stats.pearsonr(*SCORES.T).statistic
    assert pearson(SCORES, ONE)[0] == pytest.approx(expected, rel=1e-12)


def test_spearman_is_scipys_with_its_ties() -> None:
    expected = stats.spearmanr(*SCORES.T).statistic
    assert spearman(SCORES, ONE)[0] == pytest.approx(expected, rel=1e-12)


def test_kappa_is_scikit_learns_with_quadratic_weights() -> None:
    first, second = SCORES.astype(int).T
    expected = cohen_kappa_score(first, second, weights="quadratic", labels=list(range(11)))
    assert weighted_kappa(SCORES, ONE)[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("level", "measure"), [("interval", alpha_interval), ("ordinal", alpha_ordinal)]
)
@pytest.mark.parametrize("scores", [SCORES, HOLED], ids=["whole", "with holes"])
def test_alpha_is_that_of_the_krippendorff_package(level, measure, scores) -> None:  # type: ignore[no-untyped-def]
    expected = krippendorff.alpha(reliability_data=scores.T, level_of_measurement=level)
    assert measure(scores, np.ones((len(scores), 1)))[0] == pytest.approx(expected, rel=1e-10)


def test_kendall_is_scipys_tau_b_with_its_ties() -> None:
    first, second = np.array([3.0, 1.0, 1.0, 5.0, 2.0]), np.array([2.0, 1.0, 3.0, 3.0, 2.5])
    expected = stats.kendalltau(first, second).statistic
    assert kendall(first[:, None], second[:, None])[0] == pytest.approx(expected, rel=1e-12)


def test_values_by_hand() -> None:
    # a = 1, 2, 3 and b = 2, 2, 5. Means 2 and 3, squares off them 2 and 6, product 3.
    few, one = np.array([[1.0, 2.0], [2.0, 2.0], [3.0, 5.0]]), np.ones((3, 1))
    assert pearson(few, one)[0] == pytest.approx(3 / 12**0.5)
    assert mean_difference(few, one)[0] == pytest.approx(1)
    # Observed (1 + 0 + 4) / 3; by chance 2/3 + 6/3 + (3 − 2)² = 11/3.
    assert weighted_kappa(few, one)[0] == pytest.approx(1 - (5 / 3) / (11 / 3))
    # Pairs: observed 2 · 5 / 6; all six scores: 6 · 47 − 15² = 57, so 2 · 57 / (6 · 5) expected.
    assert alpha_interval(few, one)[0] == pytest.approx(1 - (10 / 6) / (114 / 30))


@pytest.mark.parametrize("name", MEASURES)
def test_a_weight_counts_a_pattern_as_often(name: str) -> None:
    times = np.random.default_rng(12).integers(0, 4, len(SCORES))
    longer = np.repeat(SCORES, times, axis=0)
    measure = MEASURES[name]
    together = measure(SCORES, np.stack([times, np.ones(len(SCORES))], axis=1).astype(float))
    assert together[0] == pytest.approx(measure(longer, np.ones((len(longer), 1)))[0], rel=1e-9)
    assert together[1] == pytest.approx(measure(SCORES, ONE)[0], rel=1e-9)


@pytest.mark.parametrize("name", ["pearson", "spearman"])
def test_a_rater_who_says_one_thing_correlates_with_nobody(name: str) -> None:
    flat = np.stack([SCORES[:, 0], np.full(60, 0.1)], axis=1)
    assert np.isnan(MEASURES[name](flat, ONE)).all()


def test_a_measure_of_nothing_is_undefined() -> None:
    nothing = np.zeros((60, 1))
    assert all(np.isnan(measure(SCORES, nothing)).all() for measure in MEASURES.values())


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=30))
def test_agreement_is_never_above_one_and_one_with_oneself(pairs: list[tuple[int, int]]) -> None:
    scores = np.array(pairs, dtype=float)
    one = np.ones((len(scores), 1))
    alike = scores[:, [0, 0]]
    for name, measure in MEASURES.items():
        if name == "mean_difference":
            continue
        found, same = measure(scores, one)[0], measure(alike, one)[0]
        assert np.isnan(found) or found <= 1 + 1e-9
        assert np.isnan(same) or same == pytest.approx(1)
