"""``rejudge compare``: how much better runs are than a baseline, with intervals and tests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rejudge import emit, json_option

if TYPE_CHECKING:
    from score.statistics.folder import Scored


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--baseline", required=True, help="The run that others are compared with.")
@click.option("--candidate", "candidates", multiple=True,
              help="A run to compare; repeat it for more. Default: all others.")  # fmt: skip
@click.option("--metric", "metrics", multiple=True,
              help="A metric of the family; repeatable. Default: the headline ones.")  # fmt: skip
@click.option("--judge", help="Whose verdicts; needed only where there are several judges'.")
@click.option("--by", default="", help="Slices, too: topic, duration, race, gender, age …")
@click.option("--weighting", type=click.Choice(["presence", "count"]), default="presence",
              show_default=True, help="What an item weighs in each of its groups.")  # fmt: skip
@click.option("--against", "reference",
              help="The group that gaps are measured from. Default: the largest.")  # fmt: skip
@click.option("--reading", type=click.Choice(["scored-only", "failures-as-wrong"]),
              default="scored-only", show_default=True, help="How failures count.")  # fmt: skip
@click.option("--mean", type=click.Choice(["over-topics", "over-items"]),
              help="What overall means are taken over. Default: as the benchmark's tables: topics, "
              "but items for OmniAssistBench.")  # fmt: skip
@click.option("--minimum", type=click.IntRange(2), default=10, show_default=True,
              help="Items below which nothing is tested.")  # fmt: skip
@click.option("--level", type=click.FloatRange(0.5, 0.999), default=0.95, show_default=True,
              help="Of the intervals; tests are at 1 − level.")  # fmt: skip
@click.option("--resamples", "n_replicates", type=int, default=10_000, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the draws.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the comparison's files.")
@click.option("--replicates", is_flag=True, help="Write every replicate, too (with --out).")
@json_option
def compare(
    folder: Path, baseline: str, candidates: tuple[str, ...], out: Path | None, as_json: bool,
    **options: Any,
) -> None:  # fmt: skip
    """Compare runs with a baseline, paired by item, resampled by video or dialogue.

    DIR is what rejudge score wrote. The family of overall tests is corrected by Holm's method,
    slices and gaps between groups by Benjamini and Hochberg's.

    Example: rejudge compare ./scores --baseline demo-chance --candidate demo-captions --by duration
    """
    from score.statistics.answer import answer
    from score.statistics.folder import load
    from score.statistics.report import as_dict, as_text, write

    if options["replicates"] and out is None:
        raise click.UsageError("--replicates writes a file: name a folder with --out")
    found = load(folder)
    others = candidates or tuple(run for run in found.runs() if run != baseline)
    options["mean"] = options["mean"] or _usual_mean(found)
    question = _question(baseline, others, options)
    asked = {name: options[name] for name in ("metrics", "judge", "reference", "seed")}
    compared = answer(found, question, n_replicates=options["n_replicates"], **asked)
    if out is not None:
        write(compared, out, replicates=options["replicates"])
    emit(as_dict(compared), lambda: as_text(compared), as_json=as_json)


def _usual_mean(found: Scored) -> str:
    """What the benchmark's own tables take their means over."""
    from bench.registry import is_over_topics

    over_topics = all(map(is_over_topics, found.scores["benchmark"].unique()))
    return "over-topics" if over_topics else "over-items"


def _question(baseline: str, candidates: tuple[str, ...], options: dict[str, Any]) -> Any:
    from score.statistics.compare import Question
    from score.statistics.panel import Reading

    return Question(
        baseline,
        candidates,
        reading=Reading(options["reading"]),
        over_topics=options["mean"] == "over-topics",
        by=options["by"],
        weighting=options["weighting"],
        minimum=options["minimum"],
        level=options["level"],
        keep_replicates=options["replicates"],
    )
