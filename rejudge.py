"""The front door: the ``rejudge`` command and what its sub-commands share.

Sub-commands live in each package's ``cli`` module and are imported when they are called, so
``rejudge --help`` imports none of the heavy packages. Exit codes: 0 done, 1 some items failed,
2 usage or bad input, 3 something needed is missing, 75 interrupted and resumable. With ``--json``
an error is an object on stdout too: ``{"error": "...", "exit_code": 3}``.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

__version__ = "0.1.0"

T = TypeVar("T")

#: In a context's ``meta``: whether ``--json`` is among the arguments, for options that exit early.
AS_JSON = "rejudge.as_json"

#: name → (module:attribute, one line of help). Shown by ``rejudge --help`` without an import. A
#: name of two words is a companion of a command that itself takes an argument in that place.
COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("analysis.demo:demo", "The whole loop on the bundled benchmark."),
    "bench": ("bench.cli:bench", "List, check and look at benchmarks."),
    "infer": ("infer.cli:infer", "Run a model over a benchmark; raw answers go to the store."),
    "infer models": ("infer.models_cli:models", "List the models and what they need."),
    "cache": ("cache.cli:cache", "Look at, verify and move what the store holds."),
    "judge": ("score.judge.cli:judge", "Let a judge grade stored answers."),
    "judge status": ("score.judge.status_cli:status", "Say how judges stand with all runs."),
    "score": ("score.cli:score", "Score stored answers; no model is called."),
    "score explain": ("score.cli:explain", "Explain how one item of a run was scored."),
    "score import": ("score.judged_cli:import_judged", "Take in OmniAssistBench's judged files."),
    "score export": ("score.judged_cli:export_judged", "Write a judged file of OmniAssistBench."),
    "compare": ("score.compare_cli:compare", "Compare runs with a baseline, with intervals."),
    "agree": ("score.agree_cli:agree", "Measure how far judges agree, with intervals."),
    "tables": ("analysis.cli:tables", "Print the papers' tables from scores."),
    "tables statistics": ("analysis.cli:statistics", "Print what a benchmark's annotations hold."),
    "figures": ("analysis.figures.cli:figures", "Draw figures of scores, for paper and page."),
    "report": ("analysis.report.cli:report", "Write a report that a browser opens from disk."),
    "slurm": ("slurm.cli:slurm", "Submit all of it to a cluster, and say how it stands."),
    "doctor": ("analysis.doctor:doctor", "Say what this machine has and what it lacks."),
}


class LazyGroup(click.Group):
    """A click group that imports a sub-command when it is called, not when it is listed."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse empty values, which a script's unset variable leaves behind.

        As a folder, an empty text would be the current one.
        """
        for before, arg in zip(["", *args], args, strict=False):
            name = before if before.startswith("-") else "an argument"
            if not arg.strip():
                ctx.fail(f"the value of {name} is empty: give one, or leave it out")
            if arg.startswith("--") and arg.endswith("="):
                ctx.fail(f"the value of {arg[:-1]} is empty: give one, or leave it out")
        ctx.meta[AS_JSON] = "--json" in args
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of the work."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import the command's module and return the command."""
        if name not in COMMANDS:
            return None
        module, attribute = COMMANDS[name][0].split(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find names of two words first; answer an unknown name with the known ones."""
        if " ".join(args[:2]) in COMMANDS:
            return super().resolve_command(ctx, [" ".join(args[:2]), *args[2:]])
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"no command {args[0]!r}; there are: {', '.join(COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from the table, importing none."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="rejudge")
def cli() -> None:
    """Run omni-modal inference once; score it as often as you like.

    Example: rejudge infer demo --model captions --store ./store
    """


def _check_data(_: click.Context, __: click.Parameter, folder: Path | None) -> Path | None:
    if folder is not None and not folder.is_dir():
        from bench.errors import DataMissing

        what = "is not a folder" if folder.exists() else "is not there"
        raise DataMissing(f"{folder} {what}: --data takes the folder of the benchmark's data")
    return folder


data_option = click.option(
    "--data",
    type=click.Path(path_type=Path),
    callback=_check_data,
    help="Folder of the benchmark's data. The bundled benchmarks need none.",
)
store_option = click.option(
    "--store", required=True, type=click.Path(path_type=Path), help="Folder of the store."
)
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print the result as one JSON object."
)


def emit(result: Mapping[str, Any], text: str | Callable[[], str], *, as_json: bool) -> None:
    """Print a command's result on stdout: for people, or with ``--json`` for machines."""
    if as_json:
        click.echo(json.dumps(result, ensure_ascii=False, indent=2, default=str))
    else:
        click.echo(text if isinstance(text, str) else text())


def track(
    rows: Iterable[T], total: int, what: str | Callable[[], str], every_s: float = 30.0
) -> Iterator[T]:
    """Yield ``rows`` unchanged and show on stderr how far they are.

    A bar with the time left on a terminal; elsewhere a line every ``every_s`` seconds. A function
    that says what they are is called each time.
    """
    from rich.console import Console
    from rich.progress import Progress

    def said() -> str:
        return what if isinstance(what, str) else what()

    console = Console(stderr=True)
    if console.is_terminal:
        columns = (*Progress.get_default_columns(), "{task.completed}/{task.total}")
        with Progress(*columns, console=console, transient=True) as progress:
            task = progress.add_task(said(), total=total)
            for row in rows:
                progress.update(task, advance=1, description=said())
                yield row
        return
    began = last = 0.0
    for done, row in enumerate(rows):
        now = time.monotonic()
        if done == 0:
            began = last = now  # loading a model is no measure of its speed
        elif now - last >= every_s:
            last = now
            left_s = (now - began) / done * (total - done)
            console.print(f"{said()}: {done} of {total}, {left_s:.0f} s left", highlight=False)
        yield row


def main() -> None:
    """Run the command; a usage error or a package's own becomes one message and its exit code."""
    if sys.stdout is None:  # closed by whoever started us: work is done, results go nowhere
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115 - until the process ends
    try:
        code = _run()
        sys.stdout.flush()
    except OSError:
        if not (why := _unwritable()):
            raise
        click.echo(f"rejudge: the result cannot be written to stdout: {why}", err=True)
        code = 3
    sys.exit(code)


def _run() -> int:
    """Run the command; say what went wrong to people, and with ``--json`` to machines too."""
    try:
        return cli(prog_name="rejudge", standalone_mode=False) or 0
    except click.ClickException as error:
        error.show()
        message, code = error.format_message(), error.exit_code
    except Exception as error:
        stopped = isinstance(error, click.Abort)
        if not stopped and not hasattr(error, "exit_code"):
            raise
        message = "stopped by Ctrl-C" if stopped else str(error)
        code = int(getattr(error, "exit_code", 1))
        click.echo(f"rejudge: {message}", err=True)
    if "--json" in sys.argv[1:]:
        emit({"error": message, "exit_code": code}, "", as_json=True)
    return code


def _unwritable() -> str:
    """Why stdout takes nothing, told by a line more on it; empty where it does."""
    try:
        os.write(sys.stdout.fileno(), b"\n")
    except OSError as error:
        # What is left in its buffer must go somewhere, or Python complains when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return error.strerror or str(error)
    return ""


if __name__ == "__main__":
    main()
