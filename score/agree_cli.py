"""``rejudge agree``: how far judges agree with each other, with people, and with formulas."""

from __future__ import annotations

from pathlib import Path

import click

from rejudge import emit, json_option


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--judge", "judges", multiple=True, required=True,
              help="A judge whose verdicts are in the scores; repeat it.")  # fmt: skip
@click.option("--labels", type=click.Path(path_type=Path), metavar="CSV",
              help="People's labels: item, score; run, metric, rater if needed.")  # fmt: skip
@click.option("--level", type=click.FloatRange(0.5, 0.999), default=0.95, show_default=True,
              help="Of the intervals.")  # fmt: skip
@click.option("--resamples", "n_replicates", type=int, default=10_000, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the draws.")
@json_option
def agree(
    folder: Path,
    judges: tuple[str, ...],
    labels: Path | None,
    level: float,
    n_replicates: int,
    seed: int,
    as_json: bool,
) -> None:
    """Measure how far judges agree on the same answers.

    DIR is what rejudge score wrote, with the verdicts of all these judges. Labels are on the scale
    of the first judge.

    Example: rejudge agree ./scores --judge gpt-5 --judge glm-5 --labels people.csv
    """
    from score.agreement.agree import agree as compare
    from score.agreement.report import as_dict, as_text
    from score.agreement.verdicts import load_verdicts
    from score.statistics.folder import load

    found = compare(
        load(folder), load_verdicts(folder), judges,
        labels=labels, seed=seed, n_replicates=n_replicates, level=level,
    )  # fmt: skip
    emit(as_dict(found), lambda: as_text(found), as_json=as_json)
