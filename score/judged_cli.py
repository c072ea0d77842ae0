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

    Example: rejudge score import omniassist judged/*.csv --data DIR --judge gpt-5 --out ./scores
    """
    from bench import registry
    from score.assistant import means_of, means_text
    from score.judged import read_judged
    from score.judged_scores import scores_of
    from score.output import write

    items = registry.get(benchmark).load(data)
    found = scores_of({path.stem: read_judged(path) for path in files}, items, judge, benchmark)
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

    Example: rejudge score export omniassist ./scores --run R --judge gpt-5 --out judged.csv
    """
    from bench import registry
    from score.judged import judged_text, load_verdicts, rows_of
    from score.output import replace_file

    items = registry.get(benchmark).load(data)
    rows = rows_of(load_verdicts(scores, judge), items, run, judge)
    replace_file(out, lambda path: path.write_text(judged_text(rows), encoding="utf-8"))
    emit(
        {"out": str(out), "rows": len(rows)},
        lambda: f"{len(rows)} rows in {out}",
        as_json=as_json,
    )
