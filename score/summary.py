"""What ``rejudge score`` prints: macro means in both readings, with their counts."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bench.item import TaskType
from score.aggregate import item_means, macro_means, topic_means
from score.answers import MISSING, SCORED, STATUSES
from score.precision import FLOAT32
from score.statistics.panel import Reading

if TYPE_CHECKING:
    import polars as pl

    from score.profile import Profile
    from score.scoring import Scores

_FAILURES = tuple(status for status in STATUSES if status != SCORED)


def summarise(found: Scores, profile: Profile) -> list[dict[str, Any]]:
    """Return a row for each run × metric × judge: means over topics and over items, and counts.

    Where intervals were asked for, ``low`` and ``high`` bound ``mean``, and ``low_all`` and
    ``high_all`` bound ``mean_all``; null where one is undefined, and ``undefined`` says why.
    """
    exact = profile.exact_sums
    macro = macro_means(topic_means(found.scores, exact_sums=exact), exact_sums=exact)
    plain = item_means(found.scores, exact_sums=exact).rename(
        {"mean": "item_mean", "mean_all": "item_mean_all"}
    )
    keys = ["run", "task", "metric", "judge"]
    rows = macro.join(
        plain.select(*keys, "item_mean", "item_mean_all"),
        on=keys,
        how="left",
        maintain_order="left",
    )
    if found.estimates is not None:
        for reading, suffix in ((Reading.SCORED_ONLY, ""), (Reading.FAILURES_AS_WRONG, "_all")):
            bounds = _bounds(found.estimates, reading, suffix)
            rows = rows.join(bounds, on=keys, how="left", maintain_order="left")
    counted = rows.join(_statuses(found.scores), on=keys, how="left", maintain_order="left")
    return counted.sort("run", "task", maintain_order=True).to_dicts()


def _bounds(estimates: pl.DataFrame, reading: Reading, suffix: str) -> pl.DataFrame:
    """Return the intervals of the means over topics in one reading."""
    import polars as pl

    whole = estimates.filter(by="", mean="over-topics", reading=str(reading))
    names = {"low": f"low{suffix}", "high": f"high{suffix}", "reason": f"undefined{suffix}"}
    more = ["level", "n_clusters"] if not suffix else []
    return whole.select(
        "run",
        "task",
        "metric",
        "judge",
        *more,
        *(pl.col(old).alias(new) for old, new in names.items()),
    )


def _statuses(scores: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    return scores.group_by("run", "task", "metric", "judge").agg(
        (pl.col("status") == status).sum().alias(status) for status in _FAILURES
    )


def as_text(
    rows: list[dict[str, Any]], signature: Mapping[str, Any], more: Sequence[str] = ()
) -> str:
    """Return the summary as a table for people, with what they must know below it."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("run", "task", "metric", "judge"):
        table.add_column(heading, no_wrap=True)
    for heading in ("mean", "95% interval", "failures wrong", "scored", "expected", *_FAILURES):
        table.add_column(heading.replace("_", " "), justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            *(row[name] for name in ("run", "task", "metric", "judge")),
            _number(row["mean"]),
            _range(row.get("low"), row.get("high")),
            _number(row["mean_all"]),
            str(row["n_scored"]),
            str(row["n_expected"]),
            *(str(row[status] or "") for status in _FAILURES),
        )
    console = Console(width=200, no_color=True, highlight=False)
    with console.capture() as capture:
        console.print(table)
    lines = [line.rstrip() for line in capture.get().splitlines()]
    return "\n".join([*lines, "", *notes(signature), *more])


def notes(signature: Mapping[str, Any]) -> list[str]:
    """Return what a reader of the numbers must know."""
    found = [
        "Means are macro means over topics. mean: of what was scored; failures wrong: of all that "
        "was expected.",
        f"Profile {signature['profile']['name']}.",
    ]
    if drawn := signature.get("resampling"):
        found.append(f"Intervals: {drawn['resamples']} resamples of whole videos or dialogues.")
    asked = {task for run in signature["runs"].values() for task in run["tasks"]}
    if TaskType.EMPATHIC in asked and signature["dictionary"] is None:
        found.append("Empathic summaries are not scored: name their word categories, --dictionary.")
    similarity = signature["similarity"]
    if similarity is None:
        found.append("Similarity was left out.")
    else:
        if similarity["dtype"] != FLOAT32:
            found.append(f"Similarity in {similarity['dtype']}; published numbers are float32.")
        cut = {name: counts for name, counts in similarity["pairs"].items() if counts["truncated"]}
        found += [
            f"{name}: the encoder read only the beginning of a text in {counts['truncated']} of "
            f"{counts['pairs']} pairs."
            for name, counts in cut.items()
        ]
    return found


def unasked(verdicts: pl.DataFrame, judges: Mapping[str, str], command: str) -> list[str]:
    """Say which judges were not asked about all that there is to judge.

    Args:
        verdicts: Rows of ``verdicts.parquet``.
        judges: What the command calls each judge, by its name.
        command: What asks a judge, up to the judge.
    """
    import polars as pl

    missing = verdicts.filter(pl.col("status").cast(pl.String) == MISSING)
    return [
        f"Judge {judge}: {count} texts have no verdict in the store; first run {command} --judge "
        f"{shlex.quote(judges.get(judge, judge))}"
        for judge, count in missing.group_by("judge").len().sort("judge").iter_rows()
    ]


def _range(low: float | None, high: float | None) -> str:
    return "–" if low is None or high is None else f"{low:.4f}–{high:.4f}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"
