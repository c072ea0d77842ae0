"""``rejudge report``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from rejudge import data_option, emit, json_option, track


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    help="Folder of the report: new, empty, or an earlier report's.",
)
@click.option(
    "--store", type=click.Path(path_type=Path), help="The store that was scored, for raw answers."
)
@data_option
@json_option
def report(folder: Path, out: Path, store: Path | None, data: Path | None, as_json: bool) -> None:
    """Write a report that a browser opens from disk.

    DIR is what rejudge score wrote. The report has the leaderboard, slices, comparisons (written
    below DIR by rejudge compare --out), agreement of judges, failures, and every answer.

    Example: rejudge report ./scores --store ./store --out ./report
    """
    from analysis.report.site import make_report

    made = make_report(folder, out, store=store, data=data, track=track)
    size = f"{made.n_items} items, {made.n_answers} answers, {made.n_bytes / 1e6:.1f} MB"
    text = "\n".join([f"{made.index}  ({size} in {made.n_files} files)", *made.notes])
    emit(asdict(made), text, as_json=as_json)
