"""Draws and replicates: whole numbers, exact sums, ratios, the same on every machine."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from score.errors import ScoreError
from score.statistics.design import make_design
from score.statistics.ratio import Cells, exact, jackknife, replicates, values
from score.statistics.resample import resample
from tests.clustered import one_topic

ROOT = Path(__file__).parent.parent
TWO_TOPICS = [("a", "a1"), ("a", "a2"), ("a", "a3"), ("b", "b1"), ("b", "b2")]


def cells(numerators, denominators, over_topics=False):
    columns = (
        np.array(side, dtype=float).reshape(len(side), -1) for side in (numerators, denominators)
    )
    return Cells(*columns, over_topics)


def test_each_stratum_gives_one_draw_less_than_it_has_clusters():
    counts = resample(make_design(TWO_TOPICS), 0, 500).counts
    assert (counts == np.rint(counts)).all()
    assert (counts[:3].sum(axis=0) == 2).all()
    assert (counts[3:].sum(axis=0) == 1).all()


def test_seed_0_is_a_seed_like_any_other_and_a_negative_one_is_refused():
    design = make_design(TWO_TOPICS)
    drawn = [resample(design, seed, 200).counts for seed in (0, 0, 1)]
    assert (drawn[0] == drawn[1]).all()
    assert (drawn[0] != drawn[2]).any()
    with pytest.raises(ScoreError, match="must be 0 or more"):
        resample(design, -1)
    with pytest.raises(ScoreError, match="too few"):
        resample(design, 0, 10)


def test_the_draws_of_a_seed_stay_what_they_were():
    """Numbers of earlier releases can be had again; a change of numpy's stream would show here."""
    counts = resample(make_design(TWO_TOPICS), 0, 1000).counts.astype(np.uint8)
    found = hashlib.sha256(np.ascontiguousarray(counts).tobytes()).hexdigest()
    assert found.startswith("85ab19e70052eebc")


def test_a_mean_of_unequal_clusters_is_the_ratio_of_the_drawn_sums():
    resamples = resample(one_topic(4), 3, 300)
    sums, sizes = np.array([3.0, 1.0, 7.0, 0.5]), np.array([6.0, 1.0, 9.0, 2.0])
    [found] = replicates(resamples, cells(sums, sizes))
    for replicate, counts in enumerate(resamples.counts.T):
        expected = (counts * sums).sum() / (counts * sizes).sum()
        assert found[replicate] == pytest.approx(expected, rel=1e-12)


def test_a_mean_over_topics_has_every_topic_in_every_replicate():
    resamples = resample(make_design(TWO_TOPICS), 3, 300)
    sums, sizes = np.array([3.0, 1, 7, 0, 2]), np.array([6.0, 1, 9, 1, 2])
    [found] = replicates(resamples, cells(sums, sizes, over_topics=True))
    for replicate, counts in enumerate(resamples.counts.T):
        a, b = (
            (counts * sums)[part].sum() / (counts * sizes)[part].sum()
            for part in (slice(3), slice(3, 5))
        )
        assert found[replicate] == pytest.approx((a + b) / 2, rel=1e-12)


def test_topics_of_one_cluster_weigh_in_a_mean_over_topics_as_often_as_they_are_drawn():
    resamples = resample(make_design([("a", "1"), ("b", "2"), ("c", "3")]), 5, 300)
    means = np.array([0.1, 0.5, 0.9])
    [found] = replicates(resamples, cells(means * 2, [2, 2, 2], over_topics=True))
    for replicate, counts in enumerate(resamples.counts.T):
        assert found[replicate] == pytest.approx(counts @ means / counts.sum())
    assert np.std(found) > 0.1


def test_a_replicate_without_anything_of_a_slice_is_not_valid_and_spoils_no_other():
    resamples = resample(one_topic(11), 0, 2000)
    small = [1, 1, 0] + [0] * 8
    [found] = replicates(resamples, cells(small, [1, 1, 1] + [0] * 8))
    lacking = (resamples.counts[:3] == 0).all(axis=0)
    assert 0 < lacking.sum() < 300
    assert (np.isnan(found) == lacking).all()


