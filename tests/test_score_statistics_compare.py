"""Comparisons of runs: pairing, families, gaps, and what ``rejudge compare`` prints and writes."""

import json

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from rejudge import cli
from score.frames import SCORE_COLUMNS
from score.statistics.answer import answer
from score.statistics.compare import Question
from score.statistics.folder import Scored, load
from tests.test_score_statistics_estimate import frame, rows

GROUPS = ("short", "medium")


def judged(values, **more):
    return rows(
        values, metric="detailed_judge", task="summary", judge=more.pop("judge", "j"), **more
    )


def scored(*parts, **signature):
    scores = frame(*parts)
    items = scores.select("item").unique(maintain_order=True).with_row_index("at")
    duration = pl.col("at").map_elements(lambda at: GROUPS[at % 2], return_dtype=pl.String)
    return Scored(scores, items.select("item", duration.alias("duration")), signature)


def asked(found, *, n_replicates=1000, metrics=(), judge=None, reference=None, seed=0, **more):
    question = Question(**({"baseline": "run-a", "candidates": ("run-b",)} | more))
    return answer(
        found, question, metrics=metrics, judge=judge, reference=reference, seed=seed,
        n_replicates=n_replicates,
    )  # fmt: skip


@pytest.fixture(scope="module")
def pair():
    """Twelve videos of three questions: the candidate is right on one more in most of them."""
    rng = np.random.default_rng(1)
    before = {at: rng.integers(0, 2, 3).tolist() for at in range(12)}
    after = {at: [1, *some[1:]] for at, some in before.items()}
    return scored(rows(before), rows(after, run="run-b"))


def test_a_difference_is_candidate_minus_baseline_over_the_pairs(pair):
    [found] = asked(pair).comparisons
    assert found.difference.value == pytest.approx(found.candidate_mean - found.baseline_mean)
    assert found.difference.low < found.difference.value < found.difference.high
    assert (found.wins, found.losses, found.wins + found.ties) == (found.wins, 0, 36)
    assert found.difference.value == pytest.approx(found.wins / 36)
    # By hand: wins are 1 and ties 0, so the deviation is that of a share of wins among 36.
    share = found.wins / 36
    assert found.effect == pytest.approx(share / (share * (1 - share) * 36 / 35) ** 0.5)


def test_the_two_tests_agree(pair):
    [found] = asked(pair, n_replicates=5000).comparisons
    assert found.test.p == pytest.approx(found.p_permutation, abs=0.02)
    assert found.test.p > 0


def test_the_roles_swapped_give_the_opposite_difference(pair):
    [there] = asked(pair).comparisons
    [back] = asked(pair, baseline="run-b", candidates=("run-a",)).comparisons
    assert back.difference.value == -there.difference.value
    assert (back.difference.low, back.difference.high) == pytest.approx(
        (-there.difference.high, -there.difference.low), abs=1e-12
    )
    assert (back.test.p, back.wins) == (there.test.p, there.losses)


def test_a_run_beside_itself_has_no_difference_and_no_p(pair):
    same = scored(
        rows({at: [1, 0] for at in range(8)}), rows({at: [1, 0] for at in range(8)}, run="run-b")
    )
    [found] = asked(same).comparisons
    assert (found.difference.value, found.ties, found.test.p) == (0.0, 16, None)
    assert found.difference.reason == found.test.reason == "all 8 clusters are alike"


def test_items_that_one_run_lacks_are_left_out_and_counted():
    before = {at: [1, "infra_failed"] for at in range(8)}
    after = {at: [at % 2, 1] for at in range(8)} | {0: ["unparsed", 1]}
    found = scored(rows(before), rows(after, run="run-b"))
    [paired] = asked(found).comparisons
    assert (paired.difference.n, paired.baseline_only, paired.candidate_only) == (7, 1, 8)
    assert paired.baseline_mean == 1.0
    from score.statistics.panel import Reading

    [every] = asked(found, reading=Reading.FAILURES_AS_WRONG).comparisons
    assert (every.difference.n, every.baseline_mean) == (16, 0.5)


def test_runs_with_different_numbers_of_samples_are_paired_by_item():
    before = frame(rows({at: [at % 2] for at in range(8)}))
    after = frame(rows({at: [1] for at in range(8)}, run="run-b"))
    more = after.with_columns(sample=pl.lit(1, pl.Int64), value=pl.lit(0.0))
    found = Scored(pl.concat([before, after, more]), pl.DataFrame({"item": []}), {})
    [one] = asked(found, minimum=2).comparisons
    assert (one.difference.n, one.candidate_mean, one.baseline_mean) == (8, 0.5, 0.5)


def test_of_an_error_less_is_better_and_failures_are_left_out():
    before = {at: [4.0] for at in range(9)}
    after = {at: [4.0 + (at - 7) / 2] for at in range(8)} | {8: ["missing"]}
    found = scored(*(rows(some, metric="mae", task="localization", run=run) for some, run in
                     ((before, "run-a"), (after, "run-b"))))  # fmt: skip
    from score.statistics.panel import Reading

    [one] = asked(found, metrics=["mae"], reading=Reading.FAILURES_AS_WRONG).comparisons
    assert (one.wins, one.ties, one.losses) == (7, 1, 0)
    assert one.difference.value < 0


