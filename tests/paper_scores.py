"""Scores that every table and figure has something for: two small folders, made by a formula."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from analysis.spec import PaperSpec, load_paper
from score.taxonomy import ERROR_TYPES
from tests.score_folders import LLM_JUDGE, Row, metric_rows, score_folder

SONIC = load_paper("sonic-o1")
OMNI = load_paper("omniassistbench")

RACES = (["Arab"], ["Indigenous"], ["Asian"], ["White"], ["Hispanic", "Black"], ["unknown"])
GENDERS = (["Male"], ["Female"], ["Female", "Male"])
AGES = (["18-24"], ["25-39"], ["40+"], ["25-39", "40+"])
DURATIONS = ("short", "medium", "long")
#: Videos of a topic, and questions on each.
VIDEOS, QUESTIONS = 3, 2

#: run → (model, modality, frames, level).
RUNS = {
    "gemini-3-pro": ("gemini-3-pro", "video+audio", None, 0.9),
    "qwen-16": ("qwen", "video+audio", 16, 0.6),
    "qwen-64": ("qwen", "video+audio", 64, 0.7),
    "qwen-silent": ("qwen", "video", 64, 0.4),
}


def sonic_folder(folder: Path, judge: str = "gpt-5-mini") -> Path:
    """Write scores of four runs on all topics, tasks and metrics of SONIC-O1."""
    rows = [row for run in RUNS for row in _sonic_rows(run, judge)]
    score_folder(folder, rows, runs=_runs("sonic-o1"))
    items = {row["item"]: row for row in rows}
    pl.DataFrame([_item(number, row) for number, row in enumerate(items.values())]).write_parquet(
        folder / "items.parquet"
    )
    located = {(row["run"], row["item"]): row for row in rows if row["task"] == "localization"}
    pl.DataFrame(
        [
            {
                **{name: row[name] for name in ("run", "model", "task", "item", "sample")},
                "judge": judge,
                "error_type": ERROR_TYPES[number % 6],
                "why": "",
            }
            for number, row in enumerate(located.values())
        ]
    ).write_parquet(folder / "errors.parquet")
    chosen = [row for row in rows if row["metric"] == "accuracy"]
    pl.DataFrame(
        [
            {
                **{name: row[name] for name in ("run", "task", "item", "sample", "status")},
                "confidence": 0.95 if row["value"] else 0.6 + 0.05 * (number % 5),
            }
            for number, row in enumerate(chosen)
        ],
    ).write_parquet(folder / "predictions.parquet")
    return folder


def omni_folder(folder: Path, judges: tuple[str, ...] = ("gpt-5", "glm-5")) -> Path:
    """Write scores of two runs on all sub-tasks of OmniAssistBench, by several judges."""
    picks = dict.fromkeys(
        (one.slice, group.columns[-1].slice if len(group.columns) > 1 else "", group.over)
        for table in OMNI.table
        for group in table.groups
        for one in group.columns
        if one.by == "sub_task"
    )
    rows = [
        row | {"benchmark": "omniassist"}
        for number, (name, _, _) in enumerate(picks)
        for run, level in (("gemini-3-pro", 4.5), ("qwen", 2.5))
        for at, judge in enumerate(judges)
        for row in metric_rows(
            "answer_judge",
            {name: [level - 0.1 * at, level - (number % 7) * 0.2]},
            run=run,
            task="assistant",
            judge=judge,
        )
    ]
    rows = [row | {"item": f"{row['topic']}/{row['item'][-3:]}"} for row in rows]
    five = {"scale": {"min": 0, "max": 5, "integer": True}}
    made = {judge: LLM_JUDGE | five | {"name": judge, "model": judge} for judge in judges}
    score_folder(folder, rows, judges=made, runs={})
    tier = {"Basic interactive understanding": "basic", "": "real-world"}
    pl.DataFrame(
        [
            {
                "item": f"{name}/{number:03}",
                "task": "assistant",
                "sub_task": name,
                "major_task": major or name,
                "tier": tier.get(over, "advanced"),
            }
            for name, major, over in picks
            for number in range(2)
        ]
    ).write_parquet(folder / "items.parquet")
    return folder


def _runs(benchmark: str) -> dict[str, object]:
    return {
        run: {
            "name": run,
            "benchmark": benchmark,
            "model": model,
            "settings": {"modality": modality, "preprocessing": {"frames": frames}},
        }
        for run, (model, modality, frames, _) in RUNS.items()
    }


def _sonic_rows(run: str, judge: str, paper: PaperSpec = SONIC) -> Iterator[Row]:
    model, _, _, level = RUNS[run]
    for task, metrics in paper.metric.items():
        for place, (name, spec) in enumerate(metrics.items()):
            if spec.absent or name.startswith("error:"):
                continue
            values = {
                topic: [
                    _value(name, level, place, number + at) for number in range(VIDEOS * QUESTIONS)
                ]
                for at, topic in enumerate(paper.topics)
            }
            whose = judge if spec.judge else ""
            for row in metric_rows(name, values, run=run, task=task, judge=whose):
                video = f"{row['topic'][:2]}/{int(row['item'][-3:]) // QUESTIONS:03}"
                yield row | {"model": model, "cluster": video}


def _value(name: str, level: float, place: int, number: int) -> float:
    wave = 0.5 + 0.5 * math.sin(1.7 * number + place)
    if name == "accuracy" or name.startswith("recall"):
        return float(wave < level)
    if name == "mae":
        return round(60 * (1.2 - level) * (0.5 + wave), 3)
    if name.startswith("category:"):
        return round(5 * wave * level, 3)
    value = level * (0.7 + 0.3 * wave)
    return round(10 * value) if name.endswith("_judge") else round(value, 3)


def _item(number: int, row: Row) -> Row:
    return {
        "item": row["item"],
        "benchmark": row["benchmark"],
        "task": row["task"],
        "topic": row["topic"],
        "cluster": row["cluster"],
        "duration": DURATIONS[number % 3],
        "relation": "after",
        "requires_audio": True,
        "race": RACES[number % len(RACES)],
        "gender": GENDERS[number % len(GENDERS)],
        "age": AGES[number % len(AGES)],
    }
