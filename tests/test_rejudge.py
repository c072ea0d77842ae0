"""The front door: light to open, every command explained, usable without what is not needed."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess
from typing import IO

import click
import pytest
from click.testing import CliRunner

import rejudge
from cache.store import Store
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


def rejudge_called(*words: str, stdout: int | IO[bytes] = subprocess.PIPE) -> CompletedProcess:
    code = f"import sys, rejudge\nsys.argv = ['rejudge', *{list(words)!r}]\nrejudge.main()"
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, stdout=stdout, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize(
    ("words", "exit_code", "says"),
    [
        (["bench", "check", "demmo"], 2, "no benchmark 'demmo'; there are: demo"),
        (["bench", "check", "sonic-o1"], 3, "sonic-o1 is not bundled"),
        (["infre"], 2, "no command 'infre'"),
        (["bench", "check"], 2, "Missing argument 'BENCH'"),
    ],
)
def test_with_json_an_error_is_an_object_on_stdout_too(
    words: list[str], exit_code: int, says: str
) -> None:
    ran = rejudge_called(*words, "--json")
    found = json.loads(ran.stdout)
    assert (ran.returncode, found["exit_code"]) == (exit_code, exit_code)
    assert says in found["error"]
    assert says in ran.stderr
    assert rejudge_called(*words).stdout == ""


@pytest.mark.parametrize(
    "words", [["bench", "list"], ["bench", "list", "--json"], ["--help"], ["infre", "--json"]]
)
def test_a_stdout_that_takes_nothing_is_named_and_ends_with_3(words: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        ran = rejudge_called(*words, stdout=full)
    assert ran.returncode == 3
    assert "the result cannot be written to stdout: No space left on device\n" in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--store", "", "--out", "x"], "--store"),
        (["--store", "x", "--out", "x", "--run", " "], "--run"),
        (["--store=", "--out", "x"], "--store"),
        (["--data", "", "--store", "x", "--out", "x"], "--data"),
    ],
)
def test_an_empty_value_is_refused_and_never_the_current_folder(
    words: list[str], named: str
) -> None:
    result = CliRunner().invoke(cli, ["score", "demo", *words])
    assert result.exit_code == 2
    assert f"the value of {named} is empty" in result.output


@pytest.mark.parametrize(
    "words",
    [
        ["bench", "list"],
        ["bench", "check", "sonic-o1"],
        ["bench", "check", "demo"],
        ["score", "sonic-o1", "--store", "nowhere", "--out", "nowhere"],
        ["judge", "sonic-o1", "--store", "nowhere", "--judge", "lexical"],
        ["score", "explain", "sonic-o1", "x", "--store", "nowhere", "--run", "r"],
    ],
    ids=lambda words: words[0],
)
def test_a_data_folder_that_is_named_must_be_there(words: list[str], tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, [*words, "--data", str(tmp_path / "nodata")])
    assert getattr(result.exception, "exit_code", None) == 3
    assert f"{tmp_path / 'nodata'} is not there" in str(result.exception)


@pytest.mark.parametrize(
    "words",
    [
        ["score", "nope", "--out", "x"],
        ["judge", "nope", "--judge", "lexical"],
        ["score", "explain", "nope", "summary/01/001", "--run", "r"],
    ],
    ids=lambda words: words[0],
)
def test_an_unknown_benchmark_is_answered_with_the_known_before_runs_are_looked_at(
    words: list[str], tmp_path: Path
) -> None:
    Store(tmp_path / "store", create=True).close()
    result = CliRunner().invoke(cli, [*words, "--store", str(tmp_path / "store")])
    assert "no benchmark 'nope'; there are: demo, " in str(result.exception)


def test_the_example_of_explain_names_the_run_that_the_example_of_infer_makes() -> None:
    import infer.cli
    import score.cli

    assert "rejudge infer demo --model captions" in str(infer.cli.infer.help)
    assert "--run demo-captions" in str(score.cli.explain.help)