def test_a_mean_over_topics_weighs_topics_the_same():
    many = {at: [0.0, 0.0, 0.0] for at in range(6)}
    few = {at: [0.0] for at in range(6)}
    gain = {at: [0.6 + at / 100] for at in range(6)}
    found = scored(rows(many, metric="tiou"), rows(few, metric="tiou", topic="02"),
                   rows(many, metric="tiou", run="run-b"),
                   rows(gain, metric="tiou", topic="02", run="run-b"))  # fmt: skip
    [topics] = asked(found, metrics=["tiou"]).comparisons
    [items] = asked(found, metrics=["tiou"], over_topics=False).comparisons
    assert topics.difference.value == pytest.approx(0.625 / 2)
    assert items.difference.value == pytest.approx(0.625 / 4)


def test_the_declared_family_is_all_candidates_on_the_headline_metrics():
    rng = np.random.default_rng(3)

    def run(name):
        return [
            *rows({at: rng.integers(0, 2, 3).tolist() for at in range(9)}, run=name),
            *rows({at: rng.random(3).tolist() for at in range(9)}, run=name, metric="tiou"),
            *judged({at: rng.integers(0, 11, 1).tolist() for at in range(9)}, run=name),
        ]

    found = scored(*(run(name) for name in ("run-a", "run-b", "run-c")))
    compared = asked(found, candidates=("run-b", "run-c"), by="duration", minimum=5)
    overall = [one for one in compared.comparisons if not one.by]
    assert [(one.metric, one.candidate) for one in overall] == [
        ("accuracy", "run-b"), ("accuracy", "run-c"),
        ("detailed_judge", "run-b"), ("detailed_judge", "run-c"),
    ]  # fmt: skip
    assert {one.test.correction for one in overall} == {"holm"}
    assert {one.test.n_tests for one in overall} == {4}
    assert all(one.test.p_adjusted >= one.test.p for one in overall)
    families = compared.made["families"]
    sliced = [one for one in compared.comparisons if one.by]
    assert families["declared"] == {"correction": "holm", "tests": 4, "not_tested": 0}
    assert families["slices"]["correction"] == "benjamini-hochberg"
    assert families["slices"]["tests"] + families["slices"]["not_tested"] == len(sliced) == 8
    assert {"gaps", "interactions"} < set(families)


def test_a_slice_that_is_too_small_is_not_tested_and_says_so(pair):
    found = asked(pair, by="duration", minimum=30).comparisons
    overall, *sliced = found
    assert overall.test.p is not None
    assert [(one.test.p, one.test.reason) for one in sliced] == [
        (None, "18 items: fewer than 30")
    ] * 2
    assert all(one.difference.low is not None for one in sliced)


def test_five_clusters_are_not_tested():
    before = {at: [at / 10, 0.3] for at in range(5)}
    after = {at: [0.9, 0.8] for at in range(5)}
    found = scored(rows(before, metric="tiou"), rows(after, metric="tiou", run="run-b"))
    [one] = asked(found, metrics=["tiou"], minimum=2).comparisons
    assert one.test.reason == "5 clusters: a test takes 6"


def test_gaps_and_their_difference_are_those_of_the_means():
    rng = np.random.default_rng(5)
    before = {at: rng.random(4).tolist() for at in range(10)}
    after = {at: [some[0] + 0.4, some[1], some[2] + 0.4, some[3]] for at, some in before.items()}
    found = scored(rows(before, metric="tiou"), rows(after, metric="tiou", run="run-b"))
    compared = asked(found, metrics=["tiou"], by="duration", reference="medium")
    gaps = {one.run: one for one in compared.contrasts if one.kind == "gaps"}
    [interaction] = [one for one in compared.contrasts if one.kind == "interactions"]
    means = found.scores.join(found.items, on="item").group_by("run", "duration").agg(
        pl.col("value").mean()
    )  # fmt: skip
    of = {(run, group): value for run, group, value in means.iter_rows()}
    for run, gap in gaps.items():
        assert (gap.group, gap.reference) == ("short", "medium")
        assert gap.gap.value == pytest.approx(of[run, "short"] - of[run, "medium"])
    # Every short item gained 0.4 and no medium one: the gap grew by 0.4, wherever it is drawn.
    assert interaction.gap.value == pytest.approx(0.4)
    assert interaction.gap.reason == "all 10 clusters are alike"


