"""The word categories of empathic summaries: shares by hand, statuses, means, command."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from bench.item import Clip, Item, TaskType
from cache.record import Outcome
from rejudge import cli
from score.aggregate import macro_means, topic_means
from score.categories import category_shares
from score.dictionary import load_dictionary
from score.explain import explain
from score.profile import STRICT
from score.scoring import score
from score.slices import slice_means
from score.summary import as_text, summarise
from tests.scored_runs import run_store

DICTIONARY = """%
1 emotion
2 negative
%
glad 1
sad* 1 2
"""


def empathic_item(number=1, topic="01_Consultations"):
    return Item(
        id=f"empathic/{topic[:2]}/{number:03}",
        benchmark="sonic-o1",
        task=TaskType.EMPATHIC,
        topic=topic,
        cluster=f"{topic[:2]}/{number:03}",
        clip=Clip(Path(f"{number}.mp4")),
        question="What happens?",
    )


def answer(text):
    return json.dumps({"summary_detailed_empathic": text, "confidence": 0.5})


@pytest.fixture
def dictionary(tmp_path):
    path = tmp_path / "ours.dic"
    path.write_text(DICTIONARY)
    return load_dictionary(path)


@pytest.fixture
def run(tmp_path):
    """Two topics: 2 of 4 words and 0 of 5 in the first, 1 of 4 in the second; four failures."""
    topics = ["01_Consultations"] * 6 + ["02_Interviews"]
    items = [empathic_item(number, topic) for number, topic in enumerate(topics)]
    answers = [
        answer("He's glad. Sadly, sick."),
        answer("They sit at the table."),
        answer("… !"),
        "I would rather not.",
        Outcome.TIMEOUT,
        None,
        answer("A saddened man waits"),
    ]
    asked = [([item], said) for item, said in zip(items, answers, strict=True) if said is not None]
    return run_store(tmp_path / "store", asked, tasks=("empathic",)), items


def test_shares_are_per_cent_of_the_words(dictionary):
    # By hand: glad and sadness of 4 words; sad of 3, sad twice counts twice; and none of 2.
    found = category_shares(dictionary, ["Glad, not sadness: glad!", "sad SAD day", "a day", "…"])
    expected = [[75.0, 25.0], [200 / 3, 200 / 3], [0.0, 0.0], [np.nan, np.nan]]
    assert found == pytest.approx(np.array(expected), nan_ok=True)


def test_each_summary_has_a_value_or_the_status_why_not(run, dictionary):
    store, items = run
    found = score(store, items, ["run-a"], dictionary=dictionary)
    rows = found.scores.filter(metric="category:emotion").select("value", "status", "reason").rows()
    assert rows == [
        (50.0, "scored", ""),
        (0.0, "scored", ""),
        (None, "unparsed", "a summary without words"),
        (None, "unparsed", "no JSON object, and no heading that says which summary is which"),
        (None, "infra_failed", "timeout"),
        (None, "missing", "the run does not ask it"),
        (25.0, "scored", ""),
    ]
    assert found.scores["task"].unique().to_list() == ["empathic"]


def test_means_are_within_topics_and_then_over_them(run, dictionary):
    store, items = run
    found = score(store, items, ["run-a"], dictionary=dictionary)
    macro = macro_means(topic_means(found.scores)).sort("metric")
    # By hand: emotion (50 + 0) / 2 and 25, negative (25 + 0) / 2 and 25; over the two topics.
    assert macro["metric"].to_list() == ["category:emotion", "category:negative"]
    assert macro["mean"].to_list() == [25.0, 18.75]
    assert macro["n_expected"].to_list() == [7, 7]
    assert macro["n_scored"].to_list() == [3, 3]


def test_there_is_no_reading_in_which_failures_count_as_wrong(run, dictionary):
    store, items = run
    found = score(store, items, ["run-a"], dictionary=dictionary)
    assert {row["mean_all"] for row in summarise(found, STRICT)} == {None}
    assert slice_means(found.scores, found.items, "topic")["mean_all"].null_count() == 4


def test_the_signature_names_the_dictionary(run, dictionary):
    store, items = run
    made = score(store, items, ["run-a"], dictionary=dictionary).signature["dictionary"]
    assert made == {
        "name": "ours.dic",
        "sha256": dictionary.sha256,
        "categories": ["emotion", "negative"],
        "entries": 2,
    }


def test_without_a_dictionary_the_summary_says_what_is_not_scored(run):
    store, items = run
    found = score(store, items, ["run-a"])
    assert len(found.scores) == 0
    text = as_text(summarise(found, STRICT), found.signature)
    assert "Empathic summaries are not scored" in text


def test_an_explanation_shows_the_shares(run, dictionary):
    store, items = run
    [found] = explain(store, items, "run-a", items[0].id, dictionary=dictionary)
    assert [(cell["metric"], cell["value"]) for cell in found.metrics] == [
        ("category:emotion", 50.0),
        ("category:negative", 25.0),
    ]


def test_the_empathic_text_counts_where_an_answer_has_a_plain_one_too(tmp_path, dictionary):
    item = empathic_item()
    both = json.dumps({"summary_detailed": "sad", "summary_detailed_empathic": "glad glad"})
    store = run_store(tmp_path / "store", [([item], both)], tasks=("empathic",))
    found = score(store, [item], ["run-a"], dictionary=dictionary)
    assert found.scores["value"].to_list() == [100.0, 0.0]


@pytest.mark.slow
def test_the_bundled_benchmark_is_inferred_and_scored_by_command(tmp_path):
    store, out = tmp_path / "store", tmp_path / "scores"
    runner = CliRunner()
    asked = ["infer", "demo", "--model", "chance", "--store", store, "--task", "empathic"]
    done = runner.invoke(cli, list(map(str, asked)))
    assert done.exit_code == 0, done.output
    scored = ["score", "demo", "--store", store, "--out", out, "--no-similarity", "--json"]
    done = runner.invoke(cli, list(map(str, [*scored, "--dictionary", "example"])))
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)["metrics"]
    assert {row["metric"] for row in rows} == {
        f"category:{name}" for name in load_dictionary("example").categories
    }
    assert all(row["n_expected"] == row["n_scored"] > 0 for row in rows)
