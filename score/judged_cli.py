"""``rejudge score import`` and ``rejudge score export``: judged files of OmniAssistBench."""

from __future__ import annotations

from pathlib import Path

import click

from rejudge import data_option, emit, json_option


@click.command("import")
@click.argument("benchmark")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@data_option
@click.option("--judge", required=True, help="Name of the judge that wrote the files.")
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), help="Folder for the scores."
)
@json_option
def import_judged(
    benchmark: str,
    files: tuple[Path, ...],
    data: Path | None,
    judge: str,
    out: Path,
    as_json: bool,
) -> None:
    """Take in judged files of OmniAssistBench's own evaluation; a file's name is its run.

    The files are kept in the folder, so that `score export` gives them back as they were.

    Example: rejudge score import omniassist judged/*.csv --data DIR --judge gpt-5 --out ./scores
    """
    from bench import registry
    from score.assistant import means_of, means_text
    from score.judged import keep, read_runs
    from score.judged_scores import scores_of
    from score.output import write

    items = registry.get(benchmark).load(data)
    read = read_runs(files)
    found = scores_of(read, items, judge, benchmark)
    for run, rows in read.items():
        keep(rows, run, out)
    write(found, out)
    means = means_of(found)
    emit(
        {"out": str(out), "assistant": means.to_dicts(), "signature": found.signature},
        lambda: means_text(means),
        as_json=as_json,
    )


@click.command("export")
@click.argument("benchmark")
@click.argument("scores", type=click.Path(path_type=Path, exists=True, file_okay=False))
@data_option
@click.option("--run", required=True, help="The run.")
@click.option("--judge", required=True, help="The judge.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The file to write.")
@json_option
def export_judged(
    benchmark: str,
    scores: Path,
    data: Path | None,
    run: str,
    judge: str,
    out: Path,
    as_json: bool,
) -> None:
    """Write what a judge said of a run as a judged file of OmniAssistBench.

    Turns without a reply, or not judged yet, have no row.

    Example: rejudge score export omniassist ./scores --run R --judge gpt-5 --out judged.csv
    """
    from bench import registry
    from score.judged import is_scored, kept, load_verdicts, rows_of, write_judged

    items = registry.get(benchmark).load(data)
    rows = kept(scores, run, judge)
    if rows is None:
        rows = rows_of(load_verdicts(scores, judge), items, run, judge)
    there = {row.item for row in rows}
    left_out = sum(is_scored(item) and item.id not in there for item in items)
    write_judged(rows, out)
    emit(
        {"out": str(out), "rows": len(rows), "left_out": left_out},
        lambda: f"{len(rows)} rows in {out}; {left_out} turn(s) have none: no reply, or not judged",
        as_json=as_json,
    )
