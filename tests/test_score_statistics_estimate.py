"""Estimates from scores: both readings, slices, and why an interval is undefined."""

import math

import numpy as np
import polars as pl
import pytest
import scipy.stats
import statsmodels.api as sm

from cache.store import Store
from score.aggregate import item_means, macro_means, topic_means
from score.answers import STATUSES
from score.frames import SCORE_COLUMNS
from score.output import write
from score.profile import STRICT
from score.scoring import score, with_intervals
from score.slices import slice_means
from score.statistics.estimate import COLUMNS, estimates
from score.statistics.panel import design_of
from score.statistics.ratio import Cells
from score.statistics.resample import resample
from score.statistics.study import studies
from score.summary import as_text, summarise
from tests.clustered import one_topic
from tests.scored_runs import choice_answer, choice_item, run_store

SCHEMA = {
    name: {"value": pl.Float64, "sample": pl.Int64, "status": pl.Enum(STATUSES)}.get(
        name, pl.String
    )
    for name in SCORE_COLUMNS
}


def rows(values, *, metric="accuracy", run="run-a", topic="01", task="choice", judge=""):
    """Rows of scores: cluster → values of its items; a text is the status of one without."""
    return [
        (run, "m", "b", task, f"{topic}/{cluster}/{number}", 0, topic, f"{topic}/{cluster}", metric,
         judge, None if isinstance(value, str) else float(value),
         value if isinstance(value, str) else "scored", "")
        for cluster, some in (values.items() if isinstance(values, dict) else enumerate(values))
        for number, value in enumerate(some)
    ]  # fmt: skip


def frame(*parts):
    return pl.DataFrame([row for part in parts for row in part], schema=SCHEMA, orient="row")


def estimated(scores, *, mean="over-items", reading="scored-only", n_replicates=2000, **more):
    resamples = resample(design_of(scores), 0, n_replicates)
    found = estimates(scores, resamples, **more)
    if not more.get("by"):
        found = found.filter(mean=mean)
    return found.filter(reading=reading).to_dicts()


def items_of(scores, **attributes):
    """``items.parquet`` with one attribute."""
    items = scores["item"].unique(maintain_order=True)
    [(name, values)] = attributes.items()
    return pl.DataFrame({"item": items, name: values})


@pytest.fixture(scope="module")
def mixed():
    """Two runs, two topics of unequal clusters, two metrics, some failures."""
    rng = np.random.default_rng(4)
    parts = []
    for run in ("run-a", "run-b"):
        for topic in ("01", "02"):
            sizes = rng.integers(1, 9, size=8)
            right = [rng.integers(0, 2, size).tolist() for size in sizes]
            right[2][0], right[3][0] = "unparsed", "infra_failed"
            parts.append(rows(right, run=run, topic=topic))
            off = [(10 * rng.random(size)).tolist() for size in sizes]
            off[1][0] = "missing"
            parts.append(rows(off, run=run, topic=topic, metric="mae", task="localization"))
    return frame(*parts)


def test_six_right_two_wrong_and_two_failures_have_an_interval_in_either_reading():
    scores = frame(rows([[1]] * 6 + [[0]] * 2 + [["infra_failed"]] * 2))
    [scored] = estimated(scores)
    [failed] = estimated(scores, reading="failures-as-wrong")
    assert (scored["value"], scored["n"]) == (6 / 8, 8)
    assert (failed["value"], failed["n"]) == (6 / 10, 10)
    assert scored["low"] < 6 / 8 < scored["high"]
    assert failed["low"] < 6 / 10 < failed["high"]


def test_values_are_the_means_that_scoring_prints(mixed):
    for mean, expected in (
        ("over-topics", macro_means(topic_means(mixed))),
        ("over-items", item_means(mixed)),
    ):
        for row in expected.to_dicts():
            for reading, column in (("scored-only", "mean"), ("failures-as-wrong", "mean_all")):
                found = [
                    one["value"]
                    for one in estimated(mixed, mean=mean, reading=reading)
                    if (one["run"], one["metric"]) == (row["run"], row["metric"])
                ]
                # An error in seconds has no value for a wrong answer.
                assert found == ([] if row[column] is None else [pytest.approx(row[column])])


