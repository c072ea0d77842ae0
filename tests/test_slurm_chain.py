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
from slurm.errors import ChainError, SlurmUnavailable, SubmissionDamaged
from slurm.load import load_chain
from slurm.script import options_of, render, settings_of
from slurm.stage import SCRIPTS, Stage, make_stages
from slurm.submit import submit

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
        ('[slurm]\noptions = ["--qos=a\\ntouch x"]\n', "slurm.options[0]: '--qos=a\\ntouch x'"),
        ('[slurm]\npartition = "gpu\\ntouch x"\n', "slurm.partition: 'gpu\\ntouch x': it cannot"),
        ("[slurm]\naccount = 'a\"b'\n", "slurm.account: 'a\"b': it cannot hold"),
        ('store = "a\\nb"\n', "it cannot hold '\\n'"),
        ("store = 'a\"b'\n", "store: "),
        ("store = 'a\\b'\n", "it cannot hold '\\\\'"),
        ('name = "mine\\n"\n', "name: 'mine\\n': it cannot hold"),
        ('[score]\nprofile = "typo"\n', "score.profile: no profile 'typo'; there are: strict"),
        ('[score]\nprecision = "int4"\n', "score.precision: no precision 'int4'"),
        ('[score]\nencoder = "nowhere"\n', "nowhere is not a folder"),
        ('[score]\ndictionary = "absent.dic"\n', "score.dictionary: "),
        ('[report]\nformats = ["docx"]\n', "no format 'docx'; there are: markdown, latex, html"),
        ("[report]\nformats = []\n", "report.formats: Expected `array` of length >= 1"),
        ('[report]\njudge = "lexical"\n', "no judge of the chain; it has: none"),
        ('[[infer]]\nmodel = "captions"\nrun = "../x"\n', "infer.run: '../x' cannot name a run"),
        ('[[infer]]\nmodel = "captions"\nrun = \'a"b\'\n', "infer.run: 'a\"b': it cannot hold"),
        ('[score]\ntime = "00:00:00"\n', "score.time: '00:00:00' is no time"),
        ('[score]\ntime = "0-00"\n', "to sbatch it means no limit"),
        ("[slurm]\nwarning_s = 1800\n", "report.time: '00:30:00' is 1800 s, and SLURM warns the"),
        ('[score]\ntime = "soon"\n', "score.time: Expected `str` matching regex"),
        ('[score]\nmemory = "64 GB"\n', "(a size, such as 64G)"),
        ('[[infer]]\nmodel = "chance"\n', "infer.run: 'demo-chance' stands twice"),
        ('[[infer]]\nmodel = "nope"\n', "no model 'nope'"),
        ('[[infer]]\nmodel = "captions"\nshards = 0\n', "infer[1].shards: Expected `int` >= 1"),
        ('[[infer]]\nmodel = "captions"\ntasks = ["poem"]\n', "demo has no poem; it has summary"),
        (
            '[[infer]]\nmodel = "captions"\nteacher_forcing = true\n',
            "it is for dialogues; this asks",
        ),
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


@pytest.mark.parametrize(
    ("time", "seconds"),
    [("3", 180), ("2:59", 179), ("0:02:00", 120), ("0-0:03", 180), ("0-00:01:30", 90)],
)
def test_a_job_that_is_warned_before_it_has_started_is_refused_with_both_numbers(
    time: str, seconds: int, tmp_path: Path
) -> None:
    with pytest.raises(ChainError, match=rf"infer\[0\].time: .* is {seconds} s, .* 120 s before"):
        chain(tmp_path, LEAST + f'time = "{time}"\n')


@pytest.mark.parametrize("time", ["4", "3:01", "0:03:01", "1-0", "0-0:04", "0-00:03:01"])
def test_each_way_to_write_a_time_that_is_long_enough_is_taken(time: str, tmp_path: Path) -> None:
    assert chain(tmp_path, LEAST + f'time = "{time}"\n').infer[0].time == time


