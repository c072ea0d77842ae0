"""What of some scores a table shows: the runs that were chosen, and whether there is anything."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from analysis.errors import AnalysisError, UnknownName
from analysis.scores import ERROR, Scores
from analysis.spec import TableSpec
from analysis.table import Choice

BY_MODALITY = "modality"


def labelled(asked: Iterable[str], scores: Scores) -> tuple[tuple[str, str], ...]:
    """Return runs with their labels, as ``NAME`` or ``NAME=LABEL`` ask for them.

    A run without a label of its own is called by its name.
    """
    found = []
    for text in asked:
        # A run's name, too, may hold the sign.
        ends = [place for place, letter in enumerate(text) if letter == "="]
        known = (end for end in (len(text), *ends) if text[:end] in scores.model_of)
        end = next(known, (*ends, len(text))[0])
        found.append((text[:end], text[end + 1 :] or text[:end]))
    return tuple(found)


def checked(choice: Choice, scores: Scores) -> Choice:
    """Return a choice whose runs and baseline are all there.

    Raises:
        UnknownName: A run or the baseline is not.
        AnalysisError: A run is chosen twice.
    """
    known = sorted(scores.model_of)
    chosen = [run for run, _ in choice.runs]
    for run in [*chosen, *filter(None, [choice.baseline])]:
        if run not in known:
            raise UnknownName("run", run, known)
    if twice := sorted({run for run in chosen if chosen.count(run) > 1}):
        raise AnalysisError(f"run {', '.join(twice)} is chosen twice; a table shows a run once")
    return choice


def lacks(spec: TableSpec, scores: Scores, choice: Choice) -> str:
    """Say what a table needs that the scores lack; empty: nothing."""
    shown = [run for run, _ in choice.runs] or list(scores.model_of)
    tasks = set(scores.frame.filter(pl.col("run").is_in(shown))["task"].unique())
    if not any(group.task in tasks for group in spec.groups):
        return f"their tasks are {', '.join(sorted(tasks))}"
    if spec.attributes and not scores.has_table("items"):
        return f"there is no items.parquet, which says what is {' or '.join(spec.attributes)}"
    if unknown := sorted(spec.attributes - {*(scores.items.columns if spec.attributes else ())}):
        return f"items.parquet has no column {', '.join(unknown)}"
    metrics = [name for group in spec.groups for name in group.metrics]
    if any(name.startswith(ERROR) for name in metrics) and not scores.has_table("errors"):
        return "there is no errors.parquet"
    if spec.rows == BY_MODALITY and not by_modality(scores, choice):
        return "no model has runs with different media; see rejudge infer --modality"
    if spec.rows == "judge" and len(scores.judges) < 2:
        return f"they have verdicts of {len(scores.judges)} judges; several are compared there"
    return ""


def by_modality(scores: Scores, choice: Choice) -> dict[str, list[tuple[str, str]]]:
    """Return model → (heading, run) of its rows, for models that were given different media."""
    chosen = dict(choice.runs)
    if not chosen:
        return scores.models_by_modality
    order = list(chosen)
    found = {
        # A run that is given no label of its own is known by its media here.
        model: [
            (chosen[run] if chosen[run] != run else modality, run)
            for modality, run in sorted(
                (one for one in runs if one[1] in chosen), key=lambda one: order.index(one[1])
            )
        ]
        for model, runs in scores.models_by_modality.items()
    }
    return {model: runs for model, runs in found.items() if runs}
