"""Where the variance of scores lies: items, samples of an answer, judges.

    score = mean + item + sample within item + judge + item × judge + residual

Components by the method of moments from the mean squares of a balanced layout: items of which
every sample has a verdict of every judge. A negative component is 0. Which of them there are
depends on what was repeated: with one judge there are items and samples; with one sample, what
judge and item do together cannot be told from the residual.

Source: Searle, Casella and McCulloch, Variance components (1992), 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from score.answers import SCORED
from score.statistics.design import Floats

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Split:
    """The components of variance of one metric of one run."""

    run: str
    task: str
    metric: str
    judges: tuple[str, ...]
    n_items: int
    """Items with everything; the others are left out."""
    n_samples: int
    components: dict[str, float]
    """Source → variance of one score."""
    of_mean: dict[str, float]
    """Source → its part in the variance of the mean over all items, samples and judges."""


def splits(scores: pl.DataFrame, scales: Mapping[str, str]) -> list[Split]:
    """Split the variance of every metric that has several samples or several judges.

    Args:
        scores: Rows of ``scores.parquet``.
        scales: Judge → its scale; only judges on one scale are compared.
    """
    import polars as pl

    found = []
    scored = scores.filter(pl.col("status").cast(pl.String) == SCORED)
    keys = ("run", "task", "metric")
    for (run, task, metric), part in sorted(scored.partition_by(keys, as_dict=True).items()):
        for judges in _on_one_scale(sorted(part["judge"].unique()), scales):
            values = _layout(part, judges)
            if values is None:
                continue
            components = variance_components(values)
            n_items, n_samples, n_judges = values.shape
            repeats = {
                "items": n_items,
                "samples": n_items * n_samples,
                "judges": n_judges,
                "items × judges": n_items * n_judges,
                "residual": values.size,
            }
            found.append(
                Split(
                    str(run), str(task), str(metric), tuple(judges), n_items, n_samples, components,
                    {source: part / repeats[source] for source, part in components.items()},
                )
            )  # fmt: skip
    return found


def variance_components(values: Floats) -> dict[str, float]:
    """Return the variance of each source.

    Args:
        values: Scores, shape (n_items, n_samples, n_judges); at least two items, and several
            samples or several judges.
    """
    n_items, n_samples, n_judges = values.shape
    mean = values.mean()
    item = values.mean(axis=(1, 2))
    sample = values.mean(axis=2)
    judge = values.mean(axis=(0, 1))
    both = values.mean(axis=1)
    ms_item = n_samples * n_judges * _square(item - mean) / (n_items - 1)
    parts: dict[str, float] = {}
    if n_judges == 1:
        ms_sample = _square(sample - item[:, None]) / (n_items * (n_samples - 1))
        parts = {"items": (ms_item - ms_sample) / n_samples, "samples": ms_sample}
        return _not_negative(parts)
    ms_judge = n_items * n_samples * _square(judge - mean) / (n_judges - 1)
    ms_both = n_samples * _square(both - item[:, None] - judge + mean)
    ms_both /= (n_items - 1) * (n_judges - 1)
    if n_samples == 1:
        parts = {
            "items": (ms_item - ms_both) / n_judges,
            "judges": (ms_judge - ms_both) / n_items,
            "residual": ms_both,
        }
        return _not_negative(parts)
    rest = values - sample[:, :, None] - both[:, None, :] + item[:, None, None]
    ms_rest = _square(rest) / (n_items * (n_samples - 1) * (n_judges - 1))
    ms_sample = n_judges * _square(sample - item[:, None]) / (n_items * (n_samples - 1))
    parts = {
        "items": (ms_item - ms_sample - ms_both + ms_rest) / (n_samples * n_judges),
        "samples": (ms_sample - ms_rest) / n_judges,
        "judges": (ms_judge - ms_both) / (n_items * n_samples),
        "items × judges": (ms_both - ms_rest) / n_samples,
        "residual": ms_rest,
    }
    return _not_negative(parts)


def _square(off: Floats) -> float:
    return float((off**2).sum())


def _not_negative(parts: dict[str, float]) -> dict[str, float]:
    return {source: max(part, 0.0) for source, part in parts.items()}


def _on_one_scale(judges: Sequence[str], scales: Mapping[str, str]) -> list[list[str]]:
    groups: dict[str, list[str]] = {}
    for judge in judges:
        groups.setdefault(scales.get(judge, judge), []).append(judge)
    return list(groups.values())


def _layout(part: pl.DataFrame, judges: Sequence[str]) -> Floats | None:
    """Scores as (n_items, n_samples, n_judges); None where nothing was repeated."""
    import polars as pl

    wide = (
        part.filter(pl.col("judge").is_in(list(judges)))
        .pivot("judge", index=("item", "sample"), values="value", sort_columns=True)
        .drop_nulls()
        .sort("item", "sample")
    )
    samples = wide.group_by("item", maintain_order=True).len()
    n_samples = int(str(samples["len"].max() or 0))
    whole = samples.filter(pl.col("len") == n_samples)["item"]
    if len(whole) < 2 or n_samples * len(judges) < 2:
        return None
    kept = wide.filter(pl.col("item").is_in(whole.implode()))
    found: Floats = kept.drop("item", "sample").to_numpy()
    return np.ascontiguousarray(found).reshape(len(whole), n_samples, len(judges))
