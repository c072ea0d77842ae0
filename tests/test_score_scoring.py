"""Stored answers to scores: judges, profiles, files, and the command."""

import json
import os
import subprocess
import sys

import polars as pl
import pytest
from click.testing import CliRunner

from rejudge import cli
from score.frames import SCORE_COLUMNS
from score.output import write
from score.pairs import run_pairs
from score.profile import SONIC_O1_REFERENCE, STRICT
from score.scoring import score
from score.summary import summarise
from tests.builders import chat_judge, judge_record
from tests.golden_sonic_o1 import ROOT, golden_items, golden_store
from tests.scored_runs import (
    choice_answer,
    choice_item,
    interval_item,
    run_store,
    summary_item,
)


def cells(found, metric, **where):
    rows = found.scores.filter(metric=metric, **where)
    return list(rows.select("item", "value", "status", "reason").iter_rows())


@pytest.fixture
def judged(tmp_path):
    """Three choices: one with a verdict, one whose judge gave none, one never judged."""
    items = [choice_item(number) for number in range(3)]
    asked = [([item], choice_answer("A", f"He waves {item.id}.")) for item in items]
    store = run_store(tmp_path / "store", asked)
    spec = chat_judge(attempts=1)
    graded, unreadable, _ = run_pairs(store, "run-a", items)
    store.put(judge_record(spec, graded, '{"score": 7, "justification": "good"}'))
    store.put(judge_record(spec, unreadable, "I cannot grade this"))
    return store, items, spec


def test_verdicts_come_from_the_store_and_each_cell_has_one_status(judged):
    store, items, spec = judged
    found = score(store, items, ["run-a"], judges=[spec])
    values = [(value, status) for _, value, status, _ in cells(found, "rationale_judge")]
    assert values == [(7.0, "scored"), (None, "judge_failed"), (None, "missing")]
    assert found.scores.filter(metric="rationale_judge")["judge"].unique().to_list() == [spec.name]
    assert found.signature["judges"][spec.name]["model"] == spec.model


def test_the_reference_profile_counts_a_failed_verdict_as_zero_and_says_so(judged):
    store, items, spec = judged
    found = score(store, items, ["run-a"], judges=[spec], profile=SONIC_O1_REFERENCE)
    # The three share no segment, so all of them are left.
    (_, graded, *_), (_, failed, _, reason), (_, unasked, status, _) = cells(
        found, "rationale_judge"
    )
    assert (graded, failed) == (7.0, 0.0)
    assert reason.startswith("counted as 0: judge_failed")
    assert (unasked, status) == (None, "missing")


def test_letter_and_index_that_disagree_are_the_profiles_choice(tmp_path):
    item = choice_item(right=2)
    store = run_store(tmp_path / "store", [([item], '{"answer_letter": "B", "answer_index": 2}')])
    strict = score(store, [item], ["run-a"])
    assert cells(strict, "accuracy")[0][1] == 0.0
    assert strict.predictions["flags"].to_list() == [["letter and index disagree"]]
    reference = score(store, [item], ["run-a"], profile=SONIC_O1_REFERENCE)
    assert cells(reference, "accuracy")[0][1] == 1.0


def test_an_empty_short_summary_is_unparsed_or_zero_by_profile(tmp_path):
    item = summary_item()
    text = json.dumps({"summary_detailed": "A man enters.", "summary_short": []})
    store = run_store(tmp_path / "store", [([item], text)], tasks=("summary",))
    _, value, status, reason = cells(score(store, [item], ["run-a"]), "short_rouge_l")[0]
    assert (value, status, reason) == (None, "unparsed", "summary_short is empty")
    reference = score(store, [item], ["run-a"], profile=SONIC_O1_REFERENCE)
    assert cells(reference, "short_rouge_l")[0][1:3] == (0.0, "scored")


def test_a_reversed_interval_is_scored_as_given_and_classed(tmp_path):
    item = interval_item()
    store = run_store(tmp_path / "store", [([item], "100 s to 83 s")], tasks=("localization",))
    found = score(store, [item], ["run-a"])
    assert cells(found, "tiou")[0][1] == 0.0
    assert cells(found, "mae")[0][1] == 17.0
    [error] = found.errors.select("error_type", "why").to_dicts()
    assert error == {
        "error_type": "hallucination",
        "why": "the end, 83 s, is not after the start, 100 s",
    }


def test_a_reference_without_a_rationale_expects_none(tmp_path):
    item = choice_item(rationale="")
    store = run_store(tmp_path / "store", [([item], choice_answer("A"))])
    assert score(store, [item], ["run-a"]).scores["metric"].to_list() == ["accuracy"]


def test_scores_do_not_depend_on_the_order_of_the_items(tmp_path):
    store = golden_store(tmp_path / "store")
    items = golden_items()
    # Questions of one prompt stay in their order, as the loader gives them.
    straight, turned = (
        score(store, order, ["alpha"]) for order in (items, sorted(items, key=lambda one: one.task))
    )
    columns = ["item", "metric", "judge"]
    assert straight.scores.sort(columns).equals(turned.scores.sort(columns))
    assert summarise(straight, STRICT) == summarise(turned, STRICT)


THREADS = """
import sys
from pathlib import Path
from cache.store import Store
from score.scoring import score
from tests.golden_sonic_o1 import golden_items
with Store(Path(sys.argv[1]), read_only=True) as store:
    score(store, golden_items(), ["alpha", "beta"]).scores.write_ndjson(sys.argv[2])
"""


