"""The ``judge`` command, from a store with runs to verdicts and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bench import registry
from bench.item import SummaryReference, TaskType
from cache.record import Outcome, Record, Response
from cache.request import Message, Request, Text
from cache.run import RunHeader, RunLine
from cache.store import Store
from rejudge import cli
from score.errors import JudgeUnavailable, ScoreError, SpecError
from tests.batch_server import BatchServer, answered
from tests.openai_server import Call, OpenAIServer, Reply, chat, error

GOOD = chat('{"score": 7, "justification": "close"}')
SPEC = """
name = "mine"
engine = "openai"
model = "some-model"
base_url = "http://127.0.0.1:9/v1"
rubric = "sonic-o1.jinja"
max_retries = 0
attempts = 1
[scale]
min = 0
max = 10
"""


def with_run(folder: Path, name: str = "demo-scripted", said: str = "People talk.") -> int:
    """A store with a run that answered every summary of the demo; returns how many."""
    items = registry.get("demo").load(None, {TaskType.SUMMARY})
    lines = []
    with Store(folder, create=True) as store:
        for item in items:
            assert isinstance(item.reference, SummaryReference)
            asked = Message(role="user", parts=(Text(text=f"{name}: summarise {item.id}"),))
            request = Request(engine="scripted", model="scripted-1", messages=(asked,))
            answer = {
                "summary_detailed": f"{said} {item.id}",
                "summary_short": list(item.reference.short),
                "timeline": [],
                "glossary": [],
                "confidence": 0.5,
            }
            store.put(
                Record(
                    key=request.key(),
                    request=request,
                    outcome=Outcome.OK,
                    response=Response(text=json.dumps(answer)),
                )
            )
            lines.append(RunLine(item=item.id, key=request.key()))
        header = RunHeader(
            name=name, benchmark="demo", model="scripted", tasks=(TaskType.SUMMARY.value,)
        )
        store.write_run(header, lines)
    return len(items)


def judged(folder: Path, *options: str, benchmark: str = "demo") -> Result:
    runner = CliRunner()
    return runner.invoke(cli, ["judge", benchmark, "--store", str(folder), *options])


@pytest.fixture
def spec_file(tmp_path: Path) -> str:
    path = tmp_path / "mine.toml"
    path.write_text(SPEC, encoding="utf-8")
    return str(path)


def test_a_formula_judges_a_run_and_the_command_says_what_it_did(tmp_path: Path) -> None:
    items = with_run(tmp_path / "store")
    first = judged(tmp_path / "store", "--judge", "lexical", "--json")
    assert first.exit_code == 0, first.output
    done = json.loads(first.stdout)
    # A summary has two texts to judge: the detailed one and the bullets.
    assert (done["pairs"], done["called"], done["ok"]) == (2 * items, 2 * items, 2 * items)
    assert done["runs"] == ["demo-scripted"]
    again = json.loads(judged(tmp_path / "store", "--judge", "lexical", "--json").stdout)
    assert (again["cached"], again["called"]) == (2 * items, 0)


def test_people_are_told_the_judge_the_runs_and_where_verdicts_lie(tmp_path: Path) -> None:
    with_run(tmp_path / "store")
    result = judged(tmp_path / "store", "--judge", "lexical")
    for said in ("lexical", "no language model", "demo-scripted", str(tmp_path / "store")):
        assert said in result.stdout


def test_a_judge_of_ones_own_is_reached_at_the_given_address(
    tmp_path: Path, spec_file: str
) -> None:
    items = with_run(tmp_path / "store")
    with OpenAIServer(GOOD) as server:
        options = ("--judge", spec_file, "--base-url", server.base_url, "--json")
        result = judged(tmp_path / "store", *options)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["called"] == len(server.calls) == 2 * items


def test_two_runs_that_say_the_same_are_judged_once(tmp_path: Path, spec_file: str) -> None:
    items = with_run(tmp_path / "store", "first")
    with_run(tmp_path / "store", "second")
    with OpenAIServer(GOOD) as server:
        options = ("--judge", spec_file, "--base-url", server.base_url, "--json")
        done = json.loads(judged(tmp_path / "store", *options).stdout)
    assert (done["pairs"], done["requests"], done["called"]) == (4 * items, 2 * items, 2 * items)


def test_a_dry_run_calls_nothing_and_needs_neither_key_nor_server(tmp_path: Path) -> None:
    items = with_run(tmp_path / "store")
    result = judged(tmp_path / "store", "--judge", "gpt-5-mini", "--dry-run", "--json")
    assert result.exit_code == 0, result.output
    plan = json.loads(result.stdout)
    assert plan["calls"] == 2 * items
    assert plan["cost_usd"] > 0


def test_answers_without_a_verdict_make_exit_code_1(tmp_path: Path, spec_file: str) -> None:
    with_run(tmp_path / "store")

    def script(call: Call) -> Reply:
        return chat("I cannot grade this") if call.number == 0 else GOOD

    with OpenAIServer(script) as server:
        options = ("--judge", spec_file, "--base-url", server.base_url)
        result = judged(tmp_path / "store", *options)
    assert result.exit_code == 1
    assert "1 judge_failed" in result.stdout
    assert "I cannot grade this" in result.stdout


def test_a_judge_that_wants_money_ends_the_command_with_an_error(
    tmp_path: Path, spec_file: str
) -> None:
    with_run(tmp_path / "store")
    with OpenAIServer(error(402, "pay first")) as server:
        options = ("--judge", spec_file, "--base-url", server.base_url)
        result = judged(tmp_path / "store", *options)
    assert isinstance(result.exception, JudgeUnavailable)
    assert result.exception.exit_code == 3
    assert "pay first" in str(result.exception)
    assert len(server.calls) <= 3
    assert not result.stdout


def test_a_store_without_a_run_of_the_benchmark_says_which_there_are(tmp_path: Path) -> None:
    with_run(tmp_path / "store", "mine")
    result = judged(tmp_path / "store", "--judge", "lexical", benchmark="sonic-o1")
    assert isinstance(result.exception, ScoreError)
    assert "its runs: mine" in str(result.exception)


def test_a_named_run_of_another_benchmark_is_refused(tmp_path: Path) -> None:
    with_run(tmp_path / "store", "mine")
    options = ("--judge", "lexical", "--run", "mine")
    result = judged(tmp_path / "store", *options, benchmark="demo-assistant")
    assert isinstance(result.exception, ScoreError)
    assert "run mine is of benchmark demo" in str(result.exception)


def test_the_bundled_judges_are_listed_for_machines_too() -> None:
    for words in (["--list", "--json"], ["--json", "--list"]):
        listed = json.loads(CliRunner().invoke(cli, ["judge", *words]).stdout)["judges"]
        engines = {judge["name"]: judge["engine"] for judge in listed}
        assert engines["gpt-5-mini"] == "openai"
        assert engines["lexical"] == "lexical"


def test_the_bundled_judges_are_listed_and_named_in_the_help() -> None:
    runner = CliRunner()
    for option in ("--list", "--help"):
        result = runner.invoke(cli, ["judge", option])
        assert result.exit_code == 0
        for name in ("gpt-5-mini", "local-vllm", "lexical", "embedding"):
            assert name in result.stdout


def test_a_budget_that_is_used_up_makes_exit_code_1_and_the_command_goes_on(
    tmp_path: Path, spec_file: str
) -> None:
    items = with_run(tmp_path / "store")
    with OpenAIServer(GOOD) as server:
        options = ("--judge", spec_file, "--base-url", server.base_url)
        first = judged(tmp_path / "store", *options, "--max-calls", "3")
        # Not 75: a batch job would be started again, and spend the budget once more.
        assert first.exit_code == 1, first.output
        assert f"the budget is used up: {2 * items - 3} calls were not made" in first.stdout
        second = judged(tmp_path / "store", *options)
    assert second.exit_code == 0, second.output
    assert len(server.calls) == 2 * items


def test_batches_that_have_not_ended_make_exit_code_75(tmp_path: Path, spec_file: str) -> None:
    items = with_run(tmp_path / "store")
    answer = answered('{"score": 7, "justification": "close"}')
    with BatchServer(lambda line: answer, polls=3) as server:
        options = ("--judge", spec_file, "--base-url", server.base_url, "--batch")
        first = judged(tmp_path / "store", *options, "--no-wait")
        assert first.exit_code == 75, first.output
        assert f"{2 * items} calls are in batches" in first.stdout
        status = CliRunner().invoke(
            cli, ["judge", "status", "--store", str(tmp_path / "store"), "--json"]
        )
        (batch,) = json.loads(status.stdout)["batches"]
        assert (batch["id"], batch["requests"]) == ("batch_0", 2 * items)
        second = judged(tmp_path / "store", *options)
    assert second.exit_code == 0, second.output
    assert "batch batch_0: completed" in second.stderr


def test_not_to_wait_is_for_batches(tmp_path: Path, spec_file: str) -> None:
    with_run(tmp_path / "store")
    result = judged(tmp_path / "store", "--judge", spec_file, "--no-wait")
    assert result.exit_code == 2
    assert "--batch" in result.stderr


@pytest.mark.parametrize("usd", ["nan", "inf", "-1"])
def test_a_limit_of_dollars_that_is_none_is_refused(tmp_path: Path, usd: str) -> None:
    with_run(tmp_path / "store")
    result = judged(tmp_path / "store", "--judge", "gpt-5-mini", "--dry-run", "--max-cost", usd)
    assert result.exit_code == 2
    assert "--max-cost" in result.stderr


def test_half_an_address_is_refused(tmp_path: Path, spec_file: str) -> None:
    with_run(tmp_path / "store")
    result = judged(
        tmp_path / "store", "--judge", spec_file, "--dry-run", "--base-url", "http://[::1/v1"
    )
    assert isinstance(result.exception, SpecError)
    assert "--base-url" in str(result.exception)


def test_a_dry_run_says_what_the_budget_allows(tmp_path: Path) -> None:
    items = with_run(tmp_path / "store")
    dry = ("--judge", "gpt-5-mini", "--dry-run")
    result = judged(tmp_path / "store", *dry, "--max-calls", "3")
    assert "to do   3 calls" in result.stdout
    assert f"the budget is used up: {2 * items - 3} calls were not made" in result.stdout
    result = judged(tmp_path / "store", *dry, "--max-cost", "0.000001")
    assert "to do   0 calls" in result.stdout
    assert "a call is expected to cost" in result.stdout


def test_the_next_command_names_the_judge_as_this_one_did(tmp_path: Path, spec_file: str) -> None:
    with_run(tmp_path / "store")
    scored = ("score", "demo", "--store", str(tmp_path / "store"), "--out", str(tmp_path / "out"),
              "--no-similarity", "--judge", spec_file)  # fmt: skip
    before = CliRunner().invoke(cli, scored)
    assert f"first run rejudge judge demo --store {tmp_path / 'store'} --judge {spec_file}" in (
        before.stdout
    )
    with OpenAIServer(GOOD) as server:
        done = judged(tmp_path / "store", "--judge", spec_file, "--base-url", server.base_url)
    assert f"--judge {spec_file} --out DIR" in done.stdout
    after = CliRunner().invoke(cli, scored)
    assert after.exit_code == 0
    assert "first run" not in after.stdout


@pytest.mark.parametrize("second", ["lexical", "twin"])
def test_two_judges_of_one_name_are_refused(tmp_path: Path, spec_file: str, second: str) -> None:
    with_run(tmp_path / "store")
    first = "lexical"
    if second == "twin":
        first, second = spec_file, str(tmp_path / "twin.toml")
        (tmp_path / "twin.toml").write_text(SPEC.replace("some-", "other-"), encoding="utf-8")
    names = ("--store", str(tmp_path / "store"), "--judge", first, "--judge", second)
    out = ("--out", str(tmp_path / "out"), "--no-similarity")
    for words in (["score", "demo", *names, *out], ["judge", "status", *names]):
        result = CliRunner().invoke(cli, words)
        assert isinstance(result.exception, SpecError), result.output
        assert f"stands twice: --judge {first} and --judge {second}" in str(result.exception)
    assert not (tmp_path / "out").exists()
