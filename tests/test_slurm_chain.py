"""A chain's file: what it may say, what is refused before a job starts, and what becomes of it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from rejudge import cli
from slurm.chain import Chain
from slurm.errors import ChainError
from slurm.load import load_chain
from slurm.script import options_of, render, settings_of
from slurm.stage import SCRIPTS, Stage, make_stages

LEAST = 'benchmark = "demo"\nstore = "store"\nout = "scores"\n[[infer]]\nmodel = "chance"\n'


def chain(folder: Path, text: str = LEAST) -> Chain:
    path = folder / "mine.toml"
    path.write_text(text)
    return load_chain(path)


def stages(folder: Path, text: str = LEAST) -> dict[str, Stage]:
    return {stage.name: stage for stage in make_stages(chain(folder, text))}


def test_the_least_that_a_chain_says(tmp_path: Path) -> None:
    found = chain(tmp_path)

    assert found.name == "mine"
    assert found.store == str(tmp_path / "store")
    assert [stage.name for stage in make_stages(found)] == ["infer demo-chance", "score", "report"]
    assert found.folder == tmp_path / "store.slurm" / "mine"


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ("store = 3\n", "store: Expected `str`, got `int`"),
        ("colour = 1\n", "unknown field `colour`"),
        ('benchmark = "nope"\n', "no benchmark 'nope'; there are: demo"),
        ('benchmark = "sonic-o1"\n', "data: sonic-o1 is not bundled"),
        ('data = "nowhere"\n', "nowhere is not a folder"),
        ('name = "a b"\n', "name: Expected `str` matching regex"),
        ('[slurm]\nenvironment = "none.sh"\n', "slurm.environment"),
        ('[slurm]\noptions = ["--output=x"]\n', "the chain sets --output itself"),
        ('[slurm]\noptions = ["-p gpu"]\n', "expected --name or --name=value"),
        ('[score]\ntime = "soon"\n', "score.time: Expected `str` matching regex"),
        ('[score]\nmemory = "64 GB"\n', "(a size, such as 64G)"),
        ('[[infer]]\nmodel = "chance"\n', "infer.run: 'demo-chance' stands twice"),
        ('[[infer]]\nmodel = "nope"\n', "no model 'nope'"),
        ('[[infer]]\nmodel = "captions"\nshards = 0\n', "infer[1].shards: Expected `int` >= 1"),
        ('[[infer]]\nmodel = "captions"\ntasks = ["poem"]\n', "demo has no poem; it has summary"),
        ('[[infer]]\nmodel = "captions"\ncpus = 1\n', "infer.cpus: model 'captions' asks for"),
        ('[[infer]]\nmodel = "captions"\ncopy_data = true\n', "there is no data to copy"),
        ('[[judge]]\nname = "nope"\n', "no judge 'nope'"),
        ('[[judge]]\nname = "lexical"\nserve = "x"\ngpus = 1\n', "is a formula"),
        ('[[judge]]\nname = "local-vllm"\nserve = "x"\n', "judge.gpus: vLLM serves"),
    ],
)
def test_what_cannot_be_is_refused_by_name(changed: str, says: str, tmp_path: Path) -> None:
    lines = LEAST.splitlines(keepends=True)
    name = changed.partition(" ")[0]
    if not changed.startswith("["):  # a member of the top: before the tables, once
        kept = [line for line in lines if not line.startswith(f"{name} ")]
        text = changed + "".join(kept)
    else:
        text = LEAST + changed

    with pytest.raises(Exception, match=r".") as caught:
        chain(tmp_path, text)
    assert says in str(caught.value)
    assert getattr(caught.value, "exit_code", 0) in (2, 3)


def test_more_gpus_than_the_jobs_get_are_refused_with_both_numbers(tmp_path: Path) -> None:
    card = (SCRIPTS.parent / "infer" / "models" / "chance.toml").read_text()
    (tmp_path / "big.toml").write_text(card.replace("[resources]\n", "[resources]\ngpus = 4\n"))
    text = LEAST.replace('"chance"', '"big.toml"')

    with pytest.raises(ChainError, match=r"asks for 4 GPU\(s\), the job has 2"):
        chain(tmp_path, text + "gpus = 2\n")
    assert stages(tmp_path, text)["infer demo-chance"].options["gres"] == "gpu:4"
    across = stages(tmp_path, text + "nodes = 2\n")["infer demo-chance"]
    assert (across.script, across.options["gres"]) == ("infer-multinode.sbatch", "gpu:2")


def test_each_stage_waits_for_what_it_needs(tmp_path: Path) -> None:
    found = stages(
        tmp_path,
        LEAST + '[[infer]]\nmodel = "captions"\n[[judge]]\nname = "lexical"\n'
        '[[judge]]\nname = "embedding"\n',
    )

    assert found["judge lexical"].needs == ("infer demo-chance", "infer demo-captions")
    assert found["score"].needs == ("judge lexical", "judge embedding")
    assert found["report"].needs == ("score",)
    judged = found["judge embedding"].settings["OPTIONS"]
    assert judged == ["--run", "demo-chance", "--run", "demo-captions"]


def test_what_a_chain_asks_for_reaches_the_script(tmp_path: Path) -> None:
    text = (
        LEAST + 'shards = 8\nat_once = 2\ngpus = 2\ngpu_type = "a100"\ntime = "1-00:00:00"\n'
        'memory = "90G"\ncpus = 12\npartition = "gpu"\nframes = 16\ntasks = ["choice"]\n'
        'options = ["--qos=long"]\n[slurm]\naccount = "def-me"\nwarning_s = 300\n'
        'options = ["--mail-type=FAIL"]\n'
    )
    stage = stages(tmp_path, text)["infer demo-chance-frames16"]
    script = render(stage)

    asked = options_of(script)
    assert asked["array"] == "1-8%2"
    assert asked["gres"] == "gpu:a100:2"
    assert asked["signal"] == "B:USR1@300"
    assert asked["cpus-per-task"] == "12"
    assert {"account": "def-me", "partition": "gpu", "qos": "long", "mail-type": "FAIL",
            "mem": "90G", "time": "1-00:00:00"}.items() <= asked.items()  # fmt: skip
    assert "--grace 270 --task choice --frames 16" in settings_of(script)["OPTIONS"]
    assert options_of(render(stage, (3, 7)))["array"] == "3,7%2"


@pytest.mark.parametrize("name", sorted(path.name for path in SCRIPTS.glob("*.sbatch")))
def test_a_rendered_script_sets_what_the_script_has_and_nothing_else(
    name: str, tmp_path: Path
) -> None:
    text = LEAST + '[[infer]]\nmodel = "captions"\nnodes = 2\n[[judge]]\nname = "lexical"\n'
    stage = next(stage for stage in stages(tmp_path, text).values() if stage.script == name)
    own, rendered = (SCRIPTS / name).read_text(), render(stage)

    assert set(settings_of(rendered)) == set(settings_of(own))
    ruler = own.rindex("# ---")
    assert rendered.endswith(own[ruler:])


def test_whatever_a_name_holds_stays_one_word(tmp_path: Path) -> None:
    odd = tmp_path / "it's $HOME & `more`"
    odd.mkdir()
    settings = render(stages(odd)["infer demo-chance"]).partition("\nsource")[0]
    read = subprocess.run(
        ["bash", "-c", f'{settings}\nprintf "%s\\n" "$STORE" "${{OPTIONS[1]}}"'],
        capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert read.stdout.splitlines() == [str(odd / "store"), "demo-chance"]


def test_print_shows_the_scripts_and_submits_nothing(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(LEAST + '[[judge]]\nname = "lexical"\n')
    path = str(tmp_path / "mine.toml")

    shown = CliRunner().invoke(cli, ["slurm", "submit", path, "--print"], catch_exceptions=False)
    as_json = CliRunner().invoke(cli, ["slurm", "submit", path, "--print", "--json"])

    assert "--dependency=afterok:<infer demo-chance> <this script>" in shown.output
    assert shown.output.count("#!/bin/bash") == 4
    found: dict[str, Any] = json.loads(as_json.output)
    assert [one["stage"] for one in found["scripts"]] == [
        "infer demo-chance", "judge lexical", "score", "report",
    ]  # fmt: skip
    assert [path.name for path in tmp_path.iterdir()] == ["mine.toml"]


def test_without_slurm_or_a_submission_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.toml").write_text(LEAST)
    monkeypatch.setenv("PATH", "/nowhere")

    for command, code, says in (
        ("submit", 3, "sbatch is not on the PATH"),
        ("status", 2, "not submitted"),
    ):
        done = CliRunner().invoke(cli, ["slurm", command, str(tmp_path / "mine.toml")])
        assert getattr(done.exception, "exit_code", None) == code
        assert says in str(done.exception)


def test_a_key_that_is_not_set_is_said_before_hours_of_inference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.toml").write_text(LEAST + '[[judge]]\nname = "gpt-5-mini"\n')
    words = ["slurm", "submit", str(tmp_path / "mine.toml"), "--print"]

    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert "OPENAI_API_KEY is not set here" in CliRunner().invoke(cli, words).stderr
    monkeypatch.setenv("OPENAI_API_KEY", "sk-something")
    done = CliRunner().invoke(cli, words)
    assert "not set" not in done.stderr
    assert "sk-something" not in done.output
