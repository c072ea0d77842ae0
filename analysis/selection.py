"""What of some scores a table shows: the runs that were chosen, and whether there is anything."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from analysis.errors import AnalysisError, UnknownName
from analysis.scores import ERROR, Scores
from analysis.settings import SETTINGS, compared
from analysis.spec import PaperSpec, TableSpec
from analysis.table import Choice


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


def lacks(paper: PaperSpec, spec: TableSpec, scores: Scores, choice: Choice) -> str:
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
    if spec.rows in SETTINGS:
        found = compared(scores, spec.rows, choice.runs)
        if not found.comparisons:
            setting = SETTINGS[spec.rows]
            return (
                f"no model has runs that differ in {setting.words} only ({found.reasons}); "
                f"see rejudge infer {setting.option}"
            )
    if spec.rows == "judge" and len(scores.judges) < 2:
        return f"they have verdicts of {len(scores.judges)} judges; several are compared there"
    if spec.rows != "judge" and any(
        paper.metric[group.task][name].judge
        for group in spec.groups
        if group.task in tasks
        for name in group.metrics
    ):
        return scores.unchosen(choice.judge)
    return ""


def left_out(paper: PaperSpec, scores: Scores, choice: Choice) -> dict[str, str]:
    """Return table → why it is left out where all tables are asked for."""
    every = {spec.name: lacks(paper, spec, scores, choice) for spec in paper.table}
    return {name: why for name, why in every.items() if why}
