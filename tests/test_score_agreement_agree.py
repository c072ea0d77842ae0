"""``rejudge agree``: what it measures, against whom, and what it says when there is nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result
from scipy import stats

from rejudge import cli
from score.agreement.agree import Agreed, Agreement, agree
from score.agreement.verdicts import load_verdicts
from score.errors import LabelsError, ScoreError, ScoresMissing
from score.grades import verdicts_schema
from score.statistics.folder import load
from tests.score_folders import FORMULA_JUDGE, LLM_JUDGE, Row, metric_rows, score_folder

TOPICS = ("01_Interviews", "02_Meetings", "03_Trials")
OTHER = LLM_JUDGE | {"name": "glm"}
FIVE = LLM_JUDGE | {"name": "five", "scale": {"min": 0, "max": 5, "integer": True}}
JUDGES = {one["name"]: one for one in (LLM_JUDGE, FORMULA_JUDGE, OTHER, FIVE)}


def graded(judge: str, shift: int = 0, seed: int = 0, **more: Any) -> list[Row]:
    """Scores of 24 texts in three topics: one truth, with a judge's own noise and shift."""
    truth = np.random.default_rng(0).integers(1, 9, (3, 8))
    noise = np.random.default_rng(seed).integers(-1, 2, (3, 8))
    values = {
        topic: [float(one) for one in row]
        for topic, row in zip(TOPICS, truth + noise + shift, strict=True)
    }
    return metric_rows("detailed_judge", values, task="summary", judge=judge, **more)


def folder_of(path: Path, rows: Sequence[Row], **spread: float) -> Path:
    """Write scores, and the verdicts behind them."""
    folder = score_folder(path / "scores", rows, judges=JUDGES)
    schema = dict.fromkeys(("run", "metric", "judge", "item"), pl.String) | verdicts_schema()
    verdicts = [
        {
            **{name: row[name] for name in ("run", "metric", "judge", "item", "status", "reason")},
            "score": row["value"],
            "samples": [],
            "spread": spread.get(row["judge"]),
            "aspects": [],
            "justification": "",
        }
        for row in rows
    ]
    pl.DataFrame(verdicts, schema=schema).write_parquet(folder / "verdicts.parquet")
    pl.DataFrame({"item": [row["item"] for row in rows]}).unique().write_parquet(
        folder / "items.parquet"
    )
    return folder


def compared(folder: Path, *judges: str, **more: Any) -> Agreed:
    return agree(load(folder), load_verdicts(folder), judges, n_replicates=400, **more)


def the_only(found: Agreed, first: str, second: str, run: str = "") -> Agreement:
    (one,) = [
        one for one in found.agreements if (one.first, one.second, one.run) == (first, second, run)
    ]
    return one


def values(rows: Sequence[Row]) -> list[float]:
    return [row["value"] for row in rows]


def test_two_judges_are_compared_on_the_texts_that_both_have_scored(tmp_path: Path) -> None:
    first, second = graded("gpt-5-mini", seed=1), graded("glm", seed=2)
    second[3] |= {"value": None, "status": "judge_failed", "reason": "unreadable"}
    found = the_only(compared(folder_of(tmp_path, [*first, *second]), "gpt-5-mini", "glm"),
                     "gpt-5-mini", "glm")  # fmt: skip
    pairs = [(a, b) for a, b in zip(values(first), values(second), strict=True) if b is not None]
    assert found.n == 23
    expected = stats.pearsonr(*zip(*pairs, strict=True)).statistic
    assert found.measures["pearson"].value == pytest.approx(expected)
    assert sum(n for _, _, n in found.confusion) == 23


def test_an_interval_is_of_clusters_and_holds_its_value(tmp_path: Path) -> None:
    rows = [*graded("gpt-5-mini", seed=1), *graded("glm", shift=1, seed=2)]
    found = the_only(compared(folder_of(tmp_path, rows), "gpt-5-mini", "glm"), "gpt-5-mini", "glm")
    for name, estimate in found.measures.items():
        assert estimate.value is not None, name
        assert estimate.low is not None, estimate.reason
        assert estimate.high is not None
        assert estimate.low < estimate.value < estimate.high
        assert (estimate.n, estimate.n_clusters, estimate.method) == (24, 24, "bca")
    # The second has one point more by design, give or take the noise.
    assert found.measures["mean_difference"].value == pytest.approx(1, abs=0.5)


