"""The batch scripts: sound shell, and no option that sbatch, srun, ray or rejudge does not have."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import rejudge
from slurm.script import options_of
from slurm.stage import SCRIPTS

SCRIPT_FILES = sorted(SCRIPTS.glob("*.sbatch"))
SHELL_FILES = [*SCRIPT_FILES, *sorted(SCRIPTS.glob("*.sh"))]


def needed(command: str, package: str) -> str:
    found = shutil.which(command)
    if found is None:
        missing = f"no {command}: apt-get install {package}"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    return found


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
    words = [needed(command, "slurm-client"), option, "--version"]
    return subprocess.run(words, capture_output=True, env=os.environ | environ).returncode == 0


def options(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", text))


def test_shellcheck_finds_nothing() -> None:
    shellcheck = needed("shellcheck", "shellcheck")
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
