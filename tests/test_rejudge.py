"""The front door: light to open, every command explained, usable without what is not needed."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import rejudge
from rejudge import COMMANDS, cli

ROOT = Path(__file__).parent.parent
HEAVY = ("ray", "torch", "vllm", "transformers", "sentence_transformers", "decord", "librosa", "av")
#: Packages of the `infer` extra that the rest of the project must do without.
INFER_ONLY = ("ray", "vllm", "decord", "librosa", "av")


def commands() -> list[tuple[str, click.Command]]:
    """Every command with its whole name, sub-commands included."""
    found: list[tuple[str, click.Command]] = []
    for name, (where, _) in COMMANDS.items():
        module, attribute = where.split(":")
        command = getattr(importlib.import_module(module), attribute)
        found.append((name, command))
        if isinstance(command, click.Group):
            found += [(f"{name} {sub}", inner) for sub, inner in command.commands.items()]
    return found


def test_help_lists_every_command_and_imports_no_package_of_ours() -> None:
    code = (
        "import sys, rejudge\n"
        "try:\n    rejudge.cli(['--help'], prog_name='rejudge')\nexcept SystemExit:\n    pass\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    ran = run_python(code)

    assert all(name in ran.stdout for name in COMMANDS)
    loaded = set(ran.stderr.replace("'", "").strip("[]\n").split(", "))
    assert not loaded & {*HEAVY, "polars", "numpy", "bench", "cache", "infer", "score", "analysis"}


@pytest.mark.parametrize("module", sorted({where.split(":")[0] for where, _ in COMMANDS.values()}))
def test_no_cli_module_loads_a_heavy_package(module: str) -> None:
    ran = run_python(f"import sys, {module}\nprint([m for m in {HEAVY!r} if m in sys.modules])")

    assert ran.stdout.strip() == "[]"


@pytest.mark.parametrize(("name", "command"), commands(), ids=lambda value: str(value))
def test_every_command_has_help_with_an_example(name: str, command: click.Command) -> None:
    assert command.help
    if not isinstance(command, click.Group):
        assert f"Example: rejudge {name}" in " ".join(command.help.split())


def test_an_unknown_command_is_answered_with_the_known() -> None:
    result = CliRunner().invoke(cli, ["infre"])

    assert result.exit_code == 2
    assert "there are: demo, bench, infer" in result.output


def test_the_version_is_that_of_the_distribution() -> None:
    from importlib.metadata import version

    assert version("rejudge") == rejudge.__version__


def test_scoring_judging_and_tables_work_without_the_inference_packages(tmp_path: Path) -> None:
    """On a laptop with the base and `embed` installs only, a store is scored and judged."""
    from tests.builders import answered_demo_store

    store = answered_demo_store(tmp_path / "store")
    scores = str(tmp_path / "scores")
    steps = [
        ["judge", "demo", "--store", str(store), "--judge", "lexical"],
        ["judge", "demo", "--store", str(store), "--judge", "embedding"],
        ["score", "demo", "--store", str(store), "--out", scores, "--judge", "lexical"],
        ["tables", scores, "--format", "markdown"],
        ["cache", "stats", "--store", str(store)],
    ]
    for step in steps:
        ran = run_python(
            "import sys\n"
            f"for name in {INFER_ONLY!r}:\n    sys.modules[name] = None\n"
            f"import rejudge\nsys.argv = ['rejudge', *{step!r}]\nrejudge.main()",
            check=False,
        )
        assert ran.returncode == 0, ran.stderr


def test_inference_without_its_packages_names_the_extra(tmp_path: Path) -> None:
    ran = run_python(
        "import sys\nsys.modules['ray'] = None\nimport rejudge\n"
        "sys.argv = ['rejudge', 'infer', 'demo', '--model', 'chance', '--limit', '1',"
        f" '--store', {str(tmp_path / 'store')!r}]\nrejudge.main()",
        check=False,
    )

    assert ran.returncode == 3
    assert "pip install 'rejudge[infer]'" in ran.stderr


def test_json_is_the_only_thing_on_stdout(tmp_path: Path) -> None:
    ran = run_python(
        "import sys, rejudge\nsys.argv = ['rejudge', 'infer', 'demo', '--model', 'chance',"
        f" '--dry-run', '--json', '--store', {str(tmp_path / 'store')!r}]\nrejudge.main()"
    )

    assert json.loads(ran.stdout)["pending"] > 20


def run_python(code: str, *, check: bool = True) -> subprocess.CompletedProcess[str]:
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert not check or ran.returncode == 0, ran.stderr
    return ran
