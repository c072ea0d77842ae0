"""Comparisons of settings: which runs, with which labels; their tables, figures and reasons."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analysis.build import build_tables
from analysis.errors import NothingToShow, TableSpecError
from analysis.figures.catalogue import draw
from analysis.figures.figure import Source
from analysis.scores import Scores, load_scores
from analysis.settings import SETTINGS, compared
from analysis.spec import load_paper, parse_paper
from analysis.table import Choice, Table
from score.errors import ScoresMissing
from tests.score_folders import LLM_JUDGE, metric_rows, score_folder

OMNI = load_paper("omniassistbench")
JUDGE = "gpt-5"
SUB_TASKS = ("event retrieval", "step tracking")


def settings(
    modality: str = "video+audio",
    *,
    forced: bool | None = False,
    size: int | None = None,
    fps: float = 1.0,
) -> dict[str, Any]:
    """Settings as a run's header has them; what is not set is not there."""
    edge = {} if size is None else {"shorter_edge_px": size}
    dialogues = {} if forced is None else {"teacher_forcing": forced}
    return {"modality": modality, "preprocessing": {"fps": fps} | edge, **dialogues}


#: run → (model, settings, what the judge gave: event retrieval, step tracking).
RUNS: dict[str, tuple[str, dict[str, Any], list[float], list[float]]] = {
    "own": ("qwen", settings(), [5.0, 4.0, 3.0], [1.0]),
    "blind": ("qwen", settings("audio"), [1.0, 1.0, 1.0], [2.0]),
    "deaf": ("qwen", settings("video"), [2.0, 2.0, 2.0], [5.0]),
    "forced": ("qwen", settings(forced=True), [5.0, 5.0, 5.0], [0.0]),
    "small": ("qwen", settings(size=360), [4.0, 4.0, 4.0], [1.0]),
    "deaf-small-fast": ("qwen", settings("video", size=360, fps=2.0), [3.0] * 3, [3.0]),
    "gem": ("gemini-3-pro", settings(), [4.0] * 3, [4.0]),
    "mimo-deaf": ("mimo", settings("video", fps=2.0), [4.0] * 3, [4.0]),
    "mimo": ("mimo", settings(size=720), [4.0] * 3, [4.0]),
}


def scores_of(folder: Path, *runs: str, judges: tuple[str, ...] = (JUDGE,)) -> Scores:
    """Scores of some runs by some judges, who all give the same."""
    names = runs or tuple(RUNS)
    rows = [
        row
        | {"benchmark": "omniassist", "model": RUNS[run][0]}
        | {"item": f"{row['topic']}/{row['item'][-3:]}"}
        for run in names
        for judge in judges
        for row in metric_rows(
            "answer_judge",
            dict(zip(SUB_TASKS, RUNS[run][2:], strict=True)),
            run=run,
            task="assistant",
            judge=judge,
        )
    ]
    # Every turn is a dialogue of its own, so that means have intervals.
    rows = [row | {"cluster": row["item"]} for row in rows]
    five = {"scale": {"min": 0, "max": 5, "integer": True}}
    made = {run: {"benchmark": "omniassist", "settings": RUNS[run][1]} for run in names}
    known = {judge: LLM_JUDGE | five | {"name": judge} for judge in judges}
    score_folder(folder, rows, judges=known, runs=made)
    items = {row["item"]: row["topic"] for row in rows}
    major = {"event retrieval": "temporal perception", "step tracking": "process tracking"}
    tier = {"event retrieval": "basic", "step tracking": "advanced"}
    pl.DataFrame(
        [
            {"item": item, "task": "assistant", "sub_task": name, "major_task": major[name],
             "tier": tier[name]}
            for item, name in items.items()
        ]
    ).write_parquet(folder / "items.parquet")  # fmt: skip
    return load_scores(folder)


def shown(table: Table) -> dict[str, dict[str, list[str]]]:
    """Block → row → overall, event retrieval and step tracking, as printed."""
    at = [
        next(place for place, column in enumerate(table.columns) if column.slice == name)
        for name in ("", *SUB_TASKS)
    ]
    return {
        block.label: {row.label: [row.cells[place].text for place in at] for row in block.rows}
        for block in table.blocks
    }