def test_values_of_slices_are_the_means_of_slices(mixed):
    n_items = mixed["item"].n_unique()
    groups = [[["Black"], ["White"], ["Black", "White"], []][at % 4] for at in range(n_items)]
    items = items_of(mixed, race=groups)
    expected = slice_means(mixed, items, "race")
    found = estimated(mixed, by="race", items=items)
    assert len(found) == len(expected) == 12
    assert {row["slice"] for row in found} == {"Black", "White", "unknown"}
    for row in found:
        [mean] = expected.filter(
            run=row["run"], metric=row["metric"], slice=row["slice"]
        ).to_dicts()
        assert row["value"] == pytest.approx(mean["mean"])
        assert row["n"] == mean["n_scored"]


def test_estimates_do_not_depend_on_the_order_of_the_rows(mixed):
    resamples = resample(design_of(mixed), 0, 500)
    shuffled = mixed.sample(fraction=1.0, shuffle=True, seed=8)
    again = estimates(shuffled, resample(design_of(shuffled), 0, 500))
    assert again.equals(estimates(mixed, resamples))


def test_another_run_beside_it_does_not_change_an_estimate(mixed):
    alone = mixed.filter(run="run-a")
    [one, *_] = estimated(alone, mean="over-topics")
    [same, *_] = estimated(mixed, mean="over-topics")
    assert one == same


def test_small_slices_break_nothing_and_say_how_many_replicates_were_valid():
    """Eleven items in groups of 4, 4 and 3."""
    scores = frame(rows([[value] for value in (1, 0, 1, 1, 0, 0, 1, 0, 1, 0, 1)], metric="tiou"))
    items = items_of(scores, duration=["short"] * 4 + ["medium"] * 4 + ["long"] * 3)
    found = {row["slice"]: row for row in estimated(scores, by="duration", items=items)}
    assert {name: row["n"] for name, row in found.items()} == {"short": 4, "medium": 4, "long": 3}
    for row in found.values():
        assert 1800 < row["n_replicates"] < 2000
        assert row["low"] < row["value"] < row["high"]


def test_of_fewer_clusters_than_percentiles_can_cover_there_is_the_t_interval():
    values = np.array([0.2, 0.5, 0.4, 0.9])
    [row] = estimated(frame(rows([[value] for value in values], metric="tiou")))
    t = scipy.stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert (row["method"], row["low"], row["high"]) == ("t", *map(pytest.approx, t))
    [six] = estimated(frame(rows([[value] for value in (*values, 0.1, 0.3)], metric="tiou")))
    assert six["method"] == "bca"


