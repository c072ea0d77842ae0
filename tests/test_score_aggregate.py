"""Means over topics, in both readings; and the published tables through the same code."""

import csv
import math
from pathlib import Path

import polars as pl
import pytest

import analysis
from score.aggregate import item_means, macro_means, topic_means

PUBLISHED = Path(analysis.__file__).parent / "published" / "tables.csv"


def rows(values, *, metric="accuracy", judge="", topic="01"):
    """Rows of scores; a text in place of a value is the status of a cell without one."""
    return pl.DataFrame(
        [
            {
                "run": "run-a", "model": "m", "benchmark": "sonic-o1", "task": "choice",
                "item": f"{topic}/{number}", "sample": 0, "topic": topic, "cluster": topic,
                "metric": metric, "judge": judge,
                "value": None if isinstance(value, str) else float(value),
                "status": value if isinstance(value, str) else "scored", "reason": "",
            }
            for number, value in enumerate(values)
        ],
        schema_overrides={"value": pl.Float64},
    )  # fmt: skip


def test_a_failed_verdict_leaves_the_mean_and_stays_in_the_count():
    [row] = macro_means(
        topic_means(rows([4, 4, "judge_failed"], metric="rationale_judge", judge="j"))
    ).to_dicts()
    assert (row["mean"], row["n_scored"], row["n_expected"]) == (4.0, 2, 3)
    assert row["mean_all"] == pytest.approx(2.67, abs=0.005)


def test_six_right_two_wrong_two_infra_failures_have_both_readings():
    scores = rows([1] * 6 + [0] * 2 + ["infra_failed"] * 2)
    [row] = macro_means(topic_means(scores)).to_dicts()
    assert (row["mean"], row["mean_all"]) == (6 / 8, 6 / 10)
    assert (row["n_expected"], row["n_scored"]) == (10, 8)


def test_topics_weigh_the_same_whatever_their_size():
    scores = pl.concat([rows([1, 1, 1, 1], topic="01"), rows([0], topic="02")])
    assert macro_means(topic_means(scores))["mean"].to_list() == [0.5]
    assert item_means(scores)["mean"].to_list() == [0.8]


def test_a_topic_without_any_score_counts_as_wrong_only_where_failures_do():
    scores = pl.concat([rows([1, 1], topic="01"), rows(["missing"], topic="02")])
    [row] = macro_means(topic_means(scores)).to_dicts()
    assert (row["mean"], row["mean_all"], row["n_topics"]) == (1.0, 0.5, 1)


def test_where_nothing_was_scored_there_is_no_number():
    scores = rows(["missing", "missing"], metric="rationale_judge", judge="j")
    topics = topic_means(scores)
    assert topics.select("mean", "mean_all", "median", "std").row(0) == (None,) * 4
    assert macro_means(topics).select("mean", "mean_all").row(0) == (None, None)


def test_an_absolute_error_has_no_value_for_wrong():
    [row] = macro_means(topic_means(rows([3, 5, "missing"], metric="mae"))).to_dicts()
    assert (row["mean"], row["mean_all"]) == (4.0, None)


def test_a_topic_has_median_and_population_deviation():
    [row] = topic_means(rows([1, 2, 6])).to_dicts()
    # By hand: mean 3, deviations 2, 1, 3, variance 14/3.
    assert (row["mean"], row["median"]) == (3.0, 2.0)
    assert row["std"] == pytest.approx((14 / 3) ** 0.5)


def test_means_do_not_depend_on_the_order_of_the_items():
    scores = rows([0.1, 0.2, 0.3, 1e-9, 0.7, 0.1] * 9)
    shuffled = scores.sample(fraction=1.0, shuffle=True, seed=5)
    columns = ["mean", "mean_all", "median", "std"]
    assert topic_means(scores).select(columns).equals(topic_means(shuffled).select(columns))


TABLES = {"A4": "whole", **{f"A{number}": "topic" for number in range(5, 14)}}
METRICS = {
    "judge": "rationale_judge", "rouge_l": "rouge_l", "similarity": "similarity",
    "accuracy": "accuracy", "miou": "tiou", "recall@0.5": "recall_0.5", "mae": "mae",
}  # fmt: skip


def decimals(text):
    return len(text.partition(".")[2])


def test_the_published_means_of_topics_give_the_published_overall_means():
    with PUBLISHED.open(newline="") as file:
        published = [
            row
            for row in csv.DictReader(file)
            if row["paper"] == "sonic-o1" and row["table"] in TABLES
        ]
    topics = pl.DataFrame(
        [
            {
                "run": row["model"], "model": row["model"], "benchmark": "sonic-o1",
                "task": row["task"], "metric": METRICS[row["metric"]], "judge": "",
                "topic": row["group"], "n_expected": 1, "n_scored": 1,
                "mean": float(row["value"]), "mean_all": float(row["value"]),
            }
            for row in published
            if TABLES[row["table"]] == "topic"
        ]
    )  # fmt: skip
    ours = {
        (run, task, metric): mean
        for run, task, metric, mean in macro_means(topics)
        .select("run", "task", "metric", "mean")
        .iter_rows()
    }
    compared = 0
    for row in published:
        key = (row["model"], row["task"], METRICS.get(row["metric"], ""))
        if row["table"] != "A4" or key not in ours:
            continue
        # One in the last place of the table with fewer digits: topics are rounded too.
        printed = [decimals(one["value"]) for one in published if one["metric"] == row["metric"]
                   and one["model"] == row["model"] and one["table"] != "A4"]  # fmt: skip
        last_place = 10.0 ** -min(decimals(row["value"]), max(printed))
        assert abs(ours[key] - float(row["value"])) <= 1.0001 * last_place, key
        compared += 1
    assert compared == 66


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("exact", [True, False])
def test_errors_of_1e308_seconds_have_their_mean_median_and_deviation(exact):
    scores = rows([1e308, 1.5e308, 1.6e308, 1.7e308], metric="mae_start")
    [row] = topic_means(scores, exact_sums=exact).to_dicts()
    # By hand, in units of 1e308: 5.8 / 4; (1.5 + 1.6) / 2; the root of 0.29 / 4.
    assert row["mean"] == pytest.approx(1.45e308)
    assert row["median"] == pytest.approx(1.55e308)
    assert row["std"] == pytest.approx(math.sqrt(0.0725) * 1e308)
    [whole] = macro_means(topic_means(scores, exact_sums=exact), exact_sums=exact).to_dicts()
    assert whole["mean"] == pytest.approx(1.45e308)