# By hand, in points of 100 (a score of 5 times 20): (5 + 4 + 3 + 1) / 4 · 20 = 65, and so on.
EXPECTED = {
    "modality": {
        "audio": ["25.0", "20.0", "40.0"],
        "video": ["55.0", "40.0", "100.0"],
        "video+audio": ["65.0", "80.0", "20.0"],
    },
    "teacher-forcing": {
        "own answers": ["65.0", "80.0", "20.0"],
        "teacher forcing": ["75.0", "100.0", "0.0"],
    },
    "size": {
        "native size": ["65.0", "80.0", "20.0"],
        "shorter edge 360": ["65.0", "80.0", "20.0"],
    },
}


@pytest.mark.parametrize("name", list(SETTINGS))
def test_a_table_has_the_runs_that_differ_in_one_setting_only(tmp_path: Path, name: str) -> None:
    (table,) = build_tables(OMNI, [f"by-{name}"], scores_of(tmp_path), Choice(JUDGE))
    assert shown(table) == {"qwen": EXPECTED[name]}


@pytest.mark.parametrize("name", list(SETTINGS))
def test_a_figure_has_the_tables_numbers_with_intervals(tmp_path: Path, name: str) -> None:
    ((figure,), left) = draw(Source(scores_of(tmp_path), JUDGE), [name])
    assert (figure.name, left) == (name, {})
    values: dict[str, list[str]] = {}
    for row in figure.made["values"]:
        values.setdefault(row["name"], []).append(f"{row['value']:.1f}")
    assert values == EXPECTED[name]
    groups = dict.fromkeys(row["group"] for row in figure.made["values"])
    assert [*groups] == ["Overall", *SUB_TASKS]
    (own,) = [
        row
        for row in figure.made["values"]
        if (row["run"], row["group"]) == ("own", "event retrieval")
    ]
    # 5, 4 and 3 by three dialogues.
    assert own["low"] < 80 < own["high"]


def test_what_is_not_compared_is_said_with_its_reason(tmp_path: Path) -> None:
    scores = scores_of(tmp_path)
    assert compared(scores, "modality").left_out == {
        "gemini-3-pro": "it has runs with video+audio only",
        "mimo": "its runs with different media differ in fps, shorter_edge_px, too",
        "deaf-small-fast, forced, small": "no run of the model differs in media only",
    }
    (table,) = build_tables(OMNI, ["by-modality"], scores, Choice(JUDGE))
    (said,) = [note.text for note in table.notes if note.text.startswith("Not compared")]
    assert "gemini-3-pro: it has runs with video+audio only" in said
    with pytest.raises(ScoresMissing, match="gemini-3-pro: it has runs with own answers only"):
        build_tables(
            OMNI, ["by-teacher-forcing"], scores_of(tmp_path / "one", "gem"), Choice(JUDGE)
        )
    with pytest.raises(NothingToShow, match="see rejudge infer --size"):
        draw(Source(scores_of(tmp_path / "two", "gem"), JUDGE), ["size"])


def test_comparisons_of_one_model_are_told_apart_by_what_they_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(RUNS, "forced-deaf", ("qwen", settings("video", forced=True), [1.0], [1.0]))
    monkeypatch.setitem(RUNS, "again", ("qwen", settings("video"), [1.0], [1.0]))
    names = ("own", "deaf", "again", "forced", "forced-deaf")
    found = compared(scores_of(tmp_path, *names), "modality")
    assert {one.label: one.runs for one in found.comparisons} == {
        "qwen, teacher forcing false": (
            ("video (again)", "again"),
            ("video (deaf)", "deaf"),
            ("video+audio", "own"),
        ),
        "qwen, teacher forcing true": (("video", "forced-deaf"), ("video+audio", "forced")),
    }
    assert found.labels == ("video", "video (again)", "video (deaf)", "video+audio")


def test_runs_without_dialogues_have_no_teacher_forcing(tmp_path: Path) -> None:
    rows = metric_rows(run="alpha")
    made = {"alpha": {"settings": settings(forced=None)}}
    scores = load_scores(score_folder(tmp_path, rows, runs=made))
    why = "the scores do not say the teacher forcing of its runs"
    assert compared(scores, "teacher-forcing").left_out == {"alpha": why}


def test_groups_of_a_table_that_is_not_above_are_a_fault() -> None:
    text = b"""
paper = "p"
shown_as = "P"
[metric.choice]
accuracy = { label = "Acc" }
[[table]]
name = "one"
numbers = []
title = "One"
groups_of = ["two"]
"""
    with pytest.raises(TableSpecError, match="groups_of names two, which is no table above it"):
        parse_paper(text, "p.toml")
