"""Rescoring what is stored with another judge: what is asked again, and what never is."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from cache.store import Store
from rejudge import cli
from score.judge.rubric import RUBRICS
from tests.openai_server import Call, OpenAIServer, Reply, chat
from tests.test_score_judge_cli import SPEC, with_run

TEXTS = "detailed", "short"


def graded_by(model: str) -> Reply:
    score = {"first-model": 7, "second-model": 3}[model]
    return chat(json.dumps({"score": score, "justification": f"says {model}"}))


@pytest.fixture
def server() -> object:
    with OpenAIServer(lambda call: graded_by(call.body["model"])) as running:
        yield running


def judged(folder: Path, spec: Path, server: OpenAIServer) -> dict[str, int]:
    """Judge the run of a store; what the command says."""
    arguments = ["judge", "demo", "--store", str(folder), "--judge", str(spec)]
    result = CliRunner().invoke(cli, [*arguments, "--base-url", server.base_url, "--json"])
    assert result.exit_code == 0, result.output
    found: dict[str, int] = json.loads(result.stdout)
    return found


def spec_of(path: Path, name: str, model: str, rubric: str = "sonic-o1.jinja") -> Path:
    text = SPEC.replace('"mine"', f'"{name}"').replace('"some-model"', f'"{model}"')
    path.mkdir(exist_ok=True)
    file = path / f"{name}.toml"
    file.write_text(text.replace("sonic-o1.jinja", rubric), encoding="utf-8")
    return file


def test_a_new_judge_costs_its_own_calls_and_touches_nothing_else(
    tmp_path: Path, server: OpenAIServer
) -> None:
    store = tmp_path / "store"
    items = with_run(store, "one")
    with_run(store, "two", said="Somebody says something else.")
    first = spec_of(tmp_path, "first", "first-model")
    second = spec_of(tmp_path, "second", "second-model")
    judged(store, first, server)
    with Store(store, read_only=True) as opened:
        before = {record.key: record for record in opened.scan()}
    calls = len(server.calls)

    done = judged(store, second, server)

    # The detailed summaries of the two runs differ, their bullets do not.
    triples = 3 * items
    assert (done["pairs"], done["called"]) == (4 * items, triples)
    asked = server.calls[calls:]
    assert len({call.text("user") for call in asked}) == len(asked) == triples
    assert {call.body["model"] for call in asked} == {"second-model"}
    with Store(store, read_only=True) as opened:
        after = {record.key: record for record in opened.scan()}
    assert {key: after[key] for key in before} == before
    # What was added are this judge's calls: no model of the benchmark was asked.
    assert {after[key].request.model for key in after.keys() - before.keys()} == {"second-model"}
    assert judged(store, second, server)["called"] == 0
    assert judged(store, first, server)["called"] == 0


def test_one_character_of_the_rubric_is_another_judge_and_an_address_is_not(
    tmp_path: Path, server: OpenAIServer
) -> None:
    store = tmp_path / "store"
    with_run(store)
    (tmp_path / "mine.jinja").write_text((RUBRICS / "sonic-o1.jinja").read_text("utf-8"), "utf-8")
    spec = spec_of(tmp_path, "first", "first-model", "mine.jinja")
    every = judged(store, spec, server)["called"]
    with OpenAIServer(graded_by("first-model")) as elsewhere:
        assert judged(store, spec, elsewhere)["called"] == 0
    text = (tmp_path / "mine.jinja").read_text("utf-8")
    (tmp_path / "mine.jinja").write_text(text.replace("careful", "carefull"), "utf-8")
    assert judged(store, spec, server)["called"] == every > 0


def test_several_judges_stand_side_by_side_in_the_scores(
    tmp_path: Path, server: OpenAIServer
) -> None:
    store, out = tmp_path / "store", tmp_path / "scores"
    items = with_run(store)
    specs = [spec_of(tmp_path, name, f"{name}-model") for name in ("first", "second")]
    for spec in specs:
        judged(store, spec, server)
    options = [option for spec in specs for option in ("--judge", str(spec))]
    result = CliRunner().invoke(
        cli,
        ["score", "demo", "--store", str(store), "--out", str(out), "--no-similarity", *options],
    )
    assert result.exit_code == 0, result.output
    scores = pl.read_parquet(out / "scores.parquet").filter(pl.col("judge") != "")
    means = scores.group_by("judge", "metric").agg(pl.col("value").mean(), pl.len())
    assert set(means.iter_rows()) == {
        (name, f"{text}_judge", value, items)
        for name, value in (("first", 7), ("second", 3))
        for text in TEXTS
    }
    said = pl.read_parquet(out / "verdicts.parquet")
    assert len(said) == 2 * 2 * items
    assert set(said["justification"]) == {"says first-model", "says second-model"}
    assert said["samples"].to_list() == [[score] for score in said["score"]]


def test_the_status_of_a_store_has_every_judge_and_run(
    tmp_path: Path, server: OpenAIServer
) -> None:
    store = tmp_path / "store"
    items = with_run(store, "one")
    with_run(store, "two", said="Somebody says something else.")
    spec = spec_of(tmp_path, "first", "first-model")

    def script(call: Call) -> Reply:
        return chat("I cannot grade this") if call.number == 1 else graded_by("first-model")

    server.script = script
    arguments = ["judge", "demo", "--store", str(store), "--run", "one", "--judge", str(spec)]
    ran = CliRunner().invoke(cli, [*arguments, "--base-url", server.base_url])
    assert ran.exit_code == 1, ran.output

    arguments = ["judge", "status", "--store", str(store), "--judge", str(spec)]
    found = json.loads(CliRunner().invoke(cli, [*arguments, "--json"]).stdout)
    rows = {row["run"]: row for row in found["standings"]}
    assert set(rows) == {"one", "two", ""}
    one, two, every = rows["one"], rows["two"], rows[""]
    assert (one["verdicts"], one["judge_failed"], one["pending"]) == (2 * items - 1, 1, 0)
    assert one["reasons"] == {
        "judge_failed: no score in the reply: I cannot grade this (last of 1 attempts)": 1
    }
    assert (one["calls"], one["input_tokens"], one["cost_usd"]) == (2 * items, 200 * items, None)
    # The bullets of the second run are the first's; its detailed summaries wait.
    assert two["pending"] == two["missing"] == items
    assert (every["requests"], every["calls"]) == (3 * items, 2 * items)
    text = CliRunner().invoke(cli, arguments).stdout
    assert f"first  one\n  {2 * items - 1} of {2 * items} verdicts, 1 judge_failed" in text


def test_the_status_of_a_store_nobody_judged_says_so(tmp_path: Path) -> None:
    with_run(tmp_path / "store")
    result = CliRunner().invoke(cli, ["judge", "status", "--store", str(tmp_path / "store")])
    assert result.exit_code == 0, result.output
    assert "No judge has graded a run of this store." in result.stdout