def test_the_interval_of_a_mean_difference_is_that_of_a_t_test_about(tmp_path: Path) -> None:
    first, second = graded("gpt-5-mini", seed=1), graded("glm", seed=2)
    off = np.array(values(second)) - np.array(values(first))
    folder = folder_of(tmp_path, [*first, *second])
    found = agree(load(folder), load_verdicts(folder), ["gpt-5-mini", "glm"], n_replicates=4000)
    estimate = found.agreements[0].measures["mean_difference"]
    low, high = stats.t.interval(0.95, 21, off.mean(), off.std(ddof=1) / 24**0.5)
    assert estimate.low is not None
    assert estimate.high is not None
    # Clusters are drawn within topics, whose means differ a little, too.
    assert estimate.high - estimate.low == pytest.approx(high - low, rel=0.15)


def test_of_fewer_than_six_clusters_the_interval_is_that_of_a_t_test(tmp_path: Path) -> None:
    first, second = [3.0, 5.0, 8.0, 2.0, 6.0], [4.0, 5.0, 6.0, 5.0, 7.0]
    rows = [
        row
        for judge, found in (("gpt-5-mini", first), ("glm", second))
        for row in metric_rows("detailed_judge", {TOPICS[0]: found}, task="summary", judge=judge)
    ]
    (found,) = compared(folder_of(tmp_path, rows), "gpt-5-mini", "glm").agreements
    estimate = found.measures["mean_difference"]
    off = np.array(second) - np.array(first)
    expected = stats.t.interval(0.95, 4, off.mean(), off.std(ddof=1) / 5**0.5)
    assert (estimate.low, estimate.high) == pytest.approx(expected)
    assert (estimate.method, estimate.n_clusters) == ("t", 5)


def test_of_two_clusters_no_interval_has_a_width_of_zero(tmp_path: Path) -> None:
    first, second = [0.0, 4.0, 6.0, 9.0, 3.0, 7.0], [1.0, 5.0, 8.0, 8.0, 8.0, 8.0]
    rows = [
        row | {"cluster": f"01/{number // 3}"}
        for judge, found in (("gpt-5-mini", first), ("glm", second))
        for number, row in enumerate(
            metric_rows("rationale_judge", {TOPICS[0]: found}, judge=judge)
        )
    ]
    (found,) = compared(folder_of(tmp_path, rows), "gpt-5-mini", "glm").agreements
    for name, estimate in found.measures.items():
        assert estimate.n_clusters == 2
        assert estimate.value is not None
        if estimate.low is None or estimate.high is None:
            assert estimate.reason, name
        else:
            assert estimate.low < estimate.value < estimate.high, name
    # The second cluster alone has no correlation: all of the second judge's scores are 8.
    assert found.measures["pearson"].reason == (
        "2 clusters, and without one of them it is undefined"
    )


def test_judges_of_different_scales_are_only_correlated(tmp_path: Path) -> None:
    rows = [*graded("gpt-5-mini"), *graded("five")]
    found = the_only(
        compared(folder_of(tmp_path, rows), "gpt-5-mini", "five"), "gpt-5-mini", "five"
    )
    assert found.measures["pearson"].value == pytest.approx(1)
    for name in ("weighted_kappa", "alpha_interval", "mean_difference"):
        assert found.measures[name].value is None
        assert "scales differ" in found.measures[name].reason


def test_a_formula_in_the_scores_is_a_floor_for_every_judge(tmp_path: Path) -> None:
    rows = [*graded("gpt-5-mini", seed=1), *graded("glm", seed=2), *graded("lexical", seed=3)]
    found = compared(folder_of(tmp_path, rows), "gpt-5-mini", "glm")
    pairs = {(one.first, one.second) for one in found.agreements}
    assert pairs == {("gpt-5-mini", "glm"), ("gpt-5-mini", "lexical"), ("glm", "lexical")}
    assert found.made["floor"] == ["lexical"]


