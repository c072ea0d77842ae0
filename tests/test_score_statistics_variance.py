"""Variance components, beside published and simulated ones."""

import numpy as np
import polars as pl
import pytest

from score.statistics.variance import splits, variance_components
from tests.test_score_statistics_estimate import frame, rows

# Shrout and Fleiss, Intraclass correlations, Psychological Bulletin 86 (1979), Table 2: six targets
# by four judges. Their Table 3 has the mean squares: between 11.24, judges 32.49, residual 1.02,
# within targets 6.26.
RATED = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float
)


def test_items_and_judges_have_the_components_of_shrout_and_fleiss():
    found = variance_components(RATED[:, None, :])
    assert found == {
        "items": pytest.approx((11.24 - 1.02) / 4, abs=0.01),
        "judges": pytest.approx((32.49 - 1.02) / 6, abs=0.01),
        "residual": pytest.approx(1.02, abs=0.005),
    }


def test_items_and_samples_have_the_components_of_shrout_and_fleiss():
    found = variance_components(RATED[:, :, None])
    assert found == {
        "items": pytest.approx((11.24 - 6.26) / 4, abs=0.01),
        "samples": pytest.approx(6.26, abs=0.005),
    }


def test_known_components_are_found_again():
    rng = np.random.default_rng(0)
    truth = {"items": 2.0, "samples": 0.5, "judges": 1.0, "items × judges": 0.3, "residual": 0.2}
    n_items, n_samples, n_judges = 400, 3, 60
    shapes = {
        "items": (n_items, 1, 1), "samples": (n_items, n_samples, 1), "judges": (1, 1, n_judges),
        "items × judges": (n_items, 1, n_judges), "residual": (n_items, n_samples, n_judges),
    }  # fmt: skip
    drawn = {name: np.sqrt(truth[name]) * rng.normal(size=shape) for name, shape in shapes.items()}
    found = variance_components(sum(drawn.values()))
    # Of sixty judges the components are those drawn, give or take what noise adds.
    expected = {name: effects.var(ddof=1) for name, effects in drawn.items()}
    assert found == {name: pytest.approx(part, rel=0.1) for name, part in expected.items()}


def test_a_negative_component_is_0():
    assert variance_components(np.array([[[1.0, 9.0]], [[9.0, 1.0]], [[5.0, 5.0]]]))["items"] == 0


def scores(judges, samples, *, metric="detailed_judge"):
    rng = np.random.default_rng(1)
    parts = []
    for judge in judges:
        for sample in range(samples):
            values = {at: rng.integers(0, 11, 2).tolist() for at in range(6)}
            part = frame(rows(values, metric=metric, judge=judge, task="summary"))
            parts.append(part.with_columns(sample=pl.lit(sample, pl.Int64)))
    return pl.concat(parts)


def test_what_was_repeated_is_split():
    scales = {"i": "0-10", "j": "0-10"}
    [both] = splits(scores(["i", "j"], 2), scales)
    assert (both.judges, both.n_items, both.n_samples) == (("i", "j"), 12, 2)
    assert set(both.components) == {"items", "samples", "judges", "items × judges", "residual"}
    assert both.of_mean["judges"] == both.components["judges"] / 2
    assert splits(scores(["i"], 1), scales) == []


def test_judges_on_different_scales_are_not_put_together():
    found = splits(scores(["i", "j"], 2), {"i": "0-10", "j": "0-5"})
    assert [split.judges for split in found] == [("i",), ("j",)]


def test_items_that_lack_a_verdict_are_left_out():
    whole = scores(["i", "j"], 2)
    lacking = whole.with_row_index("at").with_columns(
        status=pl.when(pl.col("at") == 0).then(pl.lit("judge_failed")).otherwise(pl.col("status"))
    )
    [split] = splits(lacking.drop("at"), {"i": "0-10", "j": "0-10"})
    assert (split.n_items, split.n_samples) == (11, 2)
