"""Comparisons for people, for machines, and as files.

OUT/
  comparisons.parquet   one row a candidate × metric × slice
  contrasts.parquet     one row a gap or interaction, where slices were asked for
  variance.parquet      one row a run × metric × source, where samples or judges were several
  replicates.parquet    on demand: one row a comparison × replicate
  comparison.json       how the numbers were made; written last, so its presence means done
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from score.errors import OutputUnwritable
from score.output import replace_file
from score.statistics.answer import Compared
from score.statistics.compare import Comparison, Test
from score.statistics.contrast import GAPS, Contrast
from score.statistics.estimate import Estimate

if TYPE_CHECKING:
    import polars as pl

RECORD = "comparison.json"
_NONE = "–"
#: Rows that a reason names; of all of them there may be hundreds.
_NAMED = 3


def rows(found: Iterable[Any]) -> list[dict[str, Any]]:
    """Return comparisons or contrasts as flat rows."""
    return [_flat(one) for one in found]


def as_dict(found: Compared) -> dict[str, Any]:
    """Return everything as JSON values."""
    return {
        "comparisons": rows(found.comparisons),
        "contrasts": rows(found.contrasts),
        "variance": [asdict(split) for split in found.splits],
        "made": found.made,
    }


def write(found: Compared, out: Path, *, replicates: bool = False) -> list[Path]:
    """Write the tables and how they were made; earlier ones are replaced whole.

    Raises:
        OutputUnwritable: the folder cannot be made or written to.
    """
    import polars as pl
    from polars.exceptions import PolarsError

    listed = {
        "comparisons": rows(found.comparisons),
        "contrasts": rows(found.contrasts),
        "variance": _variance(found),
    }
    tables = {
        name: pl.DataFrame(some, infer_schema_length=None) for name, some in listed.items() if some
    }
    if replicates:
        tables["replicates"] = _replicates(found.comparisons)
    written = []
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name in (RECORD, *(f"{name}.parquet" for name in (*listed, "replicates"))):
            (out / name).unlink(missing_ok=True)
        for name, frame in tables.items():
            written.append(replace_file(out / f"{name}.parquet", frame.write_parquet))
        text = json.dumps(found.made, ensure_ascii=False, indent=2, sort_keys=True) + "\n"
        written.append(replace_file(out / RECORD, lambda path: path.write_text(text, "utf-8")))
    except (OSError, PolarsError) as error:
        raise OutputUnwritable(
            f"the comparison cannot be written to {out}: {error}; name a folder with --out"
        ) from error
    return written


def as_text(found: Compared) -> str:
    """Return tables for people, with what they must know below."""
    overall = [one for one in found.comparisons if not one.by]
    sliced = [one for one in found.comparisons if one.by]
    parts = [_comparisons(overall)]
    if sliced:
        parts.append(f"By {sliced[0].by}\n{_comparisons(sliced)}")
    for title, kind in (("Gaps between groups", True), ("Differences of gaps", False)):
        some = [one for one in found.contrasts if (one.kind == GAPS) is kind]
        if some:
            parts.append(f"{title}\n{_contrasts(some)}")
    if found.splits:
        parts.append(f"Variance of a score\n{_splits(found)}")
    return "\n\n".join([*parts, "\n".join(_notes(found))])


def _comparisons(found: Sequence[Comparison]) -> str:
    baseline = found[0].baseline
    headings = ["candidate", "metric", "judge", "slice", baseline, "its mean", "difference",
                "p", "adjusted", "swapped", "effect", "80% power", "better/same/worse",
                "n", "left out"]  # fmt: skip
    body = [
        [
            one.candidate,
            f"{one.task} {one.metric}",
            one.judge,
            one.slice,
            _number(one.baseline_mean),
            _number(one.candidate_mean),
            _interval(one.difference),
            _p(one.test.p),
            _p(one.test.p_adjusted),
            _p(one.p_permutation),
            _number(one.effect, "+.2f"),
            _number(one.detectable),
            f"{_count(one.wins)}/{one.ties}/{_count(one.losses)}",
            f"{one.difference.n} in {one.difference.n_clusters}",
            str(one.baseline_only + one.candidate_only),
        ]
        for one in found
    ]
    return _table(headings, body)


def _contrasts(found: Sequence[Contrast]) -> str:
    headings = ["run", "metric", "judge", "group", "against", "gap", "p", "adjusted", "n"]
    body = [
        [
            f"{one.run} − {one.baseline}" if one.baseline else one.run,
            f"{one.task} {one.metric}",
            one.judge,
            one.group,
            one.reference,
            _interval(one.gap),
            _p(one.test.p),
            _p(one.test.p_adjusted),
            f"{one.gap.n} in {one.gap.n_clusters}",
        ]
        for one in found
    ]
    return _table(headings, body)


def _splits(found: Compared) -> str:
    sources = list(dict.fromkeys(name for split in found.splits for name in split.components))
    body = [
        [
            split.run,
            f"{split.task} {split.metric}",
            ", ".join(filter(None, split.judges)),
            *(_number(split.components.get(source)) for source in sources),
            f"{split.n_items} × {split.n_samples}",
        ]
        for split in found.splits
    ]
    return _table(["run", "metric", "judges", *sources, "items × samples"], body)


def _notes(found: Compared) -> list[str]:
    drawn, asked = found.made["resampling"], found.made["question"]
    mean = "over topics" if asked["over_topics"] else "over items"
    notes = [
        f"difference: candidate − baseline over the items that both have ({asked['reading']}; "
        f"overall {mean}, slices over items), with its {100 * asked['level']:g}% interval.",
        f"{drawn['resamples']} resamples of {drawn['clusters']} clusters in {drawn['strata']} "
        f"strata, seed {drawn['seed']}. swapped: p of the permutation test, a check.",
    ]
    for name, family in found.made["families"].items():
        lacking = family["not_tested"]
        rest = f", {lacking} not tested" if lacking else ""
        notes.append(f"{name}: {family['tests']} tests, {family['correction']}{rest}.")
    whys: dict[str, list[str]] = {}
    for one in found.comparisons:
        where = f"{one.candidate} {one.metric} {one.slice}".rstrip()
        whys.setdefault(one.difference.reason or one.test.reason, []).append(where)
    for gap in found.contrasts:
        where = f"{gap.run} {gap.metric} {gap.group} against {gap.reference}"
        whys.setdefault(gap.gap.reason or gap.test.reason, []).append(where)
    for why, places in whys.items():
        if why:
            listed = ", ".join(dict.fromkeys(places[:_NAMED]))
            more = f" and {len(places) - _NAMED} more" if len(places) > _NAMED else ""
            notes.append(f"{why}: {listed}{more}.")
    return notes


def _flat(one: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in fields(one):
        value = getattr(one, field.name)
        if isinstance(value, Estimate):
            found |= {field.name if name == "value" else name: inner
                      for name, inner in asdict(value).items()}  # fmt: skip
        elif isinstance(value, Test):
            found |= {
                "not_tested" if name == "reason" else name: inner
                for name, inner in asdict(value).items()
            }
        elif field.name != "replicates":
            found[field.name] = str(value) if field.name == "better" else value
    return found


def _variance(found: Compared) -> list[dict[str, Any]]:
    return [
        {
            "run": split.run,
            "task": split.task,
            "metric": split.metric,
            "judges": list(split.judges),
            "n_items": split.n_items,
            "n_samples": split.n_samples,
            "source": source,
            "variance": variance,
            "of_mean": split.of_mean[source],
        }
        for split in found.splits
        for source, variance in split.components.items()
    ]


def _replicates(found: Sequence[Comparison]) -> pl.DataFrame:
    """A row for each replicate: the comparison's number among the rows, and the difference."""
    import polars as pl

    kept = [
        pl.DataFrame(
            {"replicate": np.arange(one.replicates.size), "difference": one.replicates},
            schema={"replicate": pl.Int32, "difference": pl.Float64},
            nan_to_null=True,
        ).insert_column(0, pl.lit(number, pl.Int32).alias("comparison"))
        for number, one in enumerate(found)
    ]
    return pl.concat(kept)


def _table(headings: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    from rich.console import Console
    from rich.table import Table

    used = [at for at in range(len(headings)) if any(row[at] for row in body)]
    texts = {"candidate", "run", "metric", "judge", "judges", "slice", "group", "against"}
    table = Table(box=None, pad_edge=False, header_style="bold")
    for at in used:
        right = headings[at] not in texts
        table.add_column(headings[at], justify="right" if right else "left", no_wrap=True)
    for row in body:
        table.add_row(*(row[at] for at in used))
    console = Console(width=260, no_color=True, highlight=False, markup=False)
    with console.capture() as capture:
        console.print(table)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def _interval(found: Estimate) -> str:
    if found.low is None or found.high is None:
        return f"{_number(found.value, '+.4f')} [undefined]"
    return f"{found.value:+.4f} [{found.low:+.4f}, {found.high:+.4f}]"


def _number(value: float | None, form: str = ".4f") -> str:
    return _NONE if value is None else format(value, form)


def _p(value: float | None) -> str:
    return _NONE if value is None else f"{value:.4f}"


def _count(value: int | None) -> str:
    return _NONE if value is None else str(value)
