"""Commands of analysis."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rejudge import data_option, emit, json_option

if TYPE_CHECKING:
    from analysis.table import Table


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--paper", help="Whose tables. Default: the one that has the scores' tasks.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["markdown", "latex", "html", "csv"]),
    default="markdown",
    show_default=True,
    help="What to write. LaTeX needs booktabs, and xcolor where the worst is highlighted.",
)
@click.option(
    "--out", type=click.Path(path_type=Path), help="Folder for one file a table; else stdout."
)
@click.option(
    "--table", "names", multiple=True, help="A table by name or number (main, A5); else all."
)
@click.option(
    "--run",
    "runs",
    multiple=True,
    metavar="NAME[=LABEL]",
    help="A run to show, in this order and under this label; else all, by name.",
)
@click.option("--judge", help="Whose verdicts are shown, where the scores have several judges'.")
@click.option("--published", is_flag=True, help="Show the paper's own values beside.")
@click.option(
    "--intervals",
    type=click.Choice(["none", "plus-minus", "brackets"]),
    default="none",
    show_default=True,
    help="Show the 95% interval of each mean: ± half its length, or both limits.",
)
@click.option("--baseline", default="", help="A run: mark what differs from it significantly.")
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
    paper: str | None,
    form: str,
    out: Path | None,
    names: tuple[str, ...],
    runs: tuple[str, ...],
    judge: str | None,
    published: bool,
    intervals: str,
    baseline: str,
    reading: str,
    as_json: bool,
) -> None:
    """Print a paper's tables from scores.

    DIR is what rejudge score wrote. Best of a column is bold, second underlined; notes under each
    table say how many answers each mean is of, who judged, and why a cell is empty. With --out, a
    file beside each table says how it was made.

    Example: rejudge tables ./scores --paper sonic-o1 --table main --format latex --out ./tables
    """
    from analysis.build import build_tables
    from analysis.scores import load_scores
    from analysis.selection import labelled, left_out
    from analysis.spec import load_paper, paper_of
    from analysis.table import Choice, Intervals, Reading

    scores = load_scores(folder)
    chosen = scores.chosen_judge(judge)
    shown_runs = labelled(runs, scores)
    choice = Choice(chosen, Reading(reading), published, Intervals(intervals), baseline, shown_runs)
    tasks = set(scores.frame["task"].unique())
    spec = load_paper(paper) if paper else paper_of(tasks)
    built = build_tables(spec, names, scores, choice)
    lacking = {} if names else left_out(spec, scores, choice)
    _show(built, form, out, lacking, as_json=as_json)


@click.command()
@click.argument("benchmark")
@data_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["markdown", "latex", "html", "csv"]),
    default="markdown",
    show_default=True,
    help="What to write.",
)
@click.option(
    "--out", type=click.Path(path_type=Path), help="Folder for one file a table; else stdout."
)
@click.option("--table", "names", multiple=True, help="A table by name or number; else all.")
@click.option("--published", is_flag=True, help="Show the paper's own values as further rows.")
@json_option
def statistics(
    benchmark: str,
    data: Path | None,
    form: str,
    out: Path | None,
    names: tuple[str, ...],
    published: bool,
    as_json: bool,
) -> None:
    """Print a benchmark's statistics from its annotations: items, videos, turns, lengths.

    Example: rejudge tables statistics sonic-o1 --data ./sonic-o1 --published
    """
    from analysis.annotated import statistics_tables
    from analysis.spec import paper_of
    from bench.registry import get

    chosen = get(benchmark)
    items = chosen.load(data)
    paper = paper_of({str(task) for task in chosen.tasks})
    built = statistics_tables(paper, benchmark, items, names, published=published)
    _show(built, form, out, {}, as_json=as_json)


def _show(
    tables: list[Table], form: str, out: Path | None, left_out: dict[str, str], *, as_json: bool
) -> None:
    """Write or print tables; say on stderr which are left out, or too wide for a page."""
    from analysis.render import Format, printed_tables, render, write_tables
    from analysis.width import too_wide

    for name, why in left_out.items():
        click.echo(f"left out: {name}: {why}", err=True)
    files = [] if out is None else write_tables(tables, Format(form), out)
    if form == Format.LATEX:
        for table in filter(too_wide, printed_tables(tables, Format.LATEX)):
            click.echo(
                f"{table.name} is wider than a page: give runs shorter names with --run NAME=LABEL",
                err=True,
            )
    shown = "\n".join(map(str, files)) if files else render(tables, Format(form)).rstrip("\n")
    emit(
        {"tables": [asdict(t) for t in tables], "files": files, "left_out": left_out},
        shown,
        as_json=as_json,
    )