def test_leaving_out_a_cluster_is_computing_the_mean_without_it():
    design = make_design(TWO_TOPICS)
    sums, sizes = np.array([3.0, 1, 7, 0, 2]), np.array([6.0, 1, 9, 1, 2])
    [whole] = jackknife(design, cells(sums, sizes, over_topics=True))
    assert whole[0] == pytest.approx((8 / 10 + 2 / 3) / 2)
    assert whole[3] == pytest.approx((11 / 16 + 2 / 2) / 2)
    # Over items the rest of a topic stands in for what is left out: its sums times n / (n − 1).
    [pooled] = jackknife(design, cells(sums, sizes))
    assert pooled[0] == pytest.approx((8 * 1.5 + 2) / (10 * 1.5 + 3))


def test_the_value_is_the_mean_itself():
    design = make_design(TWO_TOPICS)
    sums, sizes = [3.0, 1, 7, 0, 2], [6.0, 1, 9, 1, 2]
    assert values(design, cells(sums, sizes)) == pytest.approx(13 / 19)
    assert values(design, cells(sums, sizes, True)) == pytest.approx((11 / 16 + 2 / 3) / 2)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=40), st.randoms(use_true_random=False))
@example([0.0, 2.2250738585e-313], Random(0)).via("subnormal: the step of the grid was 0")
def test_sums_of_rounded_columns_are_the_same_in_any_order(found, random):
    column = np.array(found)
    [rounded] = exact(column[:, None], 10 * len(column)).T
    assert np.abs(rounded - column).max() <= 1e-12 * np.abs(column).max()
    drawn = [value for value in rounded for _ in range(10)]
    expected = sum(drawn)
    random.shuffle(drawn)
    assert sum(drawn) == expected


DIGEST = """
import hashlib
import numpy as np
from score.statistics.ratio import Cells, replicates
from score.statistics.resample import resample
from tests.clustered import one_topic
rng = np.random.default_rng(1)
cells = Cells(rng.normal(size=(231, 40)), rng.random((231, 40)))
print(hashlib.sha256(replicates(resample(one_topic(231), 0, 1000), cells).tobytes()).hexdigest())
"""


def test_replicates_have_the_same_bits_whatever_the_threads_and_the_processor():
    """OpenBLAS adds up in another order with other threads, and for another kind of processor."""
    settings_of = [
        {"OPENBLAS_NUM_THREADS": "1", "OPENBLAS_CORETYPE": "Haswell"},
        {"OPENBLAS_NUM_THREADS": "2"},
        {"OPENBLAS_NUM_THREADS": "1", "OPENBLAS_CORETYPE": "Sandybridge"},
    ]
    digests = {
        subprocess.run(
            [sys.executable, "-c", DIGEST], cwd=ROOT, env={**os.environ, **some},
            capture_output=True, text=True, check=True,
        ).stdout
        for some in settings_of
    }  # fmt: skip
    assert len(digests) == 1


def test_columns_that_lie_in_one_topic_have_the_bits_of_the_whole_product():
    design = make_design((f"t{at % 3}", f"t{at % 3}/{at:02}") for at in range(15))
    resamples = resample(design, 0, 400)
    rng = np.random.default_rng(1)
    inside = np.zeros((15, 5))
    for column, rows in enumerate((*design.rows_of_topic, slice(None), slice(0, 0))):
        inside[rows, column] = 1.0
    sizes = rng.integers(1, 5, (15, 1)) * inside
    sums = rng.normal(size=(15, 5)) * sizes
    scale = design.scale[:, None]
    above, below = (exact(side * scale, 15).T @ resamples.counts for side in (sums, sizes))
    with np.errstate(invalid="ignore"):
        expected = above / below
    found = replicates(resamples, Cells(sums, sizes))
    assert np.array_equal(found, expected, equal_nan=True)
    assert np.isnan(found[4]).all()
