"""Comparisons: how much better a candidate is than a baseline, paired by item.

    difference = candidate − baseline, over the items that both have

Items that only one of the two has are counted and left out. What is tested overall is a family
that was declared beforehand (Holm); slices are exploration (Benjamini–Hochberg). A slice that is
too small for a test keeps its difference and says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from score.slices import Weighting
from score.statistics.correction import benjamini_hochberg, holm
from score.statistics.design import Floats
from score.statistics.estimate import Estimate, percentile_estimate
from score.statistics.groups import Groups
from score.statistics.paired import TIE, Pairs, counted
from score.statistics.panel import Better, Panel, Reading
from score.statistics.pvalue import bootstrap_p, detectable, fewest_clusters, permutation_p
from score.statistics.ratio import Cells, cluster_sums, values
from score.statistics.resample import LEVEL, Resamples
from score.statistics.study import Study, studies

DECLARED = "declared"
SLICES = "slices"
_CORRECTIONS = {DECLARED: ("holm", holm), SLICES: ("benjamini-hochberg", benjamini_hochberg)}


@dataclass(frozen=True, slots=True)
class Question:
    """What is compared, and how."""

    baseline: str
    candidates: tuple[str, ...]
    reading: Reading = Reading.SCORED_ONLY
    over_topics: bool = True
    """Whether overall differences are means over topics; else over items, as slices always are."""
    by: str = ""
    """What slices are made by; "": no slices."""
    weighting: Weighting = "presence"
    minimum: int = 10
    """Pairs below which nothing is tested."""
    level: float = LEVEL
    """1 − α."""
    keep_replicates: bool = False
    """Whether comparisons keep their replicates, 80 kB each."""


@dataclass(frozen=True, slots=True)
class Test:
    """A p-value, alone and among the others of its family."""

    p: float | None
    """None: not tested, and ``reason`` says why."""
    reason: str = ""
    family: str = ""
    n_tests: int = 0
    """Tests of the family, those that were not made left out."""
    correction: str = ""
    p_adjusted: float | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """One metric of two runs."""

    baseline: str
    candidate: str
    task: str
    metric: str
    judge: str
    better: Better
    by: str
    slice: str
    baseline_mean: float | None
    """Over the pairs, as the difference."""
    candidate_mean: float | None
    difference: Estimate
    """Its n are items that both runs have."""
    baseline_only: int
    """Items that the candidate lacks, and so left out."""
    candidate_only: int
    wins: int | None
    """Items on which the candidate is better; None where neither direction is."""
    ties: int
    losses: int | None
    effect: float | None
    """The difference in standard deviations of the items' differences."""
    detectable: float | None
    """The least true difference that a test would find four times in five."""
    test: Test
    p_permutation: float | None
    """The check of a declared test: the same hypothesis by another method."""
    replicates: Floats
    """Differences in every replicate, NaN where one is not valid; empty: undefined or not kept."""


def compare(
    panel: Panel, groups: Groups | None, question: Question, resamples: Resamples
) -> list[Comparison]:
    """Compare the candidates with the baseline on one metric.

    Args:
        panel: The metric's scores; runs that are not in it have no comparison.
        groups: The slices; None: over all items.
        question: What is compared.
        resamples: The draws.

    Returns:
        A comparison for each candidate, or for each candidate and slice; tests are not corrected.
    """
    candidates = [run for run in question.candidates if run in panel.runs]
    if question.baseline not in panel.runs or not candidates:
        return []
    pairs = Pairs.of(panel, question.baseline, candidates, question.reading)
    return list(_compared(pairs, groups, question, resamples))


def corrected(tests: Sequence[Test], family: str) -> list[Test]:
    """Return the tests of one family with adjusted p-values and their number."""
    name, correct = _CORRECTIONS.get(family, _CORRECTIONS[SLICES])
    n_tests = sum(test.p is not None for test in tests)
    return [
        replace(test, family=family, n_tests=n_tests, correction=name, p_adjusted=p)
        for test, p in zip(tests, correct([test.p for test in tests]), strict=True)
    ]


def tested(study: Study, n: int, question: Question) -> Test:
    """Test a difference against 0, where there is enough to test it with."""
    least = fewest_clusters(1 - question.level)
    if study.reason:
        return Test(None, study.reason)
    if n < question.minimum:
        return Test(None, f"{n} items: fewer than {question.minimum}")
    if study.n_clusters < least:
        return Test(None, f"{study.n_clusters} clusters: a test takes {least}")
    if study.value is None or not len(study.valid):
        return Test(None, "no replicate is valid")
    return Test(bootstrap_p(study.valid, study.value, study.df))


def _compared(
    pairs: Pairs, groups: Groups | None, question: Question, resamples: Resamples
) -> Iterator[Comparison]:
    panel, design = pairs.panel, resamples.design
    names = ("",) if groups is None else groups.names
    weights = np.ones((len(panel.items), 1)) if groups is None else groups.weights
    over_topics = question.over_topics and groups is None
    cells = pairs.cells(resamples, weights, pairs.off, over_topics)
    before, after = (
        values(design, pairs.cells(resamples, weights, side, over_topics))
        for side in (pairs.before, pairs.after)
    )
    # The check is for what was declared; slices are many, and it takes as long as all the rest.
    swapped = permutation_p(resamples.signs, _parts(resamples, cells)) if groups is None else None
    counts = counted(pairs, (weights > 0).astype(np.float64))
    better = panel.better
    whose = product(pairs.candidates, names)
    for column, study in enumerate(studies(resamples, [(1.0, cells)])):
        candidate, name = next(whose)
        n, higher, lower, baseline_only, candidate_only = counts.numbers[:, column].tolist()
        test = tested(study, n, question)
        yield Comparison(
            baseline=question.baseline,
            candidate=candidate,
            task=panel.task,
            metric=panel.metric,
            judge=panel.judge,
            better=better,
            by="" if groups is None else question.by,
            slice=name,
            baseline_mean=_number(before[column]),
            candidate_mean=_number(after[column]),
            difference=percentile_estimate(study, n, question.level),
            baseline_only=baseline_only,
            candidate_only=candidate_only,
            wins={Better.HIGHER: higher, Better.LOWER: lower}.get(better),
            ties=n - higher - lower,
            losses={Better.HIGHER: lower, Better.LOWER: higher}.get(better),
            effect=_effect(study.value, float(counts.spread[column])),
            detectable=(
                None if study.reason else detectable(study.standard_error, question.level, study.df)
            ),
            test=test,
            p_permutation=None if swapped is None or test.p is None else float(swapped[column]),
            replicates=study.replicates if question.keep_replicates else np.zeros(0),
        )


def _parts(resamples: Resamples, cells: Cells) -> Floats:
    """What each cluster adds to the differences, shape (n_clusters, k)."""
    design = resamples.design
    parts = cells.numerators.copy()
    for rows in design.rows_of_topic if cells.over_topics else (slice(None),):
        total = cells.denominators[rows].sum(axis=0)
        parts[rows] /= np.where(total > 0, total, 1.0)
    return cluster_sums(design, parts)


def _effect(value: float | None, spread: float) -> float | None:
    return None if value is None or spread <= TIE else value / spread


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