def test_a_gap_with_an_item_in_both_groups_has_the_spread_of_its_replicates():
    rng = np.random.default_rng(6)
    values = {at: rng.random(3).tolist() for at in range(20)}
    scores = frame(rows(values, metric="tiou"), rows(values, metric="tiou", run="run-b"))
    items = scores.select("item").unique(maintain_order=True)
    gender = [["Female", "Male"] if at % 3 == 0 else ["Female"] if at % 2 else ["Male"]
              for at in range(len(items))]  # fmt: skip
    found = Scored(scores, items.with_columns(pl.Series("gender", gender)), {})
    compared = asked(found, metrics=["tiou"], by="gender", reference="Male")
    [gap, *_] = [one.gap for one in compared.contrasts if one.kind == "gaps"]
    assert gap.low < gap.value < gap.high
    assert gap.n == sum("Female" in some for some in gender) or gap.n == sum(
        "Male" in s for s in gender
    )


def test_another_seed_moves_limits_a_little_and_is_recorded(pair):
    one, other = (asked(pair, seed=seed, keep_replicates=True) for seed in (0, 7))
    assert other.made["resampling"]["seed"] == 7
    first, second = one.comparisons[0], other.comparisons[0]
    assert (first.replicates != second.replicates).any()
    assert first.difference.low == pytest.approx(second.difference.low, abs=0.05)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"baseline": "run-z"}, "no run 'run-z' here; there are: run-a, run-b"),
        ({"candidates": ()}, "no run beside 'run-a'"),
        ({"candidates": ("run-a",)}, "the baseline and a candidate, too"),
        ({"metrics": ["acuracy"]}, "no metric 'acuracy' in these scores; there are: accuracy"),
        ({"judge": "j"}, "no verdicts of judge 'j' here; there are: none"),
        ({"by": "shoe"}, "no slices by 'shoe'; there are: topic, duration"),
        ({"by": "duration", "reference": "tiny"}, "no group 'tiny'; there are: medium, short"),
    ],
)
def test_a_name_that_is_not_there_is_answered_with_those_that_are(pair, more, says):
    from score.errors import ScoreError

    with pytest.raises(ScoreError, match=says.replace("(", "\\(")):
        asked(pair, **more)


def test_of_several_judges_one_must_be_named_where_judges_are_compared():
    from score.errors import ScoreError

    parts = [judged({at: [at] for at in range(7)}, run=run, judge=judge)
             for run in ("run-a", "run-b") for judge in ("i", "j")]  # fmt: skip
    with pytest.raises(ScoreError, match="several judges, choose with --judge: i, j"):
        asked(scored(*parts))
    assert asked(scored(*parts), judge="i", minimum=2).comparisons[0].judge == "i"


@pytest.fixture
def folder(tmp_path, pair):
    pair.scores.select(SCORE_COLUMNS).write_parquet(tmp_path / "scores.parquet")
    pair.items.write_parquet(tmp_path / "items.parquet")
    (tmp_path / "signature.json").write_text('{"profile": {"name": "strict"}}')
    return tmp_path


def called(*words):
    return CliRunner().invoke(cli, ["compare", *map(str, words)])


def test_the_command_prints_the_comparison_and_how_many_tests_were_made(folder):
    result = called(folder, "--baseline", "run-a", "--by", "duration", "--resamples", "500")
    assert result.exit_code == 0, result.output
    [line] = [line for line in result.stdout.splitlines() if line.startswith("run-b")][:1]
    assert "choice accuracy" in line
    assert "36 in 12" in line
    assert "declared: 1 tests, holm." in result.stdout
    assert "500 resamples of 12 clusters in 1 strata, seed 0." in result.stdout
    assert "nan" not in result.stdout.lower()


def test_the_files_hold_what_the_json_says_and_on_demand_every_replicate(folder, tmp_path):
    out = tmp_path / "out"
    words = [folder, "--baseline", "run-a", "--by", "duration", "--resamples", "500", "--json"]
    result = called(*words, "--out", out, "--replicates")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert sorted(path.name for path in out.iterdir()) == [
        "comparison.json", "comparisons.parquet", "contrasts.parquet", "replicates.parquet",
    ]  # fmt: skip
    table = pl.read_parquet(out / "comparisons.parquet")
    assert table["difference"].to_list() == [one["difference"] for one in found["comparisons"]]
    assert not any(table.select(pl.selectors.float().is_nan().any()).row(0))
    replicates = pl.read_parquet(out / "replicates.parquet")
    assert len(replicates) == 500 * len(table)
    first = replicates.filter(comparison=0)["difference"]
    assert first.mean() == pytest.approx(table["difference"][0], abs=0.02)
    assert json.loads((out / "comparison.json").read_text()) == found["made"]
    again = called(*words)
    assert json.loads(again.stdout) == found


def test_a_folder_without_scores_is_named(tmp_path):
    result = called(tmp_path, "--baseline", "run-a")
    assert getattr(result.exception, "exit_code", None) == 3
    assert "signature.json is not readable" in str(result.exception)
    assert "write it with: rejudge score" in str(result.exception)
    assert called(tmp_path, "--baseline", "run-a", "--replicates").exit_code == 2


def test_a_folder_is_read_as_it_was_written(folder, pair):
    found = load(folder)
    assert found.scores.equals(pair.scores)
    assert found.runs() == ["run-a", "run-b"]