@pytest.mark.parametrize(
    ("clusters", "reason"),
    [
        ([[0.5, 0.5], [0.5], [0.5]], "all 3 clusters are alike"),
        ([[0.1, 0.7]], "1 cluster: the spread between clusters cannot be known"),
        ([["missing"], ["unparsed"]], "nothing scored"),
        ([[1e308], [1.5e308], [0.1]], "values beyond 1e150"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_an_interval_that_cannot_be_is_undefined_and_says_why(clusters, reason):
    for mean in ("over-items", "over-topics"):
        [row] = estimated(frame(rows(clusters, metric="tiou")), mean=mean)
        assert (row["low"], row["high"], row["reason"]) == (None, None, reason)
        assert row["value"] is None or math.isfinite(row["value"])


def test_of_no_scores_there_are_no_estimates():
    assert estimated(frame()) == []


def test_a_topic_of_which_one_video_has_scores_leaves_a_mean_over_topics_undefined():
    scores = frame(
        rows([[0.1], [0.4], [0.9]], metric="tiou"),
        rows([[0.3], ["missing"], ["missing"]], metric="tiou", topic="02"),
    )
    [row] = estimated(scores, mean="over-topics")
    assert row["reason"] == "topic 02 has 1 cluster: its spread cannot be known"


def test_proportions_of_items_that_share_no_video_have_wilsons_interval():
    [row] = estimated(frame(rows([[1]] * 7)))
    assert (row["method"], row["high"]) == ("wilson", 1.0)
    assert row["low"] == pytest.approx(0.6457, abs=1e-4)  # 1 / (1 + 3.8415 / 7)
    [clustered] = estimated(frame(rows([[1, 0]] + [[1]] * 5 + [[0]])))
    assert clustered["method"] == "bca"


def test_unclustered_estimates_are_scipys_within_what_chance_allows():
    values = np.random.default_rng(5).beta(2, 5, size=400)
    [row] = estimated(
        frame(rows([[value] for value in values], metric="tiou")), n_replicates=20_000
    )
    expected = scipy.stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method="BCa", rng=np.random.default_rng(6)
    ).confidence_interval
    width = expected.high - expected.low
    assert (row["low"], row["high"]) == pytest.approx(tuple(expected), abs=0.03 * width)


def test_the_standard_error_is_the_clustered_sandwich_of_statsmodels():
    rng = np.random.default_rng(7)
    values = rng.normal(size=(30, 1)) + rng.normal(size=(30, 6))
    fitted = sm.OLS(values.ravel(), np.ones(180)).fit(
        cov_type="cluster", cov_kwds={"groups": np.repeat(np.arange(30), 6)}
    )
    cells = Cells(values.sum(axis=1, keepdims=True), np.full((30, 1), 6.0))
    [study] = studies(resample(one_topic(30), 0, 20_000), [(1.0, cells)])
    assert study.standard_error == pytest.approx(fitted.bse[0], rel=1e-9)
    # And the replicates spread as much as it says.
    assert study.valid.std() == pytest.approx(fitted.bse[0], rel=0.03)


def test_with_unequal_clusters_the_standard_error_is_that_of_leaving_each_out():
    """Jackknifed clusters: CR3 of MacKinnon, Nielsen and Webb (2023), here by plain loops."""
    rng = np.random.default_rng(8)
    found = [rng.normal(rng.normal(), 1, size) for size in rng.integers(1, 12, 25)]
    left = [np.concatenate(found[:at] + found[at + 1 :]).mean() for at in range(25)]
    expected = math.sqrt(24 / 25 * sum((one - np.mean(left)) ** 2 for one in left))
    cells = Cells(*(np.array([[op(one)] for one in found], float) for op in (sum, len)))
    [study] = studies(resample(one_topic(25), 0, 200), [(1.0, cells)])
    assert study.standard_error == pytest.approx(expected, rel=1e-9)


def test_the_spread_of_means_of_400_uniform_values_is_known():
    values = np.random.default_rng(9).random((400, 1))
    [study] = studies(resample(one_topic(400)), [(1.0, Cells(values, np.ones((400, 1))))])
    truth = math.sqrt(1 / 12 / 400)
    assert study.valid.std() == pytest.approx(truth, rel=0.1)


def test_the_score_command_prints_intervals_and_writes_those_by_topic(tmp_path):
    items = [choice_item(at) for at in range(8)]
    said = [([item], choice_answer("AAABAAAB"[at])) for at, item in enumerate(items)]
    run_store(tmp_path / "store", said).close()
    found = with_intervals(score(Store(tmp_path / "store", read_only=True), items, ["run-a"]))
    [row] = [row for row in summarise(found, STRICT) if row["metric"] == "accuracy"]
    assert (row["mean"], row["n_clusters"], row["level"]) == (0.75, 8, 0.95)
    assert 0 < row["low"] < 0.75 < row["high"] <= 1
    assert f"{row['low']:.4f}–{row['high']:.4f}" in as_text([row], found.signature)
    assert "10000 resamples of whole videos" in as_text([row], found.signature)
    write(found, tmp_path / "out")
    table = pl.read_parquet(tmp_path / "out" / "estimates.parquet")
    assert tuple(table.columns) == COLUMNS
    [topic] = table.filter(by="topic", metric="accuracy", reading="scored-only").to_dicts()
    # Eight questions on eight videos: 6 of 8, Wilson.
    assert (topic["slice"], topic["n"], topic["method"]) == (items[0].topic, 8, "wilson")
    assert found.signature["resampling"]["seed"] == 0


def test_several_ways_to_slice_at_once_are_the_rows_of_each():
    scores = frame(rows([[1, 0], [1], [0, 1, 1]], topic="01"), rows([[0], [1, 1]], topic="02"))
    resamples = resample(design_of(scores), 0, 200)
    alone = [estimates(scores, resamples, by=by) for by in ("", "topic")]
    assert estimates(scores, resamples, by=("", "topic")).equals(pl.concat(alone))