@pytest.mark.slow
def test_scores_do_not_depend_on_the_number_of_threads(tmp_path):
    golden_store(tmp_path / "store").close()
    written = []
    for threads in ("1", "4"):
        out = tmp_path / f"{threads}.ndjson"
        environment = os.environ | {"POLARS_MAX_THREADS": threads, "OMP_NUM_THREADS": threads}
        command = [sys.executable, "-c", THREADS, str(tmp_path / "store"), str(out)]
        subprocess.run(command, check=True, env=environment, cwd=ROOT.parents[3])
        written.append(out.read_bytes())
    assert written[0] == written[1]


def test_the_files_are_written_whole_and_the_signature_last(tmp_path):
    item = choice_item()
    store = run_store(tmp_path / "store", [([item], choice_answer("A"))])
    found = score(store, [item], ["run-a"])
    paths = write(found, tmp_path / "out")
    assert [path.name for path in paths] == [
        "scores.parquet",
        "predictions.parquet",
        "verdicts.parquet",
        "errors.parquet",
        "items.parquet",
        "signature.json",
    ]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(
        path.name for path in paths
    )
    assert tuple(pl.read_parquet(paths[0]).columns) == SCORE_COLUMNS
    signed = json.loads(paths[-1].read_text())
    assert signed.pop("tables").keys() == {path.stem for path in paths[:-1]}
    assert signed == found.signature


def test_the_same_scores_have_the_same_signature(tmp_path):
    item = choice_item()
    store = run_store(tmp_path / "store", [([item], choice_answer("A"))])
    assert score(store, [item], ["run-a"]).signature == score(store, [item], ["run-a"]).signature


@pytest.fixture(scope="module")
def golden(tmp_path_factory):
    folder = tmp_path_factory.mktemp("golden")
    golden_store(folder / "store").close()
    return folder / "store"


def run_cli(*args):
    return CliRunner().invoke(cli, [str(arg) for arg in args])


def test_the_command_prints_both_readings_and_the_counts(golden, tmp_path):
    result = run_cli(
        "score", "sonic-o1", "--data", ROOT, "--store", golden, "--out", tmp_path / "out",
        "--run", "alpha", "--no-similarity",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    [line] = [line for line in result.stdout.splitlines() if " accuracy " in line]
    # 28 questions, 2 of them never answered for want of memory: 20 of 26 over two topics.
    assert line.split()[:4] == ["alpha", "choice", "accuracy", "0.7692"]
    assert line.split()[5:] == ["0.7143", "26", "28", "2"]
    assert "Similarity was left out." in result.stdout
    assert pl.read_parquet(tmp_path / "out" / "scores.parquet")["run"].unique().to_list() == [
        "alpha"
    ]


def test_the_command_has_a_form_for_machines(golden, tmp_path):
    result = run_cli(
        "score", "sonic-o1", "--data", ROOT, "--store", golden, "--out", tmp_path / "out",
        "--no-similarity", "--json",
    )  # fmt: skip
    shown = json.loads(result.stdout)
    assert {row["run"] for row in shown["metrics"]} == {"alpha", "beta"}
    assert shown["signature"]["profile"]["name"] == "strict"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--profile", "lenient"], "no profile 'lenient'; there are: strict, sonic-o1-reference"),
        (["--judge", "nobody"], "no judge 'nobody'"),
        (["--run", "gamma"], "there are: alpha, beta"),
    ],
)
def test_a_bad_name_is_answered_with_the_good_ones(golden, tmp_path, more, message):
    result = run_cli(
        "score", "sonic-o1", "--data", ROOT, "--store", golden, "--out", tmp_path / "out",
        "--no-similarity", *more,
    )  # fmt: skip
    assert message in str(result.exception)
    assert result.exception.exit_code == 2


def test_an_item_is_explained(golden):
    from score.cli import explain

    result = CliRunner().invoke(
        explain,
        [
            "sonic-o1",
            "localization/01/003/300-480/0/002",
            "--run",
            "alpha",
            "--data",
            str(ROOT),
            "--store",
            str(golden),
        ],
    )
    assert result.exit_code == 0, result.output
    assert "tiou                     0.0000" in result.stdout
    assert (
        "error type hallucination: the end, 404.75 s, is not after the start, 410.28 s"
        in result.stdout
    )
    assert "\nread.start_s 410.28\n" in result.stdout


def explained(golden, *words):
    from score.cli import explain

    options = ("--run", "alpha", "--data", str(ROOT), "--store", str(golden))
    return CliRunner().invoke(explain, ["sonic-o1", *words, *options])


def test_the_beginning_of_an_id_is_enough_to_explain_an_item(golden):
    assert explained(golden, "choice/01/001/0-180").stdout.startswith("choice/01/001/0-180/0 ")
    several = explained(golden, "localization/01/003/300-480/0/").exception
    assert "items begin with" in str(several)
    unknown = explained(golden, "localisation/01/003/300-480/0/002").exception
    assert "the nearest are: localization/01/003/300-480/0/002" in str(unknown)


def test_a_reference_is_shown_a_line_for_each_of_its_members(golden):
    shown = explained(golden, "localization/01/003/300-480/0/002").stdout.splitlines()
    names = [line.split()[0] for line in shown if line.startswith("reference")]
    assert names == ["reference.start_s", "reference.end_s", "reference.rationale"]


def test_scores_that_cannot_be_written_end_with_3(golden, tmp_path):
    (tmp_path / "file").write_text("mine")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        result = run_cli(
            "score", "sonic-o1", "--data", ROOT, "--store", golden, "--out", out,
            "--no-similarity",
        )  # fmt: skip
        assert f"the scores cannot be written to {out}: " in str(result.exception)
        assert result.exception.exit_code == 3
