"""The reference profile repeats the published scorer; the strict one differs by quirk."""

import polars as pl
import pytest

from score.aggregate import macro_means, topic_means
from score.judge.spec import Scale
from score.profile import SONIC_O1_REFERENCE, STRICT
from score.scoring import score
from score.similarity import Encoder
from tests.golden_sonic_o1 import MODELS, golden_items, golden_store, published, scripted_verdicts

TASKS = {
    "summary": "task1_summarization",
    "choice": "task2_mcq",
    "localization": "task3_temporal_localization",
}
SIMILARITY = 1e-5  # float32 on another machine; all else is exact


class _Judge:
    """What scoring asks of a judge's spec."""

    name = "scripted"
    scale = Scale(min=0, max=10)

    @staticmethod
    def signature():
        return {"name": "scripted"}


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """profile name → scores of both models under it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("score.judge.lookup.verdicts", scripted_verdicts)
        store = golden_store(tmp_path_factory.mktemp("golden") / "store")
        encoder = Encoder()
        return {
            profile.name: score(
                store, golden_items(), MODELS, judges=[_Judge], profile=profile, encoder=encoder
            )
            for profile in (STRICT, SONIC_O1_REFERENCE)
        }


@pytest.fixture(scope="module")
def reference(scored):
    return scored["sonic-o1-reference"].scores


@pytest.fixture(scope="module")
def topics(reference):
    return topic_means(reference, exact_sums=False)


def same(found, expected, metric):
    if "similarity" in metric:
        return found == pytest.approx(expected, abs=SIMILARITY)
    return found == expected


def texts_of(entry, prefix):
    names = {"rouge_l": "rouge_l", "similarity": "text_similarity", "judge": "llm_judge_score"}
    return {
        f"{prefix}_{ours}": entry.get(theirs) if entry else None for ours, theirs in names.items()
    }


def values_of(task, entry):
    """metric → value of one published item; None where the published scorer has none."""
    if task == "summary":
        return texts_of(entry["detailed"], "detailed") | texts_of(entry["short"], "short")
    values = texts_of(entry["rationale_metrics"], "rationale")
    if task == "choice":
        return values | {"accuracy": entry["answer_correct"]}
    recalls = entry["recall_at_threshold"]
    return values | {
        "tiou": entry["iou"],
        "recall_0.3": recalls["R@0.3"],
        "recall_0.5": recalls["R@0.5"],
        "recall_0.7": recalls["R@0.7"],
        "mae_start": entry["mae"]["start"],
        "mae_end": entry["mae"]["end"],
        "mae": entry["mae"]["average"],
    }


def stem_of(task, topic, entry):
    stem = f"{task}/{topic[:2]}/{entry['video_number']}"
    if "segment" not in entry:
        return stem
    return f"{stem}/{entry['segment']['start']:g}-{entry['segment']['end']:g}/"


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("task", TASKS)
def test_every_item_has_the_published_values(reference, model, task):
    rows = reference.filter(pl.col("run") == model, pl.col("task") == task)
    compared = 0
    for topic, found in published(model)[TASKS[task]]["topics"].items():
        per_item = found["per_item"]
        of_topic = rows.filter(pl.col("topic") == topic, pl.col("status") == "scored")
        first = {"summary": "detailed_rouge_l", "choice": "accuracy", "localization": "tiou"}[task]
        assert len(of_topic.filter(pl.col("metric") == first)) == found["num_evaluated"]
        for entry in per_item:
            stem, question = stem_of(task, topic, entry), entry.get("question_id", "")
            of_item = of_topic.filter(
                pl.col("item").str.starts_with(stem) & pl.col("item").str.ends_with(question)
            )
            ours = dict(of_item.select("metric", "value").iter_rows())
            for metric, expected in values_of(task, entry).items():
                assert same(ours.get(metric), expected, metric), (stem, question, metric)
                compared += 1
    assert compared > 40


@pytest.mark.parametrize("model", MODELS)
def test_every_topic_has_the_published_means(topics, model):
    def of(task, topic, metric):
        rows = topics.filter(run=model, task=task, topic=topic, metric=metric)
        return rows.row(0, named=True)

    def check_texts(task, topic, prefix, expected):
        for ours, theirs in (
            ("rouge_l", "rouge_l"),
            ("similarity", "text_similarity"),
            ("judge", "llm_judge_score"),
        ):
            row = of(task, topic, f"{prefix}_{ours}")
            assert same(row["mean"], expected[f"{theirs}_mean"], ours), (task, topic, prefix, ours)
            assert same(row["std"], expected[f"{theirs}_std"], ours), (task, topic, prefix, ours)

    scores = published(model)
    for topic, found in scores[TASKS["summary"]]["topics"].items():
        means = found["aggregated_metrics"]
        for aspect in ("detailed", "short"):
            check_texts("summary", topic, aspect, means[aspect])
            cider = of("summary", topic, f"{aspect}_cider")["mean"]
            assert cider == means["cider"][f"cider_{aspect}"]
    for topic, found in scores[TASKS["choice"]]["topics"].items():
        means = found["aggregated_metrics"]
        assert of("choice", topic, "accuracy")["mean"] == means["accuracy"]
        assert of("choice", topic, "accuracy")["n_scored"] == means["total"]
        check_texts("choice", topic, "rationale", means["rationale"])
        assert of("choice", topic, "rationale_cider")["mean"] == means["rationale_cider"]
    for topic, found in scores[TASKS["localization"]]["topics"].items():
        means = found["aggregated_metrics"]
        overlap = of("localization", topic, "tiou")
        assert overlap["mean"] == means["mean_iou"]
        assert overlap["std"] == means["std_iou"]
        assert overlap["median"] == means["median_iou"]
        for threshold in ("0.3", "0.5", "0.7"):
            recall = of("localization", topic, f"recall_{threshold}")
            assert recall["mean"] == means[f"R@{threshold}"]["recall"]
            assert recall["n_scored"] == means[f"R@{threshold}"]["total"]
        for ours, theirs in (("mae_start", "start"), ("mae_end", "end"), ("mae", "average")):
            assert of("localization", topic, ours)["mean"] == means["mae"][f"{theirs}_mean"]
        check_texts("localization", topic, "rationale", means["rationale"])
        assert of("localization", topic, "rationale_cider")["mean"] == means["rationale_cider"]


@pytest.mark.parametrize("model", MODELS)
def test_the_means_over_topics_are_the_published_ones(topics, model):
    macro = macro_means(topics, exact_sums=False).filter(run=model)
    ours = {
        (task, metric): mean
        for task, metric, mean in macro.select("task", "metric", "mean").iter_rows()
    }
    scores = {task: published(model)[folder]["across_topics"] for task, folder in TASKS.items()}
    expected = {}
    for task, prefix, means in (
        ("summary", "detailed", scores["summary"]["detailed"]),
        ("summary", "short", scores["summary"]["short"]),
        ("choice", "rationale", scores["choice"]["rationale"]),
        ("localization", "rationale", scores["localization"]["rationale"]),
    ):
        expected[task, f"{prefix}_rouge_l"] = means["rouge_l_mean"]
        expected[task, f"{prefix}_similarity"] = means["text_similarity_mean"]
        expected[task, f"{prefix}_judge"] = means["llm_judge_score_mean"]
    for aspect in ("detailed", "short"):
        expected["summary", f"{aspect}_cider"] = scores["summary"]["cider"][f"cider_{aspect}_mean"]
    expected["choice", "accuracy"] = scores["choice"]["accuracy_mean"]
    expected["localization", "tiou"] = scores["localization"]["mean_iou"]
    expected["localization", "mae"] = scores["localization"]["mae_average"]
    for threshold in ("0.3", "0.5", "0.7"):
        expected["localization", f"recall_{threshold}"] = scores["localization"][f"R@{threshold}"]
    for key, value in expected.items():
        assert same(ours[key], value, key[1]), key


def test_the_strict_profile_differs_only_where_a_quirk_bites(scored):
    keys = ["run", "item", "sample", "metric", "judge"]
    strict = scored["strict"].scores
    both = strict.join(
        scored["sonic-o1-reference"].scores.select(*keys, "value", "status", "reason"),
        on=keys,
        suffix="_ref",
    )
    differing = both.filter(
        ~pl.col("value").eq_missing(pl.col("value_ref"))
        | (pl.col("status") != pl.col("status_ref"))
    )
    flags = scored["strict"].predictions.select("run", "item", "flags")
    quirks = differing.join(flags, on=["run", "item"]).select(
        pl.when(pl.col("reason_ref").str.starts_with("counted as 0"))
        .then(pl.lit("1: a failed verdict is 0"))
        .when(pl.col("reason") == "no times")
        .then(pl.lit("2: missing times are [0, 0]"))
        .when(pl.col("flags").list.contains("letter and index disagree"))
        .then(pl.lit("4: either letter or index"))
        .when(pl.col("item").str.contains("/001/150-200/1"))
        .then(pl.lit("5: an entry meets the answer to another"))
        .when(pl.col("reason") == "summary_short is empty")
        .then(pl.lit("an empty summary is scored"))
        .otherwise(pl.lit("unexplained"))
        .alias("quirk")
    )
    assert sorted(quirks["quirk"].unique()) == [
        "1: a failed verdict is 0",
        "2: missing times are [0, 0]",
        "4: either letter or index",
        "5: an entry meets the answer to another",
        "an empty summary is scored",
    ]
    # Quirk 5 also leaves the first of two entries on one segment out.
    left_out = strict.join(scored["sonic-o1-reference"].scores, on=keys, how="anti")[
        "item"
    ].unique()
    assert sorted(left_out) == ["choice/01/001/150-200/0", "choice/06/001/150-200/0"]