def test_three_judges_have_one_alpha_together(tmp_path: Path) -> None:
    rows = [*graded("gpt-5-mini", seed=1), *graded("glm", seed=2), *graded("lexical", seed=3)]
    (joint,) = compared(folder_of(tmp_path, rows), "gpt-5-mini", "glm", "lexical").joints
    assert joint.raters == ("gpt-5-mini", "glm", "lexical")
    assert joint.measures["alpha_ordinal"].value == pytest.approx(0.9, abs=0.1)


def test_runs_are_ordered_by_each_judge_on_the_same_texts(tmp_path: Path) -> None:
    rows = [
        row
        for run, shift in (("good", 2), ("fair", 1), ("poor", 0))
        for judge, sign in (("gpt-5-mini", 1), ("glm", 1 if run != "fair" else 3))
        for row in graded(judge, shift=sign * shift, seed=len(run), run=run)
    ]
    found = compared(folder_of(tmp_path, rows), "gpt-5-mini", "glm")
    (ranking,) = found.rankings
    # By the first good > fair > poor; by the second fair > good > poor: one of three pairs turns.
    assert ranking.tau.value == pytest.approx(1 / 3)
    assert ranking.tau.low is not None or ranking.tau.reason
    assert {one.run for one in found.agreements} == {"", "good", "fair", "poor"}


def test_failures_are_counted_by_judge_and_run_with_their_reasons(tmp_path: Path) -> None:
    rows = [*graded("gpt-5-mini"), *graded("glm")]
    for row, status in zip(rows, ("judge_failed", "judge_failed", "infra_failed"), strict=False):
        row |= {"value": None, "status": status, "reason": "the reply is empty"}
    first, _ = sorted(compared(folder_of(tmp_path, rows), "gpt-5-mini", "glm").failures,
                      key=lambda one: one.scored)  # fmt: skip
    assert (first.judge, first.n, first.scored) == ("gpt-5-mini", 24, 21)
    assert (first.judge_failed, first.infra_failed, first.missing) == (2, 1, 0)
    assert first.rate == pytest.approx(2 / 23)
    assert first.reasons == {"the reply is empty": 2}


def test_what_a_judge_says_again_is_summed_up(tmp_path: Path) -> None:
    rows = [*graded("gpt-5-mini"), *graded("glm")]
    (found,) = compared(folder_of(tmp_path, rows, glm=0.5), "gpt-5-mini", "glm").repeated
    assert (found.judge, found.n, found.mean_spread, found.unanimous) == ("glm", 24, 0.5, 0)


def test_agreement_takes_two(tmp_path: Path) -> None:
    with pytest.raises(ScoreError, match="takes two"):
        compared(folder_of(tmp_path, graded("gpt-5-mini")), "gpt-5-mini")


def test_a_judge_is_not_compared_with_itself(tmp_path: Path) -> None:
    with pytest.raises(ScoreError, match="'gpt-5-mini' stands twice"):
        compared(folder_of(tmp_path, graded("gpt-5-mini")), "gpt-5-mini", "gpt-5-mini")


def test_an_unknown_judge_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ScoreError, match="'gpt-6' here; there are: glm, gpt-5-mini"):
        compared(folder_of(tmp_path, [*graded("gpt-5-mini"), *graded("glm")]), "glm", "gpt-6")


def test_scores_without_verdicts_say_how_to_get_them(tmp_path: Path) -> None:
    folder = score_folder(tmp_path / "scores", graded("glm"))
    with pytest.raises(ScoresMissing, match=r"verdicts.parquet is not there; write it with"):
        load_verdicts(folder)


# People's labels


def labelled(tmp_path: Path, text: str, *, runs: Sequence[str] = ("alpha",)) -> Agreed:
    rows = [row for run in runs for row in graded("gpt-5-mini", seed=1, run=run)]
    path = tmp_path / "people.csv"
    path.write_text(text, encoding="utf-8")
    return compared(folder_of(tmp_path, rows), "gpt-5-mini", labels=path)


def lines(scores: Mapping[str, Sequence[float]] | None = None, **columns: str) -> str:
    items = [row["item"] for row in graded("gpt-5-mini")]
    given = scores or {"score": [row["value"] for row in graded("gpt-5-mini")]}
    rows = [
        [item, str(score), *columns.values()]
        for item, score in zip(items, given["score"], strict=False)
    ]
    return "\n".join(",".join(row) for row in [["item", "score", *columns], *rows])


