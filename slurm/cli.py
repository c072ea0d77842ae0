"""``rejudge slurm``: submit a chain of batch jobs, and say how it stands."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import click

from rejudge import emit, json_option

#: Seconds between two looks of ``--wait``: SLURM's controller has others to serve.
_LOOK_AGAIN_S = 15.0

chain_argument = click.argument("chain", metavar="CHAIN.toml", type=click.Path(path_type=Path))


@click.group()
def slurm() -> None:
    """Submit a chain of batch jobs to SLURM, and say how it stands.

    Example: rejudge slurm submit chain.toml
    """


@slurm.command()
@chain_argument
@click.option("--print", "only_print", is_flag=True, help="Print the scripts; submit nothing.")
@json_option
def submit(chain: Path, only_print: bool, as_json: bool) -> None:
    """Submit inference, judges, scores and tables as jobs that wait for each other.

    Parts of the inference that the store answers already are left out, so the same command goes on
    after a failure. Logs, scripts and job ids lie beside the store, in STORE.slurm.

    Example: rejudge slurm submit chain.toml --print
    """
    from msgspec import to_builtins

    from slurm.chain import unset_keys
    from slurm.load import load_chain
    from slurm.submit import render_chain
    from slurm.submit import submit as submit_chain
    from slurm.view import scripts_text, submission_text

    loaded = load_chain(chain)
    for name, judge in unset_keys(loaded, os.environ):
        click.echo(f"{name} is not set here: {judge} must find it in the jobs' env.sh", err=True)
    if only_print:
        rendered = render_chain(loaded)
        scripts = [{"stage": r.stage.name, "parts": r.parts, "script": r.text} for r in rendered]
        emit({"scripts": scripts}, lambda: scripts_text(rendered), as_json=as_json)
        return
    done = submit_chain(loaded)
    text = submission_text(done, str(loaded.folder))
    emit(to_builtins(done), text, as_json=as_json)


@slurm.command()
@chain_argument
@click.option("--wait", is_flag=True, help="Come back when nothing more happens by itself.")
@json_option
def status(chain: Path, wait: bool, as_json: bool) -> None:
    """Say how each stage of a chain stands, what failed and why, and how much is done.

    Exit codes: 0 all is well so far, 1 something failed or was cancelled.

    Example: rejudge slurm status chain.toml
    """
    from slurm.load import read_chain
    from slurm.status import chain_status
    from slurm.submission import read_submission
    from slurm.view import status_text

    submission = read_submission(read_chain(chain))
    found = chain_status(submission)
    while wait and not found.is_over:
        time.sleep(_LOOK_AGAIN_S)
        found = chain_status(submission)
    emit(found.as_dict(), lambda: status_text(found), as_json=as_json)
    sys.exit(0 if found.is_well else 1)
