"""One ``rejudge compare``: a folder of scores and a question to comparisons, gaps and a record.

The headline metrics are those on which the SONIC-O1 paper bases its findings: the judge's score of
summaries (ROUGE-L without a judge), accuracy, recall at 0.5; of dialogues the judge's score.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from score.errors import ScoreError
from score.statistics.compare import DECLARED, SLICES, Comparison, Question, compare, corrected
from score.statistics.contrast import (
    GAPS,
    INTERACTIONS,
    Contrast,
    gaps,
    interactions,
    reference_group,
)
from score.statistics.folder import Scored
from score.statistics.groups import Groups, groups_of, topic_groups
from score.statistics.panel import Panel, design_of, panels
from score.statistics.resample import Resamples, resample
from score.statistics.variance import Split, splits

#: (with a judge, without one).
HEADLINE = {
    "summary": ("detailed_judge", "detailed_rouge_l"),
    "choice": ("accuracy", "accuracy"),
    "localization": ("recall_0.5", "recall_0.5"),
    "assistant": ("answer_judge", "answer_rouge_l"),
}


@dataclass(frozen=True, slots=True)
class Compared:
    """Everything that was compared, and how."""

    comparisons: tuple[Comparison, ...]
    contrasts: tuple[Contrast, ...]
    splits: tuple[Split, ...]
    made: dict[str, Any]
    """What decides the numbers: draws, question, families with their tests."""


def answer(
    found: Scored,
    question: Question,
    *,
    metrics: Sequence[str] = (),
    judge: str | None = None,
    reference: str | None = None,
    seed: int = 0,
    n_replicates: int,
) -> Compared:
    """Compare runs.

    Args:
        found: The scores.
        question: Which runs, and how.
        metrics: The declared family; empty: the headline metrics.
        judge: Whose verdicts.
        reference: The group that others are compared with; None: the largest.
        seed: Of the draws.
        n_replicates: How many draws.

    Raises:
        ScoreError: a run, judge, metric, attribute or group that is not there; nothing to compare.
    """
    for run in (question.baseline, *question.candidates):
        found.known_run(run)
    if not question.candidates:
        raise ScoreError(f"there is no run beside {question.baseline!r} to compare it with")
    if question.baseline in question.candidates:
        raise ScoreError(f"run {question.baseline!r} is the baseline and a candidate, too")
    resamples = resample(design_of(found.scores), seed, n_replicates)
    chosen = _chosen(panels(found.scores, resamples.design), found, metrics, judge)
    overall = [one for panel in chosen for one in compare(panel, None, question, resamples)]
    if not overall:
        raise ScoreError("the runs have no task in common: there is nothing to compare")
    sliced: list[Comparison] = []
    contrasts: list[Contrast] = []
    grouped = [_groups(panel, found, question, resamples) for panel in chosen if question.by]
    against = reference_group(grouped, reference) if grouped else ""
    for panel, groups in zip(chosen, grouped, strict=False):
        sliced += compare(panel, groups, question, resamples)
        contrasts += gaps(panel, groups, against, question, resamples)
        contrasts += interactions(panel, groups, against, question, resamples)
    compared = (*_with_tests(overall, DECLARED), *_with_tests(sliced, SLICES))
    contrasted = tuple(_contrasts_with_tests(contrasts))
    metrics_of = {(panel.task, panel.metric) for panel in chosen}
    parted = [
        split
        for split in splits(found.scores, found.scales)
        if (split.task, split.metric) in metrics_of
    ]
    made = {
        "resampling": resamples.signature(),
        "question": {k: v for k, v in asdict(question).items() if k != "keep_replicates"},
        "families": _families(compared, contrasted),
        "scores": dict(found.signature),
    }
    return Compared(compared, contrasted, tuple(parted), made)


def _chosen(
    every: Sequence[Panel], found: Scored, metrics: Sequence[str], judge: str | None
) -> list[Panel]:
    """The panels of the declared family."""
    known = sorted({panel.metric for panel in every})
    if unknown := [name for name in metrics if name not in known]:
        raise ScoreError(f"no metric {unknown[0]!r} in these scores; there are: {', '.join(known)}")
    judged = judge is not None or any(name.endswith("_judge") for name in metrics or ("_judge",))
    whose = found.chosen_judge(judge) if judged else ""
    headline = {task: names[0 if whose else 1] for task, names in HEADLINE.items()}
    return [
        panel
        for panel in every
        if panel.judge in ("", whose)
        and (panel.metric in metrics if metrics else headline.get(panel.task) == panel.metric)
    ]


def _groups(panel: Panel, found: Scored, question: Question, resamples: Resamples) -> Groups:
    if question.by == "topic":
        return topic_groups(panel, resamples.design)
    return groups_of(panel, found.items, question.by, question.weighting)


def _with_tests(found: Sequence[Comparison], family: str) -> Iterator[Comparison]:
    tests = corrected([one.test for one in found], family)
    return (replace(one, test=test) for one, test in zip(found, tests, strict=True))


def _contrasts_with_tests(found: Sequence[Contrast]) -> Iterator[Contrast]:
    for kind in (GAPS, INTERACTIONS):
        some = [one for one in found if one.kind == kind]
        tests = corrected([one.test for one in some], kind)
        yield from (replace(one, test=test) for one, test in zip(some, tests, strict=True))


def _families(
    compared: Sequence[Comparison], contrasts: Sequence[Contrast]
) -> dict[str, dict[str, Any]]:
    """Family → its correction, how many tests were made and how many could not be."""
    found: dict[str, dict[str, Any]] = {}
    for test in [one.test for one in compared] + [one.test for one in contrasts]:
        family = found.setdefault(
            test.family, {"correction": test.correction, "tests": test.n_tests, "not_tested": 0}
        )
        family["not_tested"] += test.p is None
    return found