def test_a_file_whose_name_cannot_be_the_chains_is_told_apart_from_a_name(tmp_path: Path) -> None:
    path = tmp_path / "ch it's A.toml"
    path.write_text(LEAST)
    with pytest.raises(ChainError, match=r"the file's name, \"ch it's A\", cannot be the chain's"):
        load_chain(path)

    path.write_text('name = "good"\n' + LEAST)
    assert load_chain(path).name == "good"


def test_more_gpus_than_the_jobs_get_are_refused_with_both_numbers(tmp_path: Path) -> None:
    card = (SCRIPTS.parent / "infer" / "models" / "chance.toml").read_text()
    (tmp_path / "big.toml").write_text(card.replace("[resources]\n", "[resources]\ngpus = 4\n"))
    text = LEAST.replace('"chance"', '"big.toml"')

    with pytest.raises(ChainError, match=r"asks for 4 GPU\(s\), the job has 2"):
        chain(tmp_path, text + "gpus = 2\n")
    assert stages(tmp_path, text)["infer demo-chance"].options["gres"] == "gpu:4"
    across = stages(tmp_path, text + "nodes = 2\n")["infer demo-chance"]
    assert (across.script, across.options["gres"]) == ("infer-multinode.sbatch", "gpu:2")


def test_teacher_forcing_is_another_run(tmp_path: Path) -> None:
    dialogues = LEAST.replace('"demo"', '"demo-assistant"')
    found = stages(tmp_path, dialogues + "teacher_forcing = true\n")
    [name] = [name for name in found if name.startswith("infer")]
    assert name != "infer demo-assistant-chance"
    assert "--teacher-forcing" in found[name].settings["OPTIONS"]


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


def commands(folder: Path, **scripts: str) -> dict[str, str]:
    """Commands of a cluster that say what they are told to; return the environment with them."""
    for name, body in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{body}\n")
        (folder / name).chmod(0o755)
    return {"PATH": f"{folder}:/bin:/usr/bin"}


def test_more_parts_than_an_array_has_are_refused_before_anything_is_submitted(
    tmp_path: Path,
) -> None:
    environ = commands(tmp_path, scontrol="echo 'MaxArraySize            = 1001'", sbatch="echo 7")

    with pytest.raises(ChainError, match=r"infer.shards: 1001 parts are more .* takes, 1000"):
        submit(chain(tmp_path, LEAST + "shards = 1001\n"), environ)
    assert not (tmp_path / "store.slurm").exists()
    assert submit(chain(tmp_path, LEAST + "shards = 1000\n"), environ).jobs == ["7", "7", "7"]


def test_what_sbatch_refuses_is_said_with_the_stage_and_what_it_asks_for(tmp_path: Path) -> None:
    refusal = "sbatch: error: Memory specification can not be satisfied"
    environ = commands(tmp_path, scontrol="exit 1", sbatch=f"echo '{refusal}' >&2; exit 1")

    with pytest.raises(SlurmUnavailable) as caught:
        submit(chain(tmp_path, LEAST + 'memory = "900T"\n'), environ)
    for part in ("stage infer demo-chance: sbatch failed", refusal, "mem=900T", "script.sbatch"):
        assert part in str(caught.value)


def test_a_damaged_record_of_a_submission_is_said_with_its_file(tmp_path: Path) -> None:
    environ = commands(tmp_path, scontrol="exit 1", sbatch="echo 7")
    made = chain(tmp_path)
    submit(made, environ)
    path = made.folder / "submission.json"

    for damaged in (path.read_bytes()[:99], b"\xff\xfe", b"[]"):
        path.write_bytes(damaged)
        with pytest.raises(SubmissionDamaged, match=r"submission.json is damaged"):
            submit(made, environ)
        done = CliRunner().invoke(cli, ["slurm", "status", str(tmp_path / "mine.toml")])
        assert isinstance(done.exception, SubmissionDamaged)
    path.unlink()
    assert submit(made, environ).jobs == ["7", "7", "7"]


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