def test_labels_of_people_are_one_more_rater(tmp_path: Path) -> None:
    found = the_only(labelled(tmp_path, lines()), "gpt-5-mini", "people")
    assert found.n == 24
    expected = stats.pearsonr(values(graded("gpt-5-mini", seed=1)), values(graded("gpt-5-mini")))
    assert found.measures["pearson"].value == pytest.approx(expected.statistic)
    assert found.measures["weighted_kappa"].value is not None


def test_raters_with_names_are_told_apart(tmp_path: Path) -> None:
    text = lines(rater="ann") + "\n" + lines({"score": [5, 6]}, rater="bo").partition("\n")[2]
    found = labelled(tmp_path, text)
    assert found.made["people"] == ["ann", "bo"]
    assert the_only(found, "ann", "bo").n == 2


def test_an_empty_score_is_no_label(tmp_path: Path) -> None:
    text = lines({"score": [5, 6]}) + "\nsummary/03/007,"
    assert the_only(labelled(tmp_path, text), "gpt-5-mini", "people").n == 2


@pytest.mark.parametrize(
    ("text", "runs", "says"),
    [
        ("item,grade\na,1", ["alpha"], "line 1: found the columns item, grade; expected item and"),
        ("item,score\na,1,2", ["alpha"], "line 2: found 3 fields; expected 2"),
        ("item,score\nsummary/01/000,good", ["alpha"], "line 2: score: found 'good'; expected a"),
        ("item,score\nsummary/01/000,nan", ["alpha"], "line 2: score: found 'nan'; expected a num"),
        ("item,score\nsummary/01/000,11", ["alpha"], "line 2: score: found 11; expected 0 to 10"),
        ("item,score\nsummary/99/000,1", ["alpha"], "line 2: item: found 'summary/99/000', which"),
        ("item,score\nsummary/01/000,1", ["a", "b"], "line 2: run: the item has several: a, b; ad"),
        ("item,score,run\nsummary/01/000,1,c", ["a", "b"], "run: found 'c'; expected one of a, b"),
        ("item,score,metric\nsummary/01/000,1,x", ["alpha"], "expected one of detailed_judge"),
        ("item,score,rater\nsummary/01/000,1,gpt-5-mini", ["alpha"], "is a judge's name"),
        (
            "item,score\nsummary/01/000,1\nsummary/01/000,2",
            ["alpha"],
            "line 3: item: the same as i",
        ),
        ("item,score\nsummary/01/000,", ["alpha"], "holds no label"),
        ("", ["alpha"], "found the columns none"),
    ],
)
def test_labels_that_do_not_hold_are_named(
    tmp_path: Path, text: str, runs: list[str], says: str
) -> None:
    with pytest.raises(LabelsError) as caught:
        labelled(tmp_path, text, runs=runs)
    assert says in str(caught.value)
    assert str(tmp_path / "people.csv") in str(caught.value)


# The command


def told(folder: Path, *options: str) -> Result:
    arguments = ["agree", str(folder), "--judge", "gpt-5-mini", "--judge", "glm", *options]
    return CliRunner().invoke(cli, [*arguments, "--resamples", "200"])


def test_people_get_tables_and_what_they_must_know(tmp_path: Path) -> None:
    rows = [
        row
        for run in ("alpha", "beta")
        for at, judge in enumerate(("gpt-5-mini", "glm", "lexical"))
        for row in graded(judge, seed=at, run=run)
    ]
    result = told(folder_of(tmp_path, rows, glm=0.5))
    assert result.exit_code == 0, result.output
    for said in (
        *("Pearson", "weighted κ", "Kendall's τ", "Floor", "gpt-5-mini (rows) and glm (columns)"),
        *(
            "alpha",
            "beta",
            "200 resamples of each measure's clusters",
            "mean spread",
            "no language models",
        ),
    ):
        assert said in result.stdout


def test_machines_get_all_of_it_as_json(tmp_path: Path) -> None:
    rows = [*graded("gpt-5-mini", seed=1), *graded("glm", seed=2)]
    result = told(folder_of(tmp_path, rows), "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    pearson = found["agreements"][0]["measures"]["pearson"]
    assert pearson["low"] < pearson["value"] < pearson["high"]
    assert found["made"]["judges"] == ["gpt-5-mini", "glm"]
