"""The batch scripts: sound shell, and no option that sbatch, srun, ray or rejudge does not have."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from itertools import takewhile
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import rejudge
from slurm.load import load_chain
from slurm.script import options_of, render
from slurm.stage import SCRIPTS, make_stages
from tests.programs import needed

SCRIPT_FILES = sorted(SCRIPTS.glob("*.sbatch"))
SHELL_FILES = [*SCRIPT_FILES, *sorted(SCRIPTS.glob("*.sh"))]


def code(path: Path) -> str:
    """A script without comments, its continued lines joined."""
    lines = [line for line in path.read_text().splitlines() if not line.lstrip().startswith("# ")]
    return re.sub(r"\\\n\s*", "", "\n".join(lines))


def help_of(*words: str) -> str:
    """What a program says of itself; its options are the words that begin with two dashes."""
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def slurm_conf(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Of no cluster: without one sbatch does not even look at its options."""
    conf = tmp_path_factory.mktemp("slurm") / "slurm.conf"
    conf.write_text(
        "ClusterName=none\nSlurmctldHost=localhost\nPlugStackConfig=/dev/null\n"
        "NodeName=n1 CPUs=1\nPartitionName=p Nodes=n1\n"
    )
    return {"SLURM_CONF": str(conf)}


def takes(command: str, option: str, environ: dict[str, str]) -> bool:
    """Whether sbatch or srun knows an option: its help leaves some out."""
    words = [needed(command, packages="slurm-client"), option, "--version"]
    return subprocess.run(words, capture_output=True, env=os.environ | environ).returncode == 0


