"""``rejudge figures``: pictures of what ``rejudge score`` wrote."""

from __future__ import annotations

from pathlib import Path

import click

from rejudge import emit, json_option


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), help="Folder for the figures."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["pdf", "svg", "png"]),
    default="pdf",
    show_default=True,
    help="What to write.",
)
@click.option(
    "--figure",
    "names",
    multiple=True,
    help="radar, frames, judges, modality, teacher-forcing, size, errors, distributions, "
    "calibration or gaps; else all.",
)
@click.option("--by", multiple=True, help="An attribute whose gaps are drawn; else all.")
@click.option("--judge", help="Whose verdicts are shown, where the scores have several judges'.")
@click.option(
    "--reading",
    type=click.Choice(["scored-only", "failures-as-wrong"]),
    default="scored-only",
    show_default=True,
    help="How answers without a score enter a mean.",
)
@json_option
def figures(
    folder: Path,
    out: Path,
    form: str,
    names: tuple[str, ...],
    by: tuple[str, ...],
    judge: str | None,
    reading: str,
    as_json: bool,
) -> None:
    """Draw figures of scores: radar, curves, heat maps, bars, gaps, distributions, calibration.

    DIR is what rejudge score wrote. A figure that it has nothing for is left out with its reason;
    one that was asked for is then an error. Beside each stand its Vega-Lite specification and how
    it was made.

    Example: rejudge figures ./scores --out ./figures --figure radar --format pdf
    """
    from analysis.figures.needs import require

    require()
    from analysis.figures.catalogue import Picture, draw, write_figures
    from analysis.figures.figure import Source
    from analysis.scores import load_scores
    from analysis.table import Reading

    scores = load_scores(folder)
    drawn, lacking = draw(Source(scores, scores.chosen_judge(judge), Reading(reading)), names, by)
    written = write_figures(drawn, Picture(form), out)
    text = "\n".join(map(str, written))
    left = "".join(f"\nleft out: {name}: {why}" for name, why in lacking.items())
    emit({"figures": written, "left_out": lacking}, text + left, as_json=as_json)
