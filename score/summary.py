"""What ``rejudge score`` prints: the benchmark's own means in both readings, with their counts.

SONIC-O1's are means over topics, OmniAssistBench's over pairs, judges' scores as points of 100.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bench.item import TaskType
from bench.registry import is_over_topics
from score.aggregate import item_means, macro_means, topic_means
from score.answers import MISSING, SCORED, STATUSES
from score.assistant import BEST, METRIC, best_of
from score.precision import FLOAT32
from score.statistics.panel import Reading

if TYPE_CHECKING:
    import polars as pl

    from score.profile import Profile
    from score.scoring import Scores

_KEYS = ["run", "task", "metric", "judge"]
_ITEM_BOUNDS = frozenset(
    f"item_{name}{after}" for name in ("low", "high", "undefined") for after in ("", "_all")
)
_FAILURES = tuple(status for status in STATUSES if status != SCORED)


def summarise(found: Scores, profile: Profile) -> list[dict[str, Any]]:
    """Return a row for each run × metric × judge: means over topics and over items, and counts.

    ``headline`` and ``headline_all`` are the means that the benchmark's paper has, in ``unit``:
    empty, or ``of 100``. The other means are in the metric's own numbers.

    Where intervals were asked for, ``low`` and ``high`` bound ``mean``, and ``low_all`` and
    ``high_all`` bound ``mean_all``; null where one is undefined, and ``undefined`` says why.
    ``headline_low`` and ``headline_high`` bound ``headline``.
    """
    exact = profile.exact_sums
    macro = macro_means(topic_means(found.scores, exact_sums=exact), exact_sums=exact)
    plain = item_means(found.scores, exact_sums=exact).rename(
        {"mean": "item_mean", "mean_all": "item_mean_all"}
    )
    rows = macro.join(
        plain.select(*_KEYS, "item_mean", "item_mean_all"),
        on=_KEYS,
        how="left",
        maintain_order="left",
    )
    if found.estimates is not None:
        for over, before in (("over-topics", ""), ("over-items", "item_")):
            for reading, after in ((Reading.SCORED_ONLY, ""), (Reading.FAILURES_AS_WRONG, "_all")):
                bounds = _bounds(found.estimates, over, reading, before, after)
                rows = rows.join(bounds, on=_KEYS, how="left", maintain_order="left")
    counted = rows.join(_statuses(found.scores), on=_KEYS, how="left", maintain_order="left")
    best = best_of(found.signature)
    listed = counted.sort("run", "task", maintain_order=True).to_dicts()
    return [_with_headline(row, best) for row in listed]


def _with_headline(row: dict[str, Any], best: Mapping[str, float]) -> dict[str, Any]:
    """Add the benchmark's own mean; bounds of means over items are that of nothing else."""
    before = "" if is_over_topics(row["benchmark"]) else "item_"
    of_100 = row["task"] == TaskType.ASSISTANT and row["metric"] == METRIC
    factor = 100.0 / best.get(row["judge"], BEST) if of_100 else 1.0
    named = {
        "headline": row[f"{before}mean"],
        "headline_all": row[f"{before}mean_all"],
        "headline_low": row.get(f"{before}low"),
        "headline_high": row.get(f"{before}high"),
    }
    points = {name: None if value is None else value * factor for name, value in named.items()}
    kept = {name: value for name, value in row.items() if name not in _ITEM_BOUNDS}
    return kept | points | {"unit": "of 100" if of_100 else ""}


def _bounds(
    estimates: pl.DataFrame, over: str, reading: Reading, before: str, after: str
) -> pl.DataFrame:
    """Return the intervals of one kind of mean in one reading, in columns of these names."""
    import polars as pl

    whole = estimates.filter(by="", mean=over, reading=str(reading))
    names = {"low": "low", "high": "high", "reason": "undefined"}
    more = ["level", "n_clusters"] if not before and not after else []
    return whole.select(
        *_KEYS,
        *more,
        *(pl.col(old).alias(f"{before}{new}{after}") for old, new in names.items()),
    )


def _statuses(scores: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    return scores.group_by(_KEYS).agg(
        (pl.col("status") == status).sum().alias(status) for status in _FAILURES
    )


def as_text(
    rows: list[dict[str, Any]], signature: Mapping[str, Any], more: Sequence[str] = ()
) -> str:
    """Return the summary as a table for people, with what they must know below it."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in _KEYS:
        table.add_column(heading, no_wrap=True)
    numbers = ("mean", "95% interval", "failures wrong", "unit", "scored", "expected")
    for heading in (*numbers, *_FAILURES):
        table.add_column(heading.replace("_", " "), justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            *(row[name] for name in _KEYS),
            _number(row["headline"], row["unit"]),
            _range(row["headline_low"], row["headline_high"], row["unit"]),
            _number(row["headline_all"], row["unit"]),
            row["unit"],
            str(row["n_scored"]),
            str(row["n_expected"]),
            *(str(row[status] or "") for status in _FAILURES),
        )
    console = Console(width=200, no_color=True, highlight=False)
    with console.capture() as capture:
        console.print(table)
    lines = [line.rstrip() for line in capture.get().splitlines()]
    return "\n".join([*lines, "", *_kinds(rows), *notes(signature), *more])


def _kinds(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say what the means are means over."""
    kinds = {is_over_topics(row["benchmark"]) for row in rows}
    said = {
        True: "Means are macro means over topics.",
        False: "Means are over question–answer pairs. A judge's are points of 100.",
    }
    return [said[kind] for kind in sorted(kinds)]


def notes(signature: Mapping[str, Any]) -> list[str]:
    """Return what a reader of the numbers must know."""
    found = [
        "mean: of what was scored; failures wrong: of all that was expected.",
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


def _range(low: float | None, high: float | None, unit: str) -> str:
    return "–" if low is None or high is None else f"{_number(low, unit)}–{_number(high, unit)}"


def _number(value: float | None, unit: str) -> str:
    if value is None:
        return "–"
    return f"{value:.1f}" if unit else f"{value:.4f}"
