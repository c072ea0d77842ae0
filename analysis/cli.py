"""Commands of analysis."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from rejudge import emit, json_option


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--paper", default="sonic-o1", show_default=True, help="Whose tables.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["markdown", "latex", "html", "csv"]),
    default="markdown",
    show_default=True,
    help="What to write. LaTeX needs the booktabs package.",
)
@click.option(
    "--out", type=click.Path(path_type=Path), help="Folder for one file a table; else stdout."
)
@click.option(
    "--table", "names", multiple=True, help="A table by name or number (main, A5); else all."
)
@click.option("--judge", help="Whose verdicts are shown, where the scores have several judges'.")
@click.option("--published", is_flag=True, help="Show the paper's own values as further rows.")
@click.option(
    "--reading",
    type=click.Choice(["scored-only", "failures-as-wrong"]),
    default="scored-only",
    show_default=True,
    help="How answers without a score enter a mean.",
)
@json_option
def tables(
    folder: Path,
    paper: str,
    form: str,
    out: Path | None,
    names: tuple[str, ...],
    judge: str | None,
    published: bool,
    reading: str,
    as_json: bool,
) -> None:
    """Print a paper's tables from scores.

    DIR is what rejudge score wrote. Best of a column is bold, second underlined; notes under each
    table say how many answers each mean is of, who judged, and why a cell is empty.

    Example: rejudge tables ./scores --paper sonic-o1 --table main --format latex --out ./tables
    """
    from analysis.build import build_tables
    from analysis.render import Format, render, write_tables
    from analysis.scores import load_scores
    from analysis.spec import load_paper
    from analysis.table import Choice, Reading

    scores = load_scores(folder)
    choice = Choice(scores.chosen_judge(judge), Reading(reading), published)
    built = build_tables(load_paper(paper), names, scores, choice)
    files = [] if out is None else write_tables(built, Format(form), out)
    shown = "\n".join(map(str, files)) if files else render(built, Format(form)).rstrip("\n")
    emit({"tables": [asdict(t) for t in built], "files": files}, shown, as_json=as_json)