def options(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", text))


def test_shellcheck_finds_nothing() -> None:
    shellcheck = needed("shellcheck")
    asked = [*map(str, SCRIPT_FILES), str(SCRIPTS / "ray-node.sh")]
    done = subprocess.run(
        [shellcheck, "--external-sources", "--check-sourced", f"--source-path={SCRIPTS}", *asked],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout == ""
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", SCRIPT_FILES, ids=lambda path: path.name)
def test_each_option_of_a_script_exists_in_sbatch(path: Path, slurm_conf: dict[str, str]) -> None:
    asked = options_of(path.read_text())

    assert {"signal", "requeue", "open-mode"} <= set(asked)
    for name, value in asked.items():
        option = f"--{name}={value}" if value else f"--{name}"
        assert takes("sbatch", option, slurm_conf), option
    assert not takes("sbatch", "--no-such-option", slurm_conf)


@pytest.mark.parametrize(
    "option",
    [
        "--parsable",
        "--dependency=afterok:1:2",
        "--kill-on-invalid-dep=yes",
        "--account=a",
        "--partition=p",
        "--mem=64G",
        "--time=1-00:00:00",
        "--gres=gpu:a100:2",
        "--array=1,3%2",
    ],
)
def test_each_option_that_a_chain_adds_exists_in_sbatch(
    option: str, slurm_conf: dict[str, str]
) -> None:
    assert takes("sbatch", option, slurm_conf)


def test_sbatch_reads_odd_folders_and_options_as_they_are_meant(
    tmp_path: Path, slurm_conf: dict[str, str]
) -> None:
    odd = tmp_path / "it's 100%j $HOME #1"
    odd.mkdir()
    (odd / "mine.toml").write_text(
        'benchmark = "demo"\nstore = "store"\nout = "scores"\n[[infer]]\nmodel = "chance"\n'
        'options = ["--comment=a #b"]\npartition = "p #q"\n'
    )
    script = tmp_path / "script.sbatch"
    script.write_text(render(make_stages(load_chain(odd / "mine.toml"))[0]))
    process = subprocess.Popen(
        [needed("sbatch", packages="slurm-client"), "-vvv", str(script)],
        stderr=subprocess.PIPE, text=True, env=os.environ | slurm_conf,
    )  # fmt: skip
    assert process.stderr is not None
    with process, process.stderr as said:
        # It reads its options first, and then looks for a cluster, for long.
        lines = list(takewhile(lambda line: "end of defined options" not in line, said))
        process.kill()

    found = {line.rstrip().split('"', 1)[1][:-1] for line in lines if "Found in script" in line}
    # %% is what sbatch takes for one %, and %a is filled in.
    folder = str(odd).replace("%", "%%")
    log = f"{folder}/store.slurm/mine/infer-demo-chance/%aof1.log"
    assert {f"--output={log}", "--comment=a #b", "--partition=p #q"} <= found


def test_each_option_of_srun_and_ray_exists(slurm_conf: dict[str, str]) -> None:
    text = code(SCRIPTS / "ray.sh")
    start = text.index("ray_node() {")
    ray = {*options(text[start : text.index("\n}", start)]), "--head", "--port", "--address"}
    ray |= {"--include-dashboard", "--ray-client-server-port"}

    assert ray <= options(help_of(f"{Path(sys.executable).parent}/ray", "start", "--help"))
    srun = options(text[text.index("srun ") : text.index("ray-node.sh")])
    assert srun == {"--nodes", "--ntasks", "--exclude", "--cpus-per-task"}
    for option in ("--nodes=1", "--ntasks=1", "--exclude=n1", "--cpus-per-task=2"):
        assert takes("srun", option, slurm_conf)


@pytest.mark.parametrize(
    ("script", "command"),
    [
        ("infer.sbatch", "infer"),
        ("infer.sbatch", "cache seal"),
        ("infer-multinode.sbatch", "infer"),
        ("judge.sbatch", "judge"),
        ("score.sbatch", "score"),
        ("report.sbatch", "tables"),
        ("report.sbatch", "report"),
    ],
)
def test_each_option_of_a_script_exists_in_rejudge(script: str, command: str) -> None:
    text = code(SCRIPTS / script)
    called = re.findall(rf"rejudge {command}\b.*", text)
    called += re.findall(r'attempt "\$\{judge\[@\]\}".*', text) if command == "judge" else []
    asked = set().union(*(options(line) for line in called))

    shown = CliRunner().invoke(rejudge.cli, [*command.split(), "--help"]).output
    assert called
    assert asked <= options(click.unstyle(shown))


def test_each_option_that_a_chain_adds_exists_in_rejudge() -> None:
    text = (SCRIPTS / "stage.py").read_text()
    bodies = dict(
        re.findall(r"\ndef _(infer|judge|score|report)\((.*?)(?=\ndef )", text, re.DOTALL)
    )

    for name, command in {
        "infer": "infer",
        "judge": "judge",
        "score": "score",
        "report": "tables",
    }.items():
        asked = set(re.findall(r'"(--[a-z-]+)"', bodies[name]))
        shown = CliRunner().invoke(rejudge.cli, [command, "--help"]).output
        assert asked
        assert asked <= options(shown), name


def run_job(
    folder: Path, command: str, restart: int = 0, settings: str = ""
) -> tuple[int, list[str]]:
    """Run job.sh without SLURM; return its exit code and the events of all its attempts."""
    (folder / "scontrol").write_text("#!/bin/sh\n")
    (folder / "scontrol").chmod(0o755)
    text = f"BIN= RESTARTS=50 STATE={folder}\n{settings}\nsource {SCRIPTS}/job.sh\nbegin 1of1\n"
    own = {"SLURM_JOB_ID": "7", "SLURM_RESTART_COUNT": str(restart), "SLURMD_NODENAME": "n1"}
    own["PATH"] = f"{folder}:/usr/bin:/bin"
    done = subprocess.run(
        ["bash", "-c", f"{text}attempt bash -c '{command}'\nfinish"], env=own, capture_output=True
    )
    events = (folder / "1of1.events").read_text().splitlines()
    return done.returncode, [json.loads(line)["event"] for line in events]


def test_a_budget_that_is_used_up_ends_a_judges_job_well_and_at_once(tmp_path: Path) -> None:
    command = 'printf "{\\n  \\"called\\": 3,\\n  \\"stopped\\": \\"3 calls\\"\\n}\\n"; exit 1'

    assert run_job(tmp_path, command) == (0, ["started", "ended"])
    assert json.loads((tmp_path / "1of1.json").read_text())["stopped"] == "3 calls"


def test_a_job_that_answers_nothing_between_warnings_is_stopped_after_three_restarts(
    tmp_path: Path,
) -> None:
    warned = "kill -USR1 $PPID; sleep 5"
    attempt = ["started", "signal USR1", "ended", "idle"]

    for restart in range(3):
        assert run_job(tmp_path, warned, restart)[1][-5:] == [*attempt, "requeued"]
    code, events = run_job(tmp_path, warned, 3)
    assert (code, events[-5:]) == (75, [*attempt, "restarted in vain"])


def test_an_answer_between_two_warnings_or_a_batch_lets_a_job_go_on(tmp_path: Path) -> None:
    warned = "kill -USR1 $PPID; sleep 5"
    answered = 'trap "" USR1; printf "{\\n  \\"called\\": 1\\n}"; kill -USR1 $PPID; exit 75'

    for restart in range(5):
        events = run_job(tmp_path, warned, restart, "OPTIONS=(--batch)")[1]
        assert events[-2:] == ["ended", "requeued"]
    for restart, command in enumerate([warned, warned, warned, answered, warned, warned, warned]):
        assert run_job(tmp_path, command, restart)[1][-1] == "requeued"


def test_a_node_that_cannot_tell_when_a_server_is_up_is_refused_at_once(tmp_path: Path) -> None:
    script = f'code=0; . {SCRIPTS}/serve.sh; STATE={tmp_path} part=1of1; serve w n; echo "$code"'
    done = subprocess.run(
        ["/bin/bash", "-c", script],
        capture_output=True,
        text=True,
        env={"PATH": str(tmp_path)},
        timeout=10,
    )
    assert done.stdout == "3\n"
    assert "this node needs curl" in done.stderr


@pytest.mark.parametrize("path", SHELL_FILES, ids=lambda path: path.name)
def test_a_script_says_at_its_top_what_it_is(path: Path) -> None:
    first = [line for line in path.read_text().splitlines() if line.startswith("# ")]
    named = next(line for line in first if "shellcheck" not in line)
    assert named.startswith(f"# {path.name}: ")


def test_the_readme_has_a_row_for_each_script() -> None:
    text = (SCRIPTS / "README.md").read_text()
    for path in SHELL_FILES:
        assert f"`{path.name}`" in text
    for path in SCRIPT_FILES:
        assert f"| `{path.name}` |" in text
