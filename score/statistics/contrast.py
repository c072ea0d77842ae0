"""Gaps between groups, and whether two runs have different ones.

    gap           a run's mean in a group − its mean in the reference group
    interaction   the candidate's gap − the baseline's, over the items that both have

An item may be in both groups: as its cluster's weight moves both means, the interval holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from score.errors import ScoreError
from score.frames import UNKNOWN
from score.statistics.compare import Question, Test, tested
from score.statistics.design import Floats
from score.statistics.estimate import Estimate, percentile_estimate
from score.statistics.groups import Groups
from score.statistics.paired import Pairs
from score.statistics.panel import Panel
from score.statistics.ratio import Cells
from score.statistics.resample import Resamples
from score.statistics.study import studies

GAPS = "gaps"
INTERACTIONS = "interactions"


@dataclass(frozen=True, slots=True)
class Contrast:
    """A gap of one run, or the difference of two runs' gaps."""

    kind: str
    """``gaps`` or ``interactions``."""
    run: str
    baseline: str
    """Of an interaction; else empty."""
    task: str
    metric: str
    judge: str
    by: str
    group: str
    reference: str
    """The group that it is compared with."""
    gap: Estimate
    """Its n are the items of the smaller group."""
    test: Test


def reference_group(every: Sequence[Groups], asked: str | None) -> str:
    """Return the group that others are compared with: the one asked for, else the largest.

    Args:
        every: The groups of each metric's items.
        asked: A group's name; None: the one with the most items, ``unknown`` only if alone.

    Raises:
        ScoreError: there is no such group.
    """
    sizes: Counter[str] = Counter()
    for groups in every:
        present = (groups.weights > 0).sum(axis=0).tolist()
        sizes.update(dict(zip(groups.names, present, strict=True)))
    if asked is not None and asked not in sizes:
        raise ScoreError(f"no group {asked!r}; there are: {', '.join(sorted(sizes))}")
    known = sorted(set(sizes) - {UNKNOWN}) or [UNKNOWN]
    return asked if asked is not None else max(known, key=lambda name: sizes[name])


def gaps(
    panel: Panel, groups: Groups, reference: str, question: Question, resamples: Resamples
) -> Iterator[Contrast]:
    """Compare the groups within each of the runs that are compared."""
    below = panel.weights(panel.known_reading(question.reading))
    for run in (question.baseline, *question.candidates):
        if run not in panel.runs:
            continue
        column = panel.column(run)
        above = panel.total[:, column, None] * groups.weights
        weights = below[:, column, None] * groups.weights
        cells = Cells(panel.sums(resamples.design, above), panel.sums(resamples.design, weights))
        n_items = (weights > 0).sum(axis=0)
        whose = (GAPS, run, "")
        yield from _contrasts(panel, whose, groups, reference, cells, n_items, question, resamples)


def interactions(
    panel: Panel, groups: Groups, reference: str, question: Question, resamples: Resamples
) -> Iterator[Contrast]:
    """Compare each candidate's gaps with the baseline's."""
    if question.baseline not in panel.runs:
        return
    for candidate in question.candidates:
        if candidate not in panel.runs:
            continue
        pairs = Pairs.of(panel, question.baseline, [candidate], question.reading)
        cells = pairs.cells(resamples, groups.weights, pairs.off)
        n_items = ((groups.weights > 0) & pairs.paired).sum(axis=0)
        whose = (INTERACTIONS, candidate, question.baseline)
        yield from _contrasts(panel, whose, groups, reference, cells, n_items, question, resamples)


def _contrasts(
    panel: Panel,
    whose: tuple[str, str, str],
    groups: Groups,
    reference: str,
    cells: Cells,
    n_items: Floats,
    question: Question,
    resamples: Resamples,
) -> Iterator[Contrast]:
    others = [column for column, name in enumerate(groups.names) if name != reference]
    if not others or reference not in groups.names:
        return
    at = groups.names.index(reference)
    terms = [
        (sign, Cells(cells.numerators[:, columns], cells.denominators[:, columns]))
        for sign, columns in ((1.0, others), (-1.0, [at] * len(others)))
    ]
    for column, study in zip(others, studies(resamples, terms), strict=True):
        n = int(min(n_items[column], n_items[at]))
        yield Contrast(
            *whose,
            panel.task,
            panel.metric,
            panel.judge,
            question.by,
            groups.names[column],
            reference,
            percentile_estimate(study, n, question.level),
            tested(study, n, question),
        )
